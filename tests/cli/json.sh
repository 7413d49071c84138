# --json: every command has it, and then prints JSON and nothing else to stdout.
. "$PLIMSOLL_CLI/common.sh"
small_model
# is PYTHON: the last command's output is JSON, and this expression about it is true.
is() {
  /usr/bin/python3 -c 'import json, sys; it = json.load(open("out")); assert eval(sys.argv[1]), it' "$1" ||
    { cat out; fail "not so: $1"; }
}

expect 0 plimsoll plan net.onnx --batch 8 --budget 70% --json
is 'it["batch"] == 8 and 0 < it["arena_bytes"] <= it["budget_bytes"] and it["iteration_seconds"] > 0'
[[ ! -e plan.json ]] || fail "plan --json writes a plan that nobody asked for"
expect 0 plimsoll plan net.onnx --batch 8 --budget 70% --json -o plan.json; cp out figures
expect 0 plimsoll verify plan.json --json
is 'it["violations"] == 0 and it["arena_bytes"] == json.load(open("figures"))["arena_bytes"]'
expect 2 plimsoll plan net.onnx --batch 8 --json -o -;    says "both write to stdout"
expect 0 plimsoll compile net.onnx --batch 8 --costs modelled --json -o trainer; is 'it["model"] and it["steps"] > 10'
expect 0 plimsoll inspect trainer --json;                 is 'it["batch"] == 8'
expect 0 plimsoll inspect trainer --json --csv=layers;    is 'len(it) > 3 and all(type(row) is dict for row in it)'
expect 0 plimsoll inspect trainer --json --csv=steps;     is 'all(type(row["step"]) is int for row in it)'
expect 0 plimsoll inspect trainer --json --csv=tensors;   is 'len(it) > 10'
expect 0 plimsoll diff plan.json trainer --json
is 'it["before"]["budget_bytes"] < it["after"]["arena_bytes"] * 2 and it["after"]["batch"] == 8'
expect 0 plimsoll compare net.onnx --batch 8 --budget 70% --effort 0 --json
is 'len(it) > 10 and any(row["policy"] == "auto" and row["fits"] == 1 for row in it)'
expect 0 plimsoll frontier net.onnx --batch 8 --effort 0 --policy liveness --json
is 'len(it) >= 2 and it[0]["budget_bytes"] < it[-1]["budget_bytes"]'
printf 'id,lower,upper,size\na,0,2,10\nb,1,3,20\n' >buffers.csv
expect 0 plimsoll place buffers.csv --json;               is 'it == {"buffers": 2, "height": 30, "lower_bound": 30}'
expect 0 plimsoll operators --json
is 'any(row["operator"] == "Conv" and row["gradient"] == "yes" for row in it)'
expect 0 plimsoll model --list --json
is 'any(row["name"] == "resnet18" and row["parameters"] for row in it)'
expect 0 plimsoll model lenet -o lenet.onnx --json;       is 'it["model"] == "lenet" and it["file"] == "lenet.onnx"'
expect 0 plimsoll inspect lenet.onnx --json
is 'it["operators"]["Conv"] == 2 and it["weights"]["trained"]["tensors"] > 5 and it["inputs"][0]["type"]'
expect 0 plimsoll inspect lenet.onnx --json --weights
is 'len(it) > 5 and all(row["what"] == "trained" and row["name"] for row in it)'
expect 0 plimsoll export lenet.onnx -o same.onnx --json;  is 'it == {"file": "same.onnx", "weights_file": None}'
expect 0 plimsoll profile lenet.onnx --batch 2 -o profile.json --json -q
is 'it["tasks"] > 5 and it["algorithms"] >= it["tasks"] and it["file"] == "profile.json"'
expect 2 plimsoll profile lenet.onnx --batch 2 -o - --json; says "both write to stdout"
printf '{"iteration":%s,"samples":20,"seconds":0.5}\n' '0,"loss":2.5' '1,"loss":null' >run.jsonl
expect 0 plimsoll runs run.jsonl --json
is 'it[0]["iterations"] == 2 and it[0]["loss"] is None and it[0]["samples_per_second"] == 40'
is 'it[0]["best_eval_accuracy"] is None'
XDG_CACHE_HOME=$PWD/cache expect 0 plimsoll cache --json; is 'it["files"] == []'
expect 0 plimsoll doctor --json
is 'it["healthy"] and any(row["what"] == "CMake" for row in it["findings"])'
expect 0 plimsoll cache --json; is '"trainers" in it'
expect 0 plimsoll completion bash --json
is 'it["shell"] == "bash" and "complete -o filenames" in it["script"]'
expect 0 plimsoll man --json;                             is 'it["page"].startswith(".TH PLIMSOLL")'
expect 0 plimsoll help plan --json
is 'it["subcommand"] == "plan" and any(row["option"] == "--budget" for row in it["options"])'
expect 0 plimsoll train net.onnx --batch 8 --costs modelled --data synthetic --steps 1 --trainer here --dry-run --json
is 'len(it["commands"]) == 3 and it["commands"][2].endswith("--steps 1 --json") and "--json" not in it["commands"][0]'
# A command added later has it, too.
expect 0 plimsoll help --json
is 'len(it) >= 19 and all(any(o["option"] == "--json" for o in row["options"]) for row in it)'
# An infeasible budget is answered in the first line, in readable units, before the reasons.
expect 6 plimsoll plan net.onnx --batch 64 --budget 100KiB --loss softmax-cross-entropy -q -o none.json
head -1 err | grep -Eq 'needs at least [0-9.]+ [KM]iB at batch 64 \(budget: 100.0 KiB\)' ||
  { cat err; fail "the first line does not state the minimum"; }
sed -n 2p err | grep -Eq -e '--budget [0-9.]+[KM]iB fits; the minimum is [0-9]+ bytes' ||
  { cat err; fail "the second line is no budget to copy"; }
# What is live at the peak is a screenful: it is listed where -v asks for it.
says "-v lists what is live at the peak"
! grep -q "used by this step" err || { cat err; fail "details without -v"; }
expect 6 plimsoll plan net.onnx --batch 64 --budget 100KiB -o none.json -v
says "live at the peak: "
says "used by this step"
