#!/usr/bin/env bash
# A complete run on this machine: installs, builds, writes a residual network, compiles it for a quarter of its
# unlimited memory, builds the trainer, trains it on handwritten digits on the CPU, and shows the plan.
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
# A new directory has no tests, and is compiled by whole folders, which is fastest for a single build. An existing one
# keeps its settings: if its tests were turned off, ctest would still run the stale ones that were built before.
new=()
[[ -e build/CMakeCache.txt ]] || new=(-DBUILD_TESTING=OFF -DPLIMSOLL_BATCH=256)
cmake -S . -B build -G Ninja "${new[@]}" >/dev/null
cmake --build build -j "$(nproc)" \
  --target plimsoll plimsoll-profile-host >&2  # only what the demo needs: no GPU, no tests
mkdir -p "$work"
export PATH="$PWD/build/bin:$PATH"

say "Real data: the handwritten digits of scikit-learn, enlarged to 32x32"
/usr/bin/python3 tools/data/digits.py "$work/digits"

say "A residual network"
show plimsoll model resnet18:input=32,stem=cifar,width=16,channels=1,classes=10 -o "$work/net.onnx"
show plimsoll inspect "$work/net.onnx"

say "Compiled for a quarter of its unlimited memory, without splitting the batch"
show plimsoll compile "$work/net.onnx" --batch 64 --budget 25% --costs modelled -o "$work/trainer"

# Without PLIMSOLL_RUNTIME a trainer would build the runtime itself.
say "Building the trainer"
show cmake -S "$work/trainer" -B "$work/trainer/build" -DPLIMSOLL_RUNTIME="$PWD/build" >/dev/null
show cmake --build "$work/trainer/build" -j "$(nproc)" >&2

say "Training"
show "$work/trainer/build/train" --data "npy:$work/digits/train_x.npy,$work/digits/train_y.npy" \
  --test "npy:$work/digits/test_x.npy,$work/digits/test_y.npy" --epochs 5 --lr 0.1 --lr-schedule cosine \
  --save "$work/net-trained.onnx"

say "The plan"
show plimsoll inspect "$work/trainer"
