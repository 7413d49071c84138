# Dumps of networks and task graphs are inputs: planning continues from them, and gives the same plan as the model.
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
[[ $(echo dumps/0[0-4].*) == "dumps/00.import.network dumps/01.make_trainable.network dumps/02.fuse.network dumps/03.assign_layouts.network dumps/04.build_task_graph.tasks" ]] ||
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

# A plan is finished: it can be checked and reported on, but planning cannot continue from it.
plan=$(echo dumps/*.check.plan)
expect 0 plimsoll verify $plan;                      says "ok: "
expect 0 plimsoll inspect $plan;                     says "memory"
expect 2 plimsoll plan --from $plan --batch 8;       says "is a plan, which has no kernels"
expect 9 plimsoll verify dumps/05.*.plan

# A trainer holds the weights of its model.
expect 2 plimsoll compile --from dumps/02.fuse.network $options -o trainer; says "plimsoll compile MODEL.onnx --from=dumps/02.fuse.network"
expect 0 plimsoll compile net.onnx $options -o trainer
for dump in dumps/02.fuse.network dumps/04.build_task_graph.tasks; do
  expect 0 plimsoll compile net.onnx --from $dump $options -o other
  same_plan trainer/plan.json other/plan.json
  diff -r -x plan.json -x manifest.json -x README.md trainer other || fail "$dump gives another program"
done
sed 's/initializer=[^ ]*/initializer=nobody/' dumps/02.fuse.network > other.network
expect 4 plimsoll compile net.onnx --from other.network $options -o third; says "has a weight 'nobody'"

# What a text does not state must be given by flags; what it states cannot be changed by flags.
expect 2 plimsoll plan --from dumps/02.fuse.network;                  says "--batch N is required"
expect 2 plimsoll plan --from dumps/04.build_task_graph.tasks --batch 4; says "is for 8 samples"
expect 2 plimsoll plan --from dumps/02.fuse.network --batch 8 --rules vdnn; says "has been through passes"
expect 3 plimsoll plan --from net.onnx --batch 8;                     says "its first word must be network, graph or plan"
expect 3 plimsoll plan --from nothing --batch 8
sed 's/opset=[0-9]*/opset=1000/' dumps/02.fuse.network > new.network
expect 4 plimsoll plan --from new.network --batch 8;                  says "not in 1000"

expect 0 plimsoll plan net.onnx $options -o plan.json --print-after fuse; says "# after fuse"
