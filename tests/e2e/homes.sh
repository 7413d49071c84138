# Weights and optimizer state that reside in the host pool. Under a budget below the weights' size a network trains to
# the same bits as with everything in the arena: in rounds, with frozen weights, with clipped gradients, from a
# checkpoint of a trainer with other residences, with a pool in memory or in a file, and with a weight that several
# layers read.
. "$PLIMSOLL_E2E/trainer.bash"
. "$PLIMSOLL_E2E/homes.bash"
below() { (( budget < weights )) || fail "a budget of $budget for weights of $weights"; }

# One round, with a budget smaller than the weights.
plimsoll model vgg19:input=32,width=16,hidden=64,classes=10 -o vgg.onnx 2>/dev/null
random_data 32 3 32 10
pair one vgg.onnx --batch 4 --sub-batch 4 --threads 1
below
(( states >= 2 )) || fail "$states of the optimizer's states live on the host"
trained one-device a.onnx --steps 4
trained one-home b.onnx --steps 4
trained one-home c.onnx --steps 4 --spill .
for other in b c; do same a.onnx $other.onnx; done
one-home/build/train --data npy:x.npy,y.npy --test npy:x.npy,y.npy --steps 4 --no-shuffle >home.out
one-device/build/train --data npy:x.npy,y.npy --test npy:x.npy,y.npy --steps 4 --no-shuffle >device.out
grep "of it for weights and optimizer state that reside there" home.out >/dev/null ||
  fail "does not say where the weights live"
diff <(grep -o "test loss.*" home.out | sed 's/  [0-9.]* s.*//') <(grep -o "test loss.*" device.out |
  sed 's/  [0-9.]* s.*//') || fail "evaluated otherwise"
one-device/build/train --predict x.npy --out device.npy --quiet
one-home/build/train --predict x.npy --out home.npy --quiet
cmp home.npy device.npy || fail "other scores"
plimsoll inspect one-home | grep "weights kept on the host" >/dev/null ||
  fail "inspect does not say where the weights live"
plimsoll inspect one-home --explain classifier.0.weight >explained
grep "fetched before the tasks that read it" explained >/dev/null || { cat explained; fail "not explained"; }

# From each other's checkpoints, and with an iteration left out.
for order in "device home" "home device"; do
  set -- $order
  trained one-$1 part.onnx --steps 2 --checkpoint "$1-$2"
  trained one-$2 resumed.onnx --steps 4 --checkpoint "$1-$2" --resume
  same a.onnx resumed.onnx
done
$python - <<'PY'
import numpy as np
x = np.load("x.npy"); x[9, 0, 0, 0] = np.nan; np.save("bad.npy", x)
PY
for home in device home; do
  one-$home/build/train --data npy:bad.npy,y.npy --no-shuffle --quiet --save skipped-$home.onnx --steps 4 --on-nan skip
done
same skipped-device.onnx skipped-home.onnx

# In rounds, the last of which is smaller; with clipped gradients; with frozen weights, which are prefetched and never
# offloaded.
pair rounds vgg.onnx --batch 7 --sub-batch 3 --threads 1 --optimizer adam --clip-norm 1 --freeze 'features.*'
$python - <<'PY'
import json
plan = json.load(open("rounds-home/plan.json"))
homes = {t["id"]: t["name"] for t in plan["tensors"] if "home_offset" in t and t["kind"] == "weight"}
moved = lambda kind: {s["tensor"] for s in plan["steps"] if s["kind"] == kind} & set(homes)
frozen = {t for t, name in homes.items() if name.startswith("features.")}
assert frozen and frozen <= moved("prefetch") and not frozen & moved("offload"), (frozen, moved("offload"))
assert moved("offload") == set(homes) - frozen and moved("offload"), moved("offload")
PY
trained rounds-device a.onnx --steps 4
trained rounds-home b.onnx --steps 4
same a.onnx b.onnx

# One weight for all time steps.
plimsoll model lstm:steps=3,features=64,hidden=64,classes=32,layers=4 -o lstm.onnx 2>/dev/null
$python - <<'PY'
import numpy as np
r = np.random.RandomState(1)
np.save("x.npy", r.randn(24, 3, 64).astype(np.float32)); np.save("y.npy", r.randint(0, 32, 24).astype(np.int32))
PY
pair lstm lstm.onnx --batch 2 --sub-batch 2 --threads 1
below
trained lstm-device a.onnx --steps 4
trained lstm-home b.onnx --steps 4
same a.onnx b.onnx
