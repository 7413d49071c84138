#!/usr/bin/env bash
# The whole way on this machine: install, build, write a residual network, compile it for a quarter of the memory that it
# would take, build the trainer, train it on handwritten digits on the CPU, and show the plan.
#   tools/demo.sh [WORK_DIRECTORY]
set -euo pipefail
cd "$(dirname "$0")/.."
work=${1:-build/demo}

say() { printf '\n\033[1m%s\033[0m\n' "== $*" >&2; }
[[ -t 2 && -z "${NO_COLOR:-}" ]] || say() { printf '\n== %s\n' "$*" >&2; }
show() { printf '$ %s\n' "$*" >&2; "$@"; }

say "Setting up"
tools/setup.sh
say "Building plimsoll"
[[ -e build/CMakeCache.txt ]] || whole=-DPLIMSOLL_BATCH=64  # folders as wholes, which is fastest when all is built once
cmake -S . -B build -G Ninja -DBUILD_TESTING=OFF ${whole:+"$whole"} >/dev/null
cmake --build build -j "$(nproc)" --target plimsoll plimsoll-profile-host >&2  # what runs here: no GPU, no tests
mkdir -p "$work"
export PATH="$PWD/build/bin:$PATH"

say "Real data: the handwritten digits of scikit-learn, enlarged to 32x32"
/usr/bin/python3 tools/data/digits.py "$work/digits"

say "A residual network"
show plimsoll model resnet18:input=32,stem=cifar,width=16,channels=1,classes=10 -o "$work/net.onnx"
show plimsoll inspect "$work/net.onnx"

say "Compiled for a quarter of what training would take, without splitting the batch"
show plimsoll compile "$work/net.onnx" --batch 64 --budget 25% --costs modelled -o "$work/trainer"

# A trainer builds its runtime itself, where none is at hand.
say "Building the trainer"
show cmake -S "$work/trainer" -B "$work/trainer/build" -DPLIMSOLL_RUNTIME="$PWD/build" >/dev/null
show cmake --build "$work/trainer/build" -j "$(nproc)" >&2

say "Training"
show "$work/trainer/build/train" --data "npy:$work/digits/train_x.npy,$work/digits/train_y.npy" \
  --test "npy:$work/digits/test_x.npy,$work/digits/test_y.npy" --epochs 5 --lr 0.1 --lr-schedule cosine --save "$work/net-trained.onnx"

say "The plan"
show plimsoll inspect "$work/trainer"
