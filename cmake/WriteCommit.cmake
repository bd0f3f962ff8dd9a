# cmake -DSOURCE=DIR -DOUTPUT=FILE -P WriteCommit.cmake: a header with the commit
# that is checked out, written if it is another one than before.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=10 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define TINH_COMMIT \"${commit}\"\n")
