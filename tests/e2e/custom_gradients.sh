# A torch.autograd.Function whose backward() is the derivative of its forward() is exported like other code, and a
# checkpoint like the function inside it: the trainer's gradients are PyTorch's. A Function with another backward() is
# refused, because ONNX has no place for it.
. "$PLIMSOLL_E2E/export.bash"

cat >custom.py <<'PY'
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Swish(torch.autograd.Function):
    """Times a factor that is not trained: backward() gives no gradient for it."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, factor)
        return factor * x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, gradient):
        x, factor = ctx.saved_tensors
        s = torch.sigmoid(x)
        return gradient * factor * s * (1 + x * (1 - s)), None


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        return factor * torch.sign(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


swish = Swish.apply  # stored in a variable by its module, as is common


class Custom(nn.Module):
    def __init__(self, function=swish):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 5)
        self.function = function

    def forward(self, *inputs):
        x = self.function(self.a(inputs[0]), torch.tensor(1.5))
        return self.c(checkpoint(lambda h: torch.tanh(self.b(h)), x, use_reentrant=True))


def make():
    torch.manual_seed(0)
    return Custom().train(), torch.randn(8, 6), torch.randint(0, 5, (8,))
PY
for exporter in $exporters; do
  with_exporter $exporter
  "$with_torch" - "$exporter" 2>log <<'PY' || { cat log; fail "the exporter"; }
import os, sys
import plimsoll
from custom import Custom, Sign, Swish, make
model, x, y = make()
own = Swish.forward
plimsoll.export(model, x, "custom.onnx", exporter=sys.argv[1])
assert Swish.forward is own, "the Function is changed"
try:
    plimsoll.export(Custom(Sign.apply).train(), x, "sign.onnx", exporter=sys.argv[1])
    raise SystemExit("a straight-through estimator is not refused")
except ValueError as error:
    assert "custom.Sign cannot be exported" in str(error) and "straight-through" in str(error), error
assert not os.path.exists("sign.onnx")
PY
  build_trainer "custom_$exporter" custom.onnx --batch 8 --budget 100%
  "$with_torch" - "custom_$exporter" 2>log <<'PY' || { cat log; fail "the trainer is not PyTorch's"; }
import sys
import plimsoll
from custom import make
model, x, y = make()
rows = plimsoll.check(model, x, y, sys.argv[1])
assert sum(row.kind == "gradient" for row in rows) == 6 and all(row.is_good(1e-4) for row in rows)
PY
done
