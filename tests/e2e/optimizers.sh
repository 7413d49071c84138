# Nesterov's momentum, weight decay, schedules, clipping and frozen weights as in PyTorch, also in several rounds.
. "$PLIMSOLL_E2E/trainer.bash"
has $python torch onnx || { echo "skipped: no torch and onnx for $python"; exit 77; }
preload python torch onnx numpy
$python - <<'PY'
import numpy as np, torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                          torch.nn.Conv2d(8, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16 * 36, 10))
torch.save(net.state_dict(), "net.pt")
x = torch.randn(64, 1, 16, 16)
torch.onnx.export(net, x[:8], "net.onnx", opset_version=15, input_names=["x"], dynamic_axes={"x": {0: "n"}},
                  training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
np.save("x.npy", x.numpy())
np.save("y.npy", np.random.RandomState(0).randint(0, 10, 64).astype(np.int32))
PY
cat > against.py <<'PY'
"""against.py OUT.onnx STEPS SETUP: SETUP makes `step(parameters)` and, of the iteration, `rate(i)`; exit 1 if weights
differ."""
import sys, math
import numpy as np, onnx, torch
from onnx import numpy_helper

net = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                          torch.nn.Conv2d(8, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16 * 36, 10))
net.load_state_dict(torch.load("net.pt"))
before = {k: v.clone() for k, v in net.state_dict().items()}
x, y = torch.from_numpy(np.load("x.npy")), torch.from_numpy(np.load("y.npy")).long()
batch, clip, frozen, schedule = 8, 0, (), None
exec(sys.argv[3])
for name, p in net.named_parameters():
    p.requires_grad_(not name.startswith(frozen) if frozen else True)
parameters = [p for p in net.parameters() if p.requires_grad]
optimizer = make(parameters)
if schedule: schedule = schedule(optimizer)
norms = []
for i in range(int(sys.argv[2])):
    at = i * batch % len(x)
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(x[at:at + batch]), y[at:at + batch]).backward()
    if clip: norms.append(float(torch.nn.utils.clip_grad_norm_(parameters, clip)))
    optimizer.step()
    if schedule: schedule.step()
if clip: assert min(norms) < clip < max(norms), norms   # clipped sometimes, not always
ours = {i.name: numpy_helper.to_array(i) for i in onnx.load(sys.argv[1]).graph.initializer}
for name, value in net.state_dict().items():
    a, b, was = ours[name].astype(np.float64), value.double().numpy(), before[name].double().numpy()
    if frozen and name.startswith(frozen): assert (a == was).all(), name
    else:
        far, moved = np.linalg.norm(a - b), np.linalg.norm(b - was)
        assert moved > 0 and far <= 2e-4 * moved + 1e-6 * np.linalg.norm(b), (name, far, moved)
PY
against() { $python against.py "$@" || fail "not as PyTorch: $*"; }

# Frozen weights have no gradient, and neither have the tensors that only they depend on.
build_trainer nesterov net.onnx --batch 8 --nesterov --weight-decay 0.01 --freeze '0.*' --freeze '3.bias'
sgd='make = lambda p: torch.optim.SGD(p, 0.02, momentum=0.9, nesterov=True, weight_decay=0.01)
frozen = ("0.", "3.bias")'
trained nesterov n.onnx --steps 12 --lr 0.02 --warmup 4 --lr-schedule cosine --lr-min 0.001
against n.onnx 12 "$sgd"$'\n'"after = lambda i: (0.001 + 0.019 * (1 + math.cos(math.pi * (i - 4) / 8)) / 2) / 0.02
schedule = lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda i: (i + 1) / 4 if i < 4 else after(i))"
trained nesterov s.onnx --steps 12 --lr 0.02 --lr-schedule step --lr-step 5 --lr-gamma 0.3
against s.onnx 12 "$sgd"$'\n'"schedule = lambda o: torch.optim.lr_scheduler.StepLR(o, 5, 0.3)"
trained nesterov c.onnx --steps 12 --lr 0.02 --lr-schedule cosine
against c.onnx 12 "$sgd"$'\n'"schedule = lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 12)"
trained nesterov l.onnx --steps 12 --lr 0.02 --lr-schedule linear
against l.onnx 12 "$sgd"$'\n'"schedule = lambda o: torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.0, 12)"

# Adam adds weight decay to the gradient, AdamW does not; each in one round and in several.
for optimizer in adam adamw; do
  class=$(sed 's/adamw/AdamW/; s/adam/Adam/' <<<$optimizer)
  build_trainer $optimizer net.onnx --batch 8 --optimizer $optimizer --weight-decay 0.1
  trained $optimizer $optimizer.onnx --steps 12 --lr 0.003 --warmup 3 --lr-schedule linear
  against $optimizer.onnx 12 "make = lambda p: torch.optim.$class(p, 0.003, weight_decay=0.1)
schedule = lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda i: (i + 1) / 3 if i < 3 else 1 - (i - 3) / 9)"
done
build_trainer adam_rounds net.onnx --batch 8 --sub-batch 3 --optimizer adamw --weight-decay 0.1
trained adam_rounds adam_rounds.onnx --steps 12 --lr 0.003
against adam_rounds.onnx 12 'make = lambda p: torch.optim.AdamW(p, 0.003, weight_decay=0.1)'

# The gradients of all weights are scaled together, before the first update, with each optimizer, in one round and in
# several.
build_trainer sgd net.onnx --batch 8 --optimizer sgd --clip-norm 1.2
trained sgd clip1.onnx --steps 10 --lr 0.2
against clip1.onnx 10 'make = lambda p: torch.optim.SGD(p, 0.2); clip = 1.2'
build_trainer rounds net.onnx --batch 8 --sub-batch 3 --optimizer momentum --clip-norm 2.2
trained rounds clip2.onnx --steps 10 --lr 0.05
against clip2.onnx 10 'make = lambda p: torch.optim.SGD(p, 0.05, momentum=0.9); clip = 2.2'
# With less memory, the same bits; the checker accepts each plan with its clip factor.
for policy in liveness auto superneurons dymem vdnn-all:p sublinear; do
  plimsoll plan net.onnx --batch 8 --clip-norm 1.2 --policy $policy -q -o plan.json
  plimsoll verify plan.json >/dev/null || fail "policy $policy"
done
least=$(plimsoll plan net.onnx --batch 8 --sub-batch 8 --optimizer sgd --clip-norm 1.2 --algorithms-of sgd -q |
        $python -c 'import json, sys; print(json.load(sys.stdin)["summary"]["minimum_bytes"])')
build_trainer tight net.onnx --batch 8 --sub-batch 8 --optimizer sgd --clip-norm 1.2 --algorithms-of sgd \
  --budget "$least" --policy auto
trained tight clip4.onnx --steps 10 --lr 0.2
$python "$PLIMSOLL_E2E/weights.py" clip4.onnx clip1.onnx 0
# Every gradient is live when the factor is computed.
$python - <<'PY'
import json
plan = json.load(open("plan.json"))
clip, = [t["id"] for t in plan["tasks"] if t["name"] == "gradients.clip"]
at, = [s["id"] for s in plan["steps"] if s.get("task") == clip]
gradients = {t["id"] for t in plan["tensors"] if t["kind"] == "weight_gradient"}
there = {r["tensor"] for r in plan["residencies"] if r["first_step"] <= at <= r["last_step"]}
assert len(gradients) == 6 and gradients <= there
PY

plimsoll plan net.onnx --batch 8 --freeze '0.*' -q -o plan.json
grep -q '"d0\.\|0.weight.momentum\|0.weight.update' plan.json && fail "a frozen weight has a gradient"
expect 2 plimsoll plan net.onnx --batch 8 --freeze 'nothing*' -o plan.json
says "matches no trained weight"
says "0.weight"
expect 2 plimsoll plan net.onnx --batch 8 --freeze '*' -o plan.json;          says "none of the model's 6 weights"
expect 2 plimsoll plan net.onnx --batch 8 --nesterov --optimizer adam -o plan.json
expect 2 plimsoll plan net.onnx --batch 8 --clip-norm -1 -o plan.json
expect 2 sgd/build/train --lr-schedule step;                                  says "--lr-step"
expect 2 sgd/build/train --lr-schedule sometimes;                             says "cosine"

# External weights, as for models above 2 GiB; converted to one file; a checkpoint as a model.
build_trainer apart net.onnx --batch 8 --optimizer sgd --clip-norm 1.2 --external-data
trained apart apart.onnx --steps 10 --lr 0.2 --checkpoint ck
[[ $(ls ./*.weights | wc -l) -eq 1 && $(stat -c %s apart.onnx) -lt 10000 ]] || fail "no weights beside the model"
expect 0 plimsoll export apart.onnx -o one.onnx
expect 0 plimsoll export apart --checkpoint ck/ckpt-000000010 -o two.onnx
expect 0 plimsoll export sgd --checkpoint ck/ckpt-000000010 -o three.onnx
cmp three.onnx clip1.onnx || fail "export of a checkpoint differs from --save"
trained apart more.onnx --model apart.onnx --steps 1 --lr 0
mkdir moved && cp apart.onnx *.weights moved
$python - <<'PY'
import numpy as np, onnx
from onnx import numpy_helper
onnx.checker.check_model("moved/apart.onnx", full_check=True)
want = {i.name: numpy_helper.to_array(i) for i in onnx.load("clip1.onnx").graph.initializer}
for name in "moved/apart.onnx", "one.onnx", "two.onnx", "more.onnx":
    onnx.checker.check_model(name)
    got = {i.name: numpy_helper.to_array(i) for i in onnx.load(name).graph.initializer}
    assert got.keys() == want.keys() and all(got[k].tobytes() == want[k].tobytes() for k in want), name
    assert [o.version for o in onnx.load(name).opset_import] == [15]
PY
rm ./*.weights
expect 3 plimsoll export apart.onnx -o four.onnx;               says "external data"
printf x >> ck/ckpt-000000010/weights.safetensors
expect 3 plimsoll export sgd --checkpoint ck/ckpt-000000010 -o four.onnx; says "damaged"
[[ ! -e four.onnx ]] || fail "half an export"

# A short last batch: the mean over its samples.
$python -c 'import numpy as np; np.save("x.npy", np.load("x.npy")[:20]); np.save("y.npy", np.load("y.npy")[:20])'
for last in pad keep; do
  trained sgd $last.onnx --last $last --epochs 2 --lr 0.2
  trained rounds r$last.onnx --last $last --epochs 2 --lr 0.05
  against r$last.onnx 0 'make = lambda p: torch.optim.SGD(p, 0.05)
x, y = x[:20], y[:20]
o, net2 = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9), net
for part in [slice(0, 8), slice(8, 16), slice(16, 20)] * 2:
    o.zero_grad(); torch.nn.functional.cross_entropy(net(x[part]), y[part]).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 2.2); o.step()'
done
$python "$PLIMSOLL_E2E/weights.py" pad.onnx keep.onnx 1e-5
