#!/usr/bin/env bash
# Installs, builds and runs every test, with a compiler that looks at its indices. The last line is ctest's count.
#   tools/test.sh [ctest arguments]
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh test
build=${PLIMSOLL_BUILD:-build}
jobs=$(nproc)
started=$SECONDS
cmake -S . -B "$build" -G Ninja -DBUILD_TESTING=ON -DPLIMSOLL_HARDENED=ON >/dev/null
cmake --build "$build" -j "$jobs"
echo "test: built in $((SECONDS - started)) s" >&2
# Trainers run beside each other here: who waits for a thread must not keep it from running.
export OMP_WAIT_POLICY=passive
ctest --test-dir "$build" --output-on-failure -j "$jobs" "$@"
