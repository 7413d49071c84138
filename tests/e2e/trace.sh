# A trainer records when its steps ran: a trace that follows the rules of its viewers, has the plan's order, and changes
# no bit.
. "$PLIMSOLL_E2E/trainer.bash"
plimsoll model resnet18:input=32,stem=cifar,width=8,classes=10 -o net.onnx 2>/dev/null
random_data 48 3 32 10
build_trainer trainer net.onnx --batch 16 --policy auto --budget 45%
trained trainer plain.onnx --steps 3
trained trainer traced.onnx --steps 3 --trace trace.json
$python "$PLIMSOLL_E2E/weights.py" plain.onnx traced.onnx 0
$python - <<'PY'
import json
summary = json.load(open("trainer/plan.json"))["summary"]
assert summary["offloaded_bytes"] > 0 and summary["recomputed_tasks"] > 0, "the plan moves or repeats nothing"
PY
$python "$PLIMSOLL_E2E/trace.py" trainer trace.json
expect 0 plimsoll inspect trainer --html report.html --measured trace.json
expect 2 trainer/build/train --trace;                          says "--trace"
expect 7 trainer/build/train --data synthetic --trace nowhere/trace.json --steps 1; says "no such directory"
