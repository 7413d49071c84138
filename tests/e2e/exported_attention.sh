# Attention of PyTorch modules becomes one operator with --attention fused, as both exporters write it: torch.nn's, with
# and without a mask, and with keys shared by groups of queries. A step is PyTorch's. With dropout, whose masks are not
# PyTorch's, a step is that of the attention spelled out, which draws the same masks.
. "$PLIMSOLL_E2E/trainer.bash"
cat >export.py <<'PY'
import sys, inspect, numpy as np, torch
from torch import nn
from torch.nn import functional as F
STEPS, WIDTH, HEADS, SIZE = 70, 32, 4, 8


class Grouped(nn.Module):
    """Two heads of keys and values for four of queries, repeated as Hugging Face does it."""

    def __init__(self, dropped):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 16), nn.Linear(WIDTH, 16)
        self.dropout = nn.Dropout(dropped)

    def forward(self, x):
        def heads(y, repeated):
            y = y.view(-1, STEPS, y.shape[-1] // SIZE, SIZE).transpose(1, 2)
            if repeated == 1:
                return y
            n, h, t, d = y.shape
            return y[:, :, None].expand(n, h, repeated, t, d).reshape(n, h * repeated, t, d)

        q, k, v = heads(self.query(x), 1), heads(self.key(x), 2), heads(self.value(x), 2)
        scores = torch.matmul(q, k.transpose(2, 3)) * SIZE ** -0.5
        hidden = torch.triu(torch.full((STEPS, STEPS), torch.finfo(torch.float32).min), 1)
        attended = torch.matmul(self.dropout(F.softmax(scores + hidden, -1)), v)
        return attended.transpose(1, 2).reshape(-1, STEPS, WIDTH)


class Net(nn.Module):
    def __init__(self, dropped):
        super().__init__()
        self.embed, self.grouped = nn.Linear(6, WIDTH), Grouped(dropped)
        self.plain, self.causal = (nn.MultiheadAttention(WIDTH, HEADS, dropout=dropped) for _ in range(2))
        self.padded = nn.MultiheadAttention(WIDTH, HEADS, dropout=dropped, batch_first=True)
        self.head = nn.Linear(WIDTH, 5)

    def forward(self, x):
        y = self.embed(x)
        y = y + self.padded(y, y, y, key_padding_mask=x[:, :, 0] > 1.5, need_weights=False)[0]
        y = y + self.grouped(y)
        y = y.transpose(0, 1)
        future = torch.triu(torch.ones(STEPS, STEPS, dtype=torch.bool), 1)
        y = y + self.causal(y, y, y, attn_mask=future, need_weights=False)[0]
        y = y + self.plain(y, y, y, need_weights=False)[0]
        return self.head(y.mean(0))


torch.manual_seed(2)
x, labels = torch.randn(4, STEPS, 6), torch.randint(0, 5, (4,))
np.save("x.npy", x.numpy())
np.save("y.npy", labels.numpy())
for name, dropped in (("whole", 0.0), ("dropped", 0.2)):
    net = Net(dropped).train()
    for values in net.parameters():  # no two are equal: an exporter merges those
        if values.dim() == 1:
            nn.init.normal_(values, 0, 0.1)
    if sys.argv[1] == "dynamo":
        torch.onnx.export(net, (x,), name + ".onnx", dynamo=True, optimize=False, dynamic_shapes=({0: "batch"},),
                          input_names=["x"], output_names=["y"], external_data=False, verbose=False)
    else:
        old = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
        torch.onnx.export(net, x, name + ".onnx", training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                          opset_version=15, input_names=["x"], output_names=["y"],
                          dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}}, **old)
    net.train()
    F.cross_entropy(net(x), labels).backward()
    np.savez(name + ".npz", **{n: (v - 0.1 * v.grad).detach().numpy() for n, v in net.named_parameters()})
PY

step_by() { # EXPORTER PYTHON
  mkdir "$1" && cd "$1"
  "$2" ../export.py "$1" >log 2>&1 || { cat log; fail "the exporter $1"; }
  local options=(--batch 4 --optimizer sgd --loss softmax-cross-entropy --assume trainable)
  build_trainer whole-fused whole.onnx "${options[@]}" --attention fused
  build_trainer dropped-fused dropped.onnx "${options[@]}" --attention fused
  build_trainer dropped-spelled dropped.onnx "${options[@]}" --attention spelled
  for made in whole-fused dropped-fused dropped-spelled; do trained $made $made.onnx --steps 1 --lr 0.1; done
  $python - <<'PY' || fail "$1: not all attention is fused, or a step is not PyTorch's"
import collections, json
import numpy as np, onnx
from onnx import numpy_helper
for name in ("whole", "dropped"):
    tasks = json.load(open(name + "-fused/plan.json"))["tasks"]
    ops = collections.Counter(task["op"] for task in tasks if task["kind"] == "forward")
    print(name, dict(ops))
    # One that joins the heads is two tasks.
    fused = {task["layer"] for task in tasks if task["op"] == "ScaledDotProductAttention"}
    assert len(fused) == 4 and not ops["Softmax"] and not ops["Dropout"]
    assert ops["Expand"] <= 2, "of the mask of padding; the keys are not repeated"
got = {i.name: numpy_helper.to_array(i) for i in onnx.load("whole-fused.onnx").graph.initializer}
wanted = dict(np.load("whole.npz"))
for name, values in wanted.items():
    apart = np.abs(got[name] - values).max()
    assert got[name].shape == values.shape and apart < 1e-5, (name, apart)
print(len(wanted), "tensors are PyTorch's after a step")
PY
  $python "$PLIMSOLL_E2E/weights.py" dropped-fused.onnx dropped-spelled.onnx 1e-5
  # In evaluation nothing is dropped.
  for form in fused spelled; do dropped-$form/build/train --predict x.npy --out $form.npy --quiet; done
  $python -c 'import numpy as np; a, b = np.load("fused.npy"), np.load("spelled.npy")
assert np.abs(a - b).max() < 1e-5 < np.abs(b).max(), (a, b)'
  cd ..
}

tried=
if has /usr/bin/python3 torch onnx; then step_by torchscript /usr/bin/python3; tried=1; fi
newer=$(python_with torch onnx onnxscript)
if [[ -n $newer ]]; then step_by dynamo "$newer"; tried=1; fi
[[ -n $tried ]] || { echo "skipped: no Python here has torch"; exit 77; }
