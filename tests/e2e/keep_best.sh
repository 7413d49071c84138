# Decisions made by an evaluation: which weights are kept, and when a run ends. Also the learning-rate range test.
. "$PLIMSOLL_E2E/trainer.bash"
small_model
build_trainer net net.onnx --batch 8 --optimizer sgd
random_data 32 1 32 10
$python - <<'PY'
import numpy as np
# The training labels are wrong there.
np.save("ex.npy", np.load("x.npy")[:16]), np.save("ey.npy", (np.load("y.npy")[:16] + 1) % 10)
PY
train() { net/build/train --data npy:x.npy,y.npy --no-shuffle "$@"; }
wrong=(--eval-data npy:ex.npy,ey.npy) right=(--eval-data npy:x.npy,y.npy)

# The learning rate is large, so the loss on other labels rises from the first evaluation on, or soon after.
expect 0 train --epochs 40 --lr 0.1 "${wrong[@]}" --early-stop 3 --keep-best loss --save best.onnx --checkpoint ck \
  --keep 1 --metrics m.jsonl
says "stopped early, after"; says "3 evaluations without improvement"; says "best evaluation after"
$python - <<'PY'
import json, os, re
losses = [(r["iteration"] + 1, r["eval_loss"]) for r in map(json.loads, open("m.jsonl")) if "eval_loss" in r]
best = min(losses, key=lambda one: one[1])
assert best == losses[-4], losses                       # three evaluations are no better, so the run ends
there = sorted(int(name[5:]) for name in os.listdir("ck") if re.fullmatch(r"ckpt-\d+", name))
assert there == [best[0], losses[-1][0]], (there, best)  # --keep 1 keeps the newest and the best
open("best", "w").write(f"ckpt-{best[0]:09}")
PY
expect 0 plimsoll export net --checkpoint "ck/$(cat best)" -o exported.onnx
$python "$PLIMSOLL_E2E/weights.py" exported.onnx best.onnx 0 >/dev/null || fail "--save is not the best checkpoint"
# The best weights are part of a checkpoint: the resumed run has no further evaluation to wait for.
expect 0 train --epochs 40 --lr 0.1 "${wrong[@]}" --early-stop 3 --keep-best loss --checkpoint ck --keep 1 --resume
says "stopped early, after"
[[ -d ck/$(cat best) ]] || fail "the best checkpoint is gone"

# The loss never rises: the run continues to its end, and the last weights are the best. They are those of a run without
# the option.
expect 0 train --epochs 6 --lr 0.02 "${right[@]}" --early-stop 2 --keep-best loss --save kept.onnx
expect 0 train --epochs 6 --lr 0.02 --save last.onnx
$python "$PLIMSOLL_E2E/weights.py" kept.onnx last.onnx 0 >/dev/null || fail "an evaluation changed the weights"
expect 0 train --steps 8 --lr 0.02 "${right[@]}" --eval-every 3 --keep-best accuracy --save accuracy.onnx
says "accuracy"

expect 0 train --lr-range-test 1e-4:10 --steps 60; says "the loss falls fastest at"; says "begin with --lr"
[[ $(grep -c . out) -lt 60 ]] || fail "a table too long"
expect 2 train --lr-range-test 1:0.1;                    says "HIGH above LOW"
expect 2 train --lr-range-test 1;                        says "LOW:HIGH"
expect 2 train --lr-range-test 1e-4:1 --save x.onnx;     says "exclude each other"
expect 2 train --early-stop 2;                           says "needs --eval-data"
expect 2 train "${right[@]}" --keep-best loss;           says "--save FILE or --checkpoint DIR"
expect 2 train "${right[@]}" --keep-best f1 --save x.onnx; says "loss, accuracy"

# Options of the other program, and unknown options.
expect 2 train --optimizer adam;  says "decided when the model is compiled"
expect 2 train --epoch 3;         says "Did you mean '--epochs'?"
expect 2 train --frobnicate;      says "--help lists the options"
net/build/train --help | grep -o '^  --[a-z0-9-]*' | while read -r flag; do
  # Options that the compiler has, too, or names that are clear enough.
  case $flag in
    --weight-decay | --momentum | --batch | --sub-batch | --clip-norm | --model | --out | --json | --quiet | --help)
      continue ;;
  esac
  expect 2 plimsoll plan net.onnx --batch 8 $flag
  says "that is a trainer's flag"
done
