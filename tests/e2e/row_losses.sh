# An output with several rows of each sample: every row meets its own label, whether the rows of a sample follow each
# other or those of a step. The losses and the rates of hits are those of NumPy.
. "$PLIMSOLL_E2E/trainer.bash"
/usr/bin/python3 -c "import onnx, numpy" 2>/dev/null || { echo "skipped: no python3-onnx here"; exit 77; }
$python - <<'PY'
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper
r = np.random.RandomState(0)
x, w = r.randn(8, 6, 5).astype("f"), r.randn(5, 4).astype("f")
y, z = r.randint(0, 4, (8, 6)).astype(np.int32), r.rand(8, 24).astype("f")
def number(name, values): return numpy_helper.from_array(np.array(values, np.int64), name)
def write(name, nodes, rank):
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6, 5])],
                              [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["rows", 4][:rank])],
                              [numpy_helper.from_array(w, "w"), number("four", [-1, 4]), number("five", [-1, 5]),
                               number("flat", [-1])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8), name + ".onnx")
node = helper.make_node
write("rows", [node("MatMul", ["x", "w"], ["h"]), node("Reshape", ["h", "four"], ["out"])], 2)
write("steps", [node("Transpose", ["x"], ["t"], perm=[1, 0, 2]), node("Reshape", ["t", "five"], ["s"]),
                node("MatMul", ["s", "w"], ["out"])], 2)
write("flat", [node("MatMul", ["x", "w"], ["h"]), node("Sigmoid", ["h"], ["p"]),
               node("Reshape", ["p", "flat"], ["out"])], 1)
np.save("x.npy", x), np.save("y.npy", y), np.save("z.npy", z)
h = (x.astype("d") @ w).reshape(2, 4, 6, 4)
log = h - np.log(np.exp(h).sum(-1, keepdims=True))
of_rows = -np.take_along_axis(log, y.reshape(2, 4, 6, 1).astype(int), -1).mean((1, 2, 3))
hits = (h.argmax(-1) == y.reshape(2, 4, 6)).mean((1, 2))
of_flat = (np.logaddexp(0, h) - z.reshape(h.shape) * h).mean((1, 2, 3))
np.savez("expected.npz", rows=of_rows, steps=of_rows, flat=of_flat, hits=hits)
PY
for net in rows steps flat; do
  loss=() targets=y.npy
  [ $net != flat ] || loss=(--loss bce-logits) targets=z.npy
  build_trainer $net $net.onnx --batch 4 --sub-batch 2 "${loss[@]}" 2>err
  $net/build/train --data npy:x.npy,$targets --no-shuffle --quiet --lr 0 --metrics $net.jsonl
  $python - $net <<'PY'
import json, sys
import numpy as np
expected, lines = np.load("expected.npz"), [json.loads(line) for line in open(sys.argv[1] + ".jsonl")]
lines = [line for line in lines if "iteration" in line]
assert len(lines) == 2, lines
np.testing.assert_allclose([line["loss"] for line in lines], expected[sys.argv[1]], rtol=1e-5)
if sys.argv[1] != "flat":
    np.testing.assert_allclose([line["accuracy"] for line in lines], expected["hits"], rtol=1e-6)
PY
done
rows/build/train --predict npy:x.npy --out p.npy --quiet
$python -c 'import numpy as np; assert np.load("p.npy").shape == (8, 6, 4)'
