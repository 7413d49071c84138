# plimsoll train: compile, build and run in one command. A second run starts at the third step; a change of anything
# that the trainer depends on makes another trainer.
. "$PLIMSOLL_E2E/trainer.bash"
export XDG_CACHE_HOME=$PWD/cache
plimsoll model lenet -o net.onnx -q
random_data 64 1 32 10
plan=(net.onnx --batch 16 --budget 90% --costs modelled)
run=(--data npy:x.npy,y.npy --no-shuffle --epochs 2 --lr 0.05)
trainers() { find cache/plimsoll/trainers -mindepth 1 -maxdepth 1 -type d 2>/dev/null | wc -l; }

# Before anything is made: missing arguments and missing files.
expect 2 plimsoll train "${plan[@]}";                              says "--data SOURCE is required"
expect 2 plimsoll train "${plan[@]}" "${run[@]}" --epoch 3;        says "Did you mean '--epochs'?"
expect 2 plimsoll train "${plan[@]}" "${run[@]}" --batchsize 3;    says "Did you mean '--batch'?"
expect 0 plimsoll train "${plan[@]}" "${run[@]}" --dry-run
[[ $(wc -l <out) -eq 3 ]] || fail "--dry-run prints $(wc -l <out) lines"
grep -q "^plimsoll compile net.onnx --batch 16 --budget 90% --costs modelled -o " out ||
  fail "the first line of --dry-run"
grep -q "/build/train --data npy:x.npy,y.npy --no-shuffle --epochs 2 --lr 0.05$" out ||
  fail "the third line of --dry-run"
expect 0 plimsoll train "${plan[@]}" "${run[@]}" --test npy:x.npy,y.npy --dry-run  # the README's name of --eval-data
grep -q "/build/train .* --test npy:x.npy,y.npy$" out || fail "--test does not reach the trainer"
[[ $(trainers) -eq 0 ]] || fail "--dry-run makes something"

# A failed build prints its last lines.
mkdir broken && printf '#!/bin/sh\necho "no such generator"\nexit 3\n' >broken/cmake && chmod +x broken/cmake
PATH=$PWD/broken:$PATH expect 8 plimsoll train "${plan[@]}" "${run[@]}"
says "cmake exited with code 3"
says "no such generator"
plimsoll cache | grep -q "(not finished)" || fail "a trainer that was not built is not shown"
# A process that is killed during its build leaves nothing that the next run takes for a trainer.
printf '#!/bin/sh\nkill -KILL $PPID\nsleep 9\n' >broken/cmake
PATH=$PWD/broken:$PATH plimsoll train "${plan[@]}" "${run[@]}" >log 2>&1 && fail "a killed process ends well"

expect 0 plimsoll train "${plan[@]}" "${run[@]}" --save first.onnx;  says "building the trainer"
expect 0 plimsoll train "${plan[@]}" "${run[@]}" --save second.onnx
! grep -q "building" err || fail "the second run builds again"
[[ $(trainers) -eq 1 ]] || fail "there are $(trainers) trainers"
cmp first.onnx second.onnx || fail "two runs differ"
# --json: one object about the run, and nothing else on stdout.
expect 0 plimsoll train "${plan[@]}" "${run[@]}" --eval-data npy:x.npy,y.npy --metrics m.jsonl \
  --save 'a "quoted" name.onnx' --json
$python - <<'PY'
import json
run, lines = json.load(open("out")), [json.loads(line) for line in open("m.jsonl")]
steps, tests = [l for l in lines if "loss" in l], [l for l in lines if "eval_loss" in l]
assert run["iterations"] == len(steps) == 8 and run["epoch"] == 2 and run["batch"] == 16, run
assert run["loss"] == steps[-1]["loss"] and run["accuracy"] == steps[-1]["accuracy"], run
assert run["eval_loss"] == tests[-1]["eval_loss"] and run["eval_samples"] == 64, run
assert run["arena_planned_bytes"] <= run["budget_bytes"] and run["iteration_seconds"] > 0, run
assert run["saved"] == 'a "quoted" name.onnx' and run["checkpoint"] is None and run["best_loss"] is None, run
PY
[[ $(trainers) -eq 1 ]] || fail "--json made another trainer"
expect 0 plimsoll train "${plan[@]}" --predict x.npy --out p.npy --json
$python -c 'import json; assert json.load(open("out"))["samples"] == 64'
expect 2 plimsoll train "${plan[@]}" --predict x.npy --out - --json; says "both write to stdout"
# The three steps by hand give the same training.
build_trainer by_hand "${plan[@]}"
by_hand/build/train "${run[@]}" --quiet --save third.onnx
$python "$PLIMSOLL_E2E/weights.py" first.onnx third.onnx 0 || fail "the steps by hand differ"

# The trainer's own messages and exit codes.
expect 2 plimsoll train "${plan[@]}" --data npy:x.npy --epochs 1
expect 3 plimsoll train "${plan[@]}" --data npy:none.npy,y.npy --epochs 1
expect 6 plimsoll train net.onnx --batch 16 --budget 1KiB --costs modelled "${run[@]}"; says "needs at least"

# Another model of the same name gives another trainer, and so do other options; words after -- are the trainer's.
plimsoll model lenet:classes=7 -o net.onnx -q 2>/dev/null || plimsoll model lenet:input=28 -o net.onnx -q
expect 0 plimsoll train "${plan[@]}" --quiet -- --data synthetic --steps 1
[[ $(trainers) -eq 2 ]] || fail "another model has no trainer of its own: $(trainers)"
plimsoll model lenet -o net.onnx -q
# Two concurrent runs of the same trainer: one makes it, and the other waits.
plimsoll train "${plan[@]}" --optimizer adam --data synthetic --steps 1 >one 2>&1 &
plimsoll train "${plan[@]}" --optimizer adam --data synthetic --steps 1 >two 2>&1 ||
  { cat two; fail "the second of two at once"; }
wait $! || { cat one; fail "the first of two at once"; }
[[ $(cat one two | grep -c "^building the trainer in") -eq 1 ]] ||
  fail "$(cat one two | grep -c "^building the trainer in") of two have built"
# --trainer DIR keeps the trainer there.
expect 0 plimsoll train "${plan[@]}" --trainer mine --data synthetic --steps 1
[[ -x mine/build/train && -e mine/plan.json && ! -e mine.making ]] || fail "--trainer"

plimsoll cache | grep -q "trainers of .plimsoll train." || fail "the cache does not show trainers"
# A trainer that another process is making is not deleted.
(cd cache/plimsoll/trainers && busy=$(ls -d net-* | head -1) && exec 9>"$busy.making" && flock 9 &&
  plimsoll cache --clear >../../../cleared && [[ -e $busy/build/train ]]) || fail "a trainer in the making is deleted"
grep -q "is kept: it is being built" cleared || { cat cleared; fail "what stays is not told"; }
plimsoll cache --clear | grep -q "1 trainer of" || fail "the cache does not clear trainers"
[[ $(trainers) -eq 0 ]] || fail "trainers are left after --clear"
XDG_CACHE_HOME=/proc/none expect 7 plimsoll train "${plan[@]}" "${run[@]}"; says "cannot create"
expect 8 env -u HOME -u XDG_CACHE_HOME "$(command -v plimsoll)" train "${plan[@]}" "${run[@]}"; says "--trainer DIR"
