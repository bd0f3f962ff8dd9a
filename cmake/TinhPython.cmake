# What the Python package is linked from. python/ is a project of its own, which
# compiles the bindings alone: this writes python-objects.cmake for it, with
#   TINH_RUNTIME_OBJECTS, TINH_CUDA_OBJECTS, TINH_COMPILER_OBJECTS
#                                                 this build's object files
#   TINH_CUDA_LIBRARY                             what the second of these become
#   TINH_ARCHIVES                                 and libraries of tools
#   TINH_SYSTEM_ARCHIVES                          those of LLVM, MLIR and LLD
# The target python-objects makes them.
get_property(compiler_libraries GLOBAL PROPERTY TINH_COMPILER_LIBRARIES)
set(tools tinh_graph_compare tinh_graph_compile tinh_graph_prune
  tinh_graph_quantize tinh_graph_reduce tinh_graph_run tinh_graph_scale)
set(archives tinh_model_samples tinh_other_engine tinh_quantize_for
  tinh_tools_bisection tinh_tools_command_line tinh_tools_common tinh_tools_data
  tinh_tools_page tinh_tools_ranks tinh_tools_report tinh_tools_samples
  tinh_tools_scaling tinh_tools_schedule tinh_tools_terminal tinh_tools_training)
add_custom_target(python-objects
  DEPENDS tinh_runtime_core tinh_runtime_cuda ${compiler_libraries} ${tools} ${archives})

# Objects, not precompiled headers.
set(compiler_objects)
foreach(library ${compiler_libraries} ${tools})
  list(APPEND compiler_objects $<FILTER:$<TARGET_OBJECTS:${library}>,INCLUDE,[.]o$>)
endforeach()
set(cuda_objects)
foreach(library tinh_runtime_cuda tinh_runtime_cuda_core)
  list(APPEND cuda_objects $<FILTER:$<TARGET_OBJECTS:${library}>,INCLUDE,[.]o$>)
endforeach()
list(TRANSFORM archives REPLACE "(.+)" "$<TARGET_FILE:\\1>")
set(system_archives)
foreach(library lldELF lldCommon ${MLIR_EXPORTED_TARGETS} ${LLVM_AVAILABLE_LIBS})
  if(TARGET ${library} AND library MATCHES "^(LLVM|MLIR|lld)")
    get_target_property(type ${library} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND system_archives $<TARGET_FILE:${library}>)
    endif()
  endif()
endforeach()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/python-objects.cmake CONTENT
"set(TINH_RUNTIME_OBJECTS \"$<FILTER:$<TARGET_OBJECTS:tinh_runtime_core>,INCLUDE,[.]o$>\")
set(TINH_CUDA_OBJECTS \"${cuda_objects}\")
set(TINH_CUDA_LIBRARY \"$<TARGET_SONAME_FILE_NAME:tinh_runtime_cuda>\")
set(TINH_COMPILER_OBJECTS \"${compiler_objects}\")
set(TINH_ARCHIVES \"${archives}\")
set(TINH_SYSTEM_ARCHIVES \"${system_archives}\")
")
