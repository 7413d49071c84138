# A plan is written, accepted and inspected; the same input gives the same bytes; a damaged plan is refused.
. "$PLIMSOLL_CLI/common.sh"
small_model

expect 0 plimsoll plan net.onnx --batch 16 -o plan.json
expect 0 plimsoll verify plan.json;      says "ok:"
expect 0 plimsoll inspect plan.json
expect 0 plimsoll inspect net.onnx
expect 0 plimsoll plan net.onnx --batch 16 -o again.json
steady() { grep -v planning_seconds "$1"; }
cmp <(steady plan.json) <(steady again.json) || fail "the same input gave another plan"

# Two tensors that are live together are given one address.
/usr/bin/python3 - <<'PY'
import json
plan = json.load(open("plan.json"))
first, second = [r for r in plan["residencies"] if r["first_step"] >= 0 and r["bytes"] > 1024][:2]
second["offset"] = first["offset"]
json.dump(plan, open("damaged.json", "w"))
PY
expect 9 plimsoll verify damaged.json;   says "overlap"

# A workspace is removed: the task says what its algorithm needs. A plan from an older version without this information
# is still read and accepted.
/usr/bin/python3 - <<'PY'
import json
plan = json.load(open("plan.json"))
del next(s for s in plan["steps"] if s.get("workspace", {}).get("bytes", 0) > 0)["workspace"]
json.dump(plan, open("damaged.json", "w"))
for task in plan["tasks"]: del task["needs"]
json.dump(plan, open("unstated.json", "w"))
PY
expect 9 plimsoll verify damaged.json;   says "has a workspace of 0 bytes, but"
expect 9 plimsoll verify unstated.json;  says "whose workspace its task does not state"
expect 0 plimsoll plan net.onnx --batch 16 -o - -q
/usr/bin/python3 -c 'import json; assert json.load(open("out"))["schema"] == 1'

# At a terminal, the plan does not hide its figures, unless -o asks for it. A file gets the plan.
at_a_terminal() { /usr/bin/python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$@" </dev/null; }
expect 0 at_a_terminal plimsoll plan net.onnx --batch 16
says "arena  ";  says "-o plan.json writes the plan, and -o - prints it"
[[ $(cat out err) != *'"schema"'* ]] || fail "the plan is printed to a terminal"
expect 0 at_a_terminal plimsoll plan net.onnx --batch 16 -o -
says '"schema": 1'
expect 0 plimsoll plan net.onnx --batch 16
says '"schema": 1'
