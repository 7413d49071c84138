# LSTM, GRU and RNN train like the same network written in Gemm, Sigmoid, Tanh, Mul and Add after ONNX's equations. The
# saved weights keep their names and shapes.
. "$PLIMSOLL_E2E/trainer.bash"
$python -c 'import numpy, onnx' 2>/dev/null || { echo "skipped: no onnx for $python"; exit 77; }
$python - <<'PY'
import numpy as np, onnx
from onnx import helper, numpy_helper
STEPS, FEATURES, HIDDEN, CLASSES, BATCH = 5, 6, 4, 3, 8
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


class Model:
    def __init__(self, op, directions, peepholes=False, lengths=False):
        chance = np.random.RandomState(7)
        draw = lambda *dims: (0.4 * chance.randn(*dims)).astype(np.float32)
        rows = GATES[op] * HIDDEN
        self.weights = {
            "W": draw(directions, rows, FEATURES), "R": draw(directions, rows, HIDDEN), "B": draw(directions, 2 * rows),
            "head": draw(directions * HIDDEN, CLASSES)
        }
        if peepholes: self.weights["P"] = draw(directions, 3 * HIDDEN)
        self.nodes, self.count, self.lengths = [], 0, lengths

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"n{self.count + i}" for i in range(outputs)]
        self.count += outputs
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def list(self, *items):
        return self.node("Constant", value=numpy_helper.from_array(np.array(items, np.int64)))

    def rows(self, x, first, last):
        return self.node("Slice", x, self.list(first), self.list(last), self.list(0))

    def save(self, path, y):  # y: the last state of each direction, [samples, HIDDEN]
        joined = self.node("Concat", *y, axis=1) if len(y) > 1 else y[0]
        self.nodes.append(helper.make_node("MatMul", [joined, "head"], ["y"]))
        dims = lambda *sizes: [onnx.TensorProto.FLOAT, list(sizes)]
        inputs = [helper.make_tensor_value_info("x", *dims("N", STEPS, FEATURES))]
        if self.lengths: inputs.append(helper.make_tensor_value_info("lengths", onnx.TensorProto.INT32, ["N"]))
        graph = helper.make_graph(self.nodes, "g", inputs,
                                  [helper.make_tensor_value_info("y", *dims("N", CLASSES))],
                                  [numpy_helper.from_array(w, n) for n, w in self.weights.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), path)


def said(op, directions, directed, name="", peepholes=False, lengths=False, of_all=False, **attributes):
    model = Model(op, directions, peepholes, lengths)
    x = model.node("Transpose", "x", perm=[1, 0, 2])
    more = ["lengths" if lengths else "", "", "", "P"] if peepholes else ["lengths"] if lengths else []
    y, h = model.node(op, x, "W", "R", "B", *more, outputs=2, hidden_size=HIDDEN, direction=directed, **attributes)
    if of_all: h = model.node("ReduceSum", y, model.list(0), keepdims=0)
    parts = model.node("Split", h, outputs=2, axis=0) if directions == 2 else [h]
    model.save(f"{name or op}.said.onnx", [model.node("Squeeze", part, model.list(0)) for part in parts])


def written(op, directions, directed, before, name="", peepholes=False, lengths=False, of_all=False, clip=0,
            coupled=False):
    model = Model(op, directions, peepholes, lengths)
    last = []
    number = lambda of: model.node("Constant", value=numpy_helper.from_array(np.array(of, np.float32)))
    bounded = lambda s: model.node("Clip", s, number(-clip), number(clip)) if clip else s
    for d in range(directions):
        w, r, b = (model.node("Squeeze", model.rows(n, d, d + 1), model.list(0)) for n in ("W", "R", "B"))
        gates = range(GATES[op])
        block = lambda m, k, at=0: model.rows(m, (at + k) * HIDDEN, (at + k + 1) * HIDDEN)
        ws, rs = [block(w, k) for k in gates], [block(r, k) for k in gates]
        wb, rb = [block(b, k) for k in gates], [block(b, k, GATES[op]) for k in gates]
        times = lambda a, m, c: model.node("Gemm", a, m, c, transB=1)
        add, mul, sigmoid, tanh = (lambda *a, o=o: model.node(o, *a) for o in ("Add", "Mul", "Sigmoid", "Tanh"))
        zero = model.node("Constant", value=numpy_helper.from_array(np.zeros((1, HIDDEN), np.float32)))
        back = d == 1 or directed == "reverse"
        h = c = y = None
        if peepholes:
            p = model.node("Squeeze", model.rows("P", d, d + 1), model.list(0))
            ps = [model.rows(p, k * HIDDEN, (k + 1) * HIDDEN) for k in range(3)]
        for t in reversed(range(STEPS)) if back else range(STEPS):
            x = model.node("Squeeze", model.node("Slice", "x", model.list(t), model.list(t + 1), model.list(1)),
                           model.list(1))
            from_state = lambda k: times(h, rs[k], rb[k]) if h else rb[k]
            s = lambda k: add(times(x, ws[k], wb[k]), from_state(k))
            before_h, before_c = h, c
            if op == "LSTM":
                seen = lambda k, cell: bounded(add(s(k), mul(ps[k], cell)) if peepholes and cell else s(k))
                i, g = sigmoid(seen(0, c)), tanh(bounded(s(3)))
                forget = lambda: model.node("Sub", number(1), i) if coupled else sigmoid(seen(2, before_c))
                c = add(mul(forget(), c), mul(i, g)) if c else mul(i, g)
                h = mul(sigmoid(seen(1, c)), tanh(c))
            elif op == "GRU":
                z, reset = sigmoid(bounded(s(0))), sigmoid(bounded(s(1)))
                if before:
                    of_state = times(mul(reset, h), rs[2], rb[2]) if h else rb[2]
                else:
                    of_state = mul(reset, from_state(2))
                fresh = tanh(bounded(add(times(x, ws[2], wb[2]), of_state)))
                one = model.node("Constant", value=numpy_helper.from_array(np.ones((1, HIDDEN), np.float32)))
                kept = mul(model.node("Sub", one, z), fresh)
                h = add(kept, mul(z, h)) if h else kept
            else:
                h = tanh(bounded(s(0)))
            if lengths:
                step = model.node("Constant", value=numpy_helper.from_array(np.array(t, np.int32)))
                mask = model.node("Unsqueeze", model.node("Greater", "lengths", step), model.list(1))
                where = lambda new, old: model.node("Where", mask, new, old or number(0))
                y = add(y, where(h, None)) if y else where(h, None)
                h, c = where(h, before_h), c and where(c, before_c)
        last.append(y if of_all else h)
    model.save(f"{name or op}.written.onnx", last)


for op, directed, attributes, before in (("LSTM", "bidirectional", {}, False),
                                         ("GRU", "reverse", {"linear_before_reset": 1}, False), ("RNN", "forward", {},
                                                                                                 False)):
    directions = 2 if directed == "bidirectional" else 1
    said(op, directions, directed, **attributes)
    written(op, directions, directed, before)
import shutil
for path in ("GRU.said.onnx", "GRU.written.onnx"):
    shutil.move(path, "RESET_" + path)
said("GRU", 2, "bidirectional")
written("GRU", 2, "bidirectional", True)
# Sequences of different lengths, whose states are summed over the steps that they have, or of which the last counts.
said("LSTM", 2, "bidirectional", "SUMMED", lengths=True, of_all=True)
written("LSTM", 2, "bidirectional", False, "SUMMED", lengths=True, of_all=True)
said("RNN", 1, "reverse", "RAGGED", lengths=True)
written("RNN", 1, "reverse", False, "RAGGED", lengths=True)
said("LSTM", 1, "forward", "PEEPING", peepholes=True, clip=0.5)
written("LSTM", 1, "forward", False, "PEEPING", peepholes=True, clip=0.5)
said("LSTM", 1, "reverse", "COUPLED", peepholes=True, lengths=True, input_forget=1)
written("LSTM", 1, "reverse", False, "COUPLED", peepholes=True, lengths=True, coupled=True)
said("GRU", 1, "forward", "CLIPPED", linear_before_reset=1, clip=0.3)
written("GRU", 1, "forward", False, "CLIPPED", clip=0.3)
np.save("lengths.npy", np.random.RandomState(3).randint(1, STEPS + 1, 2 * BATCH).astype(np.int32))
np.save("x.npy", np.random.RandomState(1).randn(2 * BATCH, STEPS, FEATURES).astype(np.float32))
np.save("y.npy", np.random.RandomState(2).randint(0, CLASSES, 2 * BATCH).astype(np.int32))
PY
for op in LSTM GRU RESET_GRU RNN SUMMED RAGGED PEEPING COUPLED CLIPPED; do
  case $op in
    SUMMED | RAGGED | COUPLED) data=npy:x.npy,lengths.npy,y.npy ;;
    *) data=npy:x.npy,y.npy ;;
  esac
  for way in said written; do
    # Slices of P are multiplied with a state, which does not say that P is trained; the slot of the node does.
    case $way.$op in written.PEEPING | written.COUPLED) trained="--trainable P" ;; *) trained= ;; esac
    build_trainer $op.$way $op.$way.onnx --batch 8 --budget 100% --optimizer adam $trained
    $op.$way/build/train --data $data --no-shuffle --quiet --save $op.$way.out.onnx --steps 4 --lr 0.01
  done
  $python - $op <<'PY' || fail "$op"
import sys
import numpy as np, onnx
from onnx import numpy_helper
read = lambda path: {i.name: numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer}
start, said, written = (read(f"{sys.argv[1]}.{name}.onnx") for name in ("said", "said.out", "written.out"))
model = onnx.load(f"{sys.argv[1]}.said.out.onnx")
assert any(n.op_type in ("LSTM", "GRU", "RNN") for n in model.graph.node), "the node is gone from the saved model"
for name in start:
    assert said[name].shape == start[name].shape, name
    moved, apart = np.abs(said[name] - start[name]).max(), np.abs(said[name] - written[name]).max()
    print(f"{sys.argv[1]} {name}: moved by {moved:.2e}, {apart:.1e} apart")
    assert moved > 1e-3 and apart < 1e-4 * moved, (name, moved, apart)
PY
done
# Steps first: files still have samples first, and the trainer transposes them.
$python - <<'PY'
import onnx
model = onnx.load("LSTM.said.onnx")
model.graph.node.remove(model.graph.node[0])  # the Transpose
model.graph.node[0].input[0] = "x"
dims = model.graph.input[0].type.tensor_type.shape.dim
dims[0].dim_value, dims[1].dim_param = 5, "N"
onnx.save(model, "FIRST.said.onnx")
PY
build_trainer FIRST.said FIRST.said.onnx --batch 8 --budget 100% --optimizer adam
trained FIRST.said FIRST.said.out.onnx --steps 4 --lr 0.01
$python - <<'PY' || fail "steps first"
import numpy as np, onnx
from onnx import numpy_helper

first, said = ({i.name: numpy_helper.to_array(i) for i in onnx.load(f"{name}.said.out.onnx").graph.initializer}
               for name in ("FIRST", "LSTM"))
assert all(np.array_equal(first[name], said[name]) for name in ("W", "R", "B", "head"))
PY
