# The corpus, and libFuzzer for PLIMSOLL_FUZZ_SECONDS, under AddressSanitizer and UBSan. It builds the compiler once more, by clang.
# What it finds lies in crash-* of the test's directory: `fuzz_onnx crash-…` repeats it.
[[ -n ${PLIMSOLL_FUZZ_SECONDS:-} ]] || {
  echo "skipped: the build by clang takes minutes; PLIMSOLL_FUZZ_SECONDS=20 ctest -R 'fuzz: sanitized' asks for it"; exit 77; }
command -v clang++ >/dev/null || { echo "skipped: no clang++, which has libFuzzer (apt-get install clang)"; exit 77; }
set -euo pipefail
echo 'int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >probe.cpp
sed -i 's/^int/extern "C" int/' probe.cpp
clang++ -fsanitize=fuzzer,address,undefined probe.cpp -o probe 2>log || {
  echo "skipped: clang++ here cannot link libFuzzer with sanitizers (apt-get install libclang-rt-dev)"; exit 77; }
cmake -S "$PLIMSOLL_SOURCE" -B build -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DPLIMSOLL_FUZZ=ON \
  -DPLIMSOLL_HARDENED=ON -DBUILD_TESTING=ON >log 2>&1 || { cat log; exit 1; }
cmake --build build -j 2 --target fuzz_onnx >log 2>&1 || { tail -40 log; exit 1; }
mkdir -p found
corpus=$PLIMSOLL_SOURCE/tests/fuzz/corpus/onnx
build/tests/fuzz/fuzz_onnx -runs=0 "$corpus" >log 2>&1 || { tail -60 log; exit 1; }
build/tests/fuzz/fuzz_onnx -max_total_time="$PLIMSOLL_FUZZ_SECONDS" -timeout=60 -rss_limit_mb=4096 -max_len=65536 found "$corpus" >log 2>&1 || {
  tail -60 log; exit 1; }
tail -3 log
