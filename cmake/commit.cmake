# cmake -DROOT=… -DOUT=… -P commit.cmake: writes the commit that is built, as a C++ source. The git
# repository names the commit; in an archive of `git archive`, cmake/archived_commit does; elsewhere, the environment
# variable PLIMSOLL_COMMIT.
set(commit "$ENV{PLIMSOLL_COMMIT}")
file(STRINGS ${ROOT}/cmake/archived_commit archived REGEX "^[0-9a-f]+$")
if(archived)
  string(SUBSTRING ${archived} 0 12 commit)
endif()
if(EXISTS ${ROOT}/.git)
  # --git-dir: git looks in no folder above, and root may build in the clone of another user. If git does not know the
  # commit, what is known otherwise stays.
  execute_process(COMMAND git --git-dir=${ROOT}/.git rev-parse --short=12 HEAD
    OUTPUT_VARIABLE found RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND found)
    set(commit "${found}")
  endif()
endif()
string(CONCAT text
  "// Made by cmake/commit.cmake.\n#include \"tools/plimsoll/commit.h\"\n\n"
  "namespace plimsoll {\n\nconst char* commit() { return \"${commit}\"; }\n\n}  // namespace plimsoll\n")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUT} "${text}")
endif()
