# The compiler never guesses what is trained: with several outputs, or several axes, the user names one. Commands that
# only inspect a model list what it has.
. "$PLIMSOLL_CLI/common.sh"
/usr/bin/python3 -c 'import onnx' 2>/dev/null || { echo "skipped: no onnx for python3"; exit 77; }
/usr/bin/python3 - <<'PY'
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper


def weight(name, *shape):
    return numpy_helper.from_array(np.random.RandomState(len(name)).rand(*shape).astype(np.float32), name)
def save(path, nodes, x, outputs, weights):
    values = lambda pairs: [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in pairs]
    graph = helper.make_graph(nodes, "g", values([("x", x)]), values(outputs), weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8), path)
node = helper.make_node
save("heads.onnx", [node("MatMul", ["x", "stem.w"], ["h"], "stem"), node("MatMul", ["h", "head.w"], ["s"], "head"),
                    node("Identity", ["s"], ["logits"], "alias")],
     ["n", 6], [("h", ["n", 5]), ("logits", ["n", 3])], [weight("stem.w", 6, 5), weight("head.w", 5, 3)])
save("frames.onnx", [node("MatMul", ["x", "w"], ["scores"], "head")], ["n", 11, 7], [("scores", ["n", 11, 6])],
     [weight("w", 7, 6)])
save("number.onnx", [node("MatMul", ["x", "w"], ["price"], "head")], ["n", 7], [("price", ["n", 1])],
     [weight("w", 7, 1)])
mode = lambda name, on: numpy_helper.from_array(np.array(on), name)
save("dropouts.onnx", [node("Dropout", ["x", "half", "on"], ["a"], "kept"), node("MatMul", ["a", "w"], ["b"], "fc"),
                       node("Dropout", ["b", "half", "off"], ["y"], "evaluated")], ["n", 7], [("y", ["n", 5])],
     [weight("w", 7, 5), numpy_helper.from_array(np.float32(0.5), "half"), mode("on", True), mode("off", False)])
PY
planning=(--batch 8 --costs k40m --effort 0 -q)
several="the model has 2 outputs: 'h' f32[N,5], 'logits' f32[N,3]; choose the one that the loss reads, "
several+="for example --output 'h'"
for command in "plan -o plan.json" "compile -o trainer" "compare --budget 100%" "frontier" \
    "plan --rules vdnn -o plan.json"; do
  expect 4 plimsoll ${command%% *} heads.onnx ${command#"${command%% *}"} "${planning[@]}"; says "$several"
done
expect 4 plimsoll profile heads.onnx --batch 8 -o p.json;                        says "$several"
[[ ! -e trainer && ! -e plan.json ]] || fail "something is written"
expect 2 plimsoll plan heads.onnx "${planning[@]}" --output scores -o plan.json
says "the model has no output 'scores' (--output)"
expect 0 plimsoll plan heads.onnx --batch 8 --costs k40m --output logits -o plan.json
says "output 'h' is ignored: the loss reads output 'logits'"
grep -q 'head.w.update' plan.json || fail "the head is not trained"
expect 0 plimsoll plan heads.onnx "${planning[@]}" --output h -o plan.json
! grep -q 'head.w.update' plan.json || fail "the head that was dropped is trained"
expect 0 plimsoll compare heads.onnx "${planning[@]}" --budget 100% --output logits
expect 0 plimsoll frontier heads.onnx "${planning[@]}" --output logits

expect 0 plimsoll inspect heads.onnx
says "logits  f32[N,3]"
says "by output"
expect 0 plimsoll inspect heads.onnx --weights
says "by output  head.w"
says "trained    stem.w"
says "stem: weight of node 'stem' (MatMul"
expect 0 plimsoll inspect heads.onnx --weights --output h;                        says "dropped    head.w"
expect 0 plimsoll inspect heads.onnx --weights --output logits;                   says "trained    head.w"
expect 2 plimsoll inspect plan.json --output h;                                   says "--output applies to models"

expect 2 plimsoll plan frames.onnx "${planning[@]}" -o plan.json
says "output 'scores' is f32[N,11,6]: which axis holds the classes is ambiguous; choose it with --class-axis K"
says "--class-axis 1: 11 classes, labels i32[N,6]"; says "--class-axis 2: 6 classes, labels i32[N,11]"
expect 0 plimsoll plan frames.onnx "${planning[@]}" --class-axis 2 -o plan.json
expect 0 plimsoll plan frames.onnx "${planning[@]}" --class-axis=-1 -o plan.json
expect 2 plimsoll plan frames.onnx "${planning[@]}" --loss mse --class-axis 2 -o plan.json
says "--class-axis requires --loss softmax-cross-entropy"

expect 4 plimsoll plan number.onnx "${planning[@]}" -o plan.json
says "output 'price' is f32[N,1]: the softmax cross entropy of one class is always 0"
says "--loss mse"
says "--loss bce-logits"
expect 0 plimsoll plan number.onnx "${planning[@]}" --loss mse -o plan.json

# A dropout in evaluation mode next to one in training mode drops nothing.
expect 0 plimsoll plan dropouts.onnx --batch 8 --costs k40m -o plan.json
says "1 dropout is in evaluation mode while other nodes are in training mode, and is disabled: evaluated"
grep -q 'kept.forward' plan.json || fail "the dropout in training is gone"
! grep -q 'evaluated.forward' plan.json || fail "the dropout in evaluation mode drops"
expect 0 plimsoll inspect dropouts.onnx;                                          says "and is disabled: evaluated"
