# Several ranks give the result of one process: each computes its part of every batch, and the sum of their gradients
# gives the weights of one process, within 1e-6. This also holds in rounds, and with dropout, whose masks do not depend
# on the rank that draws them. Ranks resume from a checkpoint, refuse ranks with another plan, and end together when one
# is asked to end. Most tests use two ranks; the essentials use four, with MPI and with TCP. Lost ranks are tested in
# ranks_lost.sh.
. "$PLIMSOLL_E2E/ranks.bash"
same() { $python "$PLIMSOLL_E2E/weights.py" "$1" "$2" "$3" || fail "other weights: $1 $2"; }

plimsoll model vgg11:input=32,width=16,hidden=64,classes=10 -o net.onnx 2>/dev/null
random_data 52 3 32 10
options="--batch 16 --threads 1 --clip-norm 1 --budget 16MiB"
build_trainer one net.onnx $options --sub-batch 8
build_trainer two net.onnx $options --sub-batch 8 --ranks 2
build_trainer four net.onnx $options --sub-batch 8 --ranks 4
run="--data npy:x.npy,y.npy --test npy:x.npy,y.npy --lr 0.02 --last pad --steps 6"
plimsoll verify two

# The same weights, and the same figures for the whole batch; only one rank prints.
expect 0 one/build/train $run --save one.onnx
sed -n 's/  [0-9.]* s, .*//; /^epoch/p' out >one.epochs
expect 0 mpirun -np 2 two/build/train $run --save two.onnx --metrics two.csv --trace trace.json
says "batch 16 on 2 ranks in 2 rounds of 8, 1 thread each"
sed -n 's/  [0-9.]* s, .*//; /^epoch/p' out >two.epochs
same one.onnx two.onnx 1e-6
$python - <<'PY'
import json, re
numbers = lambda name: [float(x) for x in re.findall(r"\d+\.\d+", open(name).read())]
one, two = numbers("one.epochs"), numbers("two.epochs")
assert len(one) == 8 and len(two) == 8, (one, two)
assert all(abs(a - b) <= 1e-4 * abs(a) for a, b in zip(one, two)), (one, two)
plan = json.load(open("two/plan.json"))
slices = {e["args"]["step"]: e for e in json.load(open("trace.json"))["traceEvents"] if e["ph"] == "X"}
reductions = [s for s in plan["steps"] if s["kind"] == "reduce"]
assert len(reductions) >= 2 and all(slices[s["id"]]["tid"] == 4 for s in reductions), "reductions are not traced"
PY
[[ $(wc -l <two.csv) -eq 9 ]] || fail "metrics of more than one rank: $(wc -l <two.csv) lines"

# The same bits twice; also when stopped and resumed, and when started without mpirun.
expect 0 mpirun -np 2 two/build/train $run --steps 3 --checkpoint ck
says "checkpoint ck/ckpt-000000003"
expect 0 mpirun -np 2 two/build/train $run --checkpoint ck --resume --save resumed.onnx
says "resumed from ck/ckpt-000000003"
same resumed.onnx two.onnx 0
by_hand 2 two $run --save by_env.onnx --quiet
wait "${pids[0]}" && wait "${pids[1]}" || { cat err.*; fail "started by hand"; }
same by_env.onnx two.onnx 0

# A damaged checkpoint ends all ranks that require the newest one. A checkpoint that cannot be written, but may be
# missing, ends none, and all report at their end that the last one is missing.
expect 0 mpirun -np 2 two/build/train $run --steps 4 --checkpoint ck4
printf 'x' | dd of=ck4/ckpt-000000004/state.safetensors bs=1 seek=400 conv=notrunc status=none
by_hand 2 two $run --checkpoint ck4 --resume=strict --quiet
ended 4 0 1
one_says "^error: ck4/ckpt-000000004 is damaged: .*--resume without =strict" 0 1
by_hand 2 two --data npy:x.npy,y.npy --epochs 100000 --quiet --metrics may.jsonl --checkpoint may --checkpoint-every 2 \
  --checkpoint-optional
trains may.jsonl "${pids[0]}"
while [[ ! -d may/ckpt-000000002 ]]; do
  kill -0 "${pids[0]}" || { cat err.*; fail "it made no checkpoint"; }; sleep 0.01
done
mv may away && echo file >may
while ! grep -q "(training continues)" err.0; do
  kill -0 "${pids[0]}" || { cat err.*; fail "it ended"; }; sleep 0.05
done
kill -TERM "${pids[1]}"
ended 7 0 1
grep -q "could not be written, including the last" err.0 ||
  { cat err.*; fail "the last checkpoint is not told to be missing"; }

# If it may not be missing, all end after the same iteration and with the same code, and the trained weights are saved.
if unshare -m true 2>/dev/null; then
  mkdir disk
  small_disk() { unshare -m bash -c 'mount -t tmpfs -o size=8192 none disk && exec "$@"' - "${@:2}"; }
  before=small_disk by_hand 2 two $run --checkpoint disk/ck --checkpoint-every 2 --save ended.onnx
  ended 7 0 1
  grep -q "^error: cannot write 'disk/ck/" err.0 && grep -q "^stopped after 3 iterations$" err.0 &&
    [[ ! -s err.1 ]] || { cat err.*; fail "it does not say why it ends"; }
  grep -q "^saved ended.onnx$" out.0 && plimsoll inspect ended.onnx >/dev/null || fail "what was trained is not saved"
else
  echo "no file system of a few kilobytes to be had here: its part is left out"
fi

# Four ranks.
expect 0 mpirun -np 4 four/build/train $run --save four.onnx
says "batch 16 on 4 ranks in 2 rounds of 8, 1 thread each"
same one.onnx four.onnx 1e-6
by_hand 4 four $run --save four_by_env.onnx --quiet
for pid in "${pids[@]}"; do wait "$pid" || { cat err.*; fail "four started by hand"; }; done
same four_by_env.onnx four.onnx 0

# Class weights and ignored labels: the divisor of the loss covers the labels of all ranks, although each rank has
# others.
$python - <<'PY'
import numpy as np
labels = np.load("y.npy")
labels[::3] = -100
np.save("some.npy", labels)
PY
weighted="--class-weights 1,2,3,4,5,6,7,8,9,10 --label-smoothing 0.1"
build_trainer one_weighted net.onnx $options --sub-batch 8 $weighted
build_trainer two_weighted net.onnx $options --sub-batch 8 $weighted --ranks 2
weighted_run="--data npy:x.npy,some.npy --lr 0.02 --last pad --steps 6"
expect 0 one_weighted/build/train $weighted_run --save one_weighted.onnx
expect 0 mpirun -np 2 two_weighted/build/train $weighted_run --save two_weighted.onnx
same one_weighted.onnx two_weighted.onnx 1e-6

# A round of two ranks has the bits of two rounds of one process: the same parts, added in the same order.
plimsoll model unet:input=32,width=4,depth=2,batch_norm=0 -o unet.onnx 2>/dev/null
build_trainer rounds unet.onnx --batch 16 --sub-batch 8 --threads 1 --clip-norm 1
build_trainer at_once unet.onnx --batch 16 --ranks 2 --threads 1 --clip-norm 1
expect 0 rounds/build/train --data synthetic --steps 12 --save rounds.onnx
says "batch 16 in 2 rounds of 8"
expect 0 mpirun -np 2 at_once/build/train --data synthetic --steps 12 --save at_once.onnx
says "batch 16 on 2 ranks in 1 round of 16"
same at_once.onnx rounds.onnx 0

# Plans use the rates that the ranks measured, if their number is the same.
expect 0 mpirun -np 2 two/build/train --measure-ranks ranks.json
says "2 ranks by MPI"
says "--rank-costs ranks.json"
expect 0 plimsoll plan net.onnx $options --sub-batch 8 --ranks 2 --rank-costs ranks.json -o measured.json
says "ranks measured"
$python - <<'PY'
import json
rates = json.load(open("ranks.json"))
slow = dict(rates, beside={"bytes_per_second": 1e6, "latency_seconds": 1e-3})
json.dump(slow, open("slow.json", "w"))
json.dump(dict(rates, beside={"bytes_per_second": 0, "latency_seconds": 1e-3}), open("none.json", "w"))
assert rates["ranks"] == 2 and all(
    rates[how][of] > 0 for how in ("alone", "beside") for of in ("bytes_per_second", "latency_seconds")), rates
PY
plimsoll plan -q net.onnx $options --sub-batch 8 --ranks 2 --rank-costs slow.json -o slow_plan.json
$python - <<'PY'
import json
plan = json.load(open("slow_plan.json"))
# Two ranks send and receive each byte once.
expected = plan["summary"]["reduced_bytes"] / 1e6
assert expected < plan["summary"]["reduce_seconds"] < 1.2 * expected + 0.1, plan["summary"]
PY
expect 2 plimsoll plan net.onnx $options --sub-batch 8 --ranks 4 --rank-costs ranks.json -o p.json
says "measured with 2 ranks"
expect 2 plimsoll plan net.onnx $options --rank-costs ranks.json -o p.json;  says "--ranks N"
expect 3 plimsoll plan net.onnx $options --sub-batch 8 --ranks 2 --rank-costs none.json -o p.json
says "beside.bytes_per_second"
expect 2 one/build/train --measure-ranks ranks.json;                     says "this one has one"

# Refused, with the remedy.
expect 2 plimsoll plan net.onnx --batch 16 --ranks 3 -o p.json
says "--batch 16 is not divisible by 3 ranks; 15 and 18 would be"
expect 2 plimsoll plan net.onnx --batch 16 --sub-batch 3 --ranks 2 -o p.json
says "--sub-batch 3 is not divisible by 2 ranks"
expect 8 two/build/train $run;                                           says "mpirun -np 2"
expect 8 mpirun -np 2 one/build/train $run;                              says "--ranks 2"
expect 3 mpirun -np 2 two/build/train --data npy:none.npy,y.npy;         says "none.npy"
[[ $(grep -c '^error:' err) -eq 1 ]] || { cat err; fail "more than one rank says what is wrong"; }
build_trainer tight net.onnx $options --sub-batch 4 --ranks 2
# One command for both: mpirun of OpenMPI 5.0.7 ends with a segmentation fault for two commands.
cat >apart <<'SH'
#!/bin/sh
case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in 0) exec $FIRST ;; *) exec $SECOND ;; esac
SH
chmod +x apart
export FIRST="two/build/train $run" SECOND="tight/build/train $run"
expect 8 mpirun -np 2 ./apart;  says "rank 1 has another plan"
export SECOND="two/build/train $run --seed 3"
expect 2 mpirun -np 2 ./apart;  says "other options"

# If one rank is asked to end, all end and save.
mpirun -np 2 bash -c '
two/build/train --data npy:x.npy,y.npy --epochs 100000 --quiet --save asked.onnx --metrics asked.jsonl &
echo $! >pid.$OMPI_COMM_WORLD_RANK
                      wait $!; echo $? >code.$OMPI_COMM_WORLD_RANK' >out 2>err & all=$!
while [[ $(cat asked.jsonl 2>/dev/null | wc -l) -lt 2 ]]; do
  kill -0 $all || { cat err; fail "it did not train"; }; sleep 0.05
done
kill -TERM $(cat pid.1)
wait $all || true
[[ $(cat code.0) -eq 143 && $(cat code.1) -eq 143 && -s asked.onnx ]] ||
  { cat err; fail "ended with $(cat code.0) and $(cat code.1)"; }
