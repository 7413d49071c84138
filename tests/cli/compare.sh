# Every policy under every budget: which fit, which is fastest, and how much the others would need.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model resnet18:input=32,stem=cifar,width=8,channels=1,classes=10 -o net.onnx 2>/dev/null

# The output once for readers and once for programs; the names are the compiler's own.
policies() { plimsoll plan --help | sed -n '/^  --policy /,/^  --s/p' | sed -n 's/^ \{8,\}\([a-z][^ ]*\)  .*/\1/p'; }
[[ $(policies | wc -l) -ge 3 ]] || fail "the help of --policy does not list the policies"
expect 0 plimsoll compare net.onnx --batch 16 --costs k40m --effort 0 --budget 60% --budget 1KiB --budget 100%
! grep -v '^note: loss: ' err || fail "something is said beside the table"
[[ $(grep -c '^budget' out) -eq 3 ]] || fail "not one table per budget"
[[ $(grep -c '  fastest  ' out) -eq 2 ]] || fail "not one fastest policy for each budget that can be met"
for policy in $(policies); do [[ $(grep -c "^  $policy " out) -eq 3 ]] || fail "$policy is not in every table"; done
[[ $(LC_ALL=C.UTF-8 wc -L <out) -le 100 ]] || fail "a line is longer than 100 characters"

expect 0 plimsoll compare net.onnx --batch 16 --costs k40m --effort 0 --budget 60% --budget 1KiB --budget 100% --csv
cp out table.csv
/usr/bin/python3 - $(policies) <<'PY'
import csv, sys
rows = list(csv.DictReader(open("table.csv")))
budgets = {row["budget_bytes"] for row in rows}
assert len(budgets) == 3 and "1024" in budgets
for budget in budgets:
    mine = [row for row in rows if row["budget_bytes"] == budget]
    assert [row["policy"] for row in mine] == sys.argv[1:]
    fits = [row for row in mine if row["fits"] == "1"]
    for row in mine:
        assert (row["fits"] == "1") == (int(row["least_bytes"]) <= int(budget)), row
        assert (row["arena_bytes"] == "") == (row["fits"] == "0"), row
    for row in fits:
        assert int(row["arena_bytes"]) <= int(budget), row
        assert float(row["overhead"]) >= -1e-9 or int(row["rounds"]) > 1, row
    if not fits: continue
    best, = [row for row in fits if row["fastest"] == "1"]
    assert float(best["iteration_seconds"]) == min(float(row["iteration_seconds"]) for row in fits)
    # All train the same, and none is faster than the searching policy.
    auto, = [row for row in fits if row["policy"] == "auto"]
    for row in fits:
        assert row["splits_statistics"] == "0" and row["rounds"] == "1", row
        assert float(auto["iteration_seconds"]) <= float(row["iteration_seconds"]) * (1 + 1e-9), (auto, row)
PY

# The reported minimum of a policy is enough, and a step less is not.
least=$(/usr/bin/python3 -c 'import csv
print(min(int(r["least_bytes"]) for r in csv.DictReader(open("table.csv")) if r["policy"] == "liveness"))')
expect 0 plimsoll plan net.onnx --batch 16 --costs k40m --policy liveness --budget "$least" -o plan.json
expect 6 plimsoll plan net.onnx --batch 16 --costs k40m --policy liveness --budget "$((least - 256))" -o less.json

# Rounds that split batch normalization must be requested, and are marked.
expect 0 plimsoll compare net.onnx --batch 16 --costs k40m --effort 0 --budget 50%
says "batch normalization computes over the whole batch"
! grep -q '†' out || fail "batch normalization was split, and nobody asked for it"
expect 0 plimsoll compare net.onnx --batch 16 --costs k40m --effort 0 --budget 50% --batch-norm split
says "† batch normalization"

# The page instead of tables; both with --csv.
expect 0 plimsoll compare net.onnx --batch 16 --costs k40m --effort 0 --budget 60% --html page.html
says "wrote page.html"
[[ ! -s out && $(tail -c 8 page.html) == "</html>" ]] || fail "the page is not whole, or tables came too"

expect 2 plimsoll compare net.onnx --batch 16;                              says "budget"
expect 2 plimsoll compare net.onnx --batch 16 --budget 0;                   says "--budget is 0"
expect 2 plimsoll compare net.onnx --batch 16 --budget 4Gb;                 says "'4Gb' is not a size"
expect 2 plimsoll compare net.onnx --batch 16 --budget 50% --effort 4;      says "expected 0 to 3"
expect 2 plimsoll compare net.onnx --batch 16 --budget 50% --policy auto;   says "policy"
expect 3 plimsoll compare none.onnx --batch 16 --budget 50%
