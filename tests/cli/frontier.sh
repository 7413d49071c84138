# Time against budget, from the minimum to the unlimited arena: more memory never costs time, and the minimum is
# explained.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model resnet:n=2,input=32,width=8,channels=1,classes=10 -o net.onnx 2>/dev/null
# The tables are of a network that takes less time. The figures are those of the residual network.
plimsoll model vgg11:input=32,width=4,hidden=32,classes=10,batch_norm=1 -o small.onnx 2>/dev/null

expect 0 plimsoll frontier small.onnx --batch 16 --costs k40m --effort 0
says "The peak at the minimum"; says "the peak:"; says "% "
! grep -v '^note: loss: ' err || fail "something is said beside the table"
[[ $(LC_ALL=C.UTF-8 wc -L <out) -le 100 ]] || fail "a line is longer than 100 characters"
# Policy liveness uses rounds only to save memory.
for policy in "auto" "liveness --batch-norm split"; do
  expect 0 plimsoll frontier net.onnx --batch 16 --costs k40m --effort 0 --policy $policy --csv
  cp out ${policy%% *}.csv
  expect 0 plimsoll plan net.onnx --batch 16 --costs k40m --effort 0 --policy $policy -o ${policy%% *}.json
done
/usr/bin/python3 - <<'PY'
import csv, json
for policy in ("auto", "liveness"):
    summary = json.load(open(policy + ".json"))["summary"]
    rows = list(csv.DictReader(open(policy + ".csv")))
    budgets = [int(row["budget_bytes"]) for row in rows]
    assert len(rows) >= 8 and budgets == sorted(set(budgets))
    assert (budgets[0], budgets[-1]) == (summary["minimum_bytes"], summary["unconstrained_bytes"])
    for percent in (100, 66, 50):
        assert int(summary["unconstrained_bytes"] * percent / 100) in budgets, percent
    for row in rows:
        assert int(row["arena_bytes"]) <= int(row["budget_bytes"]), row
        if policy == "liveness": assert row["recomputed_tasks"] == "0" and row["offloaded_bytes"] == "0"
    times = [float(row["iteration_seconds"]) for row in rows]
    if policy == "auto":
        for slower, faster in zip(times, times[1:]): assert faster <= slower * (1 + 1e-9), times
        assert all(row["splits_statistics"] == "0" for row in rows), rows
        assert any(int(row["recomputed_bytes"]) > 0 or int(row["offloaded_bytes"]) > 0 for row in rows)
    assert times[0] > times[-1] and abs(float(rows[-1]["overhead"])) < 1e-9, rows
PY

# If batch normalization may see a part of the batch, rounds reach smaller budgets, and time still never rises.
expect 0 plimsoll frontier small.onnx --batch 16 --costs k40m --effort 0 --batch-norm split
says "† batch normalization"
expect 0 plimsoll frontier net.onnx --batch 16 --costs k40m --effort 0 --batch-norm split --csv
cp out split.csv
/usr/bin/python3 - <<'PY'
import csv
whole, split = (list(csv.DictReader(open(name))) for name in ("auto.csv", "split.csv"))
times = [float(row["iteration_seconds"]) for row in split]
for slower, faster in zip(times, times[1:]): assert faster <= slower * (1 + 1e-9), times
assert int(split[0]["budget_bytes"]) < int(whole[0]["budget_bytes"]) and int(split[0]["rounds"]) > 1, split[0]
PY

expect 0 plimsoll frontier net.onnx --batch 16 --costs k40m --effort 0 --policy liveness --html page.html
says "wrote page.html"
[[ ! -s out && $(tail -c 8 page.html) == "</html>" ]] || fail "the page is not whole, or the table came too"

# A large layer with small activations: in three rounds it is updated in slices, some early and some last, one after the
# other.
plimsoll model lenet -o lenet.onnx 2>/dev/null
expect 0 plimsoll frontier lenet.onnx --batch 16 --costs k40m --effort 0;   says "The peak at the minimum"

expect 2 plimsoll frontier net.onnx;                                says "batch"
expect 2 plimsoll frontier net.onnx --batch 16 --policy magic;      says "unknown policy 'magic'"
expect 2 plimsoll frontier net.onnx --batch 16 --budget 50%;        says "budget"
expect 2 plimsoll frontier net.onnx --batch 16 --effort -1;         says "expected 0 to 3"
expect 3 plimsoll frontier none.onnx --batch 16
