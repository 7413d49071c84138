# The host pool has a budget, too. Plans keep it. If there is no plan, the message says what works. The default is half
# of the memory available to this machine, or to the control group of this process.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model resnet:n=3,input=32,width=8,channels=1,classes=10 -o net.onnx 2>/dev/null
field() {
  /usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["summary"][sys.argv[2]])' "$1" "$2"
}
plan() { plimsoll plan net.onnx --batch 64 --costs k40m --effort 0 "$@"; }

expect 0 plan -o free.json
least=$(field free.json minimum_bytes)
expect 0 plan --budget "$least" -o least.json
pool=$(field least.json host_pool_bytes)
[[ $pool -gt 100000 ]] || fail "the least plan has no host pool to speak of: $pool"

# With half of that pool, and without any: another plan, with more recomputation.
for share in 2 1000000; do
  expect 0 plan --budget "$((least * 3))" --host-budget "$((pool / share))" -o kept.json
  [[ $(field kept.json host_pool_bytes) -le $((pool / share)) ]] || fail "the host pool is larger than its budget"
  expect 0 plimsoll verify kept.json
done

# Neither budget alone is too small: the message says which one binds, and its suggestion works.
expect 6 plan --budget "$least" --host-budget 0 -o none.json
says "the host budget is too small"; says "fits its host pool into 0 bytes"
works=$(sed -n 's/.*--host-budget \([0-9]*\) works with this budget.*/\1/p' err)
arena=$(sed -n 's/.*fits with this host budget; the minimum is \([0-9]*\) bytes.*/\1/p' err)
[[ ! -e none.json && $works -gt 0 && $arena -gt $least ]] || fail "the way out is not said: '$works' '$arena'"
expect 0 plan --budget "$least" --host-budget "$works" -o works.json
expect 0 plan --budget "$arena" --host-budget 0 -o works.json
[[ $(field works.json minimum_bytes) -eq $arena && $(field works.json host_pool_bytes) -eq 0 ]] ||
  fail "another minimum than was said"
# The same for a policy without a search, whose fastest plan needs another host pool than its smallest.
plimsoll model densenet121:input=16,stem=cifar,growth=4,classes=10 -o dense.onnx 2>/dev/null
follow() {
  plimsoll plan dense.onnx --batch 3 --costs k40m --policy superneurons:offload --batch-norm split --optimizer adam "$@"
}
expect 6 follow --budget 1KiB --host-budget auto -o none.json
smallest=$(sed -n 's/.*the minimum is \([0-9]*\) bytes.*/\1/p' err)
expect 6 follow --budget "$smallest" --host-budget 0 -o none.json;    says "the host budget is too small"
works=$(sed -n 's/.*--host-budget \([0-9]*\) works with this budget.*/\1/p' err)
expect 0 follow --budget "$smallest" --host-budget "$works" -o works.json
# The other budget is too small by itself.
expect 6 plan --budget "$((least - 256))" --host-budget "$((1 << 40))" -o none.json; says "the minimum is $least bytes"
! grep "host budget is too small" err || fail "a host budget of a tebibyte binds"

# The same budgets in a comparison of all policies.
expect 0 plimsoll compare net.onnx --batch 64 --costs k40m --effort 0 --budget "$arena" --host-budget 0 --csv
/usr/bin/python3 - <<'PY'
import csv
rows = list(csv.DictReader(open("out")))
assert len(rows) > 8 and any(r["fits"] == "0" for r in rows), rows
assert all(r["offloaded_bytes"] in ("", "0") for r in rows), rows
PY
expect 0 plimsoll frontier net.onnx --batch 64 --costs k40m --effort 0 --host-budget 0 --csv
[[ $(sed -n 2p out | cut -d, -f1) -eq $arena ]] || fail "the frontier begins elsewhere than at the least budget"

# A plan that may choose the sub-batch is not slower than one that keeps the batch whole, near the minimum either. There
# the search finds schedules with less memory than all that it starts from.
plimsoll model vit:layers=2,width=64,heads=2,input=64 -o vit.onnx 2>/dev/null
attend() {
  plimsoll plan vit.onnx --batch 4 --costs h200 --precision bf16 --optimizer adamw --host-budget 0 "$@"
}
expect 0 attend -o whole.json
least=$(field whole.json minimum_bytes)
for budget in "$least" "$((least + least / 64))"; do
  expect 0 attend --budget "$budget" --sub-batch 4 -o whole.json
  expect 0 attend --budget "$budget" -o any.json
  /usr/bin/python3 -c 'import sys; sys.exit(float(sys.argv[1]) > float(sys.argv[2]) * (1 + 1e-9))' \
    "$(field any.json iteration_seconds)" "$(field whole.json iteration_seconds)" ||
    fail "slower with any sub-batch in $budget bytes"
done

expect 2 plan --host-budget lots -o none.json;                 says "'lots' is not a size"
expect 2 plan --host-budget 1MiB --rules vdnn -o none.json;    says "does not support --host-budget"

# The default, for plans for this machine: half of the available memory. Here a control group has all but 8 of its 1032
# KiB in use, 8 of them by caches. How much the least plan needs depends on the algorithms of this processor.
c++ -std=c++20 -shared -fPIC -O1 "$PLIMSOLL_CLI/preload/machine.cpp" -o machine.so -ldl
mkdir -p machine/proc/self machine/sys/fs/cgroup/job
echo "MemAvailable: 8192000 kB" > machine/proc/meminfo
echo "0::/job" > machine/proc/self/cgroup
echo $((1032 << 10)) > machine/sys/fs/cgroup/job/memory.max
echo $((1024 << 10)) > machine/sys/fs/cgroup/job/memory.current
echo "inactive_file $((8 << 10))" > machine/sys/fs/cgroup/job/memory.stat
there() { MACHINE=machine LD_PRELOAD="$PWD/machine.so" plimsoll plan net.onnx --batch 64 --effort 0 "$@"; }
expect 0 plimsoll plan net.onnx --batch 64 --effort 0 --host-budget auto -o free.json
least=$(field free.json minimum_bytes)
expect 6 there --budget "$least" -o none.json
says "8.0 KiB (8,192 bytes), 50 % of the memory that the control group of this process has left (--host-budget)"
expect 0 there --budget "$least" --host-budget auto -o least.json
[[ $(field least.json host_pool_bytes) -gt $((8 << 10)) ]] || fail "the least plan has no host pool to speak of"
expect 0 there --budget "$((least * 3))" --host-budget 40% -o part.json
[[ $(field part.json host_pool_bytes) -le $((16 * (1 << 10) * 40 / 100)) ]] ||
  fail "the host pool is larger than its share"
# No default for a plan that may be for another machine.
expect 0 there --costs k40m -o elsewhere.json
expect 0 there --budget "$(field elsewhere.json minimum_bytes)" --costs k40m -o elsewhere.json
[[ $(field elsewhere.json host_pool_bytes) -gt $((8 << 10)) ]] ||
  fail "the least plan for another machine has no host pool to speak of"
