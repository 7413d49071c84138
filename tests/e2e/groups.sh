# LAMB and Lion, an optimizer's hyperparameters at run time, and parameter groups: compared with PyTorch, in one round
# and in several.
. "$PLIMSOLL_E2E/trainer.bash"
python=$(python_with torch onnx numpy)
[[ -n $python ]] || { echo "skipped: no python with torch and onnx"; exit 77; }
preload python torch onnx numpy
cat > net.py <<'PY'
import torch
def net():
    return torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                               torch.nn.Flatten(), torch.nn.Linear(8 * 64, 24), torch.nn.LayerNorm(24), torch.nn.ReLU(),
                               torch.nn.Linear(24, 10))
PY
$python - <<'PY'
import numpy as np, torch
from net import net
torch.manual_seed(0)
model = net()
torch.save(model.state_dict(), "net.pt")
x = torch.randn(64, 1, 16, 16)
kind = {"dynamo": False} if torch.__version__ >= "2.5" else {}
torch.onnx.export(model, (x[:8],), "net.onnx", opset_version=17, input_names=["x"], dynamic_axes={"x": {0: "n"}},
                  training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, **kind)
np.save("x.npy", x.numpy())
np.save("y.npy", np.random.RandomState(0).randint(0, 10, 64).astype(np.int32))
PY
cat > against.py <<'PY'
"""against.py OUT.onnx STEPS SETUP: SETUP makes `make(net)`, an optimizer; exit 1 if weights differ."""
import sys
import numpy as np, onnx, torch
from onnx import numpy_helper
from net import net as make_net

class Lion(torch.optim.Optimizer):  # Chen et al. 2023, program 1
    def __init__(self, params, lr, betas=(0.9, 0.99), weight_decay=0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))
    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            for p in g["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - g["lr"] * g["weight_decay"])
                p.sub_(g["lr"] * torch.sign(g["betas"][0] * m + (1 - g["betas"][0]) * p.grad))
                m.mul_(g["betas"][1]).add_(p.grad, alpha=1 - g["betas"][1])

class Lamb(torch.optim.Optimizer):  # You et al. 2020, algorithm 2
    def __init__(self, params, lr, betas=(0.9, 0.999), eps=1e-6, weight_decay=0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))
    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            for p in g["params"]:
                s, (b1, b2) = self.state[p], g["betas"]
                if not s: s.update(m=torch.zeros_like(p), v=torch.zeros_like(p), t=0)
                s["t"] += 1
                s["m"] = b1 * s["m"] + (1 - b1) * p.grad
                s["v"] = b2 * s["v"] + (1 - b2) * p.grad ** 2
                u = s["m"] / (1 - b1**s["t"]) / ((s["v"] / (1 - b2**s["t"])).sqrt() + g["eps"]) + g["weight_decay"] * p
                ratio = p.norm() / u.norm() if g["weight_decay"] and p.norm() > 0 and u.norm() > 0 else 1
                p.sub_(g["lr"] * ratio * u)

net = make_net()
net.load_state_dict(torch.load("net.pt"))
before = {k: v.clone() for k, v in net.state_dict().items()}
x, y = torch.from_numpy(np.load("x.npy")), torch.from_numpy(np.load("y.npy")).long()
schedule = None
exec(sys.argv[3])
optimizer = make(net)
if schedule: schedule = schedule(optimizer)
for i in range(int(sys.argv[2])):
    at = i * 8 % len(x)
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(x[at:at + 8]), y[at:at + 8]).backward()
    optimizer.step()
    if schedule: schedule.step()
ours = {i.name: numpy_helper.to_array(i) for i in onnx.load(sys.argv[1]).graph.initializer}
for name, value in net.state_dict().items():
    a, b, was = ours[name].astype(np.float64), value.double().numpy(), before[name].double().numpy()
    far, moved = np.linalg.norm(a - b), np.linalg.norm(b - was)
    assert moved > 0 and far <= 5e-4 * moved + 1e-6 * np.linalg.norm(b), (name, far, moved)
PY
against() { $python against.py "$@" || fail "not as PyTorch: $*"; }
groups='decay, rest = ([p for p in net.parameters() if (p.dim() > 1) == matrix] for matrix in (True, False))'

# Lion's step is the sign of a number that may be near zero, so only few steps are compared.
for rounds in 8 3; do
  build_trainer lamb$rounds net.onnx --batch 8 --sub-batch $rounds --optimizer lamb --weight-decay 0.1
  trained lamb$rounds lamb.onnx --steps 12 --lr 0.01
  against lamb.onnx 12 'make = lambda net: Lamb(net.parameters(), 0.01, weight_decay=0.1)'
  build_trainer lion$rounds net.onnx --batch 8 --sub-batch $rounds --optimizer lion --weight-decay 0.1
  trained lion$rounds lion.onnx --steps 4 --lr 0.001
  against lion.onnx 4 'make = lambda net: Lion(net.parameters(), 0.001, weight_decay=0.1)'
done
trained lamb8 lamb2.onnx --steps 12 --lr 0.01 --beta1 0.8 --beta2 0.95 --epsilon 1e-4 --no-decay-on-norms-and-biases
against lamb2.onnx 12 "def make(net):
    $groups
    return Lamb([{'params': decay}, {'params': rest, 'weight_decay': 0}], 0.01, (0.8, 0.95), 1e-4, 0.1)"
# The checker accepts its plan under the smallest budget; with less memory, the same bits.
trained lamb8 whole.onnx --steps 6 --lr 0.01
build_trainer tight net.onnx --batch 8 --sub-batch 8 --optimizer lamb --weight-decay 0.1 --algorithms-of lamb8 \
  --budget 80%
trained tight tight.onnx --steps 6 --lr 0.01
$python "$PLIMSOLL_E2E/weights.py" tight.onnx whole.onnx 0

# Hyperparameters of a run, instead of the compiled ones.
build_trainer adamw net.onnx --batch 8 --optimizer adamw --weight-decay 0.3
trained adamw numbers.onnx --steps 12 --lr 0.003 --beta1 0.8 --beta2 0.95 --epsilon 1e-5 --weight-decay 0.05
against numbers.onnx 12 'make = lambda net: torch.optim.AdamW(net.parameters(), 0.003, (0.8, 0.95), 1e-5, 0.05)'
build_trainer momentum net.onnx --batch 8
trained momentum momentum.onnx --steps 12 --lr 0.02 --momentum 0.5 --weight-decay 0.1
against momentum.onnx 12 'make = lambda net: torch.optim.SGD(net.parameters(), 0.02, 0.5, weight_decay=0.1)'
build_trainer sgd net.onnx --batch 8 --optimizer sgd
trained sgd sgd.onnx --steps 12 --lr 0.02 --weight-decay 0.1
against sgd.onnx 12 'make = lambda net: torch.optim.SGD(net.parameters(), 0.02, weight_decay=0.1)'
# The same hyperparameters given at compile time change no bit.
trained adamw a.onnx --steps 4 --lr 0.003
trained adamw b.onnx --steps 4 --lr 0.003 --weight-decay 0.3 --beta1 0.9 --beta2 0.999 --epsilon 1e-8 \
  --group '*:lr=0.003'
cmp a.onnx b.onnx || fail "the compiled numbers, given again, are others"

# Groups: if two match, the later one applies; a group's learning rate follows the schedule.
trained adamw groups.onnx --steps 12 --lr 0.003 --lr-schedule linear --no-decay-on-norms-and-biases \
    --group '*.weight:lr=0.1,weight-decay=0.2' --group '*.weight:lr=0.001' --group '5.*:weight-decay=0,beta1=0.8'
against groups.onnx 12 "def make(net):
    named = dict(net.named_parameters())
    group = lambda names, **what: {'params': [named[n] for n in names.split()], **what}
    return torch.optim.AdamW([group('0.weight 4.weight 7.weight', lr=0.001, weight_decay=0.2),
                              group('0.bias 4.bias 7.bias', weight_decay=0),
                              group('5.weight', lr=0.001, weight_decay=0, betas=(0.8, 0.999)),
                              group('5.bias', weight_decay=0, betas=(0.8, 0.999))],
                             0.003, weight_decay=0.3)
schedule = lambda o: torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.0, 12)"
expect 0 adamw/build/train --data synthetic --steps 1 --no-decay-on-norms-and-biases --group '7.*:lr=0.1'
says "norms and biases: 5 weights with weight-decay 0"; says "group '7.*': 2 weights with lr 0.1"
expect 0 adamw/build/train --data synthetic --steps 1 --no-decay-on-norms-and-biases --group '7.*:weight-decay=0.1'
says "norms and biases: 4 weights with weight-decay 0"; says "group '7.*': 2 weights with weight-decay 0.1"
expect 2 adamw/build/train --data synthetic --group '7.wieght:lr=1';  says "matches no trained weight"; says "7.weight"
expect 2 adamw/build/train --data synthetic --group '7.*:lr';         says "has no ="
expect 2 adamw/build/train --data synthetic --group '7.*';            says "GLOB:lr=X"
expect 2 adamw/build/train --data synthetic --group '7.*:weight_decay=1'; says "is it weight-decay?"
expect 2 adamw/build/train --data synthetic --group '7.*:momentum=0.9'; says "adam"
expect 2 adamw/build/train --data synthetic --beta1 1;                says "below 1"
expect 2 momentum/build/train --data synthetic --beta1 0.5;           says "momentum, has no such number"
expect 2 adamw/build/train --data synthetic --momentum 0.5;           says "has no such number"

# A run that is resumed with other hyperparameters is reported.
expect 0 adamw/build/train --data synthetic --steps 2 --checkpoint ck --beta1 0.8 --group '7.*:lr=0.1'
expect 0 adamw/build/train --data synthetic --steps 3 --checkpoint ck --resume --beta1 0.8 --group '7.*:lr=0.1'
! grep -q "warning: the checkpoint" err out || fail "warned of the same run"
expect 0 adamw/build/train --data synthetic --steps 4 --checkpoint ck --resume;  says "beta1 0.8"
