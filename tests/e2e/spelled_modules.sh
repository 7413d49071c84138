# plimsoll.export writes modules that PyTorch's exporters write as something else, and the gradients of a step are
# PyTorch's. It refuses those that no file can hold, and names them.
. "$PLIMSOLL_E2E/trainer.bash"
with_torch=$(python_with torch onnx numpy)
[[ -n $with_torch ]] || { echo "skipped: no Python here has torch and onnx"; exit 77; }
export PYTHONPATH=$PLIMSOLL_SOURCE/python PYTHONDONTWRITEBYTECODE=1
preload with_torch torch onnx onnxscript

cat >modules.py <<'PY'
import torch
from torch import nn
from torch.nn import functional as F


class Taking(nn.Module):
    """A module on a layer of its own, whose output it reads in another shape."""

    def __init__(self, shape, module, call=None):
        super().__init__()
        size = torch.Size(shape).numel()
        self.shape, self.before, self.module = shape, nn.Linear(6, size), module
        self.call = call or (lambda module, z: module(z))

    def forward(self, x):
        y = self.call(self.module, self.before(x).reshape(-1, *self.shape))
        return (y * torch.linspace(0.5, 1.5, y.shape[1:].numel()).reshape(y.shape[1:])).flatten(1).sum(1).mean()


def added(module, z):  # several numbers at the same place
    rows, columns = torch.tensor([0, 0, -1, 1]), torch.tensor([[2], [2], [0], [1]])
    once = module.weight.index_put((rows,), module.weight[:, :1] ** 2, accumulate=True)
    twice = once.index_put((rows.unsqueeze(1), columns), module.weight[:, 1:2] * 3, accumulate=True)
    return F.linear(z, twice.index_add(1, torch.tensor([1, 1]), module.weight[:, :2].sin(), alpha=0.5), module.bias)


def averaged(module, z):
    places = torch.tensor([[0, 2, 2], [1, 1, 1], [0, 2, 0], [0, 1, 2]])
    weight = module.weight.scatter_reduce(1, places, module.weight ** 2, "mean")
    return F.linear(z, weight.scatter_reduce(0, places[:2], weight[:2].cos(), "mean", include_self=False), module.bias)


def selected(module, z):
    tied = z.detach().round() + (z - z.detach())  # many elements are equal, and the gradient is that of z
    (most, places), least = tied.max(1), torch.min(tied, -1, keepdim=True)
    rows, columns = torch.max(tied, axis=-2).values, torch.min(input=tied, dim=2, keepdim=True)[0]
    parts = [most, most * places, least.values, least.values * least.indices, rows, columns, tied.amax((1, 3))]
    return torch.cat([part.flatten(1) for part in parts], 1) + tied.max() + tied.min()


def states_and_steps(module, z):
    y, (h, c) = module(z)
    return torch.cat([y.flatten(1), h.transpose(0, 1).flatten(1), c.transpose(0, 1).flatten(1)], 1)


def modules():
    image, volume, steps = (2, 5, 6), (2, 4, 4, 4), (5, 6)
    # The exporter of PyTorch 1 has no operator that adds several numbers at one place.
    adding = [] if torch.__version__.startswith("1.") else [added, averaged]
    return [
        Taking((8,), nn.Softplus(beta=2, threshold=0.5)), Taking((8,), nn.Softplus(beta=30)),
        Taking(image, nn.AvgPool2d(2, divisor_override=3)),
        Taking(image, nn.AvgPool2d((2, 3), (3, 2), padding=1, ceil_mode=True, divisor_override=5)),
        Taking(image, nn.AvgPool2d(2, ceil_mode=True, divisor_override=1)),
        Taking(volume, nn.AvgPool3d(2, divisor_override=3)),
        Taking(image, nn.AdaptiveMaxPool2d((3, None))), Taking(image, nn.AdaptiveAvgPool2d((4, 3))),
        Taking((3, 7), nn.AdaptiveMaxPool1d(3)), Taking((3, 7), nn.AdaptiveMaxPool1d(4)),
        Taking((2, 5, 4, 6), nn.AdaptiveAvgPool3d((3, 3, 3))), Taking((2, 5, 4, 6), nn.AdaptiveMaxPool3d((2, 3, 6))),
        Taking(image, None, lambda module, z: F.pad(z, (1, -2, 3, 0), mode="circular")),
        Taking(image, None, lambda module, z: F.pad(z, (2, 1, 0, 3), mode="circular")),
        Taking((8,), None, lambda module, z: z * (z.detach() // 0.25)),
        Taking(image, nn.ConvTranspose2d(2, 3, 3, stride=(1, 2), dilation=(3, 4), padding=1, output_padding=(2, 3))),
        Taking((2, 6), nn.ConvTranspose1d(2, 4, 3, stride=2, dilation=3, output_padding=2, groups=2)),
        Taking(volume, nn.ConvTranspose3d(2, 1, 2, dilation=2, output_padding=1, bias=False)),
        Taking(steps, nn.LSTM(6, 5, proj_size=3, batch_first=True), states_and_steps),
        Taking(steps, nn.LSTM(6, 5, 2, proj_size=2, bidirectional=True, bias=False, batch_first=True),
               states_and_steps),
        *(Taking((3,), nn.Linear(3, 4), call) for call in adding),
        Taking(image, None, selected),
        Taking((8,), None, lambda module, z: torch.atan2(F.relu(z[:, :4]), F.relu(-z[:, 4:]) - F.relu(z[:, 2:6]))),
    ]


class Modules(nn.Module):
    def __init__(self):
        super().__init__()
        self.every = nn.ModuleList(modules())

    def forward(self, x):
        return sum(module(x) for module in self.every)


def make():
    torch.manual_seed(3)
    return Modules(), torch.randn(8, 6)
PY

cat >compare.py <<'PY'
import numpy as np, onnx
from onnx import numpy_helper
from modules import make

model, x = make()
model(x).backward()
after = {each.name: numpy_helper.to_array(each) for each in onnx.load("out.onnx").graph.initializer}
for name, weight in model.named_parameters():
    gradient = weight.grad.numpy()
    most = max(1, np.abs(gradient).max())
    wrong = np.abs(weight.detach().numpy() - after[name] - gradient).max()
    assert np.isfinite(gradient).all() and np.abs(gradient).max() > 1e-4, name
    assert wrong <= 2e-5 * most, (name, wrong, most)
PY

cat >refused.py <<'PY'
import sys
import plimsoll, torch
from torch import nn


class Network(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.body = nn.ModuleDict({"layer": layer})

    def forward(self, *inputs):
        return self.body["layer"](*inputs)


def refused(layer, *inputs):
    try:
        plimsoll.export(Network(layer), inputs, "refused.onnx", exporter=sys.argv[1], dynamic_batch=False)
    except ValueError as error:
        return str(error)
    sys.exit(f"{layer} is exported")


ids = torch.randint(0, 9, (4, 5))
for layer in nn.Embedding(9, 4, max_norm=1.0), nn.EmbeddingBag(9, 4, max_norm=1.0):
    said = refused(layer, ids)
    assert said.startswith(f"module 'body.layer' ({type(layer).__name__}): an embedding with max_norm cannot be "), said
said = refused(nn.Embedding(9, 4, scale_grad_by_freq=True), ids)
assert said.startswith("module 'body.layer' (Embedding): an embedding with scale_grad_by_freq=True cannot be "), said
said = refused(nn.EmbeddingBag(9, 4), ids.flatten(), torch.tensor([0, 4, 5]))
assert said.startswith("module 'body.layer' (EmbeddingBag): embedding_bag() can be exported for bags of one size"), said


class Shrinks(nn.Module):
    def forward(self, x):
        return nn.functional.interpolate(x, (3, 3), mode="bilinear", align_corners=True, antialias=True)


said = refused(Shrinks(), torch.randn(2, 3, 6, 6))
assert said.startswith("module 'body.layer' (Shrinks): interpolate() with antialias=True and align_corners=True"), said


class Packs(nn.LSTM):
    def forward(self, x):
        return super().forward(nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]), batch_first=True))[0].data


if sys.argv[1] == "torchscript":  # dynamo's exporter cannot pack
    said = refused(Packs(6, 5, proj_size=3, batch_first=True), torch.randn(2, 5, 6))
    assert said.startswith("module 'body.layer' (Packs): an LSTM with a projection (proj_size) cannot be exp"), said
frozen = nn.Embedding(9, 4, scale_grad_by_freq=True).requires_grad_(False)  # which has no gradient
plimsoll.export(nn.Sequential(frozen, nn.Linear(4, 3)), (ids,), "frozen.onnx", exporter=sys.argv[1])
PY

exporters=torchscript
[[ -z $(python_with torch onnx numpy onnxscript) ]] || exporters+=" dynamo"
for exporter in $exporters; do
  [[ $exporter == torchscript ]] || with_torch=$(python_with torch onnx numpy onnxscript)
  preload with_torch torch onnx onnxscript
  "$with_torch" - $exporter 2>log <<'PY' || { cat log; fail "the exporter"; }
import sys
import numpy as np, plimsoll
from modules import make
model, x = make()
plimsoll.export(model, x, "net.onnx", exporter=sys.argv[1])
np.save("x.npy", x.numpy())
PY
  build_trainer $exporter net.onnx --batch 8 --loss output --optimizer sgd
  expect 0 $exporter/build/train --data npy:x.npy --steps 1 --no-shuffle --lr 1 --save out.onnx
  "$with_torch" compare.py || fail "$exporter: the step is not PyTorch's"
  "$with_torch" refused.py $exporter 2>log || { cat log; fail "$exporter: what is refused"; }
done
