# A plan under a paper's rules reproduces the printed figures, is accepted, and never becomes a trainer.
. "$PLIMSOLL_CLI/common.sh"

plimsoll model alexnet:init=zeros -o alexnet.onnx 2>/dev/null
for policy in liveness network-wide; do
  expect 0 plimsoll plan alexnet.onnx --batch 200 --rules superneurons --policy $policy -o $policy.json
  expect 0 plimsoll verify $policy.json; says "ok:"
done
/usr/bin/python3 - <<'PY'
import json
for policy in ("liveness", "network-wide"):
    plan = json.load(open(policy + ".json"))
    summary = plan["summary"]
    assert plan["rules"] == "superneurons" and len(plan["tensors"]) == 36
    assert abs(summary["network_wide_bytes"] / 2**20 - 2189.437) < 0.001
    assert abs(summary["live_bytes"] / 2**20 - 1489.355) < 0.001
    assert (summary["peak_step"], summary["peak_live_tensors"]) == (32, 17)
PY
expect 0 plimsoll inspect liveness.json; says "/pool5/MaxPool.backward"; says "step 32 of 46"


# SuperNeurons' own figures: with an unlimited budget it uses its means in full; with liveness's budget, its cache.
for policy in offload speed memory cost; do
  expect 0 plimsoll plan alexnet.onnx --batch 200 --rules superneurons --policy superneurons:$policy -o $policy.json
  expect 0 plimsoll verify $policy.json; says "ok:"
done
expect 0 plimsoll plan alexnet.onnx --batch 200 --rules superneurons --policy superneurons --budget 1490MiB \
  -o cached.json
/usr/bin/python3 - <<'PY'
import json
for policy, again, peak, step in (("offload", 0, 1132.056, 39), ("speed", 14, 993.018, 43), ("memory", 23, 886.230, 44),
                                  ("cost", 17, 886.230, 44)):
    summary = json.load(open(policy + ".json"))["summary"]
    assert summary["recomputed_tasks"] == again, (policy, summary)
    assert abs(summary["live_bytes"] / 2**20 - peak) < 0.001, (policy, summary)
    assert summary["peak_step"] == step, (policy, summary)
summary = json.load(open("cached.json"))["summary"]
assert summary["offloaded_bytes"] == 0 and summary["recomputed_tasks"] == 0
PY

for pair in vdnn:vdnn-all:m chen:sublinear; do
  expect 0 plimsoll plan alexnet.onnx --batch 128 --rules ${pair%%:*} --policy ${pair#*:} -o other.json
  expect 0 plimsoll verify other.json; says "ok:"
done

expect 2 plimsoll compile alexnet.onnx --batch 4 --rules superneurons -o trainer; says "for reports"
[[ ! -e trainer ]] || fail "a trainer was made"
expect 2 plimsoll plan alexnet.onnx --batch 4 --rules nobody -o plan.json
says "rules: true, superneurons, modnn, dymem, vdnn, chen"
expect 2 plimsoll plan alexnet.onnx --batch 4 --rules superneurons --sub-batch 2 -o plan.json; says "--sub-batch"
# Only what was given is named.
expect 2 plimsoll plan alexnet.onnx --batch 4 --rules superneurons --assume trainable -o plan.json
says "--rules superneurons does not support --assume"
! grep -e "--freeze\|--clip-norm" err || fail "an option is named that was not given"
expect 2 plimsoll plan alexnet.onnx --batch 4 --rules chen --freeze '*' --optimizer-state int8 -o plan.json
says "--rules chen does not support --freeze, --optimizer-state"
rm -f alexnet.onnx.data
