# The generated directory is self-contained: it builds from what it carries, without warnings, with g++ and with clang++,
# optimized and to be debugged, for this processor and for the simplest one.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model resnet18:input=32,stem=cifar,width=16,classes=10 -o net.onnx 2>/dev/null
plimsoll compile net.onnx --batch 8 --budget 70% --costs modelled -o trainer -q
# clang's warnings do not depend on how much it optimizes.
for build in g++:Release:x86-64 clang++-14:Debug:native; do
  IFS=: read -r compiler type processor <<<"$build"
  [[ $(uname -m) == x86_64 ]] || processor=native
  command -v $compiler >/dev/null || { echo "$compiler is not there"; continue; }
  cmake -S trainer -B build-$compiler -G Ninja -DCMAKE_CXX_COMPILER=$compiler -DCMAKE_BUILD_TYPE=$type -DPLIMSOLL_PROCESSOR=$processor >log 2>&1 || { cat log; fail "cmake with $compiler"; }
  cmake --build build-$compiler >log 2>&1 || { cat log; fail "build with $compiler"; }
  grep -q 'warning:' log && { cat log; fail "$compiler warns"; }
  build-$compiler/train --data synthetic --steps 2 --quiet
done
