# Runs each target with libFuzzer under AddressSanitizer and UBSan: its corpus, and then inputs derived from it for some
# seconds. This builds the targets' libraries once more, with clang and whole folders, which takes most of the time, and
# none if nothing has changed. A failing input is stored as crash-* in the test's directory;
# `build/tests/fuzz/fuzz_onnx crash-…` there reproduces it.
command -v clang++ >/dev/null || { echo "skipped: no clang++, which has libFuzzer (apt-get install clang)"; exit 77; }
set -euo pipefail
seconds=${PLIMSOLL_FUZZ_SECONDS:-10}
echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >probe.cpp
clang++ -fsanitize=fuzzer,address,undefined probe.cpp -o probe 2>log || {
  echo "skipped: clang++ here cannot link libFuzzer with sanitizers (apt-get install libclang-rt-dev)"; exit 77; }

targets=()
for corpus in "$PLIMSOLL_SOURCE"/tests/fuzz/corpus/*/; do targets+=("$(basename "$corpus")"); done
started=$SECONDS
cmake -S "$PLIMSOLL_SOURCE" -B build -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DPLIMSOLL_FUZZ=ON \
  -DPLIMSOLL_HARDENED=ON -DBUILD_TESTING=ON -DPLIMSOLL_BATCH=64 >log 2>&1 || { cat log; exit 1; }
cmake --build build -j "$(nproc)" --target "${targets[@]/#/fuzz_}" >log 2>&1 || { tail -40 log; exit 1; }
echo "built in $((SECONDS - started)) s"
for target in "${targets[@]}"; do
  corpus=$PLIMSOLL_SOURCE/tests/fuzz/corpus/$target
  mkdir -p "found/$target"
  run=("build/tests/fuzz/fuzz_$target" -timeout=60 -rss_limit_mb=4096 -max_len=65536)
  "${run[@]}" -runs=0 "$corpus" >log 2>&1 || { tail -60 log; exit 1; }
  "${run[@]}" -max_total_time="$seconds" "found/$target" "$corpus" >log 2>&1 || { tail -60 log; exit 1; }
  echo "fuzz_$target: $(tail -1 log)"
done
