# Installation: libraries, headers, tools and the package files that let
# another project say find_package(Tinh), or pkg-config tinh-runtime, and link
# tinh::runtime and, where the compiler was built, tinh::compiler.
include(CMakePackageConfigHelpers)

set(TINH_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Tinh)

# Installs a library and, if they are its own, the headers in a folder.
function(tinh_install_library target)
  install(TARGETS ${target} EXPORT TinhTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(ARGN)
    install(DIRECTORY ${ARGN}/tinh DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endif()
endfunction()

# Installs programs, which find the libraries beside them.
function(tinh_install_tools)
  set_target_properties(${ARGN} PROPERTIES
    INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR}
    INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${ARGN} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# For programs that are built otherwise.
function(tinh_install_pkg_config name)
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in
    ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

tinh_install_library(tinh_runtime ${PROJECT_SOURCE_DIR}/runtime/include)
tinh_install_library(tinh_runtime_static)
# Nobody links it: the runtime finds it beside itself.
install(TARGETS tinh_runtime_cuda
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)
tinh_install_pkg_config(tinh-runtime)
tinh_install_tools(graph-run graph-scale)
if(NOT TINH_RUNTIME_ONLY)
  set_target_properties(tinh_compiler PROPERTIES
    INSTALL_RPATH $ORIGIN INSTALL_RPATH_USE_LINK_PATH ON)
  tinh_install_library(tinh_compiler ${PROJECT_SOURCE_DIR}/compiler/include)
  tinh_install_pkg_config(tinh-compiler)
  tinh_install_tools(graph-compile graph-prune graph-quantize graph-reduce graph-compare graph-opt)
endif()

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
