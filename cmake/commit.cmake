# Writes HEADER with the commit of SOURCE, if that changed. Run by each build: a commit needs no new
# configuration.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --exclude "*"
  OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT COMMIT)
  set(COMMIT unknown)
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define DASHLM_COMMIT \"${COMMIT}\"\n")
