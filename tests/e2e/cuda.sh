# Trainers for a GPU compile and link if nvcc and cuDNN are installed; none is run. One is built from the sources that
# it carries, the others with this build's runtime. Without a driver, each says so.
. "$PLIMSOLL_E2E/trainer.bash"
command -v nvcc >/dev/null || { echo "skipped: there is no nvcc"; exit 77; }
[[ -x "$PLIMSOLL_BUILD/bin/plimsoll-profile-cuda" ]] || { echo "skipped: this build has no CUDA runtime"; exit 77; }

# cuda_trainer DIR MODEL cmake-options… -- compile-options…
cuda_trainer() {
  local directory=$1 model=$2 options=()
  shift 2
  while [[ $1 != -- ]]; do options+=("$1"); shift; done
  shift
  plimsoll compile "$model" -o "$directory" -q --target cuda "$@"
  cmake -S "$directory" -B "$directory/build" -G Ninja -DCMAKE_CUDA_ARCHITECTURES=90 \
    -DPLIMSOLL_WERROR=ON "${options[@]}" >log 2>&1 || { cat log; fail "cmake"; }
  cmake --build "$directory/build" >log 2>&1 || { cat log; fail "build of $directory"; }
  grep -q 'warning' log && { cat log; fail "$directory builds with warnings"; }
  [[ -x "$directory/build/train" ]] || fail "$directory is not linked"
  grep -q '"kind":"cuda"' "$directory/plan.json" || fail "$directory/plan.json does not say cuda"
  [[ ! -e "$directory/runtime/host" ]] || fail "$directory carries the host's runtime"
}

# The networks of these tests, as they are trained on the host: whole, in rounds, offloaded and recomputed under a
# budget. Their engines are those of a described H200.
prebuilt=("${with_runtime[@]}")
small_model
# The test runs nothing of it, so only what has to be optimized is: a debug build would describe all for a debugger.
fast=(-DCMAKE_CXX_FLAGS_RELEASE=-DNDEBUG -DCMAKE_CUDA_FLAGS_RELEASE=-DNDEBUG)
[[ $(nvcc --help) != *--Ofast-compile* ]] || fast+=(-DCMAKE_CUDA_FLAGS=-Ofc=max)
cuda_trainer alone net.onnx "${fast[@]}" -- --batch 64 --costs h200
grep -q '"layout":"nchw: ' alone/plan.json || fail "alone/plan.json is not in nchw"
cuda_trainer rounds net.onnx "${prebuilt[@]}" -- --batch 64 --sub-batch 24 --costs h200 --precision tf32 \
  --optimizer adam
figure() { $python -c 'import json, sys; print(json.load(open(sys.argv[1]))["summary"][sys.argv[2]])' "$@"; }
for spec in resnet18:input=32,stem=cifar,width=16,classes=10 googlenet:input=64,classes=10 \
    densenet121:input=32,classes=10 lstm:steps=12,layers=2,hidden=32,classes=10; do
  name=${spec%%:*}
  plimsoll model "$spec" -o "$name.onnx" 2>/dev/null
  plimsoll plan "$name.onnx" --batch 8 --sub-batch 8 --target cuda --costs h200 --policy auto --effort 0 -q \
    -o free.json
  least=$(figure free.json minimum_bytes) most=$(figure free.json unconstrained_bytes)
  cuda_trainer "$name" "$name.onnx" "${prebuilt[@]}" -- --batch 8 --sub-batch 8 --costs h200 --policy auto \
    --effort 0 --budget $((least + (most - least) / 5))
done
cuda_trainer clipped googlenet.onnx "${prebuilt[@]}" -- --batch 8 --sub-batch 3 --costs h200 --clip-norm 1 \
  --freeze 'conv*' --layout nhwc
cuda_trainer sublinear resnet18.onnx "${prebuilt[@]}" -- --batch 8 --sub-batch 8 --costs h200 --policy sublinear \
  --budget auto

if ! nvidia-smi >/dev/null 2>&1; then
  expect 8 alone/build/train --data synthetic --steps 1;   says "--target host"
fi
