# plimsoll.export warns of modules whose evaluation in PyTorch is not that of a trainer: forward() has a branch on
# self.training. It does not warn of dropouts and random masks, which a trainer evaluates as PyTorch does.
. "$PLIMSOLL_E2E/export.bash"

cat >modules.py <<'PY'
import warnings
import plimsoll, torch
from plimsoll import evaluation, examples
from torch import nn
from torch.nn import functional as F


class OnlyInTraining(nn.Module):
    """In evaluation, the identity."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, input):
        return self.function(input) if self.training else input


class InBothModes(OnlyInTraining):
    def forward(self, input):
        return self.function(input, self.training)


class Functional(nn.Module):
    """Everything random of torch.nn, and the statistics, are as a trainer evaluates them."""

    def __init__(self):
        super().__init__()
        self.norm, self.lstm = nn.BatchNorm1d(12), nn.LSTM(4, 4, 3, dropout=0.5, batch_first=True)
        self.attention = nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True)

    def forward(self, input):
        x = F.dropout(F.dropout(input, 0.4, self.training), p=0.3, training=self.training)
        x = torch.dropout(F.alpha_dropout(x, 0.2, self.training), 0.5, self.training)
        x = F.batch_norm(x, self.norm.running_mean, self.norm.running_var, training=self.training)
        x = self.lstm(F.rrelu(self.norm(x), training=self.training).reshape(-1, 3, 4))[0]
        x = self.attention(x, x, x)[0]
        if attention := getattr(F, "scaled_dot_product_attention", None):  # from PyTorch 2 on
            x = attention(x, x, x, dropout_p=0.4 if self.training else 0.0)
        return x


def per_sample(draw):
    return lambda x: draw(x.new_empty(x.shape[0], 1)) / 0.7 * x


class Outer(nn.Module):
    """Writes into its argument, and calls the inner module by a keyword."""

    def __init__(self, inner):
        super().__init__()
        self.first, self.inner = nn.Linear(12, 12), inner

    def forward(self, x, *, scale=1.0):
        return self.inner(input=self.first(x.mul_(scale if self.training else float(scale))))


class Masked(Outer):
    """Draws its mask before the inner module runs."""

    def forward(self, input):
        mask = (torch.rand_like(input) < 0.7).to(input.dtype) / 0.7 if self.training else 1
        return self.inner(input) * mask


same = {
    "bernoulli_": OnlyInTraining(per_sample(lambda like: like.bernoulli_(0.7))),
    "bernoulli": OnlyInTraining(per_sample(lambda like: torch.bernoulli(torch.full_like(like, 0.7)))),
    "rand() < p": OnlyInTraining(per_sample(lambda like: (torch.rand_like(like) < 0.7).to(like.dtype))),
    "floor(rand() + p)": OnlyInTraining(per_sample(lambda like: (0.7 + torch.rand_like(like)).floor_())),
    "functions": Functional(),
    "a mask around others": Masked(InBothModes(lambda x, training: x.sin())),
    "noise in both modes": InBothModes(lambda x, training: x + torch.randn_like(x)),
    "more outputs in training": InBothModes(lambda x, training: (x.sin(), x.cos()) if training else x.sin()),
    "a buffer": nn.BatchNorm1d(12),
}
different = {
    "noise": OnlyInTraining(lambda x: x + torch.randn_like(x)),
    "uniform noise": InBothModes(lambda x, training: x + torch.rand_like(x) - 0.5 if training else x.round()),
    "computed probabilities": InBothModes(
        lambda x, training: torch.bernoulli(x.sigmoid()) if training else x.sigmoid()),
    "a comparison with computed numbers": InBothModes(
        lambda x, training: (torch.rand_like(x) < x.sigmoid()).to(x.dtype) if training else x.sigmoid()),
    "scale": OnlyInTraining(lambda x: 2 * x),
    "fewer rows": OnlyInTraining(lambda x: x[:6]),
    "Gumbel": InBothModes(
        lambda x, training: F.gumbel_softmax(x, hard=True) if training else F.one_hot(x.argmax(1), 12).float()),
    "another type": InBothModes(lambda x, training: x if training else x.double()),
}
x = torch.randn(8, 12)


def warned_of(model, *arguments):
    state = {name: value.clone() for name, value in model.state_dict().items()}
    modes = [module.training for module in model.modules()]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluation.warn_of_differences(torch, model, arguments)
    assert modes == [module.training for module in model.modules()]
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert len(caught) <= 1, caught
    return str(caught[0].message).partition(": forward()")[0] if caught else ""


for name, inner in same.items():
    assert warned_of(Outer(inner), x) == "", name
for name, inner in different.items():
    kind = type(inner).__name__
    assert warned_of(Outer(inner), x) == f"'inner' ({kind})", (name, warned_of(Outer(inner), x))
    assert warned_of(inner, x) == kind, name
    assert warned_of(nn.Sequential(Outer(inner), Outer(same["rand() < p"])), x) == f"'0.inner' ({kind})", name
    assert warned_of(Outer(inner).eval(), x) == "", name
five = nn.Sequential(*(OnlyInTraining(lambda x: 2 * x) for _ in range(5)))
assert warned_of(five, x).endswith("'3' (OnlyInTraining) and 1 more")

named = Outer(different["noise"]).train()
with examples.given(torch, named, {"scale": 2.0, "x": x}) as tensors:
    assert warned_of(named, *tensors) == "'inner' (OnlyInTraining)"
assert all("forward" not in vars(module) for module in named.modules())
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    plimsoll.export(Outer(different["noise"]).train(), x, "net.onnx", exporter="torchscript")  # this line
(warning,) = [each for each in caught if "after eval()" in str(each.message)]
assert warning.filename == __file__, warning
assert "this line" in open(__file__).read().splitlines()[warning.lineno - 1], warning
PY
"$with_torch" modules.py 2>log || { cat log; fail "the warnings of plimsoll.export"; }
