# Runs each target with libFuzzer under AddressSanitizer and UBSan: its whole corpus, and then inputs derived from it
# until some seconds have passed. This builds the targets' libraries once more, with clang and whole folders, which
# takes most of the time, and none if nothing has changed. The build has no warnings, which the other compiler gives,
# and no line numbers: if a target fails, it is built again with them. A failing input is stored as crash-* in the
# test's directory; `build/tests/fuzz/fuzz_onnx crash-…` there reproduces it.
command -v clang++ >/dev/null || { echo "skipped: no clang++, which has libFuzzer (apt-get install clang)"; exit 77; }
set -euo pipefail
seconds=${PLIMSOLL_FUZZ_SECONDS:-10}
echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >probe.cpp
clang++ -fsanitize=fuzzer,address,undefined probe.cpp -o probe 2>log || {
  echo "skipped: clang++ here cannot link libFuzzer with sanitizers (apt-get install libclang-rt-dev)"; exit 77; }

targets=()
for corpus in "$PLIMSOLL_SOURCE"/tests/fuzz/corpus/*/; do targets+=("$(basename "$corpus")"); done
started=$SECONDS
built() { # ON or OFF, whether with line numbers; targets…
  cmake -S "$PLIMSOLL_SOURCE" -B build -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_CXX_FLAGS=-w -DPLIMSOLL_FUZZ=ON -DPLIMSOLL_FUZZ_LINES="$1" -DPLIMSOLL_HARDENED=ON -DBUILD_TESTING=ON \
    -DPLIMSOLL_BATCH=256 >log 2>&1 || { cat log; exit 1; }
  cmake --build build -j "$(nproc)" --target "${@:2}" >log 2>&1 || { tail -40 log; exit 1; }
}
# Shows the report of the last run, and that of the failing input with line numbers.
failed() { # target
  tail -60 log
  built ON "fuzz_$1"
  for input in crash-* leak-* oom-* timeout-*; do
    [[ -e $input ]] || continue
    echo "$input, with line numbers:"
    "build/tests/fuzz/fuzz_$1" -timeout=60 -rss_limit_mb=4096 "$input" >log 2>&1 || tail -60 log
  done
  exit 1
}
built OFF "${targets[@]/#/fuzz_}"
echo "built in $((SECONDS - started)) s"
for target in "${targets[@]}"; do
  corpus=$PLIMSOLL_SOURCE/tests/fuzz/corpus/$target
  mkdir -p "found/$target"
  run=("build/tests/fuzz/fuzz_$target" -timeout=60 -rss_limit_mb=4096 -max_len=65536)
  "${run[@]}" -max_total_time="$seconds" "found/$target" "$corpus" >log 2>&1 || failed "$target"
  echo "fuzz_$target: $(tail -1 log)"
done
