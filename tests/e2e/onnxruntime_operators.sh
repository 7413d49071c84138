# The operators that onnxruntime's optimizers write compute what onnxruntime does.
. "$PLIMSOLL_E2E/trainer.bash"
newer=$(python_with numpy onnx onnxruntime)
if [[ -z $newer ]]; then
  echo "skipped: no Python here has onnx and onnxruntime (tools/setup.sh python, or set PLIMSOLL_PYTHON)"
  exit 77
fi
"$newer" - <<'PY'
import numpy as np, onnx, onnxruntime
from onnx import TensorProto, helper, numpy_helper
N, T, WIDTH = 4, 6, 16
chance = np.random.RandomState(3)
nodes, weights, values, made = [], [], [], {}


def weight(name, *dims, scale=0.3):
    weights.append(numpy_helper.from_array((chance.randn(*dims) * scale).astype(np.float32), name))
    return name


def constant(*items):
    name = f"c{len(weights)}"
    weights.append(numpy_helper.from_array(np.array(items), name))
    return name


def node(op, *inputs, outputs=1, domain="", **attributes):
    names = [f"n{len(nodes)}.{i}" for i in range(outputs)]
    nodes.append(helper.make_node(op, list(inputs), names, name=f"n{len(nodes)}", domain=domain, **attributes))
    return names if outputs > 1 else names[0]


def fused(op, *inputs, **attributes):
    return node(op, *inputs, domain="com.microsoft", **attributes)


def linear(name):
    return node("MatMul", "x", weight(name, WIDTH, WIDTH))


def described(name, element, *dims):
    values.append(helper.make_tensor_value_info(name, element, list(dims)))
    return name


# Integers that depend on the samples: ids, and a mask in which the first token always counts.
ids = node("Cast", node("ArgMax", "x", axis=2, keepdims=0), to=TensorProto.INT32)
first = node("Slice", "x", constant(0), constant(1), constant(2))
counts = node("Greater", node("Squeeze", first, constant(2)), node("Cast", constant(-0.5), to=TensorProto.FLOAT))
head = np.zeros((1, T), bool)
head[0, 0] = True
weights.append(numpy_helper.from_array(head, "head"))
mask = described(node("Cast", node("Or", counts, "head"), to=TensorProto.INT32), TensorProto.INT32, "N", T)

made["gelu"] = fused("Gelu", linear("w.gelu"))
made["bias_gelu"] = fused("BiasGelu", linear("w.bias_gelu"), weight("b.bias_gelu", WIDTH))
made["fast_gelu"] = fused("FastGelu", linear("w.fast_gelu"), weight("b.fast_gelu", WIDTH))
made["quick_gelu"] = fused("QuickGelu", linear("w.quick_gelu"), alpha=1.5)
made["matmul"] = fused("FusedMatMul", linear("w.matmul"), "x", transB=1, alpha=0.25)
rows = node("Reshape", "x", constant(-1, WIDTH))
dense = fused("FusedGemm", rows, weight("w.gemm", 8, WIDTH), weight("b.gemm", 8), transB=1, alpha=0.5, beta=2.0,
              activation="LeakyRelu", activation_alpha=0.2)
made["gemm"] = node("Reshape", dense, constant(-1, T, 8))
image = node("Unsqueeze", "x", constant(1))
conv = fused("FusedConv", image, weight("w.conv", 2, 1, 3, 3), weight("b.conv", 2), activation="HardSigmoid",
             activation_params=[0.3, 0.4], pads=[1, 1, 1, 1], kernel_shape=[3, 3])
made["conv"] = node("Reshape", node("Transpose", conv, perm=[0, 2, 1, 3]), constant(-1, T, 2 * WIDTH))
skipped = fused("SkipLayerNormalization", linear("w.skip"), "x", weight("s.skip", WIDTH), weight("b.skip", WIDTH),
                weight("bias.skip", WIDTH), outputs=4, epsilon=1e-3)
made["skip"] = node("Add", skipped[0], skipped[3])
made["skip_simplified"] = fused("SkipSimplifiedLayerNormalization", linear("w.skip_simplified"), "x",
                                weight("s.skip_simplified", WIDTH), epsilon=1e-3)
made["simplified"] = node("SimplifiedLayerNormalization", linear("w.simplified"), weight("s.simplified", WIDTH),
                          axis=-1, epsilon=1e-3)
made["plain"] = node("LayerNormalization", linear("w.plain"), weight("s.plain", WIDTH), weight("b.plain", WIDTH),
                     axis=-1, epsilon=1e-3)
embedded, lengths = fused("EmbedLayerNormalization", ids, mask, weight("words", WIDTH, WIDTH),
                          weight("places", 9, WIDTH), weight("segments", 2, WIDTH), weight("s.embed", WIDTH),
                          weight("b.embed", WIDTH), mask, outputs=2, epsilon=1e-3)
made["embed"] = embedded


def attention(name, seen="", **attributes):
    return fused("Attention", "x", weight(f"w.{name}", WIDTH, 3 * WIDTH), weight(f"b.{name}", 3 * WIDTH), seen,
                 num_heads=2, **attributes)


made["attention"] = attention("attention", mask)
made["weak_mask"] = attention("weak_mask", mask, mask_filter_value=-2.0)
made["lengths"] = attention("lengths", lengths)
made["causal"] = attention("causal", unidirectional=1, scale=0.2)
added = weight("added", 1, 2, T, T, scale=2)
made["several"] = fused("MultiHeadAttention", linear("w.queries"), linear("w.keys"), linear("w.values"),
                        weight("b.several", 3 * WIDTH), mask, added, num_heads=2)
places = described(node("Cast", ids, to=TensorProto.INT64), TensorProto.INT64, "N", T)
angles = np.arange(WIDTH)[:, None] / 7.0 ** np.arange(4)
for name, table in (("cos", np.cos(angles)), ("sin", np.sin(angles))):
    weights.append(numpy_helper.from_array(table.astype(np.float32), name))
made["rotary"] = fused("RotaryEmbedding", linear("w.rotary"), places, "cos", "sin", num_heads=2, interleaved=1)
made["rotary_of_tables"] = fused("RotaryEmbedding", linear("w.rotary_of_tables"), places, "cos", "sin")

nodes.append(helper.make_node("Concat", list(made.values()), ["y"], axis=2))
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", T, WIDTH])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights, value_info=values)
opsets = [helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)]
onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), "net.onnx")
x = chance.randn(N, T, WIDTH).astype(np.float32)
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
run = lambda path: onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, {"x": x})
wanted = run("net.onnx")[0]
graph.output.extend(onnx.ValueInfoProto(name=value) for value in made.values())
onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), "parts.onnx")
with open("parts.txt", "w") as parts:
    for name, part in zip(made, run("parts.onnx")[1:]):
        parts.write(f"{name} {part.shape[2]}\n")
np.save("x.npy", x)
np.save("wanted.npy", wanted)
np.save("y.npy", np.zeros_like(wanted))
PY
build_trainer net net.onnx --batch 4 --budget 100% --loss mse --assume trainable
net/build/train --predict x.npy --out got.npy --quiet
cat >compare.py <<'PY'
import sys
import numpy as np

got, wanted = np.load(sys.argv[1]), np.load(sys.argv[2])
assert got.shape == wanted.shape, (got.shape, wanted.shape)
first = 0
for line in open("parts.txt"):
    name, width = line.split()
    a, b = (part[:, :, first:first + int(width)] for part in (got, wanted))
    first += int(width)
    apart = np.abs(a - b).max() / np.abs(b).max()
    print(f"{name}: {apart:.1e}")
    assert np.abs(b).max() > 0.1 and apart < 1e-5, name
PY
"$newer" compare.py got.npy wanted.npy || fail "not what onnxruntime computes"
# The file keeps the operators, with the weights that were trained.
trained net out.onnx --steps 1 --lr 0.1
"$newer" - <<'PY' || fail "weights"
import numpy as np, onnx
from onnx import numpy_helper

before, after = (onnx.load(path) for path in ("net.onnx", "out.onnx"))
assert [node.op_type for node in before.graph.node] == [node.op_type for node in after.graph.node]
weights = [{i.name: numpy_helper.to_array(i) for i in model.graph.initializer} for model in (before, after)]
for name in weights[0]:
    trained = weights[0][name].dtype == np.float32 and name not in ("cos", "sin")
    assert np.array_equal(weights[0][name], weights[1][name]) != trained, name
PY
