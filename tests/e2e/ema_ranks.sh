# --ema with several ranks: every rank averages the same weights, so the average is that of one process, also in rounds,
# after a resumption, and in evaluations, which each rank makes of its part of the samples.
. "$PLIMSOLL_E2E/ranks.bash"
same() { $python "$PLIMSOLL_E2E/weights.py" "$1" "$2" "$3" || fail "other weights: $1 $2"; }

plimsoll model lenet -o net.onnx -q
random_data 52 1 32 10
options="--batch 16 --sub-batch 4 --threads 1"
build_trainer one net.onnx $options
build_trainer two net.onnx $options --ranks 2
run="--data npy:x.npy,y.npy --lr 0.05 --seed 3 --steps 7 --epochs 3"
evaluated="--eval-data npy:x.npy,y.npy --eval-every 7"

expect 0 one/build/train $run --ema 0.75 --save one.onnx $evaluated --metrics one.jsonl
expect 0 one/build/train $run --save last.onnx
expect 0 mpirun -np 2 two/build/train $run --ema 0.75 --save two.onnx $evaluated --metrics two.jsonl --checkpoint whole
same one.onnx two.onnx 1e-6
! $python "$PLIMSOLL_E2E/weights.py" one.onnx last.onnx 1e-3 >/dev/null || fail "the average is the last weights"
$python - <<'PY'
import json
of = lambda file: [line["eval_loss"] for line in map(json.loads, open(file)) if "eval_loss" in line]
one, two = of("one.jsonl"), of("two.jsonl")
assert len(one) == len(two) == 1 and abs(one[0] - two[0]) <= 1e-5 * one[0], (one, two)
PY
# The evaluation is of the average, not of the last weights.
expect 0 one/build/train --data npy:x.npy,y.npy --lr 0 --steps 1 --model two.onnx --eval-data npy:x.npy,y.npy \
  --eval-every 1 --metrics again.jsonl
expect 0 one/build/train --data npy:x.npy,y.npy --lr 0 --steps 1 --model last.onnx --eval-data npy:x.npy,y.npy \
  --eval-every 1 --metrics last.jsonl
$python - <<'PY'
import json
of = lambda file: [line["eval_loss"] for line in map(json.loads, open(file)) if "eval_loss" in line][-1]
two, again, last = of("two.jsonl"), of("again.jsonl"), of("last.jsonl")
assert abs(two - again) <= 1e-5 * two < abs(two - last), (two, again, last)
PY

# Interrupted and resumed by two ranks, the average has the same bits; and one process continues what two have begun.
(cd whole/ckpt-000000007 && sha256sum -c manifest.sha256 >/dev/null && [[ -s average.safetensors ]]) ||
  fail "the checkpoint has no average"
expect 0 mpirun -np 2 two/build/train ${run/--steps 7/--steps 4} --ema 0.75 --checkpoint cut
cp -r cut taken
expect 0 mpirun -np 2 two/build/train $run --ema 0.75 --checkpoint cut --resume --save resumed.onnx
says "resumed from cut/ckpt-000000004"
same resumed.onnx two.onnx 0
expect 0 one/build/train $run --ema 0.75 --checkpoint taken --resume --save taken.onnx
same taken.onnx one.onnx 1e-6
