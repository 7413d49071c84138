# plimsoll.export tells the compiler what is trained: no buffer, no frozen parameter, and no statistics of a
# normalization in evaluation mode. plimsoll.check then finds that the trainer's gradients are PyTorch's.
. "$PLIMSOLL_E2E/export.bash"
without_torch=$(python_with torch onnx numpy)

cat >network.py <<'PY'
import torch
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.frozen_norm, self.norm, self.twice = nn.BatchNorm2d(8), nn.BatchNorm2d(8), nn.BatchNorm2d(8)
        self.shared = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.register_buffer("scale", torch.rand(8, 1, 1) + 0.5)
        self.fixed = nn.Parameter(torch.rand(8, 1, 1), requires_grad=False)
        self.head = nn.Linear(8 * 2 * 8, 10)
        for norm in self.frozen_norm, self.norm:
            norm.running_mean.uniform_(-0.5, 0.5)
            norm.running_var.uniform_(0.5, 2)
        self.stem.weight.requires_grad = False

    def forward(self, x):
        x = torch.tanh(self.frozen_norm(self.stem(x))) * self.scale + self.fixed
        for _ in range(2):
            x = torch.tanh(self.twice(self.shared(x)))
        return self.head(torch.tanh(self.norm(x)).unfold(-2, 4, 4).mean(-1).flatten(1))


def make(every_norm_in_eval=False):
    torch.manual_seed(0)
    model = Network().train()
    model.frozen_norm.eval()
    if every_norm_in_eval:
        model.norm.eval()
        model.twice.eval()
    return model, torch.randn(8, 3, 8, 8), torch.randint(0, 10, (8,))
PY

"$without_torch" - <<'PY'
import sys
import plimsoll
assert "torch" not in sys.modules, "importing the package imports PyTorch"
PY

# export NAME EVERY_NORM_IN_EVAL EXPORTER: also checks that modes are restored.
export_as() {
  "$with_torch" - "$@" 2>log <<'PY' || { cat log; fail "the exporter"; }
import sys
import plimsoll
from network import make
model, x, _ = make(sys.argv[2] == "True")
modes = [module.training for module in model.modules()]
plimsoll.export(model, x, sys.argv[1] + ".onnx", exporter=sys.argv[3])
assert modes == [module.training for module in model.modules()], "the model's modes have changed"
PY
}
check_as() {
  "$with_torch" - "$@" 2>log <<'PY' || { cat log; fail "the trainer is not PyTorch's"; }
import copy
import sys
import plimsoll
from network import make
model, x, y = make(sys.argv[2] == "True")
rows = {row.name: row for row in plimsoll.check(model, x, y, sys.argv[1])}
assert all(row.is_good(1e-4) for row in rows.values())
kinds = {
    kind: {name for name, row in rows.items() if row.kind == kind} for kind in ("gradient", "statistic", "unmoved")
}
assert kinds["gradient"] == {name for name, p in model.named_parameters() if p.requires_grad}, kinds
assert {"scale", "fixed", "stem.weight"} <= kinds["unmoved"], kinds
# The check can fail: a weight that differs from the trainer's model changes PyTorch's results, and only those.
model.scale.data *= 2
try:
    plimsoll.check(model, x[:4], y[:4], sys.argv[1], report=False)
    raise SystemExit("another batch is not refused")
except ValueError as error:
    assert "8 samples" in str(error), error
try:
    plimsoll.check(copy.deepcopy(model).half(), x, y, sys.argv[1], report=False)
    raise SystemExit("a module in 16 bits is not refused")
except ValueError as error:
    assert "model.float()" in str(error), error
doubled = plimsoll.check(model, x, y, sys.argv[1],
                         loss=lambda scores, labels: 2 * plimsoll.checking._cross_entropy(scores, labels), report=False)
assert not any(row.is_good(1e-4) for row in doubled if row.kind == "gradient"), "a gradient of half the size is good"
PY
}

for exporter in $exporters; do
  with_exporter $exporter
  for in_eval in False True; do
    name=${exporter}_$in_eval
    export_as $name $in_eval $exporter
    build_trainer $name $name.onnx --batch 8 --budget 80%
    check_as $name $in_eval
  done
  expect 0 plimsoll inspect "$exporter"_True.onnx
  ! grep "warning" err || fail "a warning about a model that was exported right"
done

# Values cut off from the gradient, and the padding row of an embedding, also where a layer without padding shares the
# table and gives it its name.
cat >cut.py <<'PY'
import torch
from torch import nn


class Cut(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 8, padding_idx=1)
        self.a, self.b, self.c, self.d = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 9)
        self.scores = nn.Linear(5, 9, bias=False)
        self.tied = nn.Embedding(9, 5, padding_idx=1)
        self.tied.weight = self.scores.weight

    def forward(self, ids):
        x = self.embed(ids).mean(1)
        h = self.a(x)
        with torch.no_grad():
            fixed = torch.tanh(self.b(x)) * 2
        return self.d(h * torch.sigmoid(h).detach() + fixed + self.c(x).data) + self.scores(self.tied(ids).mean(1))


def make():
    torch.manual_seed(0)
    model = Cut().train()
    model.embed.weight.data[1] = 0.5
    return model, torch.randint(0, 3, (8, 6)), torch.randint(0, 5, (8,))
PY
for exporter in $exporters; do
  with_exporter $exporter
  "$with_torch" - "$exporter" 2>log <<'PY' || { cat log; fail "the exporter"; }
import json, sys
import onnx, plimsoll
from cut import make
model, x, y = make()
plimsoll.export(model, x, "cut.onnx", exporter=sys.argv[1])
assert "forward" not in vars(model), "the module is changed"
proto = onnx.load("cut.onnx")
notes = json.loads(next(e.value for e in proto.metadata_props if e.key == "plimsoll.export"))
assert set(notes["padding"]) - {"scores.weight", "tied.weight"} == {"embed.weight"}, notes
assert list(notes["padding"].values()) == [1, 1] and len(notes["detached"]) >= 3, notes
assert not any("plimsoll" in i.domain for i in proto.opset_import), proto.opset_import
onnx.checker.check_model(proto)
PY
  build_trainer "cut_$exporter" cut.onnx --batch 8 --budget 100%
  "$with_torch" - "cut_$exporter" 2>log <<'PY' || { cat log; fail "what is cut off is trained"; }
import sys
import plimsoll
from cut import make
model, x, y = make()
rows = {row.name: row for row in plimsoll.check(model, x, y, sys.argv[1])}
assert all(row.is_good(1e-4) for row in rows.values()), rows
assert rows["embed.weight"].kind == "gradient" and rows["a.weight"].kind == "gradient", rows
PY
  expect 0 plimsoll inspect cut.onnx --weights
  for weight in b.weight c.weight; do says "frozen     $weight"; done
done

# If the file lacks a trainable parameter, that is an error, unless the user says that the parameter is unused.
"$with_torch" - 2>log <<'PY' || { cat log; fail "an unused parameter"; }
import plimsoll, torch
from network import make
model, x, _ = make()
model.unused = torch.nn.Parameter(torch.zeros(3))
try:
    plimsoll.export(model, x, "unused.onnx")
    raise SystemExit("an unused parameter is not told of")
except ValueError as error:
    assert "unused" in str(error) and "allow_unused" in str(error), error
plimsoll.export(model, x, "unused.onnx", allow_unused=True)
try:
    plimsoll.export(model, x, "unused.onnx", exporter="other")
    raise SystemExit("any exporter will do")
except ValueError:
    pass
PY

# An input that nothing reads, and an argument that is absent. TorchScript's exporter leaves the former out of the file.
cat >unread.py <<'PY'
import torch
from torch import nn


class Unread(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 5)

    def forward(self, x, token_types, mask=None, z=None):
        return self.b(torch.tanh(self.a(x) + z) if mask is None else x)


def make():
    torch.manual_seed(0)
    return Unread().train(), (torch.randn(8, 8), torch.ones(8, 3), None, torch.randn(8, 8)), torch.randint(0, 5, (8,))
PY
for exporter in $exporters; do
  with_exporter $exporter
  "$with_torch" -c "import sys, plimsoll; from unread import make
plimsoll.export(*make()[:2], 'unread.onnx', exporter='$exporter')" \
    2>log || { cat log; fail "the exporter"; }
  build_trainer "unread_$exporter" unread.onnx --batch 8 --budget 100%
  "$with_torch" -c "import plimsoll; from unread import make
assert all(r.is_good(1e-4) for r in plimsoll.check(*make(), 'unread_$exporter'))" \
    2>log || { cat log; fail "an input that nothing reads"; }
done

# The labels of a loss that is the output itself are fed last, whatever their place among the arguments.
cat >labels_first.py <<'PY'
import torch
from torch import nn


class LabelsFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 5), nn.Linear(3, 5)

    def forward(self, y, x, z):
        return nn.functional.cross_entropy(self.a(x) + self.b(z), y)


def make():
    torch.manual_seed(0)
    return LabelsFirst().train(), (torch.randint(0, 5, (8,)), torch.randn(8, 8), torch.randn(8, 3))
PY
"$with_torch" -c "import plimsoll; from labels_first import make; plimsoll.export(*make(), 'labels_first.onnx')" \
  2>log || { cat log; fail "the exporter"; }
build_trainer labels_first labels_first.onnx --batch 8 --loss output
"$with_torch" -c "import plimsoll; from labels_first import make
assert all(r.is_good(1e-4) for r in plimsoll.check(*make(), None, 'labels_first'))" \
  2>log || { cat log; fail "labels that are the first argument"; }

# A number that forward() takes out of its data: dynamo's exporter refuses it, and the error names the other exporter.
# A derivative inside forward(): neither exporter writes it, and the error says what to use instead. A module that keeps
# what forward() computed is exported, and keeps nothing of the export.
cat >longest.py <<'PY'
import plimsoll
import sys
import torch


class Longest(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = torch.nn.Linear(6, 5)

    def forward(self, x, lengths):
        return self.scores(x[:, : int(lengths.max())])


try:
    plimsoll.export(Longest(), (torch.randn(8, 6), torch.full((8,), 6)), "longest.onnx", exporter="dynamo")
    sys.exit("a number out of the data is not refused")
except Exception as error:
    notes = "".join(getattr(error, "__notes__", ()))
    both = "exporter='torchscript'" in notes and "dynamic_batch=False" in notes
    assert both or sys.version_info < (3, 11), notes
plimsoll.export(Longest(), (torch.randn(8, 6), torch.full((8,), 6)), "longest.onnx", exporter="torchscript")


class Differentiates(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(2, 1)

    def forward(self, x):
        x = x.clone().requires_grad_(True)
        slope, = torch.autograd.grad(torch.tanh(self.net(x)).sum(), x, create_graph=True)
        return slope.square().mean()


class Head(torch.nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.net, self.heads = torch.nn.Linear(6, 5), heads

    def forward(self, x):
        self.heads[0] = self.net(x)


class Keeps(torch.nn.Module):
    """Keeps what forward() computed: a mask, and an output in a list that its part shares."""

    def __init__(self):
        super().__init__()
        self.heads = [None]
        self.head = Head(self.heads)
        self.register_buffer("mask", None, persistent=False)

    def forward(self, x):
        if self.mask is None:
            self.mask = torch.arange(6) / 6
        self.head(x * self.mask)
        return self.heads[0]


for exporter in "dynamo", "torchscript":
    keeps, x = Keeps(), torch.randn(8, 6)
    for _ in range(2):
        plimsoll.export(keeps, x, "keeps.onnx", exporter=exporter)
        assert keeps(x).detach().numpy().any(), "the module keeps tensors without data"
        assert keeps.heads[0].grad_fn is not None, "the module's own tensor has changed"
for exporter in "dynamo", "torchscript":
    try:
        plimsoll.export(Differentiates(), torch.randn(8, 2), "differentiates.onnx", exporter=exporter)
        sys.exit("torch.autograd.grad is not refused")
    except ValueError as error:
        assert "torch.autograd.grad" in str(error) and "torch.func.jvp" in str(error), error
PY
if [[ $exporters == *dynamo* ]]; then
  with_exporter dynamo
  "$with_torch" longest.py 2>log || { cat log; fail "what to do about an exporter's error"; }
fi

# An export leaves the module as it was, and writes it as it was, although forward() updates running statistics and
# keeps tensors in a dict. The numbers of an arange() are those that PyTorch gives, also in inference mode. A derivative
# is refused in an except block too.
cat >unchanged.py <<'PY'
import plimsoll
import sys
import onnx
import torch
from onnx import numpy_helper

exporter = sys.argv[1]


class Updates(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.norm, self.kept = torch.nn.Linear(6, 5), torch.nn.BatchNorm1d(5), {"outputs": []}

    def forward(self, x):
        y = self.norm(self.net(x))
        self.kept["outputs"].append((y, y * 2))
        return y


model, x = Updates().train(), torch.randn(8, 6)
model.norm.running_mean.fill_(0.25)
for _ in range(2):
    before = {name: value.clone() for name, value in model.state_dict().items()}
    kept = model.kept["outputs"][:]
    plimsoll.export(model, x, "updates.onnx", exporter=exporter)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), f"{name} has changed"
    assert model.kept["outputs"] == kept, "the module keeps tensors of the export"
    written = {i.name: numpy_helper.to_array(i) for i in onnx.load("updates.onnx").graph.initializer}
    for name in "norm.running_mean", "norm.running_var":
        assert (written[name] == before[name].numpy()).all(), f"{name} in the file: {written[name]}"
    model(x)  # a step, which keeps tensors with a history


class Calls(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.net, self.call = torch.nn.Linear(6, 5), call

    def forward(self, x):
        return self.call(self, self.net(x))


def in_inference_mode(module, y):
    with torch.inference_mode():
        axes = torch.arange(1, 2)
    return y.mean(axes.tolist())


def differentiated(module, y):
    try:
        return module.missing
    except AttributeError:
        return torch.autograd.grad(y.sum(), module.net.weight, create_graph=True)[0].sum() + y


plimsoll.export(Calls(lambda module, y: y * torch.arange(5, 6).item()), x, "calls.onnx", exporter=exporter)
if exporter == "torchscript":  # dynamo's refuses the mode
    plimsoll.export(Calls(in_inference_mode), x, "calls.onnx", exporter=exporter)
try:
    plimsoll.export(Calls(differentiated), x, "calls.onnx", exporter=exporter)
    sys.exit("torch.autograd.grad is not refused")
except ValueError as error:
    assert type(error) is ValueError and "torch.autograd.grad" in str(error), error
PY
for exporter in $exporters; do
  with_exporter $exporter
  "$with_torch" unchanged.py $exporter 2>log || { cat log; fail "the module is not left or not written as it was"; }
done

# A module may return a dict. The loss is by default the trainer's, on the output that the trainer was compiled for.
cat >two_heads.py <<'PY'
import torch
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.scores, self.size = nn.Linear(8, 16), nn.Linear(16, 5), nn.Linear(16, 2)

    def forward(self, x):
        features = torch.tanh(self.body(x))
        return {"scores": self.scores(features), "more": (self.size(features), None)}


def make():
    torch.manual_seed(0)
    return TwoHeads().train(), torch.randn(8, 8)
PY
"$with_torch" -c "import plimsoll; from two_heads import make
plimsoll.export(*make(), 'two_heads.onnx', output_names=['scores', 'size'])" \
  2>log || { cat log; fail "the exporter"; }
build_trainer sizes two_heads.onnx --batch 8 --output size --loss mse
build_trainer halves two_heads.onnx --batch 8 --output size --loss mse --precision bf16  # of weights
build_trainer split two_heads.onnx --batch 8 --output size --loss mse --sub-batch 2  # its gradients are accumulated
build_trainer signs two_heads.onnx --batch 8 --output size --loss bce-logits
build_trainer clipped two_heads.onnx --batch 8 --output size --loss mse --clip-norm 0.01 --nesterov --weight-decay 0.1
"$with_torch" -c "import plimsoll, torch; from two_heads import make
sizes, signs = torch.randn(8, 2), torch.randint(0, 2, (8, 2))
for trainer, labels in ('sizes', sizes), ('split', sizes), ('signs', signs), ('clipped', sizes):
    rows = plimsoll.check(*make(), labels, trainer)
    assert all(row.is_good(1e-4) for row in rows)
    assert {row.name: row.kind for row in rows}['scores.weight'] == 'unmoved'" \
  2>log || { cat log; fail "one output of two"; }
plimsoll compile two_heads.onnx --batch 8 --output size --loss mse --optimizer lion -o lion -q
"$with_torch" -c "import plimsoll, torch; from two_heads import make
rows = plimsoll.check(*make(), torch.randn(8, 2), 'halves', report=False)
assert all(row.is_good(0.05) for row in rows if row.kind == 'gradient')
state = {'kind': 'optimizer_state', 'name': 'table.momentum.slice7'}
plimsoll.checking._check_plan({'model': {'batch': 8}, 'tensors': [state]}, (torch.ones(8, 2),), 'slices')
try:
    plimsoll.check(*make(), torch.randn(8, 2), 'lion')
    raise SystemExit('a step of Lion is not refused')
except ValueError as error:
    assert '--optimizer momentum' in str(error), error" \
  2>log || { cat log; fail "an optimizer whose step does not tell the gradient"; }

# plimsoll.load reads what a trainer has saved: the module then gives the trainer's predictions.
"$with_torch" -c "import numpy as np; from two_heads import make
np.save('x.npy', make()[1].numpy()); np.save('y.npy', np.ones((8, 2), np.float32))"
sizes/build/train --data npy:x.npy,y.npy --steps 3 --lr 0.1 --save sizes.onnx --quiet
sizes/build/train --predict x.npy --out sizes.npy --model sizes.onnx --quiet
cat >loaded.py <<'PY'
import sys
import numpy as np
import onnx
import plimsoll
import torch
from torch import nn
from two_heads import make

model, x = make()
before = model(x)["more"][0].detach()
assert plimsoll.load(model, "sizes.onnx") == 6
predicted = torch.from_numpy(np.load("sizes.npy"))
assert torch.allclose(model(x)["more"][0], predicted, atol=1e-5) and not torch.allclose(before, predicted, atol=1e-2)


class Mixed(nn.Module):
    """A shared weight, one in bf16, statistics, a parameter that forward() does not use, and one that is a number."""

    def __init__(self):
        super().__init__()
        self.coarse, self.norm = nn.Linear(4, 6).to(torch.bfloat16), nn.BatchNorm1d(6)
        self.a, self.b, self.unused = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(2, 2)
        self.b.weight = self.a.weight
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return self.b(self.a(self.norm(self.coarse(x.to(torch.bfloat16)).float()))) * self.scale


def refuses(model, path, *words):
    before = {name: value.clone() for name, value in model.state_dict().items()}
    try:
        plimsoll.load(model, path)
        sys.exit(f"{words} is not refused")
    except ValueError as error:
        assert all(word in str(error) for word in words), error
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items()), "changed all the same"


for exporter in sys.argv[1:]:
    mixed = Mixed().train()
    plimsoll.export(mixed, torch.randn(8, 4), "mixed.onnx", exporter=exporter, allow_unused=True)
    proto = onnx.load("mixed.onnx")
    state = mixed.state_dict()
    for initializer in proto.graph.initializer:  # a change that bf16 represents
        if initializer.name in state:
            kind, value = initializer.data_type, state[initializer.name].float().numpy() * 4
            made = onnx.helper.make_tensor(initializer.name, kind, value.shape, value.ravel())
            if initializer.name == "coarse.weight":  # the other form of a file: bytes
                made.ClearField("int32_data")
                made.raw_data = (state[initializer.name] * 4).view(torch.int16).numpy().tobytes()
            initializer.CopyFrom(made)
    onnx.save(proto, "mixed.onnx")
    expected = {name: value if "unused" in name or "tracked" in name else value * 4
                for name, value in state.items()}
    assert plimsoll.load(mixed, "mixed.onnx") >= 8
    for name, value in mixed.state_dict().items():
        assert torch.equal(value, expected[name]), name
    assert mixed.b.weight is mixed.a.weight
    refuses(nn.Sequential(mixed), "mixed.onnx", "no tensor '", "was not exported from this module")
    mixed.head = nn.Linear(6, 6)
    refuses(mixed, "mixed.onnx", "no initializer 'head.weight'", "was not exported from this module")
    del mixed.head
    mixed.norm = nn.BatchNorm1d(5)
    refuses(mixed, "mixed.onnx", "[6]", "[5]", "norm.")
    for entry in list(proto.metadata_props):
        proto.metadata_props.remove(entry)
    onnx.save(proto, "unknown.onnx")
    refuses(Mixed(), "unknown.onnx", "no initializer 'unused.weight'")
PY
with_exporter ${exporters##* }
$with_torch loaded.py $exporters 2>log || { cat log; fail "load"; }

# Attention in bf16 with a scale of its own, which TorchScript's exporter writes as a complex number: the trainer's is
# that of its formula. PyTorch 1 has no such function.
for exporter in $exporters; do
  with_exporter $exporter
  rm -f net.onnx
  "$with_torch" - $exporter 2>log <<'PY' || { cat log; fail "attention in bf16"; }
import sys
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
import plimsoll

class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.Linear(16, 48)

    def forward(self, x):
        q, k, v = self.heads(x.to(torch.bfloat16)).view(-1, 6, 2, 24).transpose(1, 2).chunk(3, -1)
        expected = torch.softmax((q @ k.transpose(2, 3)).float() * 0.7, -1) @ v.float()
        return (F.scaled_dot_product_attention(q, k, v, scale=0.7).float() - expected).flatten(1)

if hasattr(F, "scaled_dot_product_attention"):
    torch.manual_seed(0)
    x = torch.randn(64, 6, 16)
    plimsoll.export(Attending().to(torch.bfloat16).train(), x[:8], "net.onnx", exporter=sys.argv[1])
    for name, values in ("x", x.numpy()), ("zeros", np.zeros((64, 96), np.float32)):
        np.save(name + ".npy", values)
PY
  [[ ! -e net.onnx ]] || losses_are_zero "attending_$exporter" zeros.npy || fail "attention in bf16 has another scale"
done
