# The budget is a contract. If it cannot be met, the message states the minimum. The minimum works; one byte less does
# not.
. "$PLIMSOLL_CLI/common.sh"
small_model

expect 6 plimsoll plan net.onnx --batch 64 --budget 1KiB -o plan.json
says "fits; the minimum is"
promised=$(sed -n 's/.*the minimum is \([0-9]*\) bytes.*/\1/p' err)
[[ ! -e plan.json ]] || fail "an infeasible budget left plan.json behind"
expect 0 plimsoll plan net.onnx --batch 64 -o full.json
field() {
  /usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["summary"][sys.argv[2]])' "$1" "$2"
}
minimum=$(field full.json minimum_bytes)
[[ $minimum -eq $promised ]] || fail "the minimum is $minimum here and $promised there"
expect 0 plimsoll plan net.onnx --batch 64 --budget "$minimum" -o least.json
expect 0 plimsoll verify least.json
[[ $(field least.json arena_bytes) -le $minimum ]] || fail "the arena is larger than its budget"
expect 6 plimsoll plan net.onnx --batch 64 --budget "$((minimum - 256))" -o less.json
for percent in 90 70 50; do
  expect 0 plimsoll plan net.onnx --batch 64 --budget $percent% -o part.json
  expect 0 plimsoll verify part.json
  [[ $(field part.json arena_bytes) -le $(($(field full.json unconstrained_bytes) * percent / 100)) ]] ||
    fail "the arena is larger than $percent % of the unconstrained one"
done

# Just above the minimum a plan is still fast: at most twice the lower bound. The schedule with the fewest bytes, which
# evicts everything after each task, takes four times the bound.
plimsoll model densenet121:input=32,init=zeros -o dense.onnx 2>/dev/null
expect 6 plimsoll plan dense.onnx --batch 16 --costs p100 --budget 1KiB -o none.json
least=$(sed -n 's/.*the minimum is \([0-9]*\) bytes.*/\1/p' err)
expect 0 plimsoll plan dense.onnx --batch 16 --costs p100 --budget "$((least + least / 50))" -o near.json
expect 0 plimsoll verify near.json
/usr/bin/python3 -c 'import sys; exit(float(sys.argv[1]) > 2 * float(sys.argv[2]))' \
  "$(field near.json iteration_seconds)" "$(field near.json bound_seconds)" || fail "a plan near the minimum is slow"

# Batch normalization sees the whole batch, whatever the budget. If rounds would need less, the message names the
# option, and it works.
plimsoll model resnet:n=3,input=32,width=8,channels=1,classes=10 -o norm.onnx 2>/dev/null
expect 6 plimsoll plan norm.onnx --batch 16 --costs k40m --effort 0 --budget 1KiB -o none.json
whole=$(sed -n 's/.*the minimum is \([0-9]*\) bytes.*/\1/p' err)
split='.*--batch-norm split fits from .* (\([0-9]*\) bytes), but changes the result.*as few as 1 sample'
rounds=$(sed -n "s/$split$/\1/p" err)
[[ $rounds -lt $whole ]] || fail "rounds do not need less"
expect 0 plimsoll plan norm.onnx --batch 16 --costs k40m --effort 0 --budget "$whole" -o whole.json
[[ $(field whole.json minimum_bytes) -eq $whole ]] || fail "the least of the whole batch is not the minimum"
expect 6 plimsoll plan norm.onnx --batch 16 --costs k40m --effort 0 --budget "$((whole - 256))" -o none.json
expect 0 plimsoll plan norm.onnx --batch 16 --costs k40m --effort 0 --budget "$rounds" --batch-norm split -o split.json
samples=$(/usr/bin/python3 -c 'import json; print(json.load(open("split.json"))["sub_batch"])')
[[ $samples -lt 16 ]] || fail "a budget that only rounds meet left the batch whole"
[[ $samples -eq 1 ]] && samples+=" sample" || samples+=" samples"
says "batch normalization computes over $samples at a time, not 16"; says "--batch-norm whole prevents this"
expect 6 plimsoll plan norm.onnx --batch 16 --costs k40m --effort 0 --budget "$((rounds - 256))" --batch-norm split \
  -o none.json
expect 0 plimsoll plan norm.onnx --batch 16 --costs k40m --effort 0 --sub-batch 8 -o rounds.json
says "batch normalization computes over 8 samples at a time, not 16"; says "requested by --sub-batch"
expect 2 plimsoll plan norm.onnx --batch 16 --batch-norm halved -o none.json; says "batch-norm"

# A device smaller than the plan gives a warning; the plan is made all the same.
plimsoll model vgg16:init=zeros -o large.onnx 2>/dev/null
expect 0 plimsoll plan large.onnx --batch 256 --costs k40m --policy network-wide -q -o large.json
says "warning: the arena of "; says "exceeds the memory of k40m, 12.00 GiB"
expect 0 plimsoll plan large.onnx --batch 256 --costs k40m --policy liveness --sub-batch 64 --budget 8GiB \
  -q -o small.json
! grep "is more than" err || fail "a device that is large enough is called too small"

# A search without time left gives a valid plan, says so, and exits with 10.
expect 10 plimsoll plan net.onnx --batch 64 --budget 40% --time-limit 0.000001 -o hurried.json
says "--time-limit ended the search"
says "ms  (optimality gap "
expect 0 plimsoll verify hurried.json
expect 2 plimsoll plan net.onnx --batch 64 --time-limit -1 -o none.json; says "--time-limit"
