# A trainer tells when its steps ran: a trace by the rules of its viewers, with the plan's order in it, that changes no bit.
. "$PLIMSOLL_E2E/trainer.bash"
plimsoll model resnet18:input=32,stem=cifar,width=8,classes=10 -o net.onnx 2>/dev/null
random_data 48 3 32 10
build_trainer trainer net.onnx --batch 16 --policy auto --budget 45% --refuse-split
trained trainer plain.onnx --steps 3
trained trainer traced.onnx --steps 3 --trace trace.json
$python "$PLIMSOLL_E2E/weights.py" plain.onnx traced.onnx 0
$python - <<'PY'
import json
plan = json.load(open("trainer/plan.json"))
assert plan["summary"]["offloaded_bytes"] > 0 and plan["summary"]["recomputed_tasks"] > 0, "the plan moves or repeats nothing"
events = json.load(open("trace.json"))["traceEvents"]
slices = {event["args"]["step"]: event for event in events if event["ph"] == "X"}
assert sorted(slices) == list(range(len(plan["steps"]))), "a step is missing"
start = lambda step: round(slices[step]["ts"] * 1000)
end = lambda step: round((slices[step]["ts"] + slices[step]["dur"]) * 1000)
tracks = {}
for step in plan["steps"]:
    slice = slices[step["id"]]
    assert slice["tid"] == {"compute": 1, "d2h": 2, "h2d": 3}[step["stream"]], slice
    tracks.setdefault(slice["tid"], []).append(step["id"])
    for wait in step["waits"]:
        assert end(wait) <= start(step["id"]), f"step {step['id']} began before step {wait}, which it waits for, had ended"
for steps in tracks.values():
    assert all(end(a) <= start(b) for a, b in zip(steps, steps[1:])), "slices of one track overlap"
flows = [event for event in events if event["ph"] == "f"]
assert len(flows) == sum(step["kind"] == "prefetch" for step in plan["steps"])
ends = sum(event["ph"] == "e" for event in events)
assert ends == sum(event["ph"] == "b" for event in events) == len(plan["residencies"])
PY
expect 0 plimsoll inspect trainer --html report.html --measured trace.json
expect 2 trainer/build/train --trace;                          says "--trace"
expect 7 trainer/build/train --trace nowhere/trace.json --steps 1; says "no such directory"
