# Attention with dropout, on the emulation of a GPU: the fused operator drops the elements that the host's trainer drops
# with the attention that is spelled out, in every round and iteration, step by step and as a graph.
. "$(dirname "$0")/emulated.bash"
$python - <<'PY'
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
r = np.random.RandomState(1)
weights = {name: r.randn(8, 8) * 0.5 for name in ("wq", "wk", "wv")} | {"fc": r.randn(8, 5) * 0.5, "fb": np.zeros(5)}
initializers = [numpy_helper.from_array(values.astype(np.float32), name) for name, values in weights.items()]
node = helper.make_node
constants = {"scale": np.array(0.35, np.float32), "ratio": np.array(0.3, np.float32), "training": np.array(True)}
nodes = [*(node("Constant", [], [name], value=numpy_helper.from_array(value)) for name, value in constants.items()),
         *(node("MatMul", ["x", "w" + name], [name], name=name) for name in "qkv"),
         node("Transpose", ["k"], ["turned"], name="turn", perm=[0, 2, 1]),
         node("MatMul", ["q", "turned"], ["product"], name="product"),
         node("Mul", ["product", "scale"], ["scores"], name="scaled"),
         node("Softmax", ["scores"], ["p"], name="softmax", axis=-1),
         node("Dropout", ["p", "ratio", "training"], ["dropped"], name="drop"),
         node("MatMul", ["dropped", "v"], ["mixed"], name="mixed"),
         node("ReduceMean", ["mixed"], ["mean"], name="mean", axes=[1], keepdims=0),
         node("Gemm", ["mean", "fc", "fb"], ["y"], name="fc")]
graph = helper.make_graph(nodes, "attention", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64, 8])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 5])], initializers)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), "net.onnx")
np.save("x.npy", r.randn(15, 64, 8).astype(np.float32))
np.save("y.npy", r.randint(0, 5, 15).astype(np.int32))
PY
options=(--batch 5 --sub-batch 3 --optimizer sgd)
build_trainer host net.onnx "${options[@]}" --attention spelled
trained host host.onnx --epochs 2 --lr 0.5 --seed 3
emulated fused net.onnx "${options[@]}" --attention fused
grep -q '"op":"ScaledDotProductAttention"' fused/plan.json || fail "no fused attention in fused/plan.json"
! grep -q '"op":"Dropout"' fused/plan.json || fail "a dropout of its own in fused/plan.json"
run fused fused.onnx --epochs 2 --lr 0.5 --seed 3
same host.onnx fused.onnx 1e-4
run fused steps.onnx --epochs 2 --lr 0.5 --seed 3 --no-graph
same fused.onnx steps.onnx 0
run fused other.onnx --epochs 2 --lr 0.5 --seed 4
! $python "$PLIMSOLL_E2E/weights.py" host.onnx other.onnx 1e-4 >log || fail "another seed drops the same elements"
