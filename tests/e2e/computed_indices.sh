# An index or a label that the model computes, and that is out of range: the first iteration ends with a message that
# names the layer, the index and the size. No weight changes.
. "$PLIMSOLL_E2E/trainer.bash"
$python - <<'PY'
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

draw = np.random.RandomState(0)
cast = helper.make_node("Cast", ["x"], ["at"], name="cast", to=TensorProto.INT64)


def product(left, right, result):
    return helper.make_node("MatMul", [left, right], [result], name=result)


def save(name, shape, nodes, output="scores", dims=("N", 5), inputs=(), **constants):
    constants = {k: np.asarray(v if np.ndim(v) == 1 else draw.randn(*v[0]).astype("f")) for k, v in constants.items()}
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *shape])
    graph = helper.make_graph(nodes, name, [x, *inputs],
                              [helper.make_tensor_value_info(output, TensorProto.FLOAT, dims)],
                              [numpy_helper.from_array(v, k) for k, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), name + ".onnx")


gather = helper.make_node("Gather", ["table", "at"], ["rows"], name="pick")
flat = helper.make_node("Reshape", ["rows", "flat"], ["features"], name="flatten")
save("rows", [3], [cast, gather, flat, product("features", "w", "scores")], table=[(5, 4)], w=[(12, 5)], flat=[0, 12])
elements = helper.make_node("GatherElements", ["h", "at"], ["y"], name="pick", axis=1)
save("elements", [3], [cast, product("x", "w", "h"), elements, product("y", "v", "scores")], w=[(3, 5)], v=[(3, 5)])
for reduction in ("none", "add"):
    write = helper.make_node("ScatterElements", ["h", "at", "u"], ["y"], name="pick", axis=1, reduction=reduction)
    save("scatter_" + reduction, [3], [cast, product("x", "w", "h"), product("x", "p", "u"), write,
                                       product("y", "v", "scores")], w=[(3, 5)], v=[(5, 5)], p=[(3, 3)])
classes = helper.make_node("Cast", ["t"], ["classes"], name="classes", to=TensorProto.INT64)
loss = helper.make_node("SoftmaxCrossEntropyLoss", ["scores", "classes"], ["loss"], name="loss", ignore_index=9)
labels = helper.make_tensor_value_info("t", TensorProto.FLOAT, ["N"])
save("labels", [3], [classes, product("x", "w", "scores"), loss], "loss", (), [labels], w=[(3, 5)])
PY
$python - <<'PY'
import numpy as np
x = np.random.default_rng(1).permuted(np.tile(np.arange(5, dtype=np.float32), (8, 1)), axis=1)[:, :3]
np.save("x.npy", x)
np.save("y.npy", np.arange(8, dtype=np.int32) % 5)
for name, value in {"high": 5, "far": 1e30, "low": -6}.items():
    wrong = x.copy()
    wrong[6, 1] = value
    np.save(f"{name}.npy", wrong)
np.save("last.npy", np.where(x == 0, -5, x).astype(np.float32))  # counted from the end
PY
for model in rows elements scatter_none scatter_add; do
  build_trainer $model $model.onnx --batch 4 --assume trainable
  train() { $model/build/train --no-shuffle --quiet --epochs 1 "$@"; }
  expect 0 train --data npy:x.npy,y.npy --save right.onnx
  expect 0 train --data npy:last.npy,y.npy
  for wrong in high:5 low:-6 far:9223372036854775807; do
    expect 4 train --data npy:${wrong%:*}.npy,y.npy
    says "the loss is nan in iteration 1: the model computes index ${wrong#*:} for '"
    says "' of layer 'pick' (step "
    says "), but the axis has size 5; --on-nan skip"
    # What follows from it is left out: the weights are those of the other iteration.
    expect 0 train --data npy:${wrong%:*}.npy,y.npy --on-nan skip --save skipped.onnx
    expect 0 train --data npy:x.npy,y.npy --steps 1 --save first.onnx
    $python "$PLIMSOLL_E2E/weights.py" skipped.onnx first.onnx 0
  done
done

build_trainer labels labels.onnx --batch 4 --loss output
train() { labels/build/train --no-shuffle --quiet --epochs 1 "$@"; }
$python -c 'import numpy
for name, label in {"known": 4, "ignored": 9, "unknown": 5}.items():
    numpy.save(name + ".npy", numpy.array([0, 1, 2, 3, 4, label, 2, 3], numpy.float32))'
expect 0 train --data npy:x.npy,known.npy
expect 0 train --data npy:x.npy,ignored.npy
expect 4 train --data npy:x.npy,unknown.npy
says "the loss is nan in iteration 1: the model computes label 5 for '"
says "), but the number of classes is 5; --on-nan skip"
