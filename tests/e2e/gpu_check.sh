# The output of tools/gpu_check.sh prepare: small enough to copy, and a trainer without its weights starts from the same
# bits as PyTorch's network.
. "$PLIMSOLL_E2E/trainer.bash"
$python -c 'import torch, torchvision, onnx' 2>/dev/null || { echo "skipped: no torch, torchvision and onnx for $python"; exit 77; }
[[ -x "$PLIMSOLL_BUILD/bin/plimsoll-profile-cuda" ]] || { echo "skipped: this build has no CUDA runtime"; exit 77; }

expect 0 "$PLIMSOLL_SOURCE/tools/gpu_check.sh" prepare --small --part 2 -d travels;   says "MiB travel"
expect 0 "$PLIMSOLL_SOURCE/tools/gpu_check.sh" prepare --small --part 3 -d travels
[[ $(du -sk travels | cut -f1) -lt 8192 ]] || fail "a small folder has more than 8 MiB"
grep -q '"part": 2' travels/index.json && grep -q '"part": 3' travels/index.json || fail "the index forgot a part"
expect 2 "$PLIMSOLL_SOURCE/tools/gpu_check.sh" run --part 1 -d nowhere;              says "prepare"
PYTHON=$python expect 1 travels/gpu_check.sh run --part 1 --dry-run;                 says "part 1 was not prepared"

build_trainer host travels.models/resnet18.onnx --batch 2
gunzip -c travels/networks/resnet18/model.onnx.gz >zero.onnx
expect 0 host/build/train --init he:7 --model zero.onnx --data synthetic --steps 1 --lr 0 --save started.onnx
$python - "$PLIMSOLL_SOURCE" <<'PY'
import sys
sys.path.insert(0, sys.argv[1] + "/tools/gpu")
import numpy as np
import networks
with np.load("travels/networks/resnet18.npz") as small:
    twin = networks.twin("resnet18", 7, dict(small)).state_dict()
ours = networks.read_weights("started.onnx")
weights = [name for name, value in twin.items() if value.dim() >= 2]
assert len(weights) == 21, len(weights)
for name in weights:
    assert ours[name].tobytes() == twin[name].numpy().tobytes(), name
    assert abs(ours[name]).max() > 0, name
zero = networks.read_weights("zero.onnx")
assert all(not zero[name].any() for name in weights)
PY

# The parts of a run that need no GPU: a profile in portions, past a task that ends the profiler and past the end of the
# time; which steps are retried, and when; processes that never end.
mkdir -p beside/networks beside/results beside/build/bin
echo '[]' >beside/index.json
cat >beside/build/bin/plimsoll-profile-cuda <<'PY'
#!/usr/bin/env python3
import json, sys, time
ask, began, done = json.load(open(sys.argv[1])), time.time(), []
for number, task in enumerate(ask["tasks"]):
    time.sleep(0.02)
    if task["signature"] == "faults":
        sys.exit("error: a measured kernel failed")
    done.append({"signature": task["signature"], "algorithms": []})
    print(f"\rprofiling [##..] {number + 1}/{len(ask['tasks'])}", end="", file=sys.stderr)
    if time.time() - began > ask["seconds"]:
        break
json.dump({"schema": 1, "math": ask["math"], "tasks": done, **({"links": {}} if "links" in ask else {})}, open(sys.argv[3], "w"))
PY
chmod +x beside/build/bin/plimsoll-profile-cuda
$python - "$PLIMSOLL_SOURCE" <<'PY'
import json, os, sys, tarfile, time, types
sys.path.insert(0, sys.argv[1] + "/tools/gpu")
import session
session.PORTION, session.GRACE, session.QUIET = 0.5, 4, 2
args = types.SimpleNamespace(dir="beside", dry_run=False, out="left")

def check(seconds, again=True):
    session.TRIED.clear()  # as in another process
    return session.Check(args, 3, time.time() + seconds, again=again)

names = [f"task {i}" for i in range(60)]
names[30] = "faults"
with open("beside/networks/net.tasks.json", "w") as out:
    json.dump({"schema": 1, "links": {}, "tasks": [{"signature": name} for name in names]}, out)
first = check(0.7)
told = first.step("net profile", lambda: session.profiled(first, "net", "tf32"))
assert first.late and told["cut_off"] and not os.path.exists("beside/results/profile-net-tf32.json"), told
second = check(600, again=False)
told = second.step("net profile", lambda: session.profiled(second, "net", "tf32"))
assert [task["signature"] for task in told["tasks"] if "error" in task] == ["faults"], told
assert sorted(task["signature"] for task in told["tasks"]) == sorted(names) and told["links"] == {} and told["math"] == "tf32", told
assert "results/profile-net-tf32.json" in tarfile.open("left/results.tar.gz").getnames()

tries = {"an error": 0, "too far": 0, "passes": 0}
def tried(name):
    tries[name] += 1
    if name == "an error":
        raise RuntimeError("no")
    return {"passed": name == "passes"}
for again, expected in ((True, 1), (False, 1), (True, 2)):
    this = check(600, again)
    for name in [*tries, *tries]:
        this.step(name, lambda: tried(name))
    assert tries == {"an error": expected, "too far": expected, "passes": 1}, (again, tries)
this.step("loses the device", lambda: (_ for _ in ()).throw(RuntimeError("CUDA error: unspecified launch failure")))
assert this.lost and this.step("another", dict) is None
assert check(600).step("not worth it", dict, 1000) is None

session.ENDS = None
for command, grows in (("echo hi; sleep 1007.5 & sleep 1007.5", None), ("echo hi; echo >told; sleep 1007.5 & sleep 1007.5", "told")):
    open("told", "w").close()
    began = time.time()
    try:
        session.shell(["sh", "-c", command], 3 if not grows else 60, grows=grows)
        raise SystemExit("it has ended")
    except RuntimeError as error:
        assert "hi" in str(error) and time.time() - began < 12, error
PY
! pgrep -fx 'sleep 1007.5' >/dev/null || fail "a process that never ends has left another"
