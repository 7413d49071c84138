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

# A run that is interrupted right after the best evaluation resumes with what that evaluation decided, although it is
# made after the iteration that --checkpoint-every names, and although the first part of the run had no --save.
sed -n '/^stopped early/p; s/, checkpoint.*//; /^best evaluation/p' out >whole.end
resumed=("${wrong[@]}" --lr 0.1 --early-stop 3 --keep-best loss --checkpoint ck2 --keep 1 --checkpoint-every 4)
step=$((10#$(sed 's/ckpt-//' best)))
expect 0 train --epochs 40 --steps $step "${resumed[@]}"
for file in resumed again; do
  expect 0 train --epochs 40 "${resumed[@]}" --resume --save $file.onnx; says ", saved as $file.onnx"
  sed -n '/^stopped early/p; s/, checkpoint.*//; /^best evaluation/p' out | diff whole.end - ||
    fail "the resumed run ends otherwise"
  cmp $file.onnx best.onnx || fail "--save of the resumed run is not the best model"
done
by_accuracy=("${wrong[@]}" --lr 0.1 --keep-best accuracy --checkpoint ck2 --resume)
expect 0 train --epochs 40 --steps $((step + 100)) "${by_accuracy[@]}" --save accuracy.onnx
says "the checkpoint has the best evaluation by loss, this run compares by accuracy"
! grep "accuracy [0-9]\{4,\}" out || fail "a loss is taken for an accuracy"
cp -r ck ck3 && rm -rf "ck3/$(cat best)"
expect 0 train --epochs 41 "${wrong[@]}" --lr 0.1 --keep-best loss --checkpoint ck3 --resume --save lost.onnx
says "the weights of the best evaluation are lost, because there is no ck3/$(cat best)"
# With --ema, evaluations use the average, and so does the saved model.
average=("${wrong[@]}" --lr 0.1 --ema 0.5 --keep-best loss --epochs 12)
expect 0 train "${average[@]}" --save best-average.onnx
expect 0 train "${average[@]}" --checkpoint ck4
expect 0 train "${average[@]}" --checkpoint ck4 --resume --save average.onnx
cmp best-average.onnx average.onnx || fail "--save of the resumed run is not the best average"

# An evaluation that a signal cuts off is made when the run resumes. It may also end before the signal is read.
$python - <<'PY'
import numpy as np
np.save("many_x.npy", np.tile(np.load("x.npy"), (300, 1, 1, 1))), np.save("many_y.npy", np.tile(np.load("y.npy"), 300))
PY
many=(--epochs 2 --lr 0.01 --eval-data npy:many_x.npy,many_y.npy --keep-best loss)
expect 0 train "${many[@]}" --metrics whole.jsonl --save whole.onnx
net/build/train --data npy:x.npy,y.npy --no-shuffle "${many[@]}" --metrics cut.jsonl --checkpoint ck5 >log 2>&1 &
child=$!
while [[ $(cat cut.jsonl 2>/dev/null | wc -l) -lt 4 ]]; do
  kill -0 $child || { cat log; fail "it did not train"; }; sleep 0.01
done
kill -TERM $child; wait $child || true
expect 0 train "${many[@]}" --metrics cut.jsonl --checkpoint ck5 --resume --save cut.onnx
$python - <<'PY'
import json
whole, cut = ([(r["iteration"], r["eval_loss"]) for r in map(json.loads, open(name)) if "eval_loss" in r]
              for name in ("whole.jsonl", "cut.jsonl"))
assert whole == cut and len(cut) == 2, (whole, cut)
PY
cmp whole.onnx cut.onnx || fail "other best weights after an evaluation was cut off"

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
