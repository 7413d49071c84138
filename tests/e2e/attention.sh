# The operators of opsets 23 and 24 for transformers compute the results of ONNX's own reference.
. "$PLIMSOLL_E2E/trainer.bash"
newer=$(python_with numpy onnx onnx.reference onnx.reference.ops.op_attention)
if [[ -z $newer ]]; then
  echo "skipped: no Python here has an onnx that knows Attention (tools/setup.sh python, or set PLIMSOLL_PYTHON)"
  exit 77
fi
"$newer" - <<'PY'
import numpy as np, onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
N, T, WIDTH = 4, 6, 16
chance = np.random.RandomState(3)
nodes, weights, made = [], [], []


def weight(name, array):
    weights.append(numpy_helper.from_array(array, name))
    return name


def node(op, *inputs, **attributes):
    name = f"n{len(nodes)}"
    nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
    return name


def constant(array):
    return node("Constant", value=numpy_helper.from_array(array))


def linear(x, name, width=WIDTH):
    return node("MatMul", x, weight(name, (chance.randn(WIDTH, width) / 3).astype(np.float32)))


def heads(x, count):
    return node("Transpose", node("Reshape", x, constant(np.array([0, T, count, -1]))), perm=[0, 2, 1, 3])


def merged(x):
    return node("Reshape", node("Transpose", x, perm=[0, 2, 1, 3]), constant(np.array([0, T, -1])))


def projected(name, count=WIDTH):
    return linear("x", name + ".q"), linear("x", name + ".k", count), linear("x", name + ".v", count)


made.append(node("Attention", *projected("shared", 8), q_num_heads=4, kv_num_heads=2, is_causal=1))
seen = chance.rand(T, T) < 0.6
seen[:, 0] = True
seen[2] = False  # a query that sees nothing
q, k, v = (heads(x, 2) for x in projected("capped"))
made.append(merged(node("Attention", q, k, v, constant(seen), scale=0.4, softcap=2.0)))
added = np.where(chance.rand(1, 4, T, T) < 0.7, chance.randn(1, 4, T, T), -1e9).astype(np.float32)
added[..., 0] = 0.5
made.append(node("Attention", *projected("added"), constant(added), q_num_heads=4, kv_num_heads=4))
seen[2, 1] = True
made.append(node("Attention", *projected("both"), constant(seen), q_num_heads=4, kv_num_heads=4, is_causal=1))
angles = chance.rand(9, 4).astype(np.float32) * 6
tables = [weight(f"{name}4", table(angles)) for name, table in (("cos", np.cos), ("sin", np.sin))]
q = heads(linear("x", "turned"), 2)
made.append(merged(node("RotaryEmbedding", q, *tables, constant(np.array([[2, 3, 5, 1, 0, 8]])))))
short = [constant(table(angles[None, :T, :1])) for table in (np.cos, np.sin)]
made.append(node("RotaryEmbedding", linear("x", "partly"), *short, num_heads=4, rotary_embedding_dim=2))
halves = [constant(table(angles[None, :T, :2])) for table in (np.cos, np.sin)]
made.append(node("RotaryEmbedding", linear("x", "every_second"), *halves, num_heads=4, interleaved=1))
new = node("Slice", "x", constant(np.array([0])), constant(np.array([2])), constant(np.array([1])))
made.append(node("TensorScatter", linear("x", "cache"), new, axis=1))
made.append(node("Swish", linear("x", "swish"), alpha=1.5))
made.append(
    node("RMSNormalization", linear("x", "normal"), weight("scale", (1 + chance.rand(WIDTH)).astype(np.float32))))
nodes.append(helper.make_node("Concat", made, ["y"], axis=2))
dims = lambda *sizes: [onnx.TensorProto.FLOAT, list(sizes)]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", *dims("N", T, WIDTH))],
                          [helper.make_tensor_value_info("y", *dims("N", T, WIDTH * len(made)))], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)
onnx.save(model, "net.onnx")
x = chance.randn(N, T, WIDTH).astype(np.float32)
np.save("x.npy", x)
# Older references give NaN for a query that sees nothing; it should be 0.
np.save("wanted.npy", np.nan_to_num(ReferenceEvaluator(model).run(None, {"x": x})[0], nan=0))
np.save("y.npy", np.zeros((N, T, WIDTH * len(made)), np.float32))
PY
build_trainer net net.onnx --batch 4 --budget 100% --loss mse
net/build/train --predict x.npy --out got.npy --quiet
"$newer" - <<'PY' || fail "not what the reference computes"
import numpy as np
got, wanted = np.load("got.npy"), np.load("wanted.npy")
parts = ("shared", "capped", "added", "both", "turned", "partly", "every_second", "cache", "swish", "normal")
assert got.shape == wanted.shape
for name, a, b in zip(parts, np.split(got, len(parts), 2), np.split(wanted, len(parts), 2)):
    apart = np.abs(a - b).max() / np.abs(b).max()
    print(f"{name}: {apart:.1e}")
    assert np.abs(b).max() > 0.1 and apart < 1e-5, name
PY
# In training, angles stay unchanged and the weights multiplied with them do not.
trained net out.onnx --steps 1 --lr 0.1
"$newer" - <<'PY' || fail "weights"
import numpy as np, onnx
from onnx import numpy_helper

before, after = (
    {i.name: numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer} for path in ("net.onnx", "out.onnx"))
for name in before:
    assert np.isfinite(after[name]).all(), name
    same = np.array_equal(before[name], after[name])
    assert same == (name in ("cos4", "sin4")), name
PY
