# Layers of PyTorch that draw random numbers, written by plimsoll.export: dropouts of whole channels and between
# recurrent layers, alpha dropouts, random slopes. What they do in training, and that evaluation is PyTorch's.
. "$PLIMSOLL_E2E/export.bash"

# All inputs are 1. In training the mean of a channel is then 0 or 2, and an element or a channel of an alpha dropout
# has one of two values, too, so the product of the distances to both is 0, and each sample has both. In evaluation the
# mean is 1. Random slopes are between two bounds. Two calls of recurrent layers differ in training alone.
cat >network.py <<'PY'
import math, sys
import numpy as np, plimsoll, torch
from torch import nn

P, ALPHA = 0.3, -1.7580993408473766
SCALE = 1 / math.sqrt((1 - P) * (1 + P * ALPHA ** 2))
DROPPED, KEPT = SCALE * ALPHA * (1 - P), SCALE * (1 - ALPHA * P)


class Masked(nn.Module):
    """As stochastic depth is written."""

    def __init__(self, draw):
        super().__init__()
        self.draw = draw

    def forward(self, x):
        return x * (self.draw(x) / 0.5) if self.training else x


class Packed(nn.LSTM):
    def forward(self, x):
        lengths = (x.abs().sum(2) > 0).sum(1) - 3
        y, last = super().forward(nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True))
        return nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=int(x.shape[1]))[0], last


class RandomLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.channels = nn.ModuleList([nn.Dropout1d(0.5), nn.Dropout2d(0.5), nn.Dropout3d(0.5)])
        self.masked = nn.ModuleList([
            Masked(lambda x: torch.empty_like(x).bernoulli_(0.5)),
            Masked(lambda x: (x.new_empty(x.shape[0], 64).uniform_() < 0.5).to(x.dtype)),
        ])
        self.alpha, self.feature_alpha = nn.AlphaDropout(P), nn.FeatureAlphaDropout(P)
        self.slopes = nn.RReLU(0.1, 2.1)
        self.recurrent = nn.ModuleList([nn.LSTM(24, 6, 2, dropout=0.5, batch_first=True),
                                        nn.GRU(24, 5, 3, dropout=0.5, bidirectional=True, batch_first=True)])
        self.register_buffer("one", torch.ones(1))  # equal calls might become one
        if sys.argv[1] == "torchscript":  # dynamo's exporter cannot pack
            self.recurrent.append(Packed(24, 6, 3, dropout=0.5, bidirectional=True, batch_first=True))
        self.bias = nn.Parameter(torch.zeros(8 + len(self.recurrent)))

    def forward(self, x):  # [N,64,24]
        results = []
        for dropout, shape in zip(self.channels, ((24,), (4, 6), (2, 3, 4))):
            results.append((dropout(x.reshape(-1, 64, *shape)).flatten(2).mean(2), 0, 2))
        for masked in self.masked:
            results.append((masked(x[:, :, 0]), 0, 2))
        results.append((self.alpha(x).flatten(1), DROPPED, KEPT))
        results.append((self.feature_alpha(x.reshape(-1, 64, 4, 6)).flatten(2).mean(2), DROPPED, KEPT))
        wrong = [((each - dropped) * (kept - each)).abs().mean(1) + (each.amax(1) - each.amin(1) < 1).to(x.dtype)
                 for each, dropped, kept in results]
        slopes = self.slopes(-x).flatten(1)
        wrong.append((slopes + 1.1).abs().amax(1).sub(1.000001).relu() + self.evaluated(slopes, slopes[:, :1]))
        for layers in self.recurrent:
            wrong.append(self.evaluated(*(layers(x[:, :8] * gain)[0].flatten(1) for gain in (1.0, self.one))))
        return torch.stack(wrong, 1) + self.bias

    def evaluated(self, y, z):
        """0 if the two differ; else 1 and some more that tells what they are."""
        return ((y - z).abs().amax(1) < 1e-4).to(y.dtype) * (1 + y.abs().mean(1))


model, x = RandomLayers(), torch.ones(64, 64, 24)
plimsoll.export(model.train(), (torch.randn(4, 64, 24),), "net.onnx", exporter=sys.argv[1])
np.save("x.npy", x.numpy())
np.save("zeros.npy", np.zeros((64, len(model.bias)), np.float32))
with torch.no_grad():
    assert (model(x).abs() < 1e-5).all()
    evaluated = model.eval()(x).numpy()
assert (evaluated > 1).all()
np.save("evaluated.npy", evaluated)
PY

for exporter in $exporters; do
  with_exporter $exporter
  "$with_torch" network.py $exporter 2>log || { cat log; fail "the exporter"; }
  losses_are_zero $exporter evaluated.npy || fail "$exporter: the layers are not PyTorch's"
done
