# An input without samples, such as a table shared by all samples, is passed whole: the weights are those of the same
# model with the table inside, in one round and in several.
. "$PLIMSOLL_E2E/trainer.bash"
has $python onnx || { echo "skipped: no onnx for $python"; exit 77; }
$python - <<'PY'
import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper
r = np.random.RandomState(0)
table, weight = r.randn(1, 8).astype(np.float32), r.randn(8, 4).astype(np.float32)
nodes = [
    h.make_node("Add", ["x", "table"], ["moved"], name="add"),
    h.make_node("MatMul", ["moved", "w"], ["y"], name="matmul")
]
x, y = h.make_tensor_value_info("x", T.FLOAT, ["N", 8]), h.make_tensor_value_info("y", T.FLOAT, ["N", 4])
w, inside = numpy_helper.from_array(weight, "w"), numpy_helper.from_array(table, "table")
for name, inputs, held in (("fed", [x, h.make_tensor_value_info("table", T.FLOAT,
                                                                [1, 8])], [w]), ("inside", [x], [w, inside])):
    onnx.save(
        h.make_model(h.make_graph(nodes, name, inputs, [y], held), opset_imports=[h.make_opsetid("", 17)],
                     ir_version=8), name + ".onnx")
np.save("x.npy", r.randn(40, 8).astype(np.float32))
np.save("y.npy", r.randint(0, 4, 40).astype(np.int32))
np.save("table.npy", table)
np.save("narrow.npy", table[:, :7])
PY
for sub_batch in 8 3; do
  build_trainer fed fed.onnx --batch 8 --sub-batch $sub_batch
  build_trainer inside inside.onnx --batch 8 --sub-batch $sub_batch --freeze table
  expect 0 fed/build/train --data npy:x.npy,table.npy,y.npy --steps 12 --lr 0.1 --eval-data npy:x.npy,table.npy,y.npy \
    --save fed-out.onnx
  says "40 samples, 5 iterations an epoch"
  expect 0 inside/build/train --data npy:x.npy,y.npy --steps 12 --lr 0.1 --save inside-out.onnx
  $python - <<'PY'
import onnx
from onnx import numpy_helper

w = [
    next(numpy_helper.to_array(t) for t in onnx.load(f"{name}-out.onnx").graph.initializer if t.name == "w")
    for name in ("fed", "inside")
]
assert (w[0] == w[1]).all(), abs(w[0] - w[1]).max()
PY
done
expect 0 fed/build/train --model fed-out.onnx --predict npy:x.npy,table.npy --out out.npy; says "of 40 samples"
expect 4 fed/build/train --data npy:x.npy,narrow.npy,y.npy --steps 1
says "'narrow.npy' is f32[1,7], but input 'table' takes f32[1,8], the same for all samples"
