# --jobs: a plan has the same bytes with any number of threads, except for the planning time.
. "$PLIMSOLL_CLI/common.sh"

# same MODEL OPTION…
same() {
  local model=$1 jobs
  shift
  for jobs in 1 2 4; do
    expect 0 plimsoll plan "$model" --costs p100 --effort "${effort:-0}" --jobs "$jobs" "$@" -q -o "$jobs.json"
    sed -i '/"planning_seconds"/d' "$jobs.json"
  done
  cmp 1.json 2.json || fail "another plan with two threads: $model $*"
  cmp 1.json 4.json || fail "another plan with four threads: $model $*"
}

small_model
for share in 60 15 30; do same net.onnx --batch 24 --budget $share%; done
mv 1.json thirty.json
same net.onnx --batch 24 --budget 800KiB --host-budget 64KiB
expect 0 plimsoll model resnet:n=2,input=32,width=8,classes=10 -o residual.onnx
for share in 70 40; do same residual.onnx --batch 16 --budget $share%; done
effort=1 same net.onnx --batch 6 --budget 70%  # in several segments
same residual.onnx --batch 16 --budget 30% --batch-norm split
# Searched on several graphs, because its large layer is also updated in slices.
expect 0 plimsoll model vgg11:input=32,width=8,classes=10 -o vgg.onnx
same vgg.onnx --batch 8 --budget 40%
# A limit that is never reached changes nothing.
same net.onnx --batch 24 --budget 30% --time-limit 1000

# The default is the number of processors.
expect 0 plimsoll plan net.onnx --batch 24 --budget 30% --costs p100 --effort 0 -q -o any.json
sed -i '/"planning_seconds"/d' any.json
cmp any.json thirty.json || fail "another plan without --jobs"

for wrong in 0 -1 1000; do
  expect 2 plimsoll plan net.onnx --batch 16 --jobs $wrong -o none.json; says "expected 1 to 256"
done
