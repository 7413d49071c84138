# The traces of a plan and of its trainer, loaded by Perfetto's own trace_processor: nothing lost, nothing overlapping,
# every event found.
. "$PLIMSOLL_E2E/trainer.bash"
processor=${PLIMSOLL_TRACE_PROCESSOR:-$(command -v trace_processor_shell || command -v trace_processor || true)}
if [[ -z $processor ]]; then
  echo "skipped: no trace_processor_shell; put Perfetto's on the PATH or name it by PLIMSOLL_TRACE_PROCESSOR"
  exit 77
fi
plimsoll model resnet18:input=32,stem=cifar,width=8,classes=10 -o net.onnx 2>/dev/null
random_data 32 3 32 10
build_trainer trainer net.onnx --batch 16 --policy auto --budget 45%
trained trainer out.onnx --steps 2 --trace run.json
plimsoll inspect trainer --trace plan.json 2>/dev/null
for trace in plan run; do $python "$PLIMSOLL_E2E/perfetto.py" "$processor" $trace.json; done
# trace_processor detects violations of our promises.
$python - <<'PY'
import json
trace = json.load(open("plan.json"))
first, second = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["tid"] == 1][:2]
first["dur"] = second["ts"] + second["dur"] / 2 - first["ts"]
json.dump(trace, open("overlap.json", "w"))
trace["traceEvents"] = [e for e in json.load(open("plan.json"))["traceEvents"] if e["ph"] != "s"]
json.dump(trace, open("no_flow.json", "w"))
PY
expect 1 $python "$PLIMSOLL_E2E/perfetto.py" "$processor" overlap.json;  says "overlap"
expect 1 $python "$PLIMSOLL_E2E/perfetto.py" "$processor" no_flow.json;  says "flow"
