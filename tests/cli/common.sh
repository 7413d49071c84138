# Shared by the tests of the command line. Sourced, in the test's own directory.
set -euo pipefail
# The directory is emptied. A script run by hand elsewhere would delete the files there.
[[ $(pwd -P) == "$(realpath "${PLIMSOLL_BUILD:?run through ctest}")"/* ]] ||
  { echo "FAILED: $PWD is not below the build directory" >&2; exit 1; }
find . -mindepth 1 -delete

fail() { echo "FAILED: $*" >&2; exit 1; }

# expect CODE COMMAND…: runs the command, stores stdout in out and stderr in err, and requires that exit code.
expect() {
  local wanted=$1 got=0
  shift
  "$@" >out 2>err || got=$?
  [[ $got -eq $wanted ]] || { cat out err >&2; fail "exit $got; expected $wanted: $*"; }
}

# says TEXT: the last command's stderr or stdout contains the text.
says() { grep -qF -- "$1" err out || { cat out err >&2; fail "does not say: $1"; }; }

# Tests run concurrently. Disturbed times are not cached, so a test of the cache removes the mark from a profiler's
# answer.
export PLIMSOLL_UNDISTURBED='s/,"disturbed":true//g; s/"disturbed":true,//g'

# A network without batch normalization, small enough for every test.
small_model() { plimsoll model lenet -o "${1:-net.onnx}" 2>/dev/null; }

# profiler FILE SCRIPT: a profiler whose answers are filtered by `sed SCRIPT`.
profiler() {
  printf '#!/usr/bin/env bash\nset -euo pipefail\n"%s" "$@" | sed %q\n' "$(command -v plimsoll-profile-host)" "$2" >"$1"
  chmod +x "$1"
}

# From here on measured times are cached, whatever else the machine does.
undisturbed_profiler() {
  profiler undisturbed "$PLIMSOLL_UNDISTURBED"
  export PLIMSOLL_PROFILER=$PWD/undisturbed
}
