# Installation: libraries, headers, tools and the package files that let
# another project say find_package(Tinh) and link tinh::runtime.
include(CMakePackageConfigHelpers)

set(TINH_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Tinh)

install(TARGETS tinh_runtime EXPORT TinhTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/tinh
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set_target_properties(graph-run PROPERTIES
  INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
install(TARGETS graph-run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

install(EXPORT TinhTargets NAMESPACE tinh:: DESTINATION ${TINH_PACKAGE_DIR})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/TinhConfig.cmake.in
  ${PROJECT_BINARY_DIR}/TinhConfig.cmake
  INSTALL_DESTINATION ${TINH_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TinhConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/TinhConfig.cmake
  ${PROJECT_BINARY_DIR}/TinhConfigVersion.cmake
  DESTINATION ${TINH_PACKAGE_DIR})
