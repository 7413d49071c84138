# plimsoll.export writes losses for which TorchScript's exporter has no form. The gradients of a step are PyTorch's,
# also where a sigmoid is 0 or 1 to the last bit and its logarithm is not finite; by dynamo's exporter, too, and in the
# files of PyTorch's own exporters.
. "$PLIMSOLL_E2E/export.bash"

cat >losses.py <<'PY'
import functools
import torch
from torch import nn
from torch.nn import functional as F

LOSSES = [
    (F.l1_loss, "real"), (functools.partial(F.smooth_l1_loss, beta=0.3), "real"),
    (functools.partial(F.smooth_l1_loss, beta=0.0), "real"),
    (functools.partial(F.huber_loss, delta=0.4, reduction="none"), "real"),
    (F.soft_margin_loss, "sign"), (functools.partial(F.hinge_embedding_loss, margin=0.6), "sign"),
    (F.poisson_nll_loss, "count"), (functools.partial(F.poisson_nll_loss, full=True), "count"),
    (lambda z, t: F.poisson_nll_loss(torch.exp(z), t, log_input=False), "count"),
    (lambda z, t: F.margin_ranking_loss(z[:, :2], z[:, 2:], t[:, :2], margin=0.2), "sign"),
    (lambda z, t: F.triplet_margin_loss(z, t, 1 - t, reduction="sum"), "real"),
    (functools.partial(F.triplet_margin_loss, negative=torch.ones(1, 4), swap=True), "real"),
    (lambda z, t: F.cosine_embedding_loss(z, 1 + z * z, t[:, 0], margin=0.1, reduction="none"), "sign"),
    (lambda z, t: F.pairwise_distance(F.relu(z) - 1, torch.full_like(z, -1)), "real"),  # 0, with some relus
    (lambda z, t: torch.logaddexp(90 * z, 90 * t), "real"), (lambda z, t: F.relu(z) ** 0 + z, "real"),
    (lambda z, t: F.binary_cross_entropy(torch.sigmoid(z), t), "bit"),
    (lambda z, t: F.binary_cross_entropy(torch.sigmoid(60 * z), t, weight=torch.arange(4.0)), "bit"),
    (lambda z, t: F.binary_cross_entropy_with_logits(200 * z, t), "bit"),
    (lambda z, t: F.logsigmoid(200 * z), "bit"),
]


# Those that both exporters of PyTorch write.
PLAIN = [
    (lambda z, t: F.binary_cross_entropy_with_logits(200 * z, t), "bit"),
    (lambda z, t: F.logsigmoid(200 * z), "bit"),
    (lambda z, t: -(t * F.logsigmoid(60 * z) + (1 - t) * F.logsigmoid(-60 * z)), "bit"),
]


class Losses(nn.Module):
    def __init__(self, losses):
        super().__init__()
        self.losses, self.heads = losses, nn.ModuleList(nn.Linear(6, 4) for _ in losses)

    def forward(self, x, real, sign, count, bit):
        targets = {"real": real, "sign": sign, "count": count, "bit": bit}
        unused = 0 * sum(each.mean() for each in targets.values())  # an exporter drops inputs that nothing reads
        return sum((loss(head(x), targets[kind]).mean() for head, (loss, kind) in zip(self.heads, self.losses)), unused)


def make(plain=False):
    torch.manual_seed(1)
    n = 8
    bit = torch.rand(n, 4).round()
    data = [torch.randn(n, 6), torch.randn(n, 4), 2 * bit - 1, torch.randint(0, 5, (n, 4)).float(), bit]
    return Losses(PLAIN if plain else LOSSES), data
PY
export_losses() {
  "$with_torch" - "$@" 2>log <<'PY' || { cat log; fail "the exporter"; }
import sys
import numpy as np, plimsoll, torch
from losses import make
exporter, plain = sys.argv[1], len(sys.argv) > 2
model, data = make(plain)
names = "x real sign count bit".split()
if not plain:
    plimsoll.export(model, tuple(data), "net.onnx", exporter=exporter)
elif exporter == "dynamo":
    torch.onnx.export(model, tuple(data), "net.onnx", dynamo=True, optimize=False, input_names=names)
else:
    import inspect
    options = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    torch.onnx.export(model, tuple(data), "net.onnx", input_names=names, opset_version=15, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.TRAINING, **options)
for name, values in zip(names, data):
    np.save(name + ".npy", values.numpy())
probability = torch.sigmoid(60 * model.heads[0](data[0]))
assert (probability == 1).any() and (1 - probability == 1).any(), "no sigmoid is 0 or 1"
PY
}

cat >compare.py <<'PY'
import sys
import numpy as np, onnx
from onnx import numpy_helper
from losses import make

model, data = make(len(sys.argv) > 2)
model(*data).backward()
after = {each.name: numpy_helper.to_array(each) for each in onnx.load("out.onnx").graph.initializer}
for name, weight in model.named_parameters():
    gradient = weight.grad.numpy()
    most = max(1, np.abs(gradient).max())
    wrong = np.abs(weight.detach().numpy() - after[name] - gradient).max()
    assert np.isfinite(gradient).all() and np.abs(gradient).max() > 1e-3, name
    assert wrong <= 2e-5 * most, (name, wrong, most)
PY

for exporter in $exporters; do
  with_exporter $exporter
  for plain in "" plain; do
    export_losses $exporter $plain
    build_trainer $exporter$plain net.onnx --batch 8 --loss output --optimizer sgd --assume trainable
    expect 0 $exporter$plain/build/train --data npy:x.npy,real.npy,sign.npy,count.npy,bit.npy --steps 1 --no-shuffle \
      --lr 1 --save out.onnx
    "$with_torch" compare.py $exporter $plain || fail "$exporter $plain: the step is not PyTorch's"
  done
done
