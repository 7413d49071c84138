# A profile is measured, kept as a file, and planned with; what it lacks is measured too, but only where it was made.
. "$PLIMSOLL_CLI/common.sh"
small_model

expect 0 plimsoll profile net.onnx --batch 8 --threads 1 -o P.json
says "tasks"; says "GB/s out"
! grep "profiling \[" err >/dev/null || fail "a bar where no terminal is"
expect 0 plimsoll profile net.onnx --batch 8 --threads 1 -o again.json -q
cmp P.json again.json || fail "what is remembered was not given again"
/usr/bin/python3 - <<'PY'
import json
profile = json.load(open("P.json"))
assert profile["threads"] == 1 and profile["libraries"]["onednn"]
assert all(a["seconds"] > 0 for task in profile["tasks"] for a in task["algorithms"])
for pool in ("ram", "spill"):
    assert min(profile["links"][pool][how][way + "_bytes_per_second"] for how in ("alone", "beside") for way in ("d2h", "h2d")) > 0
del profile["tasks"][0]
json.dump(profile, open("lacks.json", "w"))
json.dump(profile | {"device": "another"}, open("elsewhere.json", "w"))
PY

expect 0 plimsoll plan net.onnx --batch 8 --costs P.json -o plan.json;  says "(profiled)"
/usr/bin/python3 -c 'import json; assert json.load(open("plan.json"))["target"]["costs"] == "profiled"'
expect 0 plimsoll compile net.onnx --batch 8 --costs P.json -o trainer
grep -q 'threads = 1' trainer/*.cpp || fail "the trainer has another number of threads than the profile"
expect 2 plimsoll plan net.onnx --batch 8 --costs P.json --threads 2;   says "threads"

expect 0 plimsoll plan net.onnx --batch 8 --costs lacks.json -o plan.json
expect 8 plimsoll plan net.onnx --batch 8 --costs elsewhere.json;       says "lacks"; says "another"
expect 0 plimsoll profile net.onnx --batch 8 --threads 1 --sub-batch 4,3 -o P.json
/usr/bin/python3 - <<'PY'
text = open("P.json").read()
assert all(f"f32[{n},10]" in text for n in (4, 3, 2)), "a number of samples is missing"
PY

expect 3 plimsoll plan net.onnx --batch 8 --costs nowhere.json;         says "nowhere.json"
echo '{"schema": 2}' >other.json
expect 3 plimsoll plan net.onnx --batch 8 --costs other.json;           says "other.json: profile.json: schema is 2"; says "plimsoll profile"
head -c 300 P.json >short.json
expect 3 plimsoll plan net.onnx --batch 8 --costs short.json;           says "short.json: profile.json: is no JSON: line "
expect 2 plimsoll profile net.onnx --batch 8 --sub-batch 9 -o P.json;   says "sub-batch"

# A bar while it measures, on a terminal only; nothing where nothing is missing.
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
compile="plimsoll compile net.onnx --batch 6 --sub-batch 6 --threads 1 --costs profiled"
on_terminal $compile -o bar_shown >bar.out
grep "profiling \[####" bar.out >/dev/null || { cat bar.out; fail "no bar on a terminal"; }
grep "profiling \[#*\] \([0-9]*\)/\1" bar.out >/dev/null || { cat bar.out; fail "the bar does not fill"; }
on_terminal $compile -o nothing_missing >again.out
! grep "profiling \[" again.out >/dev/null || fail "measures again what it knows"
