# If the model's file leaves a decision about training open, the compiler asks: exit 4, with the flags to copy. -q hides
# none of this.
. "$PLIMSOLL_CLI/common.sh"
/usr/bin/python3 -c 'import onnx' 2>/dev/null || { echo "skipped: no onnx for python3"; exit 77; }
/usr/bin/python3 - <<'PY'
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper


def weight(name, *shape):
    return numpy_helper.from_array(np.random.RandomState(len(name)).rand(*shape).astype(np.float32), name)
def save(path, nodes, weights, opset=17, producer="pytorch"):
    values = lambda pairs: [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in pairs]
    graph = helper.make_graph(nodes, "g", values([("x", ["n", 6])]), values([("y", ["n", 5])]), weights)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, producer_name=producer),
        path)
node = helper.make_node
# register_buffer("shift", …) or a Parameter: TorchScript's exporter writes the same file for both.
save("scaled.onnx", [
    node("Add", ["x", "shift"], ["a"], "/Add"),
    node("MatMul", ["a", "w"], ["b"], "/fc/MatMul"),
    node("Mul", ["b", "gamma"], ["y"], "/Mul")
], [weight("shift", 6), weight("w", 6, 5), weight("gamma", 5)])
norm = [weight(name, 5) for name in ("bn.weight", "bn.bias", "bn.running_mean", "bn.running_var")]
for path, producer in ("eval.onnx", "pytorch"), ("foreign.onnx", "other"):
    save(path, [
        node("MatMul", ["x", "w"], ["b"], "/fc/MatMul"),
        node("BatchNormalization", ["b"] + [t.name for t in norm], ["y"], "/bn/BatchNormalization", training_mode=0)
    ], [weight("w", 6, 5)] + norm, producer=producer)
save("one.onnx", [node("MatMul", ["x", "w"], ["b"], "/fc/MatMul"), node("Mul", ["b", "step"], ["y"], "/Mul")],
     [weight("w", 6, 5), numpy_helper.from_array(np.array(0.001, np.float32), "step")])
off = [numpy_helper.from_array(np.array(0.25, np.float32), "quarter"), numpy_helper.from_array(np.array(False), "off")]
save("drop.onnx", [node("Dropout", ["x", "quarter", "off"], ["d"], "drop"), node("MatMul", ["d", "w"], ["y"], "fc")],
     [weight("w", 6, 5)] + off, producer="other")
PY
planning=(--batch 8 --costs k40m --effort 0 -q)
for command in "plan -o plan.json" "compile -o trainer" "compare --budget 100%" "frontier"; do
  expect 4 plimsoll ${command%% *} scaled.onnx ${command#"${command%% *}"} "${planning[@]}"
  says "the model does not say whether 2 tensors are trained"
  says "'shift' f32[6], read by node '/Add' (Add)"; says "'gamma' f32[5], read by node '/Mul' (Mul)"
  says "to train: --trainable 'shift' --trainable 'gamma'"; says "to freeze: --freeze 'shift' --freeze 'gamma'"
  says "--assume trainable or --assume frozen"
done
expect 4 plimsoll plan one.onnx -o plan.json "${planning[@]}"; says "'step' f32[] = 0.001, read by node '/Mul' (Mul)"
expect 4 plimsoll profile scaled.onnx --batch 8 -o p.json
[[ ! -e trainer && ! -e plan.json && ! -e p.json ]] || fail "something is written"

updates() { grep -o '"[a-z.]*\.update' plan.json | sort -u | tr -d '"\n'; }
trains() {
  local wanted=$1
  shift
  expect 0 plimsoll plan scaled.onnx "${planning[@]}" "$@" -o plan.json
  [[ $(updates) == "$wanted" ]] || fail "trained is $(updates)"
}
trains gamma.updateshift.updatew.update --assume trainable
trains w.update --assume frozen
trains shift.updatew.update --trainable shift --freeze gamma
trains gamma.updateshift.updatew.update --trainable shift --trainable gamma
trains w.update --freeze shift --freeze gamma
trains w.update --trainable w
expect 4 plimsoll plan scaled.onnx "${planning[@]}" --freeze shift -o plan.json; says "whether 1 tensor is trained"
expect 0 plimsoll plan scaled.onnx --batch 8 --costs k40m --effort 0 --assume frozen -o plan.json
says "2 tensors are treated as constants (--assume)"

expect 0 plimsoll inspect scaled.onnx --weights
says "undecided  shift"; says "the file does not say whether it is a parameter or a buffer"; says "trained    w"
expect 0 plimsoll inspect scaled.onnx --weights --freeze gamma --trainable shift
says "frozen     gamma"; says "trained    shift"
expect 0 plimsoll inspect scaled.onnx; says "undecided"

# A model that was exported for evaluation as a whole.
expect 4 plimsoll plan eval.onnx "${planning[@]}" -o plan.json
says "the model was exported for evaluation: its 1 batch normalization is in evaluation mode"
says "--modes train"
says "--modes as-exported"
expect 0 plimsoll plan eval.onnx "${planning[@]}" --modes train -o plan.json
expect 0 plimsoll plan eval.onnx --batch 8 --costs k40m --effort 0 --modes as-exported -o plan.json
says "1 batch normalization is in evaluation mode: its running statistics are used and kept"
expect 0 plimsoll plan eval.onnx "${planning[@]}" --frozen-statistics 'bn' -o plan.json
expect 0 plimsoll inspect eval.onnx; says "warning: the model was exported for evaluation"

# A file of an exporter that states no modes gets a warning, until the user has said which mode is meant.
expect 0 plimsoll plan foreign.onnx "${planning[@]}" -o plan.json
says "warning: the model has 1 batch normalization in evaluation mode"
expect 4 plimsoll plan foreign.onnx "${planning[@]}" --strict -o plan.json
for answer in "--modes train" "--modes as-exported" "--frozen-statistics bn"; do
  expect 0 plimsoll plan foreign.onnx "${planning[@]}" --strict ${answer% *} "${answer#* }" -o plan.json
  ! grep -q warning err || { cat err >&2; fail "$answer: a warning asks what the user has answered"; }
  expect 0 plimsoll inspect foreign.onnx ${answer% *} "${answer#* }"
  ! grep -q warning err || { cat err >&2; fail "inspect $answer: a warning asks what the user has answered"; }
done

# The same if its only modes are those of dropouts.
for command in "plan -o plan.json" "compile -o trainer" "compare --budget 100%" "frontier"; do
  expect 4 plimsoll ${command%% *} drop.onnx ${command#"${command%% *}"} "${planning[@]}"
  says "the model was exported for evaluation: its 1 dropout is in evaluation mode"
  says "--modes train"
  says "--modes as-exported"
done
expect 0 plimsoll plan drop.onnx "${planning[@]}" --modes train -o plan.json
grep -q '"drop.forward' plan.json || fail "--modes train: the dropout is off"
expect 0 plimsoll plan drop.onnx "${planning[@]}" --modes as-exported -o plan.json
! grep -q '"drop.forward' plan.json || fail "--modes as-exported: the dropout drops"
expect 0 plimsoll inspect drop.onnx; says "warning: the model was exported for evaluation"
