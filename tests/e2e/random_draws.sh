# Random numbers in forward() that plimsoll.export writes as functions of uniform and normal ones, and masks whose
# probabilities the network computes. They have their distribution in training and in evaluation.
. "$PLIMSOLL_E2E/export.bash"

# Each result is how much a mean differs from its expectation by more than six of its standard deviations, so it is 0,
# and 1 more if two draws are equal.
cat >network.py <<'PY'
import math, sys
import numpy as np, plimsoll, torch
from torch import nn
from torch.nn import functional as F

SAMPLES, ELEMENTS = 64, 4096


class Draws(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):  # [N,4096] of 1
        self.violations = []
        self.has_mean(lambda: torch.empty_like(x).exponential_(), 1, 1)
        self.has_mean(lambda: x.clone().exponential_(0.25), 4, 4)
        self.has_mean(lambda: torch.empty_like(x).uniform_(-1, 3), 1, 4 / math.sqrt(12))
        self.has_mean(lambda: torch.empty_like(x).uniform_(to=2), 1, 2 / math.sqrt(12))
        self.has_mean(lambda: torch.normal(3 * x, 0.5), 3, 0.5)
        self.has_mean(lambda: x.new(x.size()).normal_(2, 3), 2, 3)
        self.has_mean(lambda: x.new(x.size(0), ELEMENTS).log_normal_(0, 0.5), math.exp(1 / 8), 0.61)
        self.has_mean(lambda: (torch.normal(x, 2 * x) - 1) ** 2, 4, 4 * math.sqrt(2))
        self.has_mean(lambda: torch.distributions.Laplace(2 * x, 3.0).rsample(), 2, 3 * math.sqrt(2))
        self.has_mean(lambda: torch.distributions.Gumbel(x, 1.0).rsample(), 1 + 0.5772, math.pi / math.sqrt(6))
        rising = x.cumsum(1) / ELEMENTS  # from 0 to 1
        self.has_mean(lambda: torch.bernoulli(rising) * rising, 1 / 3, math.sqrt(4 / 45))
        self.has_mean(lambda: torch.empty_like(x).bernoulli_(rising) * rising, 1 / 3, math.sqrt(4 / 45))
        self.has_mean(lambda: (torch.rand_like(x) < rising).to(x.dtype) * rising, 1 / 3, math.sqrt(4 / 45))
        self.has_mean(lambda: torch.floor(3 + rising + torch.rand_like(x)), 3.5, 0.5)
        three = torch.tensor([0.2, 0.3, 0.5]) * x[:, :, None]  # the mean of the class is 1.3, its variance 0.61
        self.has_mean(lambda: torch.multinomial(three[:, 0], 1000, replacement=True).to(x.dtype), 1.3, 0.8, 1000)
        factors = x.repeat(1, 3).cumsum(1).remainder(3)  # 1, 2, 0, 1, …
        self.has_mean(lambda: F.gumbel_softmax(three.log(), hard=True).flatten(1) * factors,
                      (0.2 * 1 + 0.3 * 2) / 3, 0.6, 3 * ELEMENTS)
        self.has_mean(lambda: F.gumbel_softmax(three.log(), tau=0.01)[..., 2], 0.5, 0.5)
        two = torch.multinomial(three[:, 0], 2)  # different classes
        self.violations.append((two[:, 0] == two[:, 1]).to(x.dtype))
        never_first = torch.multinomial(torch.tensor([0.0, 0.5, 0.5]) * x[:, :3], 1)[:, 0]
        self.violations.append((never_first == 0).to(x.dtype))
        return torch.stack(self.violations, 1) + self.bias

    def has_mean(self, draw, expected, deviation, count=ELEMENTS):
        numbers, others = draw().flatten(1), draw().flatten(1)
        beyond = (numbers.mean(1) - expected).abs() - 6 * deviation / math.sqrt(count)
        is_same = ((numbers - others).abs().amax(1) < 1e-6).to(numbers.dtype)
        self.violations.append(beyond.relu() + is_same)


model, x = Draws().train(), torch.ones(SAMPLES, ELEMENTS)
with torch.no_grad():
    violations = model(x)
assert (violations == 0).all(), violations.amax(0)
plimsoll.export(model, (torch.ones(4, ELEMENTS),), "net.onnx", exporter=sys.argv[1])
np.save("x.npy", x.numpy())
np.save("zeros.npy", np.zeros((SAMPLES, violations.shape[1]), np.float32))
PY

for exporter in $exporters; do
  with_exporter $exporter
  "$with_torch" network.py $exporter 2>log || { cat log; fail "the exporter"; }
  losses_are_zero $exporter zeros.npy || fail "$exporter: what is drawn is not PyTorch's"
done
