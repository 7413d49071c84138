# plimsoll.export of mixtures of experts as the library `transformers` has them: each expert computes the tokens that
# are routed to it, which no exporter can write. A stand-in for the library has the forms of its classes: weights
# transposed or not, biases, no gate, a norm after each expert, and tokens that are routed to no expert. If the library
# is there, two of its models, too.
. "$PLIMSOLL_E2E/export.bash"

cat >network.py <<'PY'
import functools
import sys
import types
import torch
from torch import nn
from torch.nn import functional as F

EXPERTS, OF_A_TOKEN = 4, 2


class ExpertsInterface:
    def get_interface(self, implementation, default):
        assert implementation == "eager"
        return default


def stand_in():
    """The module of the library that plimsoll.export changes."""
    module = types.ModuleType("transformers.integrations.moe")
    module.ExpertsInterface = ExpertsInterface
    sys.modules[module.__name__] = module
    return ExpertsInterface()


class Experts(nn.Module):
    interface = None

    def __init__(self, size, inner, transposed, bias, gate, norm):
        super().__init__()
        self.num_experts, self.is_transposed, self.has_bias, self.has_gate = EXPERTS, transposed, bias, gate
        self.has_post_expert_norm = norm
        self.act_fn = F.silu
        self.first = "gate_up_proj" if gate else "up_proj"
        features = 2 * inner if gate else inner
        for name, rows, columns in ((self.first, features, size), ("down_proj", size, inner)):
            shape = (EXPERTS, columns, rows) if transposed else (EXPERTS, rows, columns)
            setattr(self, name, nn.Parameter(0.5 * torch.randn(shape)))
            if bias:
                setattr(self, f"{name}_bias", nn.Parameter(0.5 * torch.randn(EXPERTS, rows)))
        if norm:
            self.post_expert_norm = nn.LayerNorm(size)

    def _apply_gate(self, both):
        gate, up = (both[..., ::2], both[..., 1::2]) if self.is_transposed else both.chunk(2, dim=-1)
        return self.act_fn(gate) * up

    def layer(self, x, name, expert):
        weights = getattr(self, name)[expert]
        return F.linear(x, weights.t() if self.is_transposed else weights,
                        getattr(self, f"{name}_bias")[expert] if self.has_bias else None)

    def forward(self, *args):
        return self.interface.get_interface("eager", type(self).for_routed_tokens)(self, *args)

    def for_routed_tokens(self, hidden_states, top_k_index, top_k_weights):
        result = torch.zeros_like(hidden_states)
        for expert in top_k_index.unique().tolist():
            if expert == self.num_experts:
                continue
            token, place = torch.where(top_k_index == expert)
            x = self.layer(hidden_states[token], self.first, expert)
            x = self.layer(self._apply_gate(x) if self.has_gate else self.act_fn(x), "down_proj", expert)
            x = self.post_expert_norm(x) if self.has_post_expert_norm else x
            result = result.index_add(0, token, x * top_k_weights[token, place, None])
        return result


class Mixture(nn.Module):
    def __init__(self, size, drops, **form):
        super().__init__()
        self.router, self.experts, self.drops = nn.Linear(size, EXPERTS), Experts(size, **form), drops

    def forward(self, x):
        tokens = x.reshape(-1, x.shape[-1])
        weights, index = torch.topk(torch.softmax(self.router(tokens), -1), OF_A_TOKEN, -1)
        if self.drops:  # as with a limit on the tokens of an expert
            index = index.masked_fill(weights < 0.3, EXPERTS)
        return x + self.experts(tokens, index, weights).reshape(x.shape)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        form = functools.partial(dict, inner=6, transposed=False, bias=False, gate=True, norm=False, drops=False)
        self.table, self.head = nn.Embedding(11, 8), nn.Linear(8, 3)
        self.mixtures = nn.Sequential(
            Mixture(8, **form()), Mixture(8, **form(transposed=True, bias=True)), Mixture(8, **form(gate=False)),
            Mixture(8, **form(norm=True, bias=True)), Mixture(8, **form(drops=True, bias=True)))

    def forward(self, input):
        return self.head(self.mixtures(self.table(input)).mean(1))


def make():
    Experts.interface = stand_in()
    model = Network().train()
    return model, torch.randint(0, 11, (4, 5)), torch.randint(0, 3, (4,))
PY
for exporter in $exporters; do
  with_exporter $exporter
  "$with_torch" - "$exporter" 2>log <<'PY' || { cat log; fail "the export by $exporter"; }
import sys, warnings
import plimsoll, torch
from network import ExpertsInterface, make
model, example, _ = make()
chosen = ExpertsInterface.get_interface
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    plimsoll.export(model, example, "net.onnx", exporter=sys.argv[1])
(said,) = [str(each.message) for each in caught if "mixtures of experts" in str(each.message)]
assert said == ("5 mixtures of experts: the file computes all 4 experts for every token instead of 2, so their "
                "products take 2 times as long"), said
assert ExpertsInterface.get_interface is chosen, "the export has changed the library"
PY
  build_trainer trainer net.onnx --batch 4 --optimizer sgd
  "$with_torch" - 2>log <<'PY' || { cat log; fail "the trainer of $exporter's file is not PyTorch's"; }
import plimsoll
from network import make
model, example, labels = make()
rows = plimsoll.check(model, example, labels, "trainer")
assert all(row.is_good(1e-4) for row in rows) and sum(row.kind == "gradient" for row in rows) == 31, rows
PY
done

with_library=$(python_with torch onnx onnxscript transformers)
[[ -n $with_library ]] || exit 0
cat >language.py <<'PY'
import torch, transformers
COMMON = dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
              intermediate_size=48, num_local_experts=4, num_experts_per_tok=2, pad_token_id=0,
              output_router_logits=True)  # so that the experts' balance counts


def make(name):
    torch.manual_seed(0)
    options = dict(COMMON, head_dim=8) if name == "GptOss" else COMMON
    config = getattr(transformers, f"{name}Config")(**options)
    model = getattr(transformers, f"{name}ForCausalLM")(config).train()
    ids = torch.randint(1, 96, (2, 12))
    with torch.no_grad():
        for parameter in model.parameters():  # some are uninitialized
            if parameter.dim() != 1:
                parameter.normal_(0, 0.1)
    return model, {"input_ids": ids, "labels": ids}
PY
for name in Mixtral GptOss; do
  "$with_library" - $name 2>log <<'PY' || { cat log; fail "the export of $name"; }
import sys
import plimsoll
from language import make
plimsoll.export(*make(sys.argv[1]), "net.onnx")
PY
  build_trainer trainer net.onnx --batch 2 --optimizer sgd --loss output:loss
  "$with_library" - $name 2>log <<'PY' || { cat log; fail "the trainer of $name is not PyTorch's"; }
import sys
import plimsoll
from language import make
rows = plimsoll.check(*make(sys.argv[1]), None, "trainer")
assert all(row.is_good(1e-4) for row in rows) and len(rows) > 20, rows
PY
done
