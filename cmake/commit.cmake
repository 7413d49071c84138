# cmake -DROOT=… -DOUT=… -P commit.cmake: writes the commit that is built, as a C++ source. It is known in a git
# repository and in what `git archive` writes (cmake/archived_commit); elsewhere the environment's PLIMSOLL_COMMIT names it.
set(commit "$ENV{PLIMSOLL_COMMIT}")
file(STRINGS ${ROOT}/cmake/archived_commit archived REGEX "^[0-9a-f]+$")
if(archived)
  string(SUBSTRING ${archived} 0 12 commit)
endif()
if(EXISTS ${ROOT}/.git)
  execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY ${ROOT} OUTPUT_VARIABLE commit ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
set(text "// Made by cmake/commit.cmake.\n#include \"tools/plimsoll/commit.h\"\n\nnamespace plimsoll {\n\nconst char* commit() { return \"${commit}\"; }\n\n}  // namespace plimsoll\n")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUT} "${text}")
endif()
