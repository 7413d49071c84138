# Convolutions whose weights are normalized in forward(): weight standardization as timm and as people write it, by
# batch, group and layer normalization of the weight, weight_norm and spectral_norm. Each gradient is PyTorch's, by both
# exporters. A module that keeps a state from step to step is refused, unless the caller permits that the state stays.
. "$PLIMSOLL_E2E/export.bash"

cat >network.py <<'PY'
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import nn

warnings.simplefilter("ignore")
OF_WEIGHT = (1, 2, 3)
# PyTorch 1's exporter loses the shape of the weight.
WRITES_SPECTRAL_NORM = int(torch.__version__.split(".")[0]) >= 2


def of_variance(w, gain):
    var, mean = torch.var_mean(w, dim=OF_WEIGHT, keepdim=True)
    return (w - mean) / torch.sqrt(var + 1e-5) * gain


def flat(w, gain):
    w = w - w.view(w.size(0), -1).mean(1).view(-1, 1, 1, 1)
    return w / (w.view(w.size(0), -1).std(dim=1).view(-1, 1, 1, 1) + 1e-5).expand_as(w) * gain


def by_batch_norm(w, gain):  # timm's ScaledStdConv2d; StdConv2d has no gain
    rows = w.reshape(1, w.size(0), -1)
    return F.batch_norm(rows, None, None, weight=gain.view(-1), training=True, momentum=0.0, eps=1e-6).reshape_as(w)


KINDS = {
    "by_hand": lambda w, gain: gain * (w - w.mean(OF_WEIGHT, keepdim=True)) / (w.std(OF_WEIGHT, keepdim=True) + 1e-5),
    "of_variance": of_variance,
    "flat": flat,
    "batch_norm": by_batch_norm,
    "batch_norm_alone": lambda w, gain: by_batch_norm(w, torch.ones(w.size(0))) * gain,
    "group_norm": lambda w, gain: F.group_norm(w, 2) * gain,
    "layer_norm": lambda w, gain: F.layer_norm(w, w.shape[1:]) * gain,
    "demodulated": lambda w, gain: w * gain * torch.rsqrt((w * w * gain * gain).sum(OF_WEIGHT, keepdim=True) + 1e-3),
    "unit": lambda w, gain: F.normalize(w.flatten(1), dim=1).view_as(w) * gain,
}


class Normalized(nn.Conv2d):
    def __init__(self, kind):
        super().__init__(4, 6, 3, padding=1)
        self.kind = kind
        self.gain = nn.Parameter(torch.rand(6, 1, 1, 1) + 0.5)

    def forward(self, x):
        return self._conv_forward(x, KINDS[self.kind](self.weight, self.gain), self.bias)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleDict({kind: Normalized(kind) for kind in KINDS})
        wrappers = {"old_weight_norm": nn.utils.weight_norm}
        if WRITES_SPECTRAL_NORM:
            wrappers["old_spectral_norm"] = nn.utils.spectral_norm
            wrappers["spectral_norm"] = nn.utils.parametrizations.spectral_norm
            if hasattr(nn.utils.parametrizations, "weight_norm"):
                wrappers["weight_norm"] = nn.utils.parametrizations.weight_norm
        for kind, wrapper in wrappers.items():
            self.convs[kind] = wrapper(nn.Conv2d(4, 6, 3, padding=1))
        self.head = nn.Linear(6, 5)

    def forward(self, x):
        return self.head(sum(torch.tanh(conv(x)) * (i + 1) for i, conv in enumerate(self.convs.values())).mean((2, 3)))


torch.manual_seed(0)
network, x, y = Network().train(), torch.randn(8, 4, 6, 6), torch.randint(0, 5, (8,))
import plimsoll

if sys.argv[1] == "export":
    stateful = nn.Sequential(nn.utils.spectral_norm(nn.Linear(4, 3)))
    try:
        plimsoll.export(stateful, torch.randn(8, 4), "refused.onnx", exporter=sys.argv[2])
        raise SystemExit("a module with a state is not refused")
    except ValueError as error:
        assert "buffers that the next step reads: 0." in str(error) and "allow_state" in str(error), error
    plimsoll.export(network, x, sys.argv[2] + ".onnx", exporter=sys.argv[2], allow_state=True)
else:
    rows = plimsoll.check(network, x, y, sys.argv[1], report=False)
    wrong = [f"{row.name}: {row.relative:.1e}" for row in rows if not row.is_good(1e-4)]
    trained = [name for name, p in network.named_parameters()]
    assert {row.name for row in rows if row.kind == "gradient"} == set(trained) and not wrong, wrong
PY
for exporter in $exporters; do
  with_exporter $exporter
  "$with_torch" network.py export $exporter >log 2>&1 || { tail -30 log; fail "$exporter"; }
  expect 0 plimsoll inspect $exporter.onnx
  ! grep warning err || fail "$exporter: a warning about a model that was exported right"
  build_trainer of_$exporter $exporter.onnx --batch 8 --budget 80% --loss softmax-cross-entropy --optimizer sgd
  "$with_torch" network.py of_$exporter >log 2>&1 || { tail -5 log; fail "not as PyTorch, by $exporter"; }
done
