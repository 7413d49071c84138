# An LSTM or GRU has two forms, unrolled and fused. Both train the same weights; the planner takes the faster one within
# the budget, and says which and why; a plan and its dumps keep their form. The fused form gives the same bits under
# every budget.
. "$PLIMSOLL_E2E/trainer.bash"
$python -c 'import numpy, onnx' 2>/dev/null || { echo "skipped: no onnx for $python"; exit 77; }
$python - <<'PY'
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

STEPS, FEATURES, HIDDEN, CLASSES, SAMPLES = 4, 6, 8, 3, 16
chance = np.random.RandomState(5)
GATES = {"LSTM": 4, "GRU": 3}


def save(path, op, **more):
    weights = {}

    def weight(name, *dims):
        weights[name] = (0.4 * chance.randn(*dims)).astype(np.float32)
        return name

    lists = {"all": [0, 0, 2 * HIDDEN], "flat": [-1, 2 * HIDDEN]}
    constants = [helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(items, np.int64)))
                 for name, items in lists.items()]

    def both_ways(x, y, features, states=()):
        n, rows, lasts = y[0], GATES[op] * HIDDEN, 2 if op == "LSTM" else 1
        given = [x, weight("W" + n, 2, rows, features), weight("R" + n, 2, rows, HIDDEN),
                 weight("B" + n, 2, 2 * rows), "", *states[:lasts]]
        return helper.make_node(op, given, y[:1 + lasts], name=op.lower() + "_" + n, hidden_size=HIDDEN,
                                direction="bidirectional", **more)

    nodes = constants + [
        helper.make_node("Transpose", ["x"], ["x0"], perm=[1, 0, 2]),
        both_ways("x0", ["a", "ah", "ac"], FEATURES),
        helper.make_node("Transpose", ["a"], ["t"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["t", "all"], ["b"]),
        both_ways("b", ["d", "dh"], 2 * HIDDEN, ["ah", "ac"]),  # begins with the last states of the first layer
        helper.make_node("Transpose", ["dh"], ["u"], perm=[1, 0, 2]),
        helper.make_node("Reshape", ["u", "flat"], ["v"]),
        helper.make_node("MatMul", ["v", weight("head", 2 * HIDDEN, CLASSES)], ["y"])]
    value = lambda name, *dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, list(dims))
    graph = helper.make_graph(nodes, "g", [value("x", "N", STEPS, FEATURES)], [value("y", "N", CLASSES)],
                              [numpy_helper.from_array(w, n) for n, w in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), path)


save("lstm.onnx", "LSTM")
save("gru.onnx", "GRU", linear_before_reset=1)
save("relu.onnx", "LSTM", activations=["Sigmoid", "Relu", "Tanh"] * 2)
save("reset_first.onnx", "GRU", linear_before_reset=0)
save("relu_gru.onnx", "GRU", activations=["Sigmoid", "Relu"] * 2)
np.save("x.npy", chance.randn(SAMPLES, STEPS, FEATURES).astype(np.float32))
np.save("y.npy", chance.randint(0, CLASSES, SAMPLES).astype(np.int32))
PY
options=(--batch 8 --costs modelled --effort 0 --threads 2 --optimizer sgd)
figure() { grep -o "\"$2\":[^,}]*" "$1" | head -1 | cut -d: -f2 | tr -d ' '; }
same_plan() { diff <(grep -v '"planning_seconds"' "$1") <(grep -v '"planning_seconds"' "$2") >/dev/null; }

for op in lstm gru reset_first; do
  # Both forms train the same; the fused form gives the same bits within its smallest budget.
  for form in unrolled fused; do
    build_trainer $op.$form $op.onnx "${options[@]}" --sub-batch 8 --budget 100% --recurrence $form
    trained $op.$form $op.$form.onnx --steps 4 --lr 0.1
  done
  $python "$PLIMSOLL_E2E/weights.py" $op.unrolled.onnx $op.fused.onnx 1e-5
  least=$(figure $op.fused/plan.json minimum_bytes) most=$(figure $op.fused/plan.json arena_bytes)
  build_trainer $op.tight $op.onnx "${options[@]}" --sub-batch 8 --recurrence fused \
    --algorithms-of $op.fused/plan.json --budget $(((least + most) / 2))
  trained $op.tight $op.tight.onnx --steps 4 --lr 0.1
  [[ $(figure $op.tight/plan.json arena_bytes) -lt $most ]] || fail "the budget of $op does not bind"
  $python "$PLIMSOLL_E2E/weights.py" $op.fused.onnx $op.tight.onnx 0

  # In bf16 the products of the inputs are in bf16, and the steps in f32.
  build_trainer $op.bf16 $op.onnx "${options[@]}" --precision bf16 --recurrence fused
  trained $op.bf16 $op.bf16.onnx --steps 4 --lr 0.1
  $python "$PLIMSOLL_E2E/weights.py" $op.fused.onnx $op.bf16.onnx 1e-2
done

# The choice, and the reason for it.
for op in gru:\"GruSequence reset_first:ResetFirstGruSequence; do
  expect 0 plimsoll plan ${op%:*}.onnx "${options[@]}" -o auto.json
  says "recurrence fused: faster within this budget (unlimited: fused "
  grep -q "${op#*:}" auto.json || fail "the plan of ${op%:*}.onnx is not of the fused form"
done
expect 0 plimsoll plan lstm.onnx "${options[@]}" -o auto.json
says "recurrence fused: faster within this budget (unlimited: fused "
expect 0 plimsoll inspect auto.json
says "recurrence fused: faster within this budget"
grep -q LstmSequence auto.json || fail "the plan is not of the fused form"
most=$(figure auto.json unconstrained_bytes) least=$(figure auto.json minimum_bytes)
for part in 0 30 100; do
  budget=$((least + (most - least) * part / 100))
  for form in unrolled fused auto; do
    rm -f $form.json
    code=0
    plimsoll plan lstm.onnx "${options[@]}" -q --budget $budget --recurrence $form -o $form.json 2>err || code=$?
    [[ $code == 0 || $code == 6 ]] || { cat err; fail "a plan of the form $form ends with $code"; }
  done
  [[ -e auto.json ]] || fail "no plan within $budget"
  for form in unrolled fused; do
    [[ -e $form.json ]] || continue
    $python -c 'import sys; sys.exit(not float(sys.argv[1]) <= float(sys.argv[2]))' \
      "$(figure auto.json iteration_seconds)" "$(figure $form.json iteration_seconds)" ||
      fail "auto is slower than $form within $budget"
  done
done

# Other activations have one form; a policy that does not search takes one.
for other in relu relu_gru; do
  for form in unrolled fused auto; do
    expect 0 plimsoll plan $other.onnx "${options[@]}" --recurrence $form -o $form.json
    [[ $form != fused ]] || says "--recurrence fused changes nothing"
    same_plan unrolled.json $form.json || fail "--recurrence $form gives $other another plan"
  done
done
expect 0 plimsoll plan lstm.onnx "${options[@]}" --policy liveness -o auto.json
! grep -q LstmSequence auto.json || fail "a policy of the literature takes the fused form"

# Dumps are of the form that was taken, and planning continues with it; so does a plan of the same algorithms.
expect 0 plimsoll plan lstm.onnx "${options[@]}" --budget 60% -o auto.json --dump dumps
for dump in dumps/{00,01,12}.*; do
  grep -q 'recurrence="\?fused' "$dump" || fail "$dump does not name its form"
  expect 0 plimsoll plan lstm.onnx "${options[@]}" --budget 60% --from "$dump" -o again.json
  [[ $(figure again.json iteration_seconds) == $(figure auto.json iteration_seconds) ]] || fail "$dump plans otherwise"
done
for form in unrolled fused; do
  expect 0 plimsoll plan lstm.onnx "${options[@]}" --recurrence $form -o $form.json
  expect 0 plimsoll plan lstm.onnx "${options[@]}" --budget 90% --algorithms-of $form.json -o again.json
  [[ $(grep -c LstmSequence again.json) -eq $(grep -c LstmSequence $form.json) ]] || fail "not the form of $form.json"
  expect 0 plimsoll compile lstm.onnx --threads 2 --optimizer sgd --from $form.json -o of_plan
done
