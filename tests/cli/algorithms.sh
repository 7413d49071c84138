# --algorithms-of: a plan runs its tasks with the algorithms of another plan, under any budget. If it cannot, it says
# so.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model resnet20:width=8 -o net.onnx 2>/dev/null
plan() { plimsoll plan net.onnx --batch 16 --sub-batch 8 --costs p100 "$@"; }
# others A B: the number of tasks with another algorithm in B than in A. A tight plan may update a weight in slices, so
# only tasks that both plans have count.
others() { /usr/bin/python3 - "$@" <<'PY'
import json, sys
def algorithms(path):
    plan = json.load(open(path))
    return {plan["tasks"][s["task"]]["name"]: s["algorithm"] for s in plan["steps"] if s["kind"] == "compute"}
a, b = map(algorithms, sys.argv[1:])
print(sum(name in b and b[name] != algorithm for name, algorithm in a.items()))
PY
}

# With this device's model, tasks have several algorithms, and a tight budget has no room for the workspaces of the
# fastest.
expect 0 plan -o free.json
least=$(/usr/bin/python3 -c 'import json; print(json.load(open("free.json"))["summary"]["minimum_bytes"])')
expect 0 plan --budget "$least" -o tight.json
[[ $(others free.json tight.json) -gt 0 ]] || fail "the budget chooses no algorithm: this test proves nothing"
expect 0 plan --algorithms-of tight.json -o again.json
[[ $(others again.json tight.json) -eq 0 ]] || fail "other algorithms than those of tight.json"
! grep "other bits" err || fail "it warns of nothing"
plimsoll verify again.json

expect 0 plimsoll plan net.onnx --batch 16 --sub-batch 4 --costs p100 --algorithms-of tight.json -o other.json
says "--sub-batch 8 to make them equal"
sed 's/"algorithm": *"[a-z_0-9]*"/"algorithm": "unheard_of"/' tight.json >changed.json
expect 0 plan -q --algorithms-of changed.json -o other.json
says "may differ in bits from the plan of --algorithms-of"
says "is not available here"
expect 3 plan --algorithms-of none.json -o other.json;         says "none.json"
