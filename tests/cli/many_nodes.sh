# A network of 20,000 nodes passes through everything: no step that a user waits for is quadratic or recursive.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model resnet:n=500,500,500,500,input=32,width=2,init=zeros -o deep.onnx 2>err
grep -qF "20015 nodes" err || fail "another network: $(cat err)"

expect 0 plimsoll inspect deep.onnx;  says "GlobalAveragePool"
expect 0 plimsoll plan deep.onnx --batch 64 --costs p100 --policy liveness -q -o plan.json
expect 0 plimsoll verify plan.json;   says "ok:"
expect 0 plimsoll inspect plan.json;  says "the peak:"

# The search on a network of this size ends at its time limit.
expect 10 plimsoll plan deep.onnx --batch 64 --costs p100 --policy auto --budget 70% --time-limit 1 -q -o plan.json
expect 0 plimsoll verify plan.json;   says "ok:"

# A budget that nothing fits is refused with the minimum, as for a small network.
expect 6 plimsoll plan deep.onnx --batch 64 --costs p100 --budget 1MiB -q -o plan.json; says "the minimum is"
