# The generated directory is self-contained: it builds from the sources that it carries, without warnings, with g++ and
# clang++, in optimized and debug builds, in fp32 and bf16, for this processor and for the baseline one.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model resnet18:input=32,stem=cifar,width=16,classes=10 -o net.onnx 2>/dev/null
# Each trainer compiles its kernels for its types only (runtime/compiled_types.h).
for precision in fp32 bf16; do
  plimsoll compile net.onnx --batch 8 --budget 70% --costs modelled --precision $precision -o trainer-$precision -q
done
# clang's warnings do not depend on the optimization level.
for build in g++:Release:x86-64:fp32 clang++:Debug:native:bf16; do
  IFS=: read -r compiler type processor precision <<<"$build"
  [[ $(uname -m) == x86_64 ]] || processor=native
  command -v $compiler >/dev/null || { echo "$compiler is not there"; continue; }
  cmake -S trainer-$precision -B build-$compiler -G Ninja -DCMAKE_CXX_COMPILER=$compiler -DCMAKE_BUILD_TYPE=$type \
    -DPLIMSOLL_PROCESSOR=$processor >log 2>&1 || { cat log; fail "cmake with $compiler"; }
  cmake --build build-$compiler >log 2>&1 || { cat log; fail "build with $compiler"; }
  grep -q 'warning:' log && { cat log; fail "$compiler warns"; }
  build-$compiler/train --data synthetic --steps 2 --quiet
done

# The licenses of the carried sources are included, and the README says to whom they belong.
cmp trainer-fp32/LICENSE "$PLIMSOLL_SOURCE/LICENSE" || fail "the license of what is carried is not there"
grep -q "This program is yours" trainer-fp32/README.md || fail "the README does not say whose the program is"

# A new compiler warning must not fail a user's build; it fails ours, on request. Only the changed source is compiled.
sed -i '1i static int nobody_calls_this() { return 1; }' trainer-fp32/runtime/train/main.cpp
changed=$PWD/trainer-fp32/runtime/train/main.cpp^
cmake --build build-g++ --target "$changed" >log 2>&1 || { cat log; fail "a warning ended the build"; }
grep -q "warning:.*nobody_calls_this" log || fail "there is no warning"
cmake build-g++ -DPLIMSOLL_WERROR=ON >log 2>&1 || { cat log; fail "cmake with PLIMSOLL_WERROR=ON"; }
! cmake --build build-g++ --target "$changed" >log 2>&1 || fail "PLIMSOLL_WERROR=ON let a warning through"
grep -q "error:.*nobody_calls_this" log || { cat log; fail "the build ends, but not for the warning"; }
