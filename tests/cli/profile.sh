# A profile is measured, stored in a file, and used for plans. Missing tasks are measured, too, but only on the machine
# of the profile.
. "$PLIMSOLL_CLI/common.sh"
small_model
# Few tasks, because measuring takes most of the time here.
net="net.onnx --trainable fc3*"
undisturbed_profiler

expect 0 plimsoll profile $net --batch 8 --threads 1 -o P.json
says "tasks"; says "GB/s out"
! grep "profiling \[" err >/dev/null || fail "a bar where no terminal is"
expect 0 plimsoll profile $net --batch 8 --threads 1 -o again.json -q
cmp P.json again.json || fail "what is remembered was not given again"
/usr/bin/python3 - <<'PY'
import json
profile = json.load(open("P.json"))
assert profile["threads"] == 1 and profile["libraries"]["onednn"]
assert all(a["seconds"] > 0 for task in profile["tasks"] for a in task["algorithms"])
for pool in ("ram", "spill"):
    assert min(profile["links"][pool][how][way + "_bytes_per_second"] for how in ("alone", "beside")
               for way in ("d2h", "h2d")) > 0
del profile["tasks"][0]
json.dump(profile, open("lacks.json", "w"))
json.dump(profile | {"device": "another"}, open("elsewhere.json", "w"))
PY

expect 0 plimsoll plan $net --batch 8 --costs P.json -o plan.json;  says "(profiled)"
/usr/bin/python3 -c 'import json; assert json.load(open("plan.json"))["target"]["costs"] == "profiled"'
expect 0 plimsoll compile $net --batch 8 --costs P.json -o trainer
grep -q 'threads = 1' trainer/*.cpp || fail "the trainer has another number of threads than the profile"
expect 2 plimsoll plan $net --batch 8 --costs P.json --threads 2;   says "threads"

expect 0 plimsoll plan $net --batch 8 --costs lacks.json -o plan.json
expect 8 plimsoll plan $net --batch 8 --costs elsewhere.json;       says "lacks"; says "another"
expect 0 plimsoll profile $net --batch 8 --threads 1 --sub-batch 4,3 -o P.json
/usr/bin/python3 - <<'PY'
text = open("P.json").read()
assert all(f"f32[{n},10]" in text for n in (4, 3, 2)), "a number of samples is missing"
PY

expect 3 plimsoll plan $net --batch 8 --costs nowhere.json;         says "nowhere.json"
echo '{"schema": 2}' >other.json
expect 3 plimsoll plan $net --batch 8 --costs other.json
says "other.json: profile.json: schema is 2"
says "plimsoll profile"
head -c 300 P.json >short.json
expect 3 plimsoll plan $net --batch 8 --costs short.json;           says "short.json: profile.json: is not JSON: line "
expect 2 plimsoll profile $net --batch 8 --sub-batch 9 -o P.json;   says "sub-batch"

# Disturbed measurements are marked, reported, and repeated the next time. Undisturbed ones are kept until the user
# requests new ones.
profiler busy 's/"deterministic":true,/&"disturbed":true,/g; s/"disturbed":true,"disturbed":true/"disturbed":true/g'
export XDG_CACHE_HOME=$PWD/apart
expect 0 env PLIMSOLL_PROFILER="$PWD/busy" plimsoll profile $net --batch 8 --threads 1 -o busy.json
says "measured while other processes used the CPU, they are marked in 'busy.json' and not cached"
expect 0 env PLIMSOLL_PROFILER="$PWD/busy" plimsoll plan $net --batch 8 --costs busy.json -o plan.json
says "were measured while other processes used the CPU"; says "write 'busy.json' again"
expect 0 env PLIMSOLL_PROFILER="$PWD/busy" plimsoll plan $net --batch 8 --threads 1 --costs profiled -o plan.json
says "they are not cached, so the next command measures them again"
[[ $(cat apart/plimsoll/*.jsonl | grep -c signature) -eq 0 ]] || fail "disturbed times are kept"
expect 0 plimsoll profile $net --batch 8 --threads 1 -o calm.json
! grep "other processes" err || fail "undisturbed times are told of"
expect 0 plimsoll profile $net --batch 8 --threads 1 -o again.json
cmp calm.json again.json || fail "undisturbed times are not kept"
expect 0 plimsoll profile $net --batch 8 --threads 1 --remeasure -o anew.json
! cmp -s calm.json anew.json || fail "--remeasure takes what is kept"
expect 0 plimsoll profile $net --batch 8 --threads 1 -o again.json
cmp anew.json again.json || fail "what --remeasure measured is not kept"

expect 0 plimsoll cache; says "$PWD/apart/plimsoll: "; says " file"; says "measured on"; says "1 thread, measured"
tasks=$(/usr/bin/python3 -c 'import json; print(len(json.load(open("anew.json"))["tasks"]))')
awk -v tasks="$tasks" '$1 ~ /^costs-/ && $2 >= tasks { found = 1 } END { exit !found }' out ||
  { cat out; fail "the tasks are not counted"; }
touch apart/plimsoll/mine
expect 0 plimsoll cache --clear; says "deleted "
[[ $(ls apart/plimsoll) == mine ]] || fail "not what is its own is deleted: $(ls apart/plimsoll)"
expect 0 plimsoll cache; says ": 0 files, 0 B"
expect 8 env -u HOME -u XDG_CACHE_HOME plimsoll cache; says "XDG_CACHE_HOME"

# A progress bar while it measures, only on a terminal; nothing if no task is missing.
on_terminal() {
  /usr/bin/python3 - "$@" <<'PY'
import os, pty, sys
said = bytearray()
def read(terminal):
    data = os.read(terminal, 4096)
    said.extend(data)
    return data
status = pty.spawn(sys.argv[1:], read)
assert status == 0, said.decode()
PY
}
compile="plimsoll compile $net --batch 6 --sub-batch 6 --threads 1 --costs profiled"
on_terminal $compile -o bar_shown >bar.out
grep "profiling \[####" bar.out >/dev/null || { cat bar.out; fail "no bar on a terminal"; }
grep "profiling \[#*\] \([0-9]*\)/\1" bar.out >/dev/null || { cat bar.out; fail "the bar does not fill"; }
on_terminal $compile -o nothing_missing >again.out
! grep "profiling \[" again.out >/dev/null || fail "measures again what it knows"

# Tasks that run on f32 copies are counted; if they are most of the arithmetic, bf16 does not save time.
profiler copies 's/"name":"/&widened_/g'
export XDG_CACHE_HOME=$PWD/of_copies PLIMSOLL_PROFILER=$PWD/copies
expect 0 plimsoll plan $net --batch 8 --precision bf16 --costs profiled -o x.json
says "tasks run on f32 copies; bf16 saves memory here, not time: products are no faster than in fp32"
expect 0 plimsoll plan $net --batch 8 --costs profiled -o x.json
! grep "f32 copies" err || fail "copies of a plan in fp32"
unset PLIMSOLL_PROFILER
# Modelled times do not show it. Of this machine, the processor's features tell; a named device may be another one.
expect 0 plimsoll plan net.onnx --batch 8 --precision bf16 --costs modelled -o x.json
if plimsoll doctor 2>&1 | grep -q "saves memory, not time"; then
  says "bf16 saves memory here, not time: products are no faster than in fp32"
else
  ! grep "not time" out err || fail "bf16 is faster here"
fi
expect 0 plimsoll plan net.onnx --batch 8 --precision bf16 --costs host -o x.json
! grep "not time" out err || fail "the plan is for another machine"
expect 0 plimsoll plan net.onnx --batch 8 --costs modelled -o x.json
! grep "not time" out err || fail "a plan in fp32"
