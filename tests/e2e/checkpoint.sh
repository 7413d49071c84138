# A run that is interrupted, killed or out of disk space resumes from its checkpoint with the bits of an uninterrupted
# run.
. "$PLIMSOLL_E2E/trainer.bash"
has $python torch onnx || { echo "skipped: no torch and onnx for $python"; exit 77; }
$python - <<'PY'
import torch
torch.manual_seed(0)  # statistics, random masks, weights in blocks: everything that the bits of a run depend on
net = torch.nn.Sequential(torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(),
                          torch.nn.MaxPool2d(2), torch.nn.Conv2d(16, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                          torch.nn.Dropout(0.3), torch.nn.Linear(16 * 36, 10))
torch.onnx.export(net.train(), torch.randn(8, 1, 16, 16), "net.onnx", opset_version=15, input_names=["x"],
                  dynamic_axes={"x": {0: "n"}}, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
PY
random_data 40 1 16 10
build_trainer trainer net.onnx --batch 8 --sub-batch 4 --budget 4MiB
train() { trainer/build/train --data npy:x.npy,y.npy --epochs 4 --seed 3 "$@"; }   # 5 iterations per epoch, 20 in total
same() { $python "$PLIMSOLL_E2E/weights.py" "$1" "$2" 0 || fail "other weights: $1 $2"; }
train --quiet --save whole.onnx --metrics whole.jsonl --metrics whole.csv

# Stopped in the middle of an epoch by --steps, then resumed.
expect 0 train --steps 7 --checkpoint ck --checkpoint-every 3 --keep 2;  says "checkpoint ck/ckpt-000000007"
[[ $(ls ck) == $'ckpt-000000006\nckpt-000000007' ]] || fail "kept $(ls ck)"
(cd ck/ckpt-000000007 && sha256sum --quiet -c manifest.sha256) || fail "sha256sum does not know the manifest"
cp -r ck ck2
expect 2 train --checkpoint ck;                                 says "--resume continues from it"
expect 2 train --resume;                                        says "--checkpoint"
expect 2 train --checkpoint ck --resume --seed 4;               says "--seed 3"
expect 2 train --checkpoint ck --resume --no-shuffle;           says "shuffled"
expect 0 train --checkpoint ck --resume --save resumed.onnx;    says "resumed from ck/ckpt-000000007"
same resumed.onnx whole.onnx
expect 0 train --checkpoint ck --resume --save again.onnx;      says "resumed from ck/ckpt-000000020"
same again.onnx whole.onnx

# A damaged checkpoint is skipped, and the previous one is used. The epoch's figures are those of the whole run.
printf 'x' | dd of=ck2/ckpt-000000007/state.safetensors bs=1 seek=400 conv=notrunc status=none
expect 4 train --checkpoint ck2 --resume=strict --save none.onnx
says "ck2/ckpt-000000007 is damaged"
says "--resume without =strict"
expect 4 train --checkpoint ck2 --resume=strict --predict x.npy --out none.npy; says "ck2/ckpt-000000007 is damaged"
[[ ! -e none.onnx && ! -e none.npy ]] || fail "something was made of a damaged checkpoint"
expect 2 train --checkpoint ck2 --resume=perhaps;               says "--resume takes one of strict, not 'perhaps'"
expect 0 train --checkpoint ck2 --resume --save other.onnx
says "passed over ck2/ckpt-000000007"
says "resumed from ck2/ckpt-000000006"
same other.onnx whole.onnx
grep -h '^epoch' out | sed 's/  [0-9.]* s,.*//' > resumed.epochs
train | grep '^epoch' | sed 's/  [0-9.]* s,.*//' | tail -n 3 > whole.epochs
cmp resumed.epochs whole.epochs || fail "the epochs' lines differ"
rm ck2/*/manifest.sha256
expect 3 train --checkpoint ck2 --resume;                       says "is whole"

# Another budget with the same sub-batch and algorithms, and weights in another layout: the same run.
build_trainer tight net.onnx --batch 8 --sub-batch 4 --algorithms-of trainer \
  --budget $(plimsoll plan net.onnx --batch 8 --sub-batch 4 --algorithms-of trainer --budget 1KiB -o p.json 2>&1 |
  sed -n "s/.*the minimum is \([0-9]*\) bytes.*/\1/p")
rm -rf ck3 && train --quiet --steps 9 --checkpoint ck3
tight/build/train --data npy:x.npy,y.npy --epochs 4 --quiet --checkpoint ck3 --resume --save tight.onnx
same tight.onnx whole.onnx
# So both predict the same, for a number of samples that is not a multiple of a round.
$python -c 'import numpy; numpy.save("few.npy", numpy.load("x.npy")[:7])'
expect 0 train --predict few.npy --out few-whole.npy --model whole.onnx;  says "f32[10] of 7 samples: few-whole.npy"
expect 0 tight/build/train --predict few.npy --out few-tight.npy --checkpoint ck3 --resume
says "weights of ck3/ckpt-000000020"
cmp few-whole.npy few-tight.npy || fail "two budgets predict otherwise"
expect 3 train --predict few.npy --out none.npy --checkpoint empty --resume; says "no checkpoint in 'empty'"
[[ ! -e empty && ! -e none.npy ]] || fail "a prediction that failed left something behind"

# Killed repeatedly at any time: the metrics have each iteration once.
rm -rf ck4
for turn in 1 2 3 4; do
  trainer/build/train --data npy:x.npy,y.npy --epochs 4 --seed 3 --checkpoint ck4 --checkpoint-every 1 --resume \
    --metrics killed.jsonl --metrics killed.csv >log 2>&1 & child=$!
  while kill -0 $child 2>/dev/null && [[ $(cat killed.jsonl 2>/dev/null | wc -l) -lt $((turn * 4)) ]]; do
    sleep 0.01
  done
  kill -9 $child 2>/dev/null || true
  wait $child 2>/dev/null || true
done
expect 0 train --checkpoint ck4 --checkpoint-every 1 --resume --metrics killed.jsonl --metrics killed.csv \
  --save killed.onnx
same killed.onnx whole.onnx
$python - <<'PY'
import csv, json
whole, killed = ([json.loads(line) for line in open(f"{name}.jsonl")] for name in ("whole", "killed"))
assert [r["iteration"] for r in killed] == list(range(20)), killed
assert [r["loss"] for r in killed] == [r["loss"] for r in whole]
table = list(csv.DictReader(open("killed.csv")))
assert [int(r["iteration"]) for r in table] == list(range(20))
assert [float(r["loss"]) for r in table] == [r["loss"] for r in whole]
r = whole[-1]
assert r["samples"] == 8 and r["accuracy"] == r["correct"] / 8 and r["lr"] == 0.01
assert r["moved_bytes"] >= 8 * (16 * 16 * 4 + 4) and r["stall_seconds"] >= 0
assert r["arena_planned_bytes"] <= r["arena_allocated_bytes"] < r["resident_peak_bytes"]
PY

# Ctrl-C ends the current iteration and saves.
rm -rf ck5
trainer/build/train --data npy:x.npy,y.npy --epochs 100000 --checkpoint ck5 --metrics long.jsonl >log 2>&1 & child=$!
while [[ ! -s long.jsonl ]]; do sleep 0.01; done
kill -INT $child; code=0; wait $child || code=$?
[[ $code -eq 130 ]] || { cat log; fail "exit $code after Ctrl-C"; }
done=$(sed -n 's/^stopped after \([0-9]*\) iterations*$/\1/p' log)
[[ -d ck5/ckpt-$(printf %09d "$done") && $(wc -l <long.jsonl) -eq $done ]] ||
  { cat log; ls ck5; fail "no checkpoint of iteration $done"; }

# A second Ctrl-C ends the trainer at once, in the middle of a kernel; earlier checkpoints are complete.
c++ -shared -fPIC -O1 "$PLIMSOLL_E2E/preload/hang.cpp" -o hang.so -ldl
rm -rf ck7
LD_PRELOAD=$PWD/hang.so HANG=stuck HANG_IN=kernel trainer/build/train --data npy:x.npy,y.npy --epochs 100000 --seed 3 \
  --checkpoint ck7 --checkpoint-every 1 \
  --metrics twice.jsonl >log 2>&1 & child=$!
while [[ $(cat twice.jsonl 2>/dev/null | wc -l) -lt 3 ]]; do
  kill -0 $child || { cat log; fail "it did not train"; }; sleep 0.01
done
touch stuck
while [[ ! -e stuck.here ]]; do kill -0 $child || { cat log; fail "it does not stand still"; }; sleep 0.01; done
kill -INT $child
# After the first SIGINT (bit 1), the signal is no longer caught.
while ((0x$(sed -n 's/^SigCgt:\t//p' /proc/$child/status) & 2)); do sleep 0.01; done
sleep 0.5
kill -0 $child || { cat log; fail "the first Ctrl-C ended it in the middle of an iteration"; }
kill -INT $child; code=0; wait $child || code=$?
[[ $code -eq 130 ]] || { cat log; fail "exit $code after a second Ctrl-C"; }
rm stuck
expect 0 train --checkpoint ck7 --resume --steps 21 --epochs 100000;  says "resumed from ck7/ckpt-"

# The reported memory is the trainer's own, not that of the process that executed it.
expect 0 $python -c 'import os; large = b"x" * (400 << 20)
os.execv("trainer/build/train", "train --data npy:x.npy,y.npy --steps 1".split())'
[[ $(sed -n 's/.*peak resident memory of the process \([0-9]*\).*/\1/p' out) -lt 300 ]] ||
  { cat out; fail "it takes its launcher's memory for its own"; }

# Other tools can read a checkpoint; its weights are those of the saved model.
$python - <<'PY'
import json, struct
import numpy as np, onnx
from onnx import numpy_helper
data = open("ck/ckpt-000000020/weights.safetensors", "rb").read()
length, = struct.unpack("<Q", data[:8])
header = json.loads(data[8:8 + length])
header.pop("__metadata__")
saved = {i.name: numpy_helper.to_array(i) for i in onnx.load("whole.onnx").graph.initializer}
assert header and set(header) <= set(saved), set(header) - set(saved)
for name, entry in header.items():
    begin, end = entry["data_offsets"]
    array = np.frombuffer(data[8 + length + begin:8 + length + end], "<f4").reshape(entry["shape"])
    assert entry["dtype"] == "F32" and array.tobytes() == saved[name].tobytes(), name
PY

# A full disk: an error, and earlier files stay unchanged.
if unshare -m true 2>/dev/null; then
  mkdir -p disk
  bytes=$(du -sb ck/ckpt-000000020 | cut -f1)
  expect 7 unshare -m bash -c "mount -t tmpfs -o size=$((bytes * 5 / 2)) none disk && { code=0
    trainer/build/train --data npy:x.npy,y.npy --epochs 4 --seed 3 --checkpoint disk/ck --checkpoint-every 1 || code=\$?
    cp -r disk/ck ck6; exit \$code; }"
  says "No space left"
  [[ -z $(find ck6 -name '.tmp-*') ]] || fail "left behind: $(find ck6 -name '.tmp-*')"
  expect 0 train --checkpoint ck6 --resume --save full.onnx;    says "resumed from ck6"
  same full.onnx whole.onnx
  # Neither the last checkpoint nor the metrics fit on the disk: the weights are saved all the same, and both failures
  # are reported.
  expect 7 unshare -m bash -c "mount -t tmpfs -o size=4096 none disk &&
    trainer/build/train --data npy:x.npy,y.npy --epochs 4 --seed 3 \\
    --checkpoint disk/ck --checkpoint-every 1000 --metrics disk/all.jsonl --save full9.onnx"
  says "saved full9.onnx"; says "cannot write 'disk/ck/"; says "cannot write 'disk/all.jsonl"
  ! grep "^stopped after\|^checkpoint disk" out err || fail "a run that was done says that it was cut off"
  same full9.onnx whole.onnx
else
  echo "no file system of a few kilobytes to be had here: its part is left out"
fi

# A checkpoint that cannot be written ends the run. If checkpoints may be missing, it is reported and the next one is
# tried; the exit code says whether the last one exists.
expect 2 train --checkpoint-optional;                           says "--checkpoint-optional needs --checkpoint DIR"
ends_by() { # CODE: the run goes on until it is asked to end
  kill -INT $child; code=0; wait $child || code=$?
  [[ $code -eq $1 ]] || { cat log; fail "exit $code; expected $1"; }
}
waits_for() {
  while ! grep -q "$1" log; do kill -0 $child || { cat log; fail "it does not say: $1"; }; sleep 0.02; done
}
for may in "" --checkpoint-optional; do
  rm -rf ck8 away
  trainer/build/train --data npy:x.npy,y.npy --epochs 100000 --seed 3 --checkpoint ck8 --checkpoint-every 5 $may \
    --save saved8.onnx >log 2>&1 & child=$!
  # Not a certain one: those before the newest ones are removed.
  while ! compgen -G 'ck8/ckpt-*' >/dev/null; do
    kill -0 $child || { cat log; fail "it made no checkpoint"; }; sleep 0.01
  done
  mv ck8 away && echo file >ck8
  if [[ -z $may ]]; then
    code=0; wait $child || code=$?
    [[ $code -eq 7 ]] || { cat log; fail "exit $code when no checkpoint could be written"; }
    # Of the folder itself between the two commands that replace it by a file.
    grep -q "cannot write 'ck8[/']" log || { cat log; fail "it does not say what it cannot write"; }
    # The trainer ends as if it had been asked to, and saves the weights. It trains on while a checkpoint is written.
    grep -q "^stopped after [0-9]* iterations$" log && grep -q "^saved saved8.onnx$" log ||
      { cat log; fail "it does not save what it has"; }
    expect 0 train --model saved8.onnx --steps 1
    rm saved8.onnx
    continue
  fi
  waits_for "^warning: checkpoint at iteration [0-9]* failed: cannot write 'ck8/.* (training continues)$"
  newest=$(ls away | tail -n 1)
  rm ck8 && mv away ck8
  while [[ $(ls ck8 | tail -n 1) == "$newest" ]]; do
    kill -0 $child || { cat log; fail "it made no further checkpoint"; }; sleep 0.01
  done
  ends_by 130
  grep -q "checkpoint[s]* could not be written; the last one was$" log || { cat log; fail "it does not sum up"; }
  expect 0 train --epochs 100000 --checkpoint ck8 --resume=strict --steps 1
  says "resumed from ck8/$(ls ck8 | tail -n 1)"
  trainer/build/train --data npy:x.npy,y.npy --epochs 100000 --seed 3 --checkpoint ck8 --checkpoint-every 5 $may \
    --resume --save saved8.onnx >log 2>&1 & child=$!
  waits_for "^resumed"
  mv ck8 away && echo file >ck8
  waits_for "^warning: checkpoint at iteration [0-9]* failed"
  ends_by 7
  grep -q "could not be written, including the last" log && ! grep -q "^checkpoint ck8" log ||
    { cat log; fail "it does not say that the last is missing"; }
  expect 0 train --model saved8.onnx --steps 1
done

# Killed before any system call of --save: no model or a complete one, the old or the new one, and the next save removes
# all leftovers.
c++ -std=c++20 -shared -fPIC -O1 "$PLIMSOLL_CLI/preload/die.cpp" -o die.so -ldl
mkdir saved && train --quiet --steps 1 --save one.onnx
for named in "" 1; do
  for before in "" before; do
    for ((call = 1; ; ++call)); do
      rm -f saved/net.onnx && [[ -z $before ]] || echo $before >saved/net.onnx
      code=0
      env ${named:+NAMED=1} LD_PRELOAD=$PWD/die.so DIE_FROM=saved DIE_EVERY=1 DIE_AT=$call \
        trainer/build/train --data npy:x.npy,y.npy --seed 3 --quiet --steps 1 --save saved/net.onnx 2>/dev/null ||
        code=$?
      [[ $code -eq 137 || $code -eq 0 ]] || fail "exit $code when it was killed at call $call of --save"
      [[ $code -ne 0 ]] || break
      beside=$(find saved -name '.*' -type f | wc -l)
      [[ $beside -eq 0 || ( $beside -eq 1 && -n $named$before ) ]] ||
        fail "killed at call $call, --save left $(ls -A saved)"
      cmp -s one.onnx saved/net.onnx || [[ $(cat saved/net.onnx 2>/dev/null) == "$before" ]] ||
        fail "killed at call $call, --save left a piece"
    done
    [[ $call -gt 8 && $(ls -A saved) == net.onnx ]] || fail "--save with $call calls left $(ls -A saved)"
    cmp one.onnx saved/net.onnx || fail "what --save wrote is not what it writes"
  done
done
