# Trainers for a GPU compile and link where nvcc and cuDNN are; none is run. One is built of all that it carries, the others
# on this build's runtime. Each says, where there is no driver, that there is none.
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
  cmake -S "$directory" -B "$directory/build" -G Ninja -DCMAKE_CUDA_ARCHITECTURES=90 "${options[@]}" >log 2>&1 || { cat log; fail "cmake"; }
  cmake --build "$directory/build" >log 2>&1 || { cat log; fail "build of $directory"; }
  grep -q 'warning' log && { cat log; fail "$directory builds with warnings"; }
  [[ -x "$directory/build/train" ]] || fail "$directory is not linked"
  grep -q '"kind":"cuda"' "$directory/plan.json" || fail "$directory/plan.json does not say cuda"
  [[ ! -e "$directory/runtime/host" ]] || fail "$directory carries the host's runtime"
}

# A network of what this backend's own kernels do.
$python - <<'PY'
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8, 6, 6])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 8])
r = np.random.RandomState(0)
weights = {"scale": np.ones(8), "bias": np.zeros(8), "mean": np.zeros(8), "var": np.ones(8), "gain": r.rand(8, 1, 1)}
nodes = [helper.make_node("Mul", ["x", "gain"], ["a"], name="gain"),
         helper.make_node("BatchNormalization", ["a", "scale", "bias", "mean", "var"], ["b"], name="norm"),
         helper.make_node("Relu", ["b"], ["c"], name="relu"),
         helper.make_node("MaxPool", ["c"], ["d"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
         helper.make_node("GlobalAveragePool", ["d"], ["e"], name="mean"),
         helper.make_node("Flatten", ["e"], ["y"], name="flat")]
graph = helper.make_graph(nodes, "own", [x], [y], [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), "own.onnx")
PY
cuda_trainer own own.onnx -DPLIMSOLL_RUNTIME="$PLIMSOLL_BUILD" -- --batch 16
cuda_trainer adam own.onnx -DPLIMSOLL_RUNTIME="$PLIMSOLL_BUILD" -- --batch 16 --sub-batch 6 --optimizer adam

# One of convolutions and products, in each arithmetic, whole and in rounds; its engines are those of a described H200.
small_model
cuda_trainer alone net.onnx -- --batch 64 --costs h200
cuda_trainer rounds net.onnx -DPLIMSOLL_RUNTIME="$PLIMSOLL_BUILD" -- --batch 64 --sub-batch 24 --costs h200 --math tf32

if ! nvidia-smi >/dev/null 2>&1; then
  expect 8 alone/build/train --data synthetic --steps 1;   says "--target host"
fi
