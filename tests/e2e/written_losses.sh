# Losses as their authors write them in PyTorch, inside the module and outside it. The loss and every gradient of a step
# are PyTorch's, with the batch whole and in rounds.
. "$PLIMSOLL_E2E/trainer.bash"
with_torch=$(python_with torch onnx numpy onnxscript)  # PyTorch 2
[[ -n $with_torch ]] || { echo "skipped: no Python here has PyTorch 2, onnx and onnxscript"; exit 77; }
losses=("$with_torch" "$PLIMSOLL_E2E/written_losses.py")
export PYTHONDONTWRITEBYTECODE=1

# Losses that permit rounds run in rounds; the others keep the batch whole, and the compiler says so.
split=(weighted probabilities per_sample causal causal_padded focal two_tasks auxiliary gan_discriminator quantile vae)
whole=(masked_inside info_nce dice_of_batch across_samples across_samples_shifted)
"${losses[@]}" export torchscript "${split[@]}" "${whole[@]}" >log 2>&1 || { cat log; fail "the exporter"; }
for name in "${split[@]}"; do
  build_trainer $name $name.onnx --batch 8 --sub-batch 3 --loss output --optimizer sgd
  "${losses[@]}" check $name $name || fail "$name: not as PyTorch"
done
for name in "${whole[@]}"; do
  expect 2 plimsoll plan $name.onnx --batch 8 --sub-batch 4 --loss output -q -o plan.json
  says "the batch of 8 must stay whole"
  build_trainer $name $name.onnx --batch 8 --loss output --optimizer sgd
  "${losses[@]}" check $name $name || fail "$name: not as PyTorch"
done

# torch's dynamo exporter leaves label_smoothing out of the loss, and writes it into the node's metadata.
"${losses[@]}" export dynamo smoothed weighted_smoothed smoothed_probabilities >log 2>&1 ||
  { cat log; fail "the exporter"; }
for name in smoothed weighted_smoothed smoothed_probabilities; do
  build_trainer $name $name.onnx --batch 8 --loss output --optimizer sgd
  "${losses[@]}" check $name $name || fail "$name: not as PyTorch"
done

# plimsoll.export knows the numbers of an arange(), which dynamo's exporter takes for data and refuses as axes, and
# writes an embedding_bag() without a loop, a ctc_loss(), and distributions and losses without the validation of their
# arguments. Dynamo's exporter writes a jvp(), and gives some parameters the names of values.
for name in dice_of_samples embedding_bags distributions gaussian gaussian_below_eps gaussian_of_samples physics \
  named_as_values ctc ctc_sum; do
  PYTHONPATH=$PLIMSOLL_SOURCE/python "${losses[@]}" export plimsoll $name >log 2>&1 || { cat log; fail "the exporter"; }
  build_trainer $name $name.onnx --batch 8 --sub-batch 3 --loss output --optimizer sgd
  "${losses[@]}" check $name $name || fail "$name: not as PyTorch"
done
PYTHONPATH=$PLIMSOLL_SOURCE/python "${losses[@]}" export plimsoll batch_hard >log 2>&1 ||
  { cat log; fail "the exporter"; }
build_trainer batch_hard batch_hard.onnx --batch 8 --loss output --optimizer sgd
"${losses[@]}" check batch_hard batch_hard || fail "batch_hard: not as PyTorch"
PYTHONPATH=$PLIMSOLL_SOURCE/python "${losses[@]}" export plimsoll_torchscript ctc rms_normalized >log 2>&1 ||
  { cat log; fail "the exporter"; }
for name in ctc rms_normalized; do
  build_trainer ${name}_torchscript $name.onnx --batch 8 --loss output --optimizer sgd
  "${losses[@]}" check $name ${name}_torchscript || fail "$name of TorchScript's exporter: not as PyTorch"
done

# The flags of the built-in loss correspond to PyTorch's arguments, whatever the rounds: five iterations of 8 samples,
# the last of 5.
"$with_torch" - <<'PY'
import numpy as np, torch
torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
x, y = torch.randn(37, 6), torch.randint(0, 4, (37,))
torch.save((net, x, y), "flags.pt")
torch.onnx.export(net, x[:8], "flags.onnx", input_names=["x"], dynamic_axes={"x": {0: "n"}}, dynamo=False,
                  opset_version=17, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
np.save("x.npy", x.numpy()), np.save("y.npy", y.numpy()), np.save("weights.npy", np.array([0.5, 1, 2, 4], np.float32))
PY
cat >flags.py <<'PY'
"""flags.py METRICS OUT.onnx IGNORED SMOOTHING WEIGHED"""
import json, sys
import onnx, torch
from onnx import numpy_helper
net, x, y = torch.load("flags.pt", weights_only=False)
ignored, smoothing = int(sys.argv[3]), float(sys.argv[4])
weights = torch.tensor([0.5, 1, 2, 4]) if sys.argv[5] == "yes" else None
criterion = torch.nn.CrossEntropyLoss(weight=weights, ignore_index=ignored, label_smoothing=smoothing)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
lines = [json.loads(line) for line in open(sys.argv[1])]
assert len(lines) == 5, lines
for i, line in enumerate(lines):
    scores, labels = net(x[8 * i:8 * i + 8]), y[8 * i:8 * i + 8]
    loss, counts = criterion(scores, labels), labels != ignored
    assert abs(line["loss"] - float(loss.detach())) < 1e-5 * float(loss.detach()), (i, line["loss"], float(loss))
    hits = (scores.argmax(1) == labels)[counts]
    assert line["correct"] == int(hits.sum()) and abs(line["accuracy"] - float(hits.float().mean())) < 1e-6, (i, line)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
ours = {i.name: torch.from_numpy(numpy_helper.to_array(i).copy()) for i in onnx.load(sys.argv[2]).graph.initializer}
for name, value in net.state_dict().items():
    assert torch.allclose(ours[name], value, rtol=1e-4, atol=1e-6), (name, ours[name] - value)
PY
run_flags() { # DIR IGNORED SMOOTHING WEIGHED compile-options…
  local directory=$1 ignored=$2 smoothing=$3 weighed=$4
  shift 4
  build_trainer $directory flags.onnx --batch 8 --optimizer sgd "$@"
  $directory/build/train --data npy:x.npy,y.npy --no-shuffle --quiet --last keep --epochs 1 --lr 0.1 \
    --metrics $directory.jsonl --save $directory.onnx
  "$with_torch" flags.py $directory.jsonl $directory.onnx $ignored $smoothing $weighed ||
    fail "$directory: not as PyTorch"
}
run_flags flags-all 2 0.1 yes --ignore-index 2 --class-weights weights.npy --label-smoothing 0.1
run_flags flags-rounds 2 0.1 yes --ignore-index 2 --class-weights 0.5,1,2,4 --label-smoothing 0.1 --sub-batch 3
run_flags flags-budget 2 0 yes --ignore-index 2 --class-weights "0.5 1 2 4" --budget 10752
run_flags flags-smoothing -100 0.3 no --label-smoothing 0.3 --sub-batch 3
expect 0 flags-all/build/train --data npy:x.npy,y.npy --eval-data npy:x.npy,y.npy --last pad --epochs 1
says "test loss"
# The trained model is compiled again: its class weights are replaced.
expect 0 plimsoll compile flags-all.onnx --batch 8 --class-weights 1,1,1,2 -q --costs modelled -o again

# A mismatch is an error that names the flag.
planning=(--batch 8 --costs modelled -q -o plan.json)
expect 2 plimsoll plan flags.onnx "${planning[@]}" --class-weights 1,2,3
says "--class-weights has 3 weights, but there are 4 classes"
expect 2 plimsoll plan flags.onnx "${planning[@]}" --class-weights 1,2,3,-1
says "--class-weights must be at least 0"
expect 3 plimsoll plan flags.onnx "${planning[@]}" --class-weights missing.npy
says "neither a list of numbers nor a readable file"
expect 3 plimsoll plan flags.onnx "${planning[@]}" --class-weights x.npy
says "not a one-dimensional array of f32 or f64"
expect 2 plimsoll plan flags.onnx "${planning[@]}" --ignore-index 4
says "--ignore-index 4 is not a label: there are 4 classes; expected one of them or a negative number"
expect 2 plimsoll plan flags.onnx "${planning[@]}" --label-smoothing 1.5
says "--label-smoothing 1.5 is not between 0 and 1"
expect 2 plimsoll plan flags.onnx "${planning[@]}" --loss mse --label-smoothing 0.1
says "--label-smoothing requires --loss softmax-cross-entropy"
expect 2 plimsoll plan weighted.onnx "${planning[@]}" --loss none --ignore-index 1
says "--ignore-index applies to a loss that Plimsoll adds"
