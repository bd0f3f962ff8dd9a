# Warnings, sanitizers and ccache, for every target of the project.
add_compile_options(-Wall -Wextra -Wno-unused-parameter)

if(TINH_SANITIZE)
  # Reports want lines; to describe types as well takes a while.
  add_compile_options(-fsanitize=${TINH_SANITIZE} -fno-omit-frame-pointer
                      -gline-tables-only)
  add_link_options(-fsanitize=${TINH_SANITIZE})
endif()

find_program(TINH_CCACHE ccache)
if(TINH_CCACHE)
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${TINH_CCACHE})
  endforeach()
endif()
