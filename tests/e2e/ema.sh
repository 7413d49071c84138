# --ema: the saved weights are the exponential moving average of all weights of the run, whatever interrupts it.
. "$PLIMSOLL_E2E/trainer.bash"
small_model
build_trainer net net.onnx --batch 8 --optimizer momentum --momentum 0.9
random_data 32 1 32 10
train() { net/build/train --data npy:x.npy,y.npy --seed 3 --lr 0.02 --quiet "$@"; }

# The average of the weights after each of 8 iterations, from NumPy.
for steps in 1 2 3 4 5 6 7 8; do train --steps $steps --epochs 3 --save last-$steps.onnx; done
train --steps 8 --epochs 3 --ema 0.75 --save average.onnx --checkpoint whole --checkpoint-every 4
$python - <<'PY'
import numpy as np, onnx
from onnx import numpy_helper
load = lambda path: {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
average = {name: value.astype(np.float64) for name, value in load("net/model.onnx").items()}
for i in range(1, 9):
    for name, value in load(f"last-{i}.onnx").items():
        average[name] = 0.75 * average[name] + 0.25 * value
saved, last = load("average.onnx"), load("last-8.onnx")
assert all(np.allclose(saved[name], average[name], rtol=1e-5, atol=1e-6) for name in average)
assert any(not np.allclose(saved[name], last[name], rtol=1e-3) for name in average)
PY

# Averaging does not change the training: the checkpoint has the last weights, and the average in a file of its own.
expect 0 plimsoll export net --checkpoint whole/ckpt-000000008 -o exported.onnx
says "evaluations used the averaged ones, which --average takes"
cmp exported.onnx last-8.onnx || fail "--ema changed the weights that are trained"
expect 0 plimsoll export net --checkpoint whole/ckpt-000000008 --average -o averaged.onnx
cmp averaged.onnx average.onnx || fail "the average that is exported is not the one that --save wrote"
expect 2 plimsoll export net --average -o none.onnx;            says "--average requires --checkpoint"
train --steps 1 --checkpoint plain
expect 3 plimsoll export net --checkpoint plain/ckpt-000000001 --average -o none.onnx; says "had no --ema"
[[ ! -e none.onnx ]] || fail "something was exported"
[[ -s whole/ckpt-000000008/average.safetensors ]] || fail "the checkpoint has no average"
(cd whole/ckpt-000000008 && sha256sum -c manifest.sha256 >/dev/null) ||
  fail "the manifest of a checkpoint with an average"

# Interrupted and resumed, the average has the same bits.
train --steps 3 --epochs 3 --ema 0.75 --checkpoint cut
train --steps 8 --epochs 3 --ema 0.75 --checkpoint cut --resume --save resumed.onnx
cmp resumed.onnx average.onnx || fail "the average of a resumed run differs"
# What does not fit the checkpoint is told.
expect 0 net/build/train --data npy:x.npy,y.npy --seed 3 --steps 9 --ema 0.5 --checkpoint cut --resume
says "with --ema 0.75, this one has 0.5"
expect 0 net/build/train --data npy:x.npy,y.npy --seed 3 --steps 10 --checkpoint cut --resume
says "the average is dropped"
expect 0 net/build/train --data npy:x.npy,y.npy --seed 3 --steps 11 --ema 0.5 --checkpoint cut --resume
says "starts at its weights"
printf x | dd of=whole/ckpt-000000008/average.safetensors bs=1 seek=900 conv=notrunc status=none
expect 0 net/build/train --data npy:x.npy,y.npy --seed 3 --lr 0.02 --steps 8 --epochs 3 --ema 0.75 --checkpoint whole \
  --checkpoint-every 4 --resume
says "passed over"
says "resumed from whole/ckpt-000000004"

# Evaluation and prediction use the average.
expect 0 net/build/train --data npy:x.npy,y.npy --seed 3 --lr 0.02 --steps 8 --epochs 2 --ema 0.75 \
  --eval-data npy:x.npy,y.npy --metrics m.jsonl
expect 0 net/build/train --data npy:x.npy,y.npy --seed 3 --lr 0 --steps 1 --model average.onnx \
  --eval-data npy:x.npy,y.npy --eval-every 1 --metrics n.jsonl
$python - <<'PY'
import json
losses = [[r["eval_loss"] for r in map(json.loads, open(f)) if "eval_loss" in r][-1] for f in ("m.jsonl", "n.jsonl")]
assert abs(losses[0] - losses[1]) < 1e-6 * abs(losses[0]), losses
PY
expect 0 net/build/train --predict x.npy --out a.npy --checkpoint whole --resume
says "averaged weights of whole/ckpt-000000008"
expect 0 net/build/train --predict x.npy --out b.npy --model average.onnx
cmp a.npy b.npy || fail "a prediction from a checkpoint does not use the average"
# The best weights are averaged ones, too.
expect 0 net/build/train --data npy:x.npy,y.npy --seed 3 --lr 0.02 --steps 8 --epochs 2 --ema 0.75 \
  --eval-data npy:x.npy,y.npy --eval-every 8 --keep-best loss --save best.onnx
$python "$PLIMSOLL_E2E/weights.py" best.onnx average.onnx 0 >/dev/null || fail "--keep-best does not save the average"

expect 2 train --ema 1;                       says "from 0 to below 1"
expect 2 train --ema 0.9 --lr-range-test 1e-4:1; says "exclude each other"
expect 2 net/build/train --predict x.npy --out c.npy --ema 0.9; says "--ema applies to training"
