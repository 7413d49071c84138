#!/usr/bin/env bash
# Installs, builds and runs every test, with a compiler that looks at its indices. The last line is ctest's count.
#   tools/test.sh [ctest arguments]
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh test
build=${PLIMSOLL_BUILD:-build}
jobs=$(nproc)
started=$SECONDS
# Folders as wholes where nothing was built before: compiled once, they take a third less time so, and if any two files of one
# had a name in common it would be told here.
[[ -e $build/CMakeCache.txt ]] || whole=-DPLIMSOLL_BATCH=64
cmake -S . -B "$build" -G Ninja -DBUILD_TESTING=ON -DPLIMSOLL_HARDENED=ON -DPLIMSOLL_WERROR=ON ${whole:+"$whole"} >/dev/null
cmake --build "$build" -j "$jobs"
echo "test: built in $((SECONDS - started)) s" >&2
# Some tests wait for a rank that is lost or a shell that is silent: one more than there are cores.
ctest --test-dir "$build" --output-on-failure -j "$((jobs + 1))" "$@"
