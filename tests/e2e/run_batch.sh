# One trainer trains with other batches than the one that it was compiled for, and its results are those of a trainer
# that was compiled for them.
. "$PLIMSOLL_E2E/trainer.bash"
small_model
build_trainer of_16 net.onnx --batch 16 --sub-batch 4 --optimizer momentum --momentum 0.9 --clip-norm 0.5
random_data 48 1 32 10
train() { local trainer=$1; shift; "$trainer/build/train" --data npy:x.npy,y.npy --seed 3 --lr 0.02 "$@"; }

# A power of two more or less scales exactly, so the bits are the same.
for batch in 8 32; do
  build_trainer of_$batch net.onnx --batch $batch --sub-batch 4 --optimizer momentum --momentum 0.9 --clip-norm 0.5
  train of_$batch --epochs 3 --quiet --save compiled-$batch.onnx
  expect 0 train of_16 --epochs 3 --batch $batch --save run-$batch.onnx --metrics m.jsonl
  says "batch $batch in $((batch / 4)) rounds of 4"
  cmp compiled-$batch.onnx run-$batch.onnx || fail "--batch $batch differs from a trainer that was compiled for it"
done
# Other batches, also with a last round that is smaller, differ by rounding.
build_trainer of_10 net.onnx --batch 10 --sub-batch 4 --optimizer momentum --momentum 0.9 --clip-norm 0.5
train of_10 --epochs 3 --quiet --last keep --save compiled-10.onnx
expect 0 train of_16 --epochs 3 --batch 10 --last keep --save run-10.onnx; says "batch 10 in 3 rounds of 4"
$python "$PLIMSOLL_E2E/weights.py" compiled-10.onnx run-10.onnx 1e-5 || fail "--batch 10"
expect 0 train of_16 --epochs 3 --batch 3 --save run-3.onnx; says "batch 3 in 1 round of 3"
# Rounds of fewer samples, for the same batch: without batch normalization, nothing but rounding changes.
train of_16 --epochs 3 --quiet --save whole.onnx
expect 0 train of_16 --epochs 3 --sub-batch 2 --save halves.onnx; says "batch 16 in 8 rounds of 2"
$python "$PLIMSOLL_E2E/weights.py" whole.onnx halves.onnx 1e-5 || fail "--sub-batch 2"
# Evaluation, checkpoints and the losses that are reported know the batch.
expect 0 train of_16 --epochs 2 --batch 8 --eval-data npy:x.npy,y.npy --checkpoint ck --metrics n.jsonl
expect 4 train of_16 --epochs 3 --checkpoint ck --resume; says "of a run with batch 8, this trainer's is 16"
expect 0 train of_16 --epochs 3 --batch 8 --checkpoint ck --resume
$python -c '
import json
rows = [r for r in map(json.loads, open("n.jsonl")) if r.get("loss") is not None]
assert len(rows) == 12 and all(r["samples"] == 8 and 1 < r["loss"] < 4 for r in rows), rows'

# The limit of the gradients' norm is a number of the run, where the plan clips.
build_trainer tight net.onnx --batch 16 --sub-batch 4 --optimizer momentum --momentum 0.9 --clip-norm 0.1
train tight --epochs 3 --quiet --save clipped.onnx
train of_16 --epochs 3 --quiet --clip-norm 0.1 --save run-clipped.onnx
cmp clipped.onnx run-clipped.onnx || fail "--clip-norm of a run differs from that of the compiler"
! cmp -s clipped.onnx whole.onnx || fail "--clip-norm has no effect"

# What the plan does not allow.
expect 2 train of_16 --sub-batch 5; says "the planned one is 4"; says "plimsoll compile … --sub-batch 5"
build_trainer one net.onnx --batch 8 --sub-batch 8
expect 2 train one --batch 9;       says "no gradient accumulation"; says "up to 8 in one round"
expect 2 train one --sub-batch 4;   says "no gradient accumulation"
expect 0 train one --batch 5 --steps 2; says "batch 5 in 1 round of 5"
expect 2 train one --clip-norm 1;   says "compiled without clipping"
expect 2 train of_16 --clip-norm 0; says "above 0"
expect 2 train of_16 --batch 0
expect 2 one/build/train --predict x.npy --out p.npy --batch 4; says "applies to training"

# plimsoll train takes the trainer of another batch, where its plan allows that.
export XDG_CACHE_HOME=$PWD/cache
trainers() { find cache/plimsoll/trainers -mindepth 1 -maxdepth 1 -type d 2>/dev/null | wc -l; }
fit() {
  expect 0 plimsoll train net.onnx --costs modelled --sub-batch 4 --budget 64MiB "$@" --data npy:x.npy,y.npy \
    --epochs 1 --lr 0.02
}
fit --batch 16; says "building the trainer"
fit --batch 8 --quiet
[[ $(trainers) -eq 1 ]] || fail "another batch has made another trainer"
fit --batch 24; says "planned for batch 16"; says "batch 24 in 6 rounds of 4"
fit --batch 24 --dry-run
grep -q "^.*/build/train --batch 24 --data" out || { cat out; fail "--dry-run does not show the batch"; }
fit --batch 16; says "batch 16 in 4 rounds of 4"
[[ $(trainers) -eq 1 ]] || fail "there are $(trainers) trainers"
# Another optimizer is another trainer; so is a budget that depends on the batch, and --trainer DIR.
compiles() {
  expect 0 plimsoll train net.onnx --costs modelled --sub-batch 4 "$@" --data synthetic --dry-run
  grep -q "^plimsoll compile" out || { cat out; fail "no trainer is made: $*"; }
}
compiles --budget 64MiB --batch 8 --optimizer sgd
compiles --budget 64MiB --batch 8 --trainer mine
expect 0 plimsoll train net.onnx --costs modelled --sub-batch 4 --budget 90% --batch 16 --data synthetic --steps 1
compiles --budget 90% --batch 8
