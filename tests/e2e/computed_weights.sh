# Values computed from weights without any sample: resized positions, normalized tables. The gradient of such a weight
# is a sum over all its readers and over rounds. Each gradient is PyTorch's.
. "$PLIMSOLL_E2E/export.bash"

cat >network.py <<'PY'
import sys
import torch
import torch.nn.functional as F
from torch import nn

FACTORS = torch.arange(4.0)
OF_ROWS = {  # [3, 4]
    "relu": F.relu, "sigmoid": torch.sigmoid, "exp": torch.exp, "abs": torch.abs, "softplus": F.softplus,
    "erf": torch.erf, "gelu": F.gelu, "hardswish": F.hardswish, "celu": lambda p: F.celu(p, 0.7), "selu": F.selu,
    "softmax": lambda p: p.softmax(-1) * FACTORS, "log_softmax": lambda p: p.log_softmax(-1)**2,
    "dropout_of_none": lambda p: F.dropout(p, 0.0, True) * 2, "clip": lambda p: p.clamp(-0.5, 0.5),
    "layer_norm": lambda p: F.layer_norm(p, (4,))**3, "rms_norm": lambda p:
    (p / (p * p).mean(-1, keepdim=True).sqrt())**3, "cumsum": lambda p: p.cumsum(1)**2, "largest": lambda p: p.amax(1),
    "norm": lambda p: p.norm(dim=1), "log_sum": lambda p: p.logsumexp(1), "slice": lambda p: p[:, 1:3]**2,
    "product": lambda p: p.t() @ p, "concat": lambda p: torch.cat([p, p * p]), "split": lambda p: p.chunk(2, 1)[1]**2,
    "rows": lambda p: p[torch.tensor([0, 2, 2])]**2, "where": lambda p: torch.where(p > 0, p, p * p),
    "tile": lambda p: p.repeat(2, 2)**2
}
OF_IMAGES = {  # [1, 4, 4, 4]
    "max_pool": lambda p: F.max_pool2d(p, 2)**2, "pool_of_nothing": lambda p: F.max_pool2d(p, 1)**2,
    "average_pool": lambda p: F.avg_pool2d(p, 2)**2, "global_average": lambda p: F.adaptive_avg_pool2d(p, 1)**2,
    "nearest": lambda p: F.interpolate(p, scale_factor=2)**2,
    "bilinear": lambda p: F.interpolate(p, scale_factor=2, mode="bilinear", align_corners=False)**2,
    "bicubic": lambda p: F.interpolate(p, scale_factor=2, mode="bicubic", align_corners=False)**2,
    "reflected": lambda p: F.pad(p, (1, 1, 1, 1), mode="reflect")**2, "padded": lambda p: F.pad(p, (1, 1, 0, 1))**2,
    "standardized": lambda p: F.batch_norm(p, None, None, weight=(FACTORS + 1).to(p), training=True)**3,
    "group_norm": lambda p: F.group_norm(p, 2)**3, "instance_norm": lambda p: F.instance_norm(p)**3,
    "shuffle": lambda p: F.pixel_shuffle(p, 2)**2
}


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = nn.ParameterDict({name: nn.Parameter(torch.randn(3, 4)) for name in OF_ROWS})
        self.images = nn.ParameterDict({name: nn.Parameter(torch.randn(1, 4, 4, 4)) for name in OF_IMAGES})
        self.filters = nn.Parameter(torch.randn(4, 4, 3, 3))

    def forward(self, x):
        total = (F.conv2d(self.images["max_pool"], self.filters)**2).mean() + (F.conv_transpose2d(
            self.images["shuffle"], self.filters)**2).mean()
        for table, parameters in ((OF_ROWS, self.rows), (OF_IMAGES, self.images)):
            for name, compute in table.items():  # twice: once computed, once as it is
                total = total + compute(parameters[name]).mean() * 0.1 + parameters[name].mean()
        return x * total


torch.manual_seed(0)
network, x, y = Network().train(), torch.randn(6, 4), torch.randn(6, 4)
import plimsoll
if sys.argv[1] == "export":
    plimsoll.export(network, (x,), "net.onnx", exporter="torchscript", input_names=["x"], output_names=["y"])
else:
    rows = plimsoll.check(network, (x,), y, sys.argv[1], loss=F.mse_loss, report=False)
    wrong = [f"{row.name}: {row.relative:.1e}" for row in rows if not row.is_good(1e-4)]
    assert len([row for row in rows if row.kind == "gradient"
               ]) == len(OF_ROWS) + len(OF_IMAGES) + 1 and not wrong, wrong
PY
"$with_torch" network.py export >log 2>&1 || { cat log; fail "the exporter"; }
for rounds in 6 2; do
  build_trainer of_$rounds net.onnx --batch 6 --sub-batch $rounds --loss mse --optimizer sgd
  "$with_torch" network.py of_$rounds || fail "not as PyTorch, with a sub-batch of $rounds"
done
