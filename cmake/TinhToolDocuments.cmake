# A tool's manual page, and what makes shells complete its command line. They are
# made of its options: the tool itself writes them.
function(tinh_add_tool_documents name)
  set(folder ${PROJECT_BINARY_DIR}/documents)
  file(MAKE_DIRECTORY ${folder})
  set(page ${folder}/${name}.1)
  set(bash ${folder}/${name})
  set(zsh ${folder}/_${name})
  set(fish ${folder}/${name}.fish)
  add_custom_command(OUTPUT ${page} ${bash} ${zsh} ${fish}
    COMMAND ${name} --man > ${page}
    COMMAND ${name} --completion bash > ${bash}
    COMMAND ${name} --completion zsh > ${zsh}
    COMMAND ${name} --completion fish > ${fish}
    DEPENDS ${name})
  add_custom_target(${name}-documents ALL DEPENDS ${page} ${bash} ${zsh} ${fish})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  # Where these shells look, below /usr and /usr/local alike.
  set(data ${CMAKE_INSTALL_DATADIR})
  install(FILES ${bash} DESTINATION ${data}/bash-completion/completions)
  install(FILES ${zsh} DESTINATION ${data}/zsh/site-functions)
  install(FILES ${fish} DESTINATION ${data}/fish/vendor_completions.d)
endfunction()
