# plimsoll.export writes modules that PyTorch's exporters write as something else, and the gradients of a step are
# PyTorch's. It refuses those that no file can hold, and names them.
. "$PLIMSOLL_E2E/export.bash"

cat >calls.py <<'PY'
import torch
from torch import distributions


def tied(z):  # many elements are equal, some are 0, and the gradient is that of z
    return z.detach().round() + (z - z.detach())


def products(z):
    return torch.cat([tied(z).cumprod(1), torch.cumprod(z, -1), torch.cumprod(z[:, :1], dim=1)], 1)


def sums_of_exponentials(z):  # whose logarithms differ by hundreds
    return torch.cat([torch.logcumsumexp(200 * z, 2), z.logcumsumexp(1), torch.logaddexp(z, 200 * z.sin())], 1)


def extremes(z):
    (most, places), least = tied(z).cummax(1), torch.cummin(tied(z), -1)
    return torch.cat([most, most * places, least.values, least.values * least.indices], 1)


def samples_of_rays(z):  # NeRF's sample_pdf()
    bins, weights = torch.linspace(2, 6, 9).expand(z.shape[0], 9), z[:, :8].sigmoid()
    weights = weights + 1e-5
    pdf = weights / torch.sum(weights, -1, keepdim=True)
    cdf = torch.cumsum(pdf, -1)
    cdf = torch.cat([torch.zeros_like(cdf[..., :1]), cdf], -1)
    u = torch.linspace(0.03, 0.98, steps=6).expand(list(cdf.shape[:-1]) + [6]).contiguous()
    inds = torch.searchsorted(cdf.detach(), u, right=True)
    below = torch.max(torch.zeros_like(inds - 1), inds - 1)
    above = torch.min((cdf.shape[-1] - 1) * torch.ones_like(inds), inds)
    inds_g = torch.stack([below, above], -1)
    matched = [inds_g.shape[0], inds_g.shape[1], cdf.shape[-1]]
    cdf_g = torch.gather(cdf.unsqueeze(1).expand(matched), 2, inds_g)
    bins_g = torch.gather(bins.unsqueeze(1).expand(matched), 2, inds_g)
    denom = cdf_g[..., 1] - cdf_g[..., 0]
    denom = torch.where(denom < 1e-5, torch.ones_like(denom), denom)
    t = (u - cdf_g[..., 0]) / denom
    return bins_g[..., 0] + t * (bins_g[..., 1] - bins_g[..., 0])


def places(z):
    edges = torch.tensor([-1.0, 0.0, 0.0, 1.0])
    one = torch.searchsorted(edges, z.detach().round())
    two = torch.searchsorted(edges, z.detach().round(), side="right", out_int32=True)
    return z * one + z.sin() * two


def middles(z):
    (middle, place), least = z.median(1), torch.kthvalue(z, k=2, dim=-1, keepdim=True)
    parts = [middle, middle * place, torch.median(z, -1, keepdim=True)[0], least[0], least.values * least.indices,
             z.kthvalue(3).values]
    return torch.cat([part.flatten(1) for part in parts], 1)


def quantiles(z):
    parts = [z.quantile(q, dim=dim) for q in (0.0, 0.3, 1.0) for dim in (1, 2)]
    parts += [torch.quantile(z, 0.3, 1, keepdim=True, interpolation=each) for each in
              ("lower", "higher", "nearest", "midpoint")]
    several = torch.quantile(z, torch.tensor([0.2, 0.55]), dim=2)
    return torch.cat([part.flatten(1) for part in (*parts, several[0], several[1])], 1)


def gammas(z):
    x = z.abs() * 3 + 0.05
    negative = -0.5 - 0.4 * torch.sin(z)
    chosen = torch.where(z > 0.4, torch.lgamma(z.clamp(min=0.0) + 1e-6), z)
    return torch.cat([x.lgamma(), torch.digamma(x) * 0.1, torch.lgamma(z.exp() * 50), torch.lgamma(negative),
                      torch.digamma(negative), torch.mvlgamma(x + 1, 3), torch.special.psi(x + 9), chosen], 1)


def errors(z):
    return torch.cat([torch.erfinv(torch.tanh(z)), torch.special.erfinv(0.5 * torch.cos(z)), (z * 1e-3).erfinv()], 1)


def small(z):
    a = z.reshape(-1, 2, 8)
    one, two = a[:, 0], a[:, 1]
    return torch.cat([torch.copysign(one, two), torch.copysign(one, -2.0), torch.hypot(one, two), torch.fmax(one, two),
                      torch.fmin(one, two), torch.hypot(one * 1e20, two * 1e20) * 1e-20], 1)


def inverses(z):
    parts = []
    for size in (1, 2, 3, 4):
        matrix = z[:, :size, :size] * 0.3 + torch.eye(size) * 2
        sign, logarithm = torch.linalg.slogdet(-matrix)
        parts += [torch.linalg.inv(matrix), matrix.inverse() ** 2, torch.linalg.det(matrix), matrix.det() ** 2,
                  torch.logdet(matrix), sign * logarithm]
        if size > 1:  # PyTorch 1 has no gradient for one row
            parts += [torch.linalg.solve(matrix, z[:, :size]), torch.linalg.solve(matrix, z[:, 0, :size].sin()),
                      torch.linalg.solve(matrix, z[:, :, :size], left=False)]
    return torch.cat([part.flatten(1) for part in map(rows, parts)], 1)


def rows(part):
    return part.unsqueeze(-1) if part.dim() == 1 else part


def factors(z):
    parts = []
    for size in (1, 2, 4):
        matrix = z[:, :size, :size]
        matrix = matrix @ matrix.transpose(1, 2) + 3 * torch.eye(size)
        factor = torch.linalg.cholesky(matrix)
        parts += [factor, torch.linalg.cholesky(matrix, upper=True) ** 2,
                  torch.linalg.solve_triangular(factor.mT, z[:, :size], upper=True),
                  torch.linalg.solve_triangular(factor, z[:, :, :size], upper=False, left=False)]
    return torch.cat([part.flatten(1) for part in parts], 1)


def covariances(z):
    joint = z.sum(0)
    return torch.cat([z.flatten(1), z[:, 0] @ torch.cov(joint), z[:, 1] @ torch.corrcoef(joint)], 1)


def normal(z):
    covariance = z @ z.mT + 2 * torch.eye(4)
    return distributions.MultivariateNormal(z[:, 0], covariance).log_prob(z[:, 1].detach()).unsqueeze(-1)


def log_probs(z):
    a, b, x = z[:, 0].exp() + 0.2, z[:, 1].exp() + 0.2, z[:, 2]
    parts = [
        distributions.Gamma(a, b).log_prob(x.exp() + 0.1),
        distributions.Beta(a, b).log_prob(x.sigmoid()),
        distributions.StudentT(a + 1, x, b).log_prob(z[:, 3]),
        distributions.NegativeBinomial(a, logits=x).log_prob(z[:, 3].detach().abs().floor()),
        distributions.Poisson(a).log_prob(z[:, 3].detach().abs().floor()),
        distributions.Gamma(a, b).entropy(),
        distributions.Normal(x, a).icdf(torch.sigmoid(z[:, 3])),
    ]
    return torch.cat([*parts, distributions.Dirichlet(a).log_prob(z[:, 3].softmax(-1)).unsqueeze(-1)], 1)


CALLS = [
    ((5, 6), products), ((5, 6), sums_of_exponentials), ((5, 6), extremes), ((8,), samples_of_rays),
    ((8,), places), ((5, 6), middles), ((5, 6), quantiles), ((8,), gammas), ((8,), errors), ((16,), small),
    ((4, 4), inverses), ((4, 4), factors), ((4, 4), covariances), ((4, 6), log_probs),
]
if not torch.__version__.startswith("1."):  # PyTorch 1's exporter loses the sizes of a reshape in it
    CALLS.append(((4, 4), normal))
PY

cat >modules.py <<'PY'
import torch
from torch import nn
from torch.nn import functional as F

from calls import CALLS, tied


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
    x = tied(z)
    (most, places), least = x.max(1), torch.min(x, -1, keepdim=True)
    rows, columns = torch.max(x, axis=-2).values, torch.min(input=x, dim=2, keepdim=True)[0]
    parts = [most, most * places, least.values, least.values * least.indices, rows, columns, x.amax((1, 3))]
    return torch.cat([part.flatten(1) for part in parts], 1) + x.max() + x.min()


def states_and_steps(module, z):
    y, (h, c) = module(z)
    return torch.cat([y.flatten(1), h.transpose(0, 1).flatten(1), c.transpose(0, 1).flatten(1)], 1)


def smoothed(module, z):
    labels = torch.where(z[:, 1].detach() > 0, z.detach().argmax(1), 2)
    options = dict(weight=torch.tensor([1.0, 2.0, 3.0, 0.5]), ignore_index=2, label_smoothing=0.2)
    loss = F.cross_entropy(z, labels, **options) + F.multi_margin_loss(z[..., 0, 1], labels[:, 0, 1], p=2, margin=0.5)
    return F.cross_entropy(z, labels, reduction="none", **options) + loss


def resized(module, z):
    parts = [F.interpolate(z, size=(2, 5), mode="area"), F.interpolate(z, size=(4, 9), mode="nearest-exact"),
             F.interpolate(z, scale_factor=(0.6, 1.7), mode="nearest-exact"),
             F.interpolate(z, size=(3, 8), mode="bilinear", antialias=True),
             F.interpolate(z, size=(2, 3), mode="bilinear", align_corners=True, antialias=True),
             F.interpolate(z, scale_factor=0.5, mode="bicubic", antialias=True)]
    return torch.cat([part.flatten(1) for part in parts], 1)


def crossed(module, z):
    """Kronecker products of two matrices and of a vector with a matrix, and an identity in given memory."""
    rows = torch.kron(module.weight[0], module.weight[1:2])
    weight = torch.kron(module.weight, module.weight[:2]) + rows + torch.eye(6, 4, out=torch.empty(6, 4))
    return F.linear(z, weight)


def counted(module, z):
    """Scaled by how many weights are in each of four ranges; some are in none."""
    counts = torch.histc(module.weight.detach(), 4, -0.4, 0.5) + module.weight.detach().histc(bins=4, min=-1, max=0)
    return F.linear(z, module.weight * (1 + 0.1 * counts).unsqueeze(1), module.bias)


def formless():
    """Calls for most of which TorchScript's exporter has no form."""
    shuffled = ((4, 3, 5), nn.ChannelShuffle(2), None)
    return [
        # PyTorch 1 has no derivative of channel_shuffle().
        *([] if torch.__version__.startswith("1.") else [shuffled]),
        ((8,), nn.Threshold(0.1, 2.0), None), ((4, 3, 2), None, smoothed), ((3,), nn.Linear(3, 4), counted),
        ((8,), nn.Bilinear(4, 4, 3), lambda module, z: module(z[:, :4], z[:, 4:])),
        ((8,), None, lambda module, z: torch.addcdiv(z, z, z.abs() + 1, value=0.5)),
        ((2, 3, 4), None, lambda module, z: torch.rot90(z, 3, (2, 3)).flatten(1) + z.rot90(1, (1, 3)).flatten(1)),
        ((5, 6), None, lambda module, z: torch.take_along_dim(z, torch.tensor([[[0], [5], [2], [1], [1]]]), 2)),
        ((3,), nn.Linear(3, 4), lambda module, z: F.linear(z, torch.roll(module.weight, 5), module.bias)),
        ((3,), nn.Linear(3, 4, bias=False),
         lambda module, z: z[:, :1] * (1 + tied(module.weight).median()) + module.weight.quantile(0.4)),
        ((2, 3), None, lambda module, z: F.affine_grid(z, (z.shape[0], 1, 3, 4), align_corners=False)),
        ((2, 5, 6), None, resized), ((4,), nn.Linear(2, 3, bias=False), crossed), ((3, 4), nn.InstanceNorm1d(3), None),
        ((4, 3), nn.BatchNorm1d(4, track_running_stats=False), None),
        ((8,), nn.BatchNorm1d(8, affine=False, track_running_stats=False), lambda module, z: module(z.sin()).sin()),
        ((8, 6), None, lambda module, z: F.fold(z, (5, 6), 2, stride=3, padding=1)),
        ((8, 4), None, lambda module, z: F.fold(z, (6, 5), (2, 4), dilation=(3, 1), padding=(0, 1), stride=(2, 3))),
    ]


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
        *(Taking(shape, None, lambda module, z, call=call: call(z)) for shape, call in CALLS),
        *(Taking(*each) for each in formless()),
        Taking((8,), None, lambda module, z: torch.atan2(F.relu(z[:, :4]), F.relu(-z[:, 4:]) - F.relu(z[:, 2:6]))),
    ]


class Modules(nn.Module):
    """Every second one: the time of PyTorch 1's exporter grows with the square of the number of nodes."""

    def __init__(self, first):
        super().__init__()
        self.every = nn.ModuleList(modules()[first::2])

    def forward(self, x):
        return sum(module(x) for module in self.every)


def make(first):
    torch.manual_seed(3)
    return Modules(int(first)), torch.randn(8, 6)
PY

cat >compare.py <<'PY'
import sys
import numpy as np, onnx
from onnx import numpy_helper
from modules import make

model, x = make(sys.argv[1])
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


class Matrices(nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, x):
        return self.call(x @ x.transpose(1, 2) + torch.eye(x.shape[1]))


for call, of in (torch.det, "the determinant"), (torch.linalg.inv, "the inverse"), (torch.inverse, "the inverse"):
    said = refused(Matrices(call), torch.randn(2, 5, 6))
    assert said.startswith(f"module 'body.layer' (Matrices): {of} of a matrix of 5 rows cannot be exported: "), said
    assert "at most 4 rows" in said, said
said = refused(Matrices(torch.linalg.cholesky), torch.randn(2, 9, 6))
assert said.startswith("module 'body.layer' (Matrices): the Cholesky factor of a matrix of 9 rows cannot be exp"), said
if sys.argv[1] == "torchscript":  # in dynamo's files the compiler refuses another batch
    said = refused(Matrices(lambda x: x.cumprod(0)), torch.randn(2, 5, 6))
    assert said.startswith("module 'body.layer' (Matrices): TorchScript's exporter cannot write cumprod()"), said
said = refused(nn.BatchNorm1d(6, momentum=None), torch.randn(4, 6))
assert said.startswith("module 'body.layer' (BatchNorm1d): a batch normalization with momentum=None cannot be "), said
said = refused(nn.InstanceNorm1d(6, track_running_stats=True), torch.randn(4, 6, 3))
assert said.startswith("module 'body.layer' (InstanceNorm1d): an instance normalization with track_running_stats"), said
evaluated = nn.Sequential(nn.BatchNorm1d(6, momentum=None).eval(), nn.Linear(6, 3))  # which keeps its statistics
plimsoll.export(evaluated, (torch.randn(4, 6),), "evaluated.onnx", exporter=sys.argv[1])


class Packs(nn.LSTM):
    def forward(self, x):
        return super().forward(nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]), batch_first=True))[0].data


if sys.argv[1] == "torchscript":  # dynamo's exporter cannot pack
    said = refused(Packs(6, 5, proj_size=3, batch_first=True), torch.randn(2, 5, 6))
    assert said.startswith("module 'body.layer' (Packs): an LSTM with a projection (proj_size) cannot be exp"), said
frozen = nn.Embedding(9, 4, scale_grad_by_freq=True).requires_grad_(False)  # which has no gradient
plimsoll.export(nn.Sequential(frozen, nn.Linear(4, 3)), (ids,), "frozen.onnx", exporter=sys.argv[1])
PY

for exporter in $exporters; do
  with_exporter $exporter
  for first in 0 1; do
    "$with_torch" - $exporter $first 2>log <<'PY' || { cat log; fail "the exporter"; }
import sys
import numpy as np, plimsoll
from modules import make
model, x = make(sys.argv[2])
plimsoll.export(model, x, "net.onnx", exporter=sys.argv[1])
np.save("x.npy", x.numpy())
PY
    build_trainer $exporter$first net.onnx --batch 8 --loss output --optimizer sgd
    expect 0 $exporter$first/build/train --data npy:x.npy --steps 1 --no-shuffle --lr 1 --save out.onnx
    "$with_torch" compare.py $first || fail "$exporter: the step is not PyTorch's"
  done
  "$with_torch" refused.py $exporter 2>log || { cat log; fail "$exporter: what is refused"; }
done
