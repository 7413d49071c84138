# Planning that continues from any of its dumps writes the plan.json of the planning that was not interrupted, byte for
# byte; only the planning time is another.
. "$PLIMSOLL_CLI/common.sh"
options="--costs h200 --effort 0 -q"

same_bytes() {
  diff <(grep -v '"planning_seconds"' "$1") <(grep -v '"planning_seconds"' "$2") || fail "$3 ends in another plan.json"
}

# planned MODEL FLAGS…: plans, and plans again from each dump but the last, which is a finished plan.
planned() {
  rm -rf dumps
  expect 0 plimsoll plan "$@" -o plan.json --dump dumps
  local dump
  for dump in dumps/*; do
    [[ $dump == *.check.plan ]] && continue
    expect 0 plimsoll plan "$@" --from "$dump" -o again.json
    same_bytes plan.json again.json "$dump of 'plan $*'"
  done
}

small_model
plimsoll model vgg11:input=32,width=4,hidden=32,classes=10,batch_norm=1 -o vgg.onnx 2>/dev/null
plimsoll model lstm:steps=4,features=8 -o lstm.onnx 2>/dev/null
plimsoll model alexnet:input=67,classes=10,init=zeros -o alexnet.onnx 2>/dev/null

planned net.onnx --costs h200 -q --batch 8 --budget 40%
planned net.onnx $options --batch 8 --policy network-wide
planned net.onnx $options --batch 64 --budget 30% --policy superneurons
planned net.onnx $options --batch 8 --policy vdnn-conv:p
planned net.onnx $options --batch 64 --budget 40% --policy modnn
planned net.onnx $options --batch 9 --sub-batch 2 --policy sublinear --optimizer adam
planned net.onnx $options --batch 8 --ranks 4 --policy dymem
planned net.onnx $options --batch 64 --budget 30% --host-budget 64KiB --what-if 1MiB
planned vgg.onnx $options --batch 8 --budget 25% --batch-norm split
planned lstm.onnx $options --batch 4 --policy vdnn-dyn
planned alexnet.onnx $options --batch 4 --budget 32%
grep -q "slices=" dumps/06.order.plan || fail "no weight is updated in slices"
# Why the images have their layout is in the plan, and in every dump after that choice.
planned net.onnx $options --target cuda --precision bf16 --batch 8 --budget 60%
grep -q '"layout":"nchw: tasks of a round take' plan.json || fail "the plan gives no reason for its layout"

# With the counting of a paper, too.
expect 0 plimsoll plan net.onnx $options --batch 8 --rules vdnn --policy vdnn-all:m -o plan.json --dump paper
for dump in paper/*; do
  [[ $dump == *.check.plan ]] && continue
  expect 0 plimsoll plan net.onnx $options --batch 8 --rules vdnn --policy vdnn-all:m --from "$dump" -o again.json
  same_bytes plan.json again.json "$dump of a paper's rules"
done
expect 2 plimsoll plan $options --from paper/*.tasks; says "is a task graph of --rules vdnn, but --rules is true"

# A compile, from a dump of each kind. The weights of the loss are in the trainer's model, whatever it begins with.
flags="$options --batch 8 --budget 60% --class-weights 1,2,1,1,1,1,1,1,1,1"
expect 0 plimsoll compile net.onnx $flags -o trainer --dump compiled
for dump in compiled/{01,04,06,12,18}.*; do
  rm -rf again
  expect 0 plimsoll compile net.onnx $flags --from "$dump" -o again
  same_bytes trainer/plan.json again/plan.json "$dump of a compile"
  cmp trainer/model.onnx again/model.onnx || fail "$dump gives another model"
done
rm -rf again
expect 0 plimsoll compile net.onnx $options --class-weights 1,2,1,1,1,1,1,1,1,1 --from compiled/19.check.plan -o again
cmp trainer/plan.json again/plan.json || fail "the finished plan is another one"
