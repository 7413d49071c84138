# A model with a recurrence, attention and a large last layer has two forms of each. All train the same weights. The
# planner chooses among the forms of all three, and says which it took; dumps and plans keep theirs.
. "$PLIMSOLL_E2E/trainer.bash"
$python -c 'import numpy, onnx' 2>/dev/null || { echo "skipped: no onnx for $python"; exit 77; }
$python - <<'PY'
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# 65,536 logits per sample, and more than 49 · 49 scores: the loss and attention have two forms. The recurrence has a
# quarter of the steps, because planning its unrolled form takes most of the time.
STEPS, FEATURES, HIDDEN, CLASSES, SAMPLES, SHARE = 64, 6, 16, 1024, 16, 4
chance = np.random.RandomState(7)
weights = {}


def weight(name, *dims, scale=0.4):
    weights[name] = (scale * chance.randn(*dims)).astype(np.float32)
    return name


def number(name, items):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(items)))


nodes = [
    number("one", np.int64([1])),
    number("scale", np.float32((HIDDEN // 2)**-0.5)),
    number("joined", np.int64([0, STEPS, HIDDEN])),
    number("shared", np.int64([0, STEPS // SHARE, SHARE * FEATURES])),
    helper.make_node("Reshape", ["x", "shared"], ["x1"]),
    helper.make_node("Transpose", ["x1"], ["x0"], perm=[1, 0, 2]),
    helper.make_node("LSTM", ["x0", weight("W", 1, 4 * SHARE * HIDDEN, SHARE * FEATURES, scale=0.2),
                              weight("R", 1, 4 * SHARE * HIDDEN, SHARE * HIDDEN, scale=0.2),
                              weight("B", 1, 8 * SHARE * HIDDEN)], ["a"], hidden_size=SHARE * HIDDEN),
    helper.make_node("Squeeze", ["a", "one"], ["b"]),
    helper.make_node("Transpose", ["b"], ["s1"], perm=[1, 0, 2]),
    helper.make_node("Reshape", ["s1", "joined"], ["s"]),
    number("split", np.int64([0, STEPS, 2, HIDDEN // 2])),
    *(node for n in "qkv" for node in (helper.make_node("MatMul", ["s", weight("w" + n, HIDDEN, HIDDEN)], [n]),
                                       helper.make_node("Reshape", [n, "split"], [n + "1"]),
                                       helper.make_node("Transpose", [n + "1"], [n + "2"],
                                                        perm=[0, 2, 3, 1] if n == "k" else [0, 2, 1, 3]))),
    helper.make_node("MatMul", ["q2", "k2"], ["qk"]),
    helper.make_node("Mul", ["qk", "scale"], ["scores"]),
    helper.make_node("Softmax", ["scores"], ["p"], axis=-1),
    helper.make_node("MatMul", ["p", "v2"], ["o2"]),
    helper.make_node("Transpose", ["o2"], ["o1"], perm=[0, 2, 1, 3]),
    helper.make_node("Reshape", ["o1", "joined"], ["o"]),
    helper.make_node("MatMul", ["o", weight("head", HIDDEN, CLASSES)], ["y"])
]
value = lambda name, *dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, list(dims))
graph = helper.make_graph(nodes, "g", [value("x", "N", STEPS, FEATURES)], [value("y", "N", STEPS, CLASSES)],
                          [numpy_helper.from_array(w, n) for n, w in weights.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), "net.onnx")
np.save("x.npy", chance.randn(SAMPLES, STEPS, FEATURES).astype(np.float32))
np.save("y.npy", chance.randint(0, CLASSES, (SAMPLES, STEPS)).astype(np.int32))
PY
options=(net.onnx --batch 8 --class-axis 2 --costs modelled --effort 0 --threads 2 --optimizer sgd)
figure() { grep -o "\"$2\":[^,}]*" "$1" | head -1 | cut -d: -f2 | tr -d ' '; }
forms=("unrolled spelled plain" "unrolled fused plain" "unrolled fused fused"
       "fused spelled plain" "fused fused plain" "fused fused fused")

expect 0 plimsoll plan "${options[@]}" -o auto.json
for part in recurrence attention loss_form; do says "$part fused"; done
most=$(figure auto.json unconstrained_bytes) least=$(figure auto.json minimum_bytes)

# No form is faster than the one that is taken, or needs less memory.
for part in 0 20 60 100; do
  budget=$((least + (most - least) * part / 100))
  expect 0 plimsoll plan "${options[@]}" --budget $budget -o auto.json
  for form in "${forms[@]}"; do
    read -r recurrence attention loss <<<"$form"
    code=0
    plimsoll plan "${options[@]}" -q --budget $budget --recurrence $recurrence --attention $attention \
      --loss-form $loss -o one.json 2>err || code=$?
    [[ $code == 6 ]] && continue
    [[ $code == 0 ]] || { cat err; fail "a plan of the form $form ends with $code"; }
    $python -c 'import sys; sys.exit(not float(sys.argv[1]) <= float(sys.argv[2]))' \
      "$(figure auto.json iteration_seconds)" "$(figure one.json iteration_seconds)" ||
      fail "auto is slower than $form within $budget"
  done
done

# All forms train the same.
for form in "${forms[@]}"; do
  read -r recurrence attention loss <<<"$form"
  build_trainer trainer "${options[@]}" --recurrence $recurrence --attention $attention --loss-form $loss
  trained trainer "$recurrence.$attention.$loss.onnx" --steps 3 --lr 20
  $python "$PLIMSOLL_E2E/weights.py" unrolled.spelled.plain.onnx "$recurrence.$attention.$loss.onnx" 1e-5
  # A plan with the same algorithms has the form of the plan that it is given.
  expect 0 plimsoll plan "${options[@]}" --budget 90% --algorithms-of trainer/plan.json -o again.json
  for op in LstmSequence '"Attention' LinearCrossEntropy; do
    [[ $(grep -c "$op" again.json) -eq $(grep -c "$op" trainer/plan.json) ]] || fail "$op: not the form of $form"
  done
done

! $python "$PLIMSOLL_E2E/weights.py" net.onnx unrolled.spelled.plain.onnx 1e-2 || fail "the training changes nothing"

# Dumps are of the form that was taken, and planning continues with it.
expect 0 plimsoll plan "${options[@]}" --budget 60% -o auto.json --dump dumps
for dump in dumps/*fuse.* dumps/*build_task_graph.*; do
  expect 0 plimsoll plan "${options[@]}" --budget 60% --from "$dump" -o again.json
  [[ $(figure again.json iteration_seconds) == $(figure auto.json iteration_seconds) ]] || fail "$dump plans otherwise"
done
