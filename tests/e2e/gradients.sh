# Gradients that are accumulated in the host pool over rounds. The bits are those with everything in the arena: with
# momentum and Adam, in two rounds and in more, with clipped gradients, with frozen weights, with a weight shared by
# several layers, with a pool in a file, from each other's checkpoints, with an iteration left out, and with fewer
# rounds in an iteration.
. "$PLIMSOLL_E2E/trainer.bash"
. "$PLIMSOLL_E2E/homes.bash"
# rounds NAME MODEL options…: NAME-device with everything in the arena, NAME-home with the minimum budget; both train
# alike.
rounds() {
  local name=$1
  pair "$@" --threads 1
  $python - $name-device $name-home <<'PY' || fail "$name"
import json, sys
device, home = (json.load(open(path + "/plan.json")) for path in sys.argv[1:])
away = lambda plan: {
    t["id"]: t["bytes"] for t in plan["tensors"] if t["kind"] == "weight_gradient" and "home_offset" in t
}
assert not away(device) and away(home), (len(away(device)), len(away(home)))
copied = lambda kind: {s["tensor"] for s in home["steps"] if s["kind"] == kind}
assert set(away(home)) <= copied("offload") & copied("prefetch")
PY
  grep "from_zero()" $name-home/steps_*.cpp >/dev/null || fail "$name: no round begins with zeros"
  trained $name-device $name-a.onnx --steps 4
  trained $name-home $name-b.onnx --steps 4
  same $name-a.onnx $name-b.onnx
}
plimsoll model vgg11:input=32,width=8,hidden=512,classes=10 -o vgg.onnx 2>/dev/null
random_data 34 3 32 10
rounds momentum vgg.onnx --batch 4 --sub-batch 2
rounds adam vgg.onnx --batch 7 --sub-batch 2 --optimizer adam --freeze 'features.*'
rounds clipped vgg.onnx --batch 6 --sub-batch 2 --clip-norm 1

trained momentum-home spilled.onnx --steps 4 --spill .
same momentum-a.onnx spilled.onnx
for order in "device home" "home device"; do
  set -- $order
  trained adam-$1 part.onnx --steps 2 --checkpoint "$1-$2"
  trained adam-$2 resumed.onnx --steps 4 --checkpoint "$1-$2" --resume
  same adam-a.onnx resumed.onnx
done
# The last iteration of an epoch: with a batch of 7 it has 6 samples in three rounds, with one of 4 it has 2 in one
# round.
for name in adam momentum; do
  for home in device home; do trained $name-$home short-$home.onnx --epochs 2 --last keep; done
  same short-device.onnx short-home.onnx
done
$python - <<'PY'
import numpy as np
x = np.load("x.npy"); x[9, 0, 0, 0] = np.nan; np.save("bad.npy", x)
PY
for home in device home; do
  adam-$home/build/train --data npy:bad.npy,y.npy --no-shuffle --quiet --save skipped-$home.onnx --steps 4 --on-nan skip
done
same skipped-device.onnx skipped-home.onnx
plimsoll inspect momentum-home >inspected
grep "gradients kept on the host" inspected >/dev/null ||
  { cat inspected; fail "inspect does not say where gradients live"; }

# One weight for all time steps.
plimsoll model lstm:steps=3,features=64,hidden=64,classes=32,layers=4 -o lstm.onnx 2>/dev/null
$python - <<'PY'
import numpy as np
r = np.random.RandomState(1)
np.save("x.npy", r.randn(24, 3, 64).astype(np.float32)); np.save("y.npy", r.randint(0, 32, 24).astype(np.int32))
PY
rounds lstm lstm.onnx --batch 6 --sub-batch 2
