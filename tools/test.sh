#!/usr/bin/env bash
# Installs, builds and runs every test, with a compiler that checks its indices (PLIMSOLL_HARDENED). Prints the ten
# slowest tests, the skipped ones with the reason, the last lines of the failed ones, and then ctest's result; the last
# line is ctest's count.
#   tools/test.sh [ctest arguments]        for example -L quick: the tests that take less than four minutes together
# With PLIMSOLL_NO_SKIPS=1, or where CI is set, a test that is skipped although the machine has what it needs is a
# failure (tools/test_summary.py lists what tests need).
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh test
build=${PLIMSOLL_BUILD:-build}
first=()
jobs=$(nproc)
started=$SECONDS
# A first build compiles each folder as one batch, which takes a third less time and finds names that two files of a
# folder both define. No test runs kernels on a GPU, so their files are not optimized.
[[ -e $build/CMakeCache.txt ]] || first=(-DPLIMSOLL_BATCH=256 -DPLIMSOLL_FAST_DEVICE_COMPILE=ON)
cmake -S . -B "$build" -G Ninja -DBUILD_TESTING=ON -DPLIMSOLL_HARDENED=ON \
  -DPLIMSOLL_WERROR=ON "${first[@]}" >/dev/null
cmake --build "$build" -j "$jobs"
echo "test: built in $((SECONDS - started)) s" >&2

# ctest prints each test as it ends and a closing block, which begins with its count. The block is held back, so that
# the summary stands above it and the count stays the last thing to read.
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
code=0
# Some tests wait, for a lost rank or a silent shell, so three more run than there are cores. With two more, the cores
# were idle a seventh of the time.
ctest --test-dir "$build" --output-on-failure --no-label-summary --output-junit "$results/junit.xml" \
  -j "$((jobs + 3))" "$@" |
  while IFS= read -r line; do
    [[ ! $line =~ ^[0-9]+%\ tests\ passed,\ [0-9]+\ tests?\ failed\ out\ of ]] || held=1
    if [[ -n ${held:-} ]]; then printf '%s\n' "$line" >>"$results/closing"; else printf '%s\n' "$line"; fi
  done || code=$?

strict=()
[[ -z ${PLIMSOLL_NO_SKIPS:-}${CI:-} ]] || strict=(--no-skips)
if [[ -s $results/junit.xml ]]; then
  /usr/bin/python3 tools/test_summary.py "$results/junit.xml" "$build" "${strict[@]}" || code=${code/#0/1}
fi
if [[ -s $results/closing ]]; then
  cat "$results/closing"
  [[ $(wc -l <"$results/closing") -eq 1 ]] || head -n 1 "$results/closing"
fi
exit "$code"
