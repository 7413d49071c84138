"""Checks the trace of a trainer against its plan. usage: trace.py TRAINER trace.json"""
import json
import sys

trainer, trace = sys.argv[1:]
plan = json.load(open(trainer + "/plan.json"))
events = json.load(open(trace))["traceEvents"]
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
        assert end(wait) <= start(
            step["id"]), f"step {step['id']} began before step {wait}, which it waits for, had ended"
for steps in tracks.values():
    assert all(end(a) <= start(b) for a, b in zip(steps, steps[1:])), "slices of one track overlap"
flows = [event for event in events if event["ph"] == "f"]
# From an offload to its prefetch. Tensors that reside on the host were offloaded by the previous iteration.
at_home = {tensor["id"] for tensor in plan["tensors"] if "home_offset" in tensor}
assert len(flows) == sum(step["kind"] == "prefetch" and step["tensor"] not in at_home for step in plan["steps"])
ends = sum(event["ph"] == "e" for event in events)
assert ends == sum(event["ph"] == "b" for event in events) == len(plan["residencies"])
