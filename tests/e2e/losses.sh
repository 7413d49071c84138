# Losses compared with PyTorch's: binary labels for each output, in one round and in several; and the likelihood that a
# model computes itself, with ignored labels, too. The mean is over the other labels, however they are spread over the
# rounds.
. "$PLIMSOLL_E2E/trainer.bash"
has $python torch onnx || { echo "skipped: no torch and onnx for $python"; exit 77; }
preload python torch onnx numpy
cat > net.py <<'PY'
import numpy as np, torch
torch.manual_seed(0)
class Own(torch.nn.Module):
    """A model whose output is its loss."""
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, x, y):
        return torch.nn.functional.nll_loss(torch.nn.functional.log_softmax(self.net(x), 1), y)
net = torch.nn.Sequential(torch.nn.Conv2d(1, 6, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(6 * 36, 5))
x = torch.randn(40, 1, 8, 8)
targets = torch.from_numpy(np.random.RandomState(1).choice([0, 1, 0.3], (40, 5)).astype(np.float32))
labels = torch.from_numpy(np.random.RandomState(2).randint(0, 5, 40))
weights, positive = torch.tensor([0.5, 1, 2, 1.5, 0.25]), torch.tensor([3, 0.25, 1, 2, 1.5])
holes = torch.where(torch.from_numpy(np.random.RandomState(3).rand(40) < 0.4), torch.tensor(-100), labels)
PY
$python - <<'PY'
from net import *
options = dict(opset_version=15, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
torch.onnx.export(torch.nn.Sequential(*net, torch.nn.Sigmoid()), x[:8], "bce.onnx", input_names=["x"],
                  dynamic_axes={"x": {0: "n"}}, **options)
torch.onnx.export(Own(net), (x[:8], labels[:8]), "own.onnx", input_names=["x", "y"],
                  dynamic_axes={"x": {0: "n"}, "y": {0: "n"}}, **options)
import onnx
from onnx import helper
model = onnx.load("own.onnx")
loss = model.graph.node.pop()  # this exporter fuses the two
assert loss.op_type == "SoftmaxCrossEntropyLoss"
model.graph.node.append(helper.make_node("LogSoftmax", loss.input[:1], ["logarithms"], name="logarithms", axis=1))
loss.op_type, loss.input[0] = "NegativeLogLikelihoodLoss", "logarithms"
model.graph.node.append(loss)
onnx.save(model, "own.onnx")
for name in ("x", "weights", "positive", "targets", "labels", "holes"):
    np.save(name + ".npy", globals()[name].numpy())
np.save("bits.npy", (targets > 0.5).numpy().astype(np.uint8))
PY
cat > against.py <<'PY'
"""against.py OUT.onnx METRICS.jsonl LOSS: five iterations of 8, their losses and hits, and the weights behind them."""
import json, sys
import onnx
from net import *
from onnx import numpy_helper
before = {k: v.clone() for k, v in net.state_dict().items()}
optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
lines = [json.loads(line) for line in open(sys.argv[2])]
assert len(lines) == 5
for i, line in enumerate(lines):
    scores = net(x[8 * i:8 * i + 8])
    if sys.argv[3].startswith("weighed"):  # Keras's label_smoothing: the target moves towards one half
        wanted = targets[8 * i:8 * i + 8]
        options = dict(pos_weight=torch.tensor(3.0))
        if sys.argv[3] == "weighed":
            options = dict(weight=weights, pos_weight=positive)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, 0.9 * wanted + 0.05, **options)
        hits = (scores > 0) == (wanted > 0.5)
    elif sys.argv[3] == "bce":
        wanted = targets[8 * i:8 * i + 8]
        loss, hits = torch.nn.functional.binary_cross_entropy_with_logits(scores, wanted), (scores > 0) == (wanted
                                                                                                            > 0.5)
    else:
        wanted = {"labels": labels, "holes": holes}[sys.argv[3]][8 * i:8 * i + 8]
        loss, hits = torch.nn.functional.cross_entropy(scores, wanted), (scores.argmax(1) == wanted)[wanted >= 0]
        assert sys.argv[3] == "labels" or 0 < len(hits) < 8
    assert abs(line["loss"] - float(loss)) < 1e-5 * float(loss), (i, line["loss"], float(loss))
    assert line["correct"] == int(hits.sum()) and abs(line["accuracy"] - float(hits.float().mean())) < 1e-6, (i, line)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
ours = {i.name.removeprefix("net."): numpy_helper.to_array(i) for i in onnx.load(sys.argv[1]).graph.initializer}
for name, value in net.state_dict().items():
    a, b, was = torch.from_numpy(ours[name].copy()), value, before[name]
    assert (a - b).norm() <= 2e-5 * (b - was).norm() and (b - was).norm() > 0, (name, float(
        (a - b).norm()), float((b - was).norm()))
PY
run() { # DIR LOSS LABELS.npy
  "$1/build/train" --data npy:x.npy,$3 --no-shuffle --quiet --steps 5 --lr 0.05 --metrics "$1.jsonl" --save "$1.onnx"
  $python against.py "$1.onnx" "$1.jsonl" $2 || fail "$1: not as PyTorch"
}
expect 0 plimsoll plan bce.onnx --batch 8 --loss bce-logits -o plan.json
says "Sigmoid' (Sigmoid, 4) is removed: the loss includes it"
build_trainer whole bce.onnx --batch 8 --loss bce-logits
run whole bce targets.npy
build_trainer rounds bce.onnx --batch 8 --sub-batch 3 --loss bce-logits
run rounds bce targets.npy
# Weights for each class, or one for all, and smoothed targets: as BCEWithLogitsLoss, in rounds too.
build_trainer weighed bce.onnx --batch 8 --sub-batch 3 --loss bce-logits --label-smoothing 0.1 \
  --class-weights weights.npy --pos-weight positive.npy
run weighed weighed targets.npy
build_trainer weighed_by_one bce.onnx --batch 8 --loss bce-logits --pos-weight 3 --label-smoothing 0.1
run weighed_by_one weighed_by_one targets.npy
refused() { # MESSAGE options…
  local message=$1
  shift
  expect 2 plimsoll plan bce.onnx --batch 8 "$@" -o plan.json
  says "$message"
}
refused "--pos-weight has 2 weights, but there are 5 classes" --loss bce-logits --pos-weight 1,2
refused "--ignore-index requires --loss softmax-cross-entropy" --loss bce-logits --ignore-index 1
refused "--class-weights requires --loss softmax-cross-entropy or bce-logits" --loss mse --class-weights 1,2,3,4,5
# What is trained is always said; a default even with -q.
expect 0 plimsoll plan bce.onnx --batch 8 -q -o plan.json
says "[N,5], 5 classes (default; for a regression: --loss mse)"
expect 0 plimsoll plan bce.onnx --batch 8 --loss mse -o plan.json
says "note: loss: mse over output"
expect 0 plimsoll plan bce.onnx --batch 8 --loss mse -q -o plan.json
[[ ! -s err ]] || { cat err; fail "-q prints a loss that was chosen"; }
expect 4 whole/build/train --data npy:x.npy,bits.npy --steps 1
says "no target of 'npy:x.npy,bits.npy' is above 1/255"
expect 0 plimsoll plan own.onnx --batch 8 -o plan.json
says "node 'logarithms' (LogSoftmax) is removed: the loss includes it"
build_trainer own own.onnx --batch 8 --sub-batch 3 --loss none
run own labels labels.npy
run own holes holes.npy

# A model that ends in the probabilities of two classes, 1 - p and p, is trained with their cross entropy, and the saved
# file still computes them.
cat > two.py <<'PY'
import json, sys
import numpy as np, onnx
from net import *
from onnx import numpy_helper
class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(net[0], net[1], net[2], torch.nn.Linear(6 * 36, 1))
    def forward(self, x):
        p = torch.sigmoid(self.net(x))
        return torch.cat([1 - p, p], 1)
torch.manual_seed(1)
two = Two()
yes = labels % 2
if len(sys.argv) == 1:
    torch.onnx.export(two, x[:8], "two.onnx", input_names=["x"], output_names=["p"], dynamic_axes={"x": {0: "n"}},
                      opset_version=15, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
    np.save("yes.npy", yes.numpy())
    raise SystemExit
optimizer = torch.optim.SGD(two.parameters(), 0.05, momentum=0.9)
for i, line in enumerate(map(json.loads, open("two.jsonl"))):
    p, wanted = two(x[8 * i:8 * i + 8]), yes[8 * i:8 * i + 8]
    loss = torch.nn.functional.nll_loss(p.log(), wanted)
    assert abs(line["loss"] - float(loss)) < 1e-5 * float(loss), (i, line["loss"], float(loss))
    assert line["correct"] == int((p.argmax(1) == wanted).sum()), (i, line)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
assert i == 4
saved = onnx.load(sys.argv[1])
assert [node.op_type for node in saved.graph.node] == [node.op_type for node in onnx.load("two.onnx").graph.node]
ours = {w.name: torch.from_numpy(numpy_helper.to_array(w).copy()) for w in saved.graph.initializer}
for name, value in two.named_parameters():
    assert (ours[name] - value).norm() <= 2e-5 * value.norm(), name
PY
$python two.py
expect 0 plimsoll plan two.onnx --batch 8 -o plan.json
says "(Concat) is removed: the loss includes it"
build_trainer two two.onnx --batch 8 --sub-batch 3
two/build/train --data npy:x.npy,yes.npy --no-shuffle --quiet --steps 5 --lr 0.05 --metrics two.jsonl --save saved.onnx
$python two.py saved.onnx || fail "the probabilities of two classes: not as PyTorch"
expect 0 plimsoll plan bce.onnx --batch 8 -o plan.json
says "warning: output '"; says "consists of probabilities: softmax-cross-entropy applies a softmax to them"

# --ignore-index: which number marks the ignored labels makes no difference. -1 is as usual as -100. Others are errors.
small_model classes.onnx
random_data 24 1 32 10
$python -c 'import numpy as np; y = np.load("y.npy"); y[y == 2] = -1; np.save("minus.npy", y)'
for index in 2 -1; do
  build_trainer ignores$index classes.onnx --batch 8 --sub-batch 3 --ignore-index $index
  labels=$([[ $index == 2 ]] && echo y.npy || echo minus.npy)
  ignores$index/build/train --data npy:x.npy,$labels --no-shuffle --quiet --save ignores$index.onnx
done
$python "$PLIMSOLL_E2E/weights.py" ignores2.onnx ignores-1.onnx 0 >/dev/null || fail "labels of -1 are not ignored"
expect 4 ignores2/build/train --data npy:x.npy,minus.npy --steps 1
says "has label -1, but the model has classes 0 to 9, and ignores 2"
