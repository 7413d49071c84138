# plimsoll.export of a module that is called by names, as models of transformers are: a dict of arguments in any order,
# constants among them, keyword-only arguments, labels that are the token ids themselves, a loss and scores, and a cache
# for generation that is off during the export.
. "$PLIMSOLL_E2E/export.bash"

cat >network.py <<'PY'
import types
import torch
from torch import nn


class Cache:
    """No exporter can write an output of this class."""


class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.config = types.SimpleNamespace(use_cache=True)
        self.table, self.inner, self.head = nn.Embedding(11, 8), nn.Linear(8, 8), nn.Linear(8, 11)

    def forward(self, input_ids, positions=None, attention_mask=None, labels=None, gain=1.0, *, bias=None, **unused):
        steps = torch.diff(input_ids, dim=1, prepend=input_ids[:, :1])
        steps = steps + 2 * input_ids.diff(dim=1, append=input_ids[:, :1])
        x = gain * self.table(input_ids) * attention_mask.unsqueeze(-1) + 0.1 * steps.unsqueeze(-1)
        if bias is not None:
            x = x + bias.unsqueeze(1)
        logits = self.head(torch.tanh(self.inner(x)))
        result = {}
        if labels is not None:
            shifted = nn.functional.pad(labels, (0, 1), value=-100)[:, 1:]
            result["loss"] = nn.functional.cross_entropy(logits.flatten(0, 1), shifted.flatten(), ignore_index=-100)
        result["logits"] = logits
        if self.config.use_cache:
            result["past"] = Cache()
        return result


def make():
    ids = torch.randint(0, 11, (4, 6))
    mask, bias = torch.ones(4, 6), torch.randn(4, 8)
    return Speaker().train(), {"labels": ids, "input_ids": ids, "gain": 2.0, "attention_mask": mask, "bias": bias}
PY
for exporter in $exporters; do
  with_exporter $exporter
  "$with_torch" - "$exporter" 2>log <<'PY' || { cat log; fail "the export by $exporter"; }
import sys
import onnx
import plimsoll
import torch
from network import make
from plimsoll import examples, state
model, example = make()
plimsoll.export(model, example, "net.onnx", exporter=sys.argv[1])
names = [output.name for output in onnx.load("net.onnx").graph.output]
assert names == ["loss", "logits"], names
assert "forward" not in vars(model) and model.config.use_cache, "the export has changed the module"
model.forward = model.forward  # of the instance, as tools that wrap modules set it
plimsoll.export(model, example, "again.onnx", exporter=sys.argv[1])
assert "forward" in vars(model), "the module's own forward() is gone"
by_place = (example["input_ids"], None, example["attention_mask"], example["labels"])
plimsoll.export(model, by_place, "by_place.onnx", exporter=sys.argv[1])  # the keyword-only argument keeps its default
with examples.given(torch, model, example) as tensors:
    copy = state.copy_of(torch, model)
    copy(*tensors)["loss"].backward()
    assert copy.head.bias.grad is not None and model.head.bias.grad is None, "a copy of the module calls the original"
for value in ({"a": example["bias"]}, [example["bias"]], example["bias"].numpy()):
    try:
        plimsoll.export(model, {**example, "bias": value}, "wrong.onnx", exporter=sys.argv[1])
        raise SystemExit("data that would become constants are not refused")
    except TypeError as error:
        assert "'bias' of the example is a" in str(error), error
try:
    plimsoll.export(model, {"labels": example["labels"]}, "wrong.onnx", exporter=sys.argv[1])
    raise SystemExit("a missing argument is not refused")
except TypeError as error:
    assert "input_ids" in str(error), error
PY
  expect 0 plimsoll inspect net.onnx
  says "input_ids"
  expect 0 plimsoll plan net.onnx --batch 4 --costs k40m -o plan.json
  says "loss: the model's own"
  ! grep -q "input 'input_ids' is ignored" err || fail "one tensor for two arguments is one input"
  build_trainer trainer net.onnx --batch 4
  "$with_torch" - 2>log <<'PY' || { cat log; fail "the trainer of $exporter's file is not PyTorch's"; }
import plimsoll
from network import make
model, example = make()
rows = plimsoll.check(model, example, None, "trainer")
assert all(row.is_good(1e-4) for row in rows) and sum(row.kind == "gradient" for row in rows) == 5, rows
PY
done

# Targets of CTC that are concatenated by a mask, and a loss beside other outputs that are copies of its scores.
cat >speech.py <<'PY'
import torch
from torch import nn


class Speech(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.head = nn.Linear(5, 7)

    def forward(self, x, labels):
        logits = self.head(x)
        mask = labels >= 0
        loss = nn.functional.ctc_loss(
            torch.log_softmax(logits, -1).transpose(0, 1), labels.masked_select(mask),
            torch.full((x.shape[0],), x.shape[1], dtype=torch.long), mask.sum(-1), blank=0, reduction="sum")
        return {"loss": loss, "logits": logits.clone()}


def make():
    labels = torch.tensor([[1, 2, 2], [3, 1, -100], [4, 5, 6]])
    return Speech().train(), {"x": torch.randn(3, 9, 5), "labels": labels}
PY
"$with_torch" - 2>log <<'PY' || { cat log; fail "the export of a CTC loss"; }
import plimsoll
from speech import make
plimsoll.export(*make(), "speech.onnx", exporter="torchscript")
model, example = make()
example["labels"][0, 0] = -100  # the mask leaves out a label in front of others
try:
    plimsoll.export(model, example, "wrong.onnx", exporter="torchscript")
    raise SystemExit("labels after padding are not refused")
except ValueError as error:
    assert "the first of each row" in str(error), error
PY
expect 4 plimsoll plan speech.onnx --batch 3 --costs k40m -o plan.json
says "--loss output: if '"
build_trainer speech speech.onnx --batch 3 --loss output
"$with_torch" - 2>log <<'PY' || { cat log; fail "the trainer of a CTC loss is not PyTorch's"; }
import plimsoll
from speech import make
rows = plimsoll.check(*make(), None, "speech")
assert all(row.is_good(1e-4) for row in rows), rows
PY
