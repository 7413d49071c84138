# Sequences of different lengths have both forms of an LSTM or GRU, and both train the same: with samples that have all
# steps, some, and none, in both directions, and with the states of one layer as the first states of the next.
. "$PLIMSOLL_E2E/trainer.bash"
$python -c 'import numpy, onnx' 2>/dev/null || { echo "skipped: no onnx for $python"; exit 77; }
$python - <<'PY'
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

STEPS, FEATURES, HIDDEN, CLASSES, SAMPLES = 5, 6, 8, 3, 16
chance = np.random.RandomState(5)
GATES = {"LSTM": 4, "GRU": 3}


def save(path, op, direction, **more):
    """Two layers. All that they give counts: the states of all steps, the last state, the last cell."""
    weights, nodes = {}, []
    directions, kept = 2 if direction == "bidirectional" else 1, "hc" if op == "LSTM" else "h"

    def weight(name, *dims):
        weights[name] = (0.4 * chance.randn(*dims)).astype(np.float32)
        return name

    def node(op, inputs, outputs, **attributes):
        nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs[0]

    def numbers(name, items):
        return node("Constant", [], [name], value=numpy_helper.from_array(np.array(items, np.int64)))

    numbers("zero", [0])
    numbers("all", [0, 0, directions * HIDDEN])
    numbers("flat", [-1, directions * HIDDEN])

    def layer(x, name, features, states=()):
        rows = GATES[op] * HIDDEN
        given = [x, weight("W" + name, directions, rows, features), weight("R" + name, directions, rows, HIDDEN),
                 weight("B" + name, directions, 2 * rows), "lengths", *states]
        made = [name] + [name + part for part in kept]
        node(op, given, made, name=op.lower() + "_" + name, hidden_size=HIDDEN, direction=direction, **more)
        joined = node("Transpose", [name], [name + ".t"], perm=[0, 2, 1, 3])
        return node("Reshape", [joined, "all"], [name + ".all"]), made[1:]

    node("Transpose", ["x"], ["x0"], perm=[1, 0, 2])
    y, states = layer("x0", "a", FEATURES)
    # Backward, a first state other than zero has the unrolled form only.
    y, last = layer(y, "b", directions * HIDDEN, states if direction == "forward" else ())
    parts = [node("ReduceSum", [y, "zero"], ["sum"], keepdims=0)]
    for state in states + last:
        node("Transpose", [state], [state + ".t"], perm=[1, 0, 2])
        parts.append(node("Reshape", [state + ".t", "flat"], [state + ".flat"]))
    node("Concat", parts, ["joined"], axis=1)
    node("MatMul", ["joined", weight("head", directions * HIDDEN * len(parts), CLASSES)], ["y"])
    value = lambda name, *dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, list(dims))
    lengths = helper.make_tensor_value_info("lengths", TensorProto.INT32, ["N"])
    graph = helper.make_graph(nodes, "g", [value("x", "N", STEPS, FEATURES), lengths], [value("y", "N", CLASSES)],
                              [numpy_helper.from_array(w, n) for n, w in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), path)


for direction in ("forward", "reverse", "bidirectional"):
    save(f"lstm_{direction}.onnx", "LSTM", direction)
    save(f"gru_{direction}.onnx", "GRU", direction, linear_before_reset=1)
    save(f"reset_first_{direction}.onnx", "GRU", direction)
lengths = chance.randint(0, STEPS + 1, SAMPLES).astype(np.int32)
lengths[:5] = 0, STEPS, 1, STEPS + 4, -1  # above the steps: all of them; negative: none
x = chance.randn(SAMPLES, STEPS, FEATURES).astype(np.float32)
for i, length in enumerate(lengths):
    x[i, max(length, 0):] = 100  # padding that must not count
np.save("x.npy", x)
np.save("lengths.npy", lengths)
np.save("y.npy", chance.randint(0, CLASSES, SAMPLES).astype(np.int32))
PY
options=(--batch 8 --costs modelled --effort 0 --threads 2 --optimizer sgd)
for model in {lstm,gru,reset_first}_{forward,reverse,bidirectional}; do
  for form in unrolled fused; do
    build_trainer $form $model.onnx "${options[@]}" --budget 100% --recurrence $form
    $form/build/train --data npy:x.npy,lengths.npy,y.npy --no-shuffle --quiet --save $form.onnx --steps 4 --lr 0.1
  done
  grep -q Sequence fused/plan.json || fail "no layer of $model is fused"
  grep -q step_0 fused/plan.json && fail "a layer of $model is unrolled"
  $python "$PLIMSOLL_E2E/weights.py" unrolled.onnx fused.onnx 1e-5 || fail "the forms of $model train differently"
  ! $python "$PLIMSOLL_E2E/weights.py" $model.onnx fused.onnx 1e-2 || fail "the training changes nothing"
done
expect 0 plimsoll plan lstm_bidirectional.onnx "${options[@]}" -o auto.json
says "recurrence fused: faster within this budget"
