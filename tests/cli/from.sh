# Every dump is an input: planning continues from it, and gives the same plan as the model.
. "$PLIMSOLL_CLI/common.sh"
small_model
options="--batch 8 --budget 80% --costs modelled -q"
# Everything except the generator, the planning time, and the checksum of the model, which a dump does not have.
same_plan() {
  python3 - "$1" "$2" <<'EOF' || fail "$2 is another plan than $1"
import json, sys
def read(path):
    plan = json.load(open(path))
    plan["model"].pop("sha256")
    plan["summary"].pop("planning_seconds")
    return plan
sys.exit(read(sys.argv[1]) != read(sys.argv[2]))
EOF
}

expect 0 plimsoll plan net.onnx $options -o plan.json --dump dumps
[[ $(ls dumps/0[0-4].* | xargs -n 1 basename | xargs) == "00.import.network 01.make_trainable.network 02.fuse.network \
03.assign_layouts.network 04.build_task_graph.tasks" ]] ||
  fail "dumps are $(echo dumps/*)"
for dump in dumps/*.network; do
  expect 0 plimsoll plan --from $dump $options -o again.json --dump from
  same_plan plan.json again.json
  # The passes that follow give the same task graph.
  diff dumps/04.build_task_graph.tasks from/*.build_task_graph.tasks || fail "$dump gives other tasks"
  rm -r from
done
expect 0 plimsoll plan --from dumps/04.build_task_graph.tasks --budget 80% --costs modelled -q -o again.json
same_plan plan.json again.json

# A plan between two passes needs the model, for its task graph.
for dump in dumps/*.plan; do
  [[ $dump == *.check.plan ]] && continue
  expect 0 plimsoll plan net.onnx --from $dump $options -o again.json
  same_plan plan.json again.json
done

# A plan is finished: it can be checked, reported on and made a trainer of, but planning cannot continue from it.
plan=$(echo dumps/*.check.plan)
expect 0 plimsoll verify $plan;                      says "ok: "
expect 0 plimsoll inspect $plan;                     says "memory"
expect 2 plimsoll plan --from $plan --batch 8;       says "plimsoll compile MODEL.onnx --from=$plan"
expect 2 plimsoll plan --from plan.json;             says "is a finished plan"
expect 9 plimsoll verify dumps/05.*.plan

# A trainer holds the weights of its model.
expect 2 plimsoll compile --from dumps/02.fuse.network $options -o trainer
says "plimsoll compile MODEL.onnx --from=dumps/02.fuse.network"
expect 0 plimsoll compile net.onnx $options -o trainer
for dump in dumps/02.fuse.network dumps/04.build_task_graph.tasks; do
  expect 0 plimsoll compile net.onnx --from $dump $options -o other
  same_plan trainer/plan.json other/plan.json
  diff -r -x plan.json -x manifest.json -x README.md trainer other || fail "$dump gives another program"
done

# A trainer from a finished plan: the same program. Kernels come from the model, what the plan states from the plan.
for finished in plan.json $plan trainer; do
  rm -rf other
  expect 0 plimsoll compile net.onnx --from $finished -q -o other
  same_plan plan.json other/plan.json
  diff -r -x plan.json -x manifest.json -x README.md trainer other || fail "$finished gives another program"
done
expect 2 plimsoll compile --from plan.json -o third
says "plimsoll compile MODEL.onnx --from=plan.json"
expect 2 plimsoll compile net.onnx --from plan.json --batch 4 -o third
says "--batch is 4, but the plan of plan.json has 8"
expect 2 plimsoll compile net.onnx --from plan.json --target cuda -o third; says "--target is cuda, but"
expect 2 plimsoll compile net.onnx --from plan.json --budget 1GiB -o third
says "--budget has no effect: plan.json is a finished plan"
expect 9 plimsoll compile net.onnx --from plan.json --optimizer sgd -o third
says "with these flags are not those of plan.json"
# The checker judges it first: here a step of the compute stream no longer waits for the copy of its input.
python3 - <<'EOF'
import json
plan = json.load(open("plan.json"))
for step in plan["steps"]: step["waits"] = []
json.dump(plan, open("unsafe.json", "w"))
EOF
expect 9 plimsoll compile net.onnx --from unsafe.json -o third

# A plan between two passes is of one model, its costs and its flags.
order=dumps/06.order.plan
expect 2 plimsoll plan --from $order $options;                              says "give MODEL.onnx and --from=$order"
expect 2 plimsoll compile net.onnx --from $order --costs modelled -o third
says "--budget is 100%, but $order was written with --budget 80%"
expect 2 plimsoll compile net.onnx --from $order $options --sub-batch 4 -o third
says "--sub-batch is 4, but $order was written without it"
expect 2 plimsoll compile net.onnx --from $order $options --effort 0 -o third; says "--effort is 0, but"
expect 2 plimsoll plan net.onnx --from $order --budget 80% --batch 4
says "--batch is 4, but the plan of $order has 8"
expect 9 plimsoll compile net.onnx --from $order $options --optimizer sgd -o third
says "cannot continue from $order: the task graph differs from the one that it was written for"
expect 9 plimsoll plan net.onnx --from $order $options --threads 64
says "the costs differ from those that it was written with"
sed '0,/^compute/{/^compute/d}' $order > less.plan
expect 9 plimsoll compile net.onnx --from less.plan $options -o third;      says "pass order broke what it promises"
sed 's/^tensor %output/tensor %exit/' $order > other.plan
expect 4 plimsoll compile net.onnx --from other.plan $options -o third;     says "there is no tensor 'output' above"
[[ ! -e third ]] || fail "a refused plan left a trainer"

sed 's/initializer=[^ ]*/initializer=nobody/' dumps/02.fuse.network > other.network
expect 4 plimsoll compile net.onnx --from other.network $options -o third; says "has a weight 'nobody'"

# What a text does not state must be given by flags; what it states cannot be changed by flags.
expect 2 plimsoll plan --from dumps/02.fuse.network;                  says "--batch N is required"
expect 2 plimsoll plan --from dumps/04.build_task_graph.tasks --batch 4; says "is for 8 samples"
expect 2 plimsoll plan --from dumps/02.fuse.network --batch 8 --rules vdnn; says "has been through passes"
expect 3 plimsoll plan --from net.onnx --batch 8
says "its first word must be network, graph, unfinished or plan"
expect 3 plimsoll plan --from nothing --batch 8
sed 's/opset=[0-9]*/opset=1000/' dumps/02.fuse.network > new.network
expect 4 plimsoll plan --from new.network --batch 8;                  says "not in 1000"

expect 0 plimsoll plan net.onnx $options -o plan.json --print-after fuse; says "# after fuse"

# Operators that are written as others: nodes omit inputs that ONNX requires, or have the attributes of old opsets.
options="--batch 3 --loss mse --assume trainable --policy network-wide --costs h200 -q"
for model in dynamo_recurrent torchscript_unet node_col2im_strides_constants; do
  rm -rf dumps
  expect 0 plimsoll plan "$PLIMSOLL_CLI/../fuzz/corpus/onnx/$model.onnx" $options -o plan.json --dump dumps
  for dump in dumps/*.network; do
    expect 0 plimsoll plan --from $dump $options -o again.json
    same_plan plan.json again.json
  done
done
