# Finds LLVM, MLIR and LLD 22 and defines how code on top of them is built:
#   tinh_add_tablegen(OUTPUT TD ARGS…)   one mlir-tblgen run
#   tinh_add_table(OUTPUT TD)   one llvm-tblgen run, for tables of records
#   tinh_add_dialect(NAME TD SOURCES files… [PARTS parts…] [INTERFACES TD]
#                    [DEPENDS targets…])
#     a dialect: what mlir-tblgen makes for it, and its library
#   tinh_add_compiler_library(NAME SOURCES… [DEPENDS targets…] [LINK libs…]
#                             [PCH target | NO_PCH])
#     an object library that becomes part of libtinh_compiler.so
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
find_package(LLVM REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/llvm)
find_package(LLD REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/lld)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "Tinh needs LLVM and MLIR 22, found ${LLVM_PACKAGE_VERSION}")
endif()
find_package(nlohmann_json REQUIRED)

find_program(MLIR_TBLGEN mlir-tblgen HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
find_program(LLVM_TBLGEN llvm-tblgen HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)

# What every translation unit on MLIR is compiled with.
add_library(tinh_mlir_options INTERFACE)
target_include_directories(tinh_mlir_options SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_include_directories(tinh_mlir_options INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/compiler/include
  ${PROJECT_SOURCE_DIR}/runtime/include ${PROJECT_BINARY_DIR})
target_link_libraries(tinh_mlir_options INTERFACE MLIR LLVM)
target_compile_options(tinh_mlir_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
separate_arguments(TINH_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(tinh_mlir_options INTERFACE ${TINH_LLVM_DEFINITIONS})

# Runs a tblgen on TD and writes OUTPUT (relative to the build's root).
function(tinh_run_tablegen tblgen output td)
  set(out ${PROJECT_BINARY_DIR}/${output})
  get_filename_component(dir ${out} DIRECTORY)
  file(MAKE_DIRECTORY ${dir})
  add_custom_command(OUTPUT ${out}
    COMMAND ${tblgen} ${ARGN} -I ${PROJECT_SOURCE_DIR}
            -I /usr/lib/llvm-22/include ${CMAKE_CURRENT_SOURCE_DIR}/${td}
            -o ${out} -d ${out}.d --write-if-changed
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${td}
    DEPFILE ${out}.d
    COMMENT "Generating ${output}")
endfunction()
function(tinh_add_tablegen output td)
  tinh_run_tablegen(${MLIR_TBLGEN} ${output} ${td} ${ARGN})
endfunction()
function(tinh_add_table output td)
  tinh_run_tablegen(${LLVM_TBLGEN} ${output} ${td} -gen-searchable-tables)
endfunction()

# One precompiled header serves all that is built on MLIR, a smaller one what
# computes with tensors and sees no IR.
function(tinh_add_precompiled_header name header)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/MlirPrecompiled.cpp)
  target_link_libraries(${name} PUBLIC
    tinh_mlir_options nlohmann_json::nlohmann_json)
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/${header})
  # Tools and tests use the compiler's C++ interfaces, which are not annotated.
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET default
                        VISIBILITY_INLINES_HIDDEN OFF)
endfunction()
tinh_add_precompiled_header(tinh_mlir_pch MlirPrecompiled.h)
tinh_add_precompiled_header(tinh_tensor_pch TensorPrecompiled.h)
add_dependencies(tinh_mlir_pch tinh_graph_headers tinh_graph_facts)
add_dependencies(tinh_tensor_pch tinh_graph_facts)

# Lets a program or library on MLIR have that header, which wants code that is
# compiled in the same way.
function(tinh_use_precompiled_header name)
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET default
                        VISIBILITY_INLINES_HIDDEN OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  target_precompile_headers(${name} REUSE_FROM tinh_mlir_pch)
endfunction()

# Compiles the sources of a library some at a time: most of the time goes into
# templates of MLIR that each of them would instantiate again. A source in which
# LLVM's own namespace is open stays alone, since its IR has the names of MLIR's.
function(tinh_compile_together name)
  set_target_properties(${name} PROPERTIES
    UNITY_BUILD ${TINH_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE 8)
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
    if(EXISTS ${path})
      file(STRINGS ${path} opens_llvm REGEX "^using namespace llvm;" LIMIT_COUNT 1)
      if(opens_llvm)
        set_source_files_properties(${source} PROPERTIES
          SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endif()
  endforeach()
endfunction()

function(tinh_add_compiler_library name)
  cmake_parse_arguments(arg "NO_PCH" "PCH" "DEPENDS;LINK" ${ARGN})
  add_library(${name} OBJECT ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC tinh_mlir_options ${arg_LINK})
  if(NOT arg_PCH)
    set(arg_PCH tinh_mlir_pch)
  endif()
  if(NOT arg_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM ${arg_PCH})
    tinh_compile_together(${name} ${arg_UNPARSED_ARGUMENTS})
  endif()
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY TINH_COMPILER_LIBRARIES ${name})
endfunction()

# Makes NAMEDialect, NAMEEnums and NAMEAttrs of TD, and PARTS: Types, Ops, and
# Interfaces and AttrInterfaces of the file that INTERFACES names. The target
# tinh_name_headers has all of them, the library tinh_name SOURCES.
function(tinh_add_dialect name td)
  cmake_parse_arguments(arg "" "INTERFACES" "PARTS;SOURCES;DEPENDS" ${ARGN})
  string(TOLOWER ${name} dialect)
  set(Dialect dialect -dialect=${dialect})
  set(Enums enum)
  set(Attrs attrdef -attrdefs-dialect=${dialect})
  set(Types typedef -typedefs-dialect=${dialect})
  set(Ops op -dialect=${dialect})
  set(Interfaces op-interface)
  set(AttrInterfaces attr-interface)
  set(headers)
  foreach(part Dialect Enums Attrs ${arg_PARTS})
    set(source ${td})
    if(part MATCHES Interfaces)
      set(source ${arg_INTERFACES})
    endif()
    list(POP_FRONT ${part} kind)
    set(file dialects/${dialect}/${name}${part})
    tinh_add_tablegen(${file}.h.inc ${source} -gen-${kind}-decls ${${part}})
    tinh_add_tablegen(${file}.cpp.inc ${source} -gen-${kind}-defs ${${part}})
    list(APPEND headers ${PROJECT_BINARY_DIR}/${file}.h.inc
         ${PROJECT_BINARY_DIR}/${file}.cpp.inc)
  endforeach()
  add_custom_target(tinh_${dialect}_headers DEPENDS ${headers})
  tinh_add_compiler_library(tinh_${dialect} ${arg_SOURCES}
    DEPENDS tinh_${dialect}_headers ${arg_DEPENDS})
endfunction()
