# The output of tools/gpu_check.sh prepare: small enough to copy, and a trainer without its weights starts from the same
# bits as PyTorch's network.
. "$PLIMSOLL_E2E/trainer.bash"
export PYTHON=$python
# PyTorch's threads spin briefly, as a trainer's do (runtime/host/waiting.h), because other tests run at the same time.
export GOMP_SPINCOUNT=1000
has $python torch torchvision onnx ||
  { echo "skipped: no torch, torchvision and onnx for $python"; exit 77; }
[[ -x "$PLIMSOLL_BUILD/bin/plimsoll-profile-cuda" ]] || { echo "skipped: this build has no CUDA runtime"; exit 77; }

# The documented commands, as they are written, but small, and with the runtime of this build. The run on "the other
# machine" is rehearsed for half a minute: it stops when its time is up, and leaves nothing in the prepared folder but
# its results. Part 1 has the fewest trainers; gpu_check_dry.sh runs all parts.
ln -s "$PLIMSOLL_SOURCE/tools" tools
mapfile -t documented < <(sed -n 's/^    \([^ ]*gpu_check\.sh [^#]*[^# ]\) *#.*/\1/p' \
  "$PLIMSOLL_SOURCE/docs/benchmarks/README.md")
[[ ${#documented[@]} -eq 3 ]] || fail "docs/benchmarks/README.md documents ${#documented[@]} commands"
expect 0 ${documented[0]} --small --part 1;                                          says "MiB travel"
ls -A gpu-check >before
[[ $(ls -A) == *gpu-check* && -z $(find . -maxdepth 1 -name 'gpu-check?*') ]] ||
  fail "prepare leaves something beside its folder"
[[ -z $(find gpu-check -name '*.onnx') ]] || fail "a model file travels as it is"
code=0
mkdir temporary
PLIMSOLL_GPU_CHECK_BUILT=$PLIMSOLL_BUILD TMPDIR=$PWD/temporary ${documented[1]} --part 1 \
  --dry-run --minutes 0.5 >out 2>err || code=$?
[[ $code -eq 10 || $code -eq 0 ]] || { cat out err; fail "the documented run ends with $code"; }
says "builds are in $PWD/temporary/"
ls -A gpu-check | diff before - | grep -v '^[0-9]' >extra || true
[[ $(cat extra) == "> results" ]] || { cat extra; fail "a run leaves more than its results"; }
ls gpu-check/results/part-1-dry.json >/dev/null || fail "the results are not brought back"
rm -r temporary
expect 1 ${documented[2]};                                            says "dry runs do not count"

expect 0 "$PLIMSOLL_SOURCE/tools/gpu_check.sh" prepare --small --part 3 -d gpu-check
[[ $(du -sk --exclude=cases.json.gz gpu-check | cut -f1) -lt 8192 ]] ||
  fail "a small folder has more than 8 MiB, not counting the cases"
grep -q '"part": 1' gpu-check/index.json && grep -q '"part": 3' gpu-check/index.json || fail "the index forgot a part"
expect 2 "$PLIMSOLL_SOURCE/tools/gpu_check.sh" run --part 1 -d nowhere;              says "prepare"
expect 1 gpu-check/gpu_check.sh run --part 2 --dry-run;                                says "part 2 was not prepared"

build_trainer host "$PLIMSOLL_BUILD/gpu-check-models/resnet18.onnx" --batch 2
gunzip -c gpu-check/networks/resnet18/model.onnx.gz >zero.onnx
expect 0 host/build/train --init he:7 --model zero.onnx --data synthetic --steps 1 --lr 0 --save started.onnx
$python - "$PLIMSOLL_SOURCE" <<'PY'
import sys
sys.path.insert(0, sys.argv[1] + "/tools/gpu")
import numpy as np
import networks
with np.load("gpu-check/networks/resnet18.npz") as small:
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

# Two runs share the folder of models: one exports a network while the other does.
$python - "$PLIMSOLL_SOURCE" <<'PY'
import os, subprocess, sys
export = f"""
import sys, types
sys.path.insert(0, {sys.argv[1] + "/tools/gpu"!r})
import prepare, torch
run = types.SimpleNamespace(models="shared", out=sys.argv[1])
whole = torch.onnx.export
def export(*args, **options):
    whole(*args, **options)
    print("exported", flush=True)
    sys.stdin.readline()
torch.onnx.export = export
prepare.Folder.export(run, "resnet18")
"""
os.mkdir("shared")
runs = [subprocess.Popen([sys.executable, "-c", export, out], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for out in ("first", "second")]
for run in runs:  # both have exported before either continues
    assert run.stdout.readline() == "exported\n"
for run in runs:
    run.communicate("\n")
    assert run.returncode == 0
assert os.listdir("shared") == ["resnet18.onnx"], os.listdir("shared")
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
json.dump({"schema": 1, "math": ask["math"], "tasks": done, **({"links": {}} if "links" in ask else {})},
          open(sys.argv[3], "w"))
PY
chmod +x beside/build/bin/plimsoll-profile-cuda
$python - "$PLIMSOLL_SOURCE" <<'PY'
import json, os, shutil, sys, tarfile, time, types
sys.path.insert(0, sys.argv[1] + "/tools/gpu")
import session
session.PORTION, session.GRACE, session.QUIET = 0.5, 4, 2
args = types.SimpleNamespace(dir="beside", dry_run=False, out="left")

# Where only the runtime's sources are, it configures, and its build has all files. Nothing is compiled: the build of
# Plimsoll has compiled the same sources.
os.mkdir("sources")
os.symlink(os.path.abspath("gpu-check/source"), "sources/source")
shutil.copy("gpu-check/index.json", "sources")
whole = session.shell
session.shell = lambda command, *rest, **more: whole([*command, "-n"]
                                                     if "--build" in command else command, *rest, **more)
session.Check(types.SimpleNamespace(dir="sources", dry_run=True, out=None), 1, time.time() + 600).runtime()
session.shell = whole
assert os.path.exists("sources/build/build.ninja") and not os.listdir("sources/build/bin"), os.listdir("sources/build")

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
assert sorted(task["signature"]
              for task in told["tasks"]) == sorted(names) and told["links"] == {} and told["math"] == "tf32", told
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

# What a trainer warns of is kept. A deviation from its plan fails the step; so does a run that waits for its data.
class Warns(session.Check):
    def build(self, trainer, jobs=None):
        return os.path.abspath("warns")
    def model(self, name):
        return "net.onnx"
with open("warns", "w") as out:
    out.write("""#!/bin/sh
while [ $# -gt 0 ]; do case $1 in --metrics) yes '{"loss":1,"seconds":0.1}' | head -7 >$2;; esac; shift; done
echo "arena planned 7 bytes, allocated 7"
cat says >&2
""")
os.chmod("warns", 0o755)
warning = Warns(args, 3, time.time() + 600)
trainer = {"name": "resnet18", "tag": "net", "batch": 2, "precision": "fp32", "costs": "h200",
           "summary": {"iteration_seconds": 0.1, "arena_bytes": 7}}
for number, (text, passes) in enumerate(
    (("warning: 600.0 MiB of device memory are used besides the arena\n",
      True), ("", True), ("warning: 2 kernels are not as planned, because:\n  conv1: a -> b\nnote: no\n", False),
     ("warning: CUDA graph capture failed (no); launching kernels one by one\n", False))):
    open("says", "w").write(text)
    told = warning.step(f"{number}", lambda: session.measured(warning, trainer, 7))
    assert "error" not in told, told
    assert told.get("passed", True) is passes and ("warnings" in told) == bool(text), told
    assert "note" not in str(told.get("warnings")) and ("conv1" in str(told.get("warnings"))) == ("conv1" in text), told
x, y = warning.data(2, 64, 2)
assert session.np.load(x).shape == (4, 3, 64, 64) and session.np.load(x).dtype == session.np.float32 and len(
    session.np.load(y)) == 4
for more, fewer in zip((x, y), warning.data(2, 64, 1)):  # a loss of the first batch is that of the first batch
    assert (session.np.load(more)[:2] == session.np.load(fewer)).all(), more
# The patterns are those of the trainer's messages.
sources = "".join(
    open(f"{sys.argv[1]}/runtime/train/{name}").read() for name in os.listdir(sys.argv[1] + "/runtime/train")
    if name.endswith((".cpp", ".h")))
for words in ("not as planned", "waiting for samples", "CUDA graph capture failed"):
    assert words in sources and session.DEVIATION.search(f"warning: 2 kernels are {words}"), words

# Nsight Compute's table: of several launches of a kernel the longest counts, and other kernels do not.
import parts

lines = [
    '==PROF== Connected', '"ID","Kernel Name",' + ",".join(f'"{metric}"' for metric in parts.NCU_METRICS),
    '"","","ns","byte","%","%",""',
    '"0","void column_sums_kernel<MomentsOfColumns<4>>(int)","1,000","2,000","40.5","70","60"',
    '"1","void column_sums_kernel<BiasSums<4>>(int)","5,000","20,000","80.5","90","50"',
    '"2","void other(int)","9","9","9","9","9"'
]
told = parts.of_ncu("\n".join(lines))
assert set(told["kernels"]) == {"column_sums_kernel"} and told["kernels"]["column_sums_kernel"]["launches"] == 2, told
assert told["kernels"]["column_sums_kernel"]["percent_of_bandwidth"] == 80.5 and len(told["table"]) == 2, told
try:
    parts.of_ncu("==ERROR== ERR_NVGPUCTRPERM")
    raise SystemExit("a report without a table is accepted")
except RuntimeError as error:
    assert "ERR_NVGPUCTRPERM" in str(error)

# A first loss in TF32 may be as far from PyTorch's as PyTorch's own rounding moves it: a fixed bound would fail by
# chance. In fp32 nothing excuses a difference.
state = {"w": session.np.ones(4, session.np.float32)}
class Compared(session.Check):
    def train(self, trainer, steps, data, save=False, **more):
        return {"losses": [2.006, 2.0, 2.0], "saved": "saved"}
    def data(self, batch, size, steps=3):
        return ()
    def twin(self, name):
        return types.SimpleNamespace(state_dict=lambda: {"w": start})
zeros = types.SimpleNamespace(numpy=lambda: session.np.zeros(4, session.np.float32))
start = types.SimpleNamespace(float=lambda: zeros)
def pytorch(exact):
    return lambda check, name, batch, size, precision, steps=3, channels_last=False: (
        [exact if precision == "fp32" and steps == 1 else 2.0] + [2.0] * (steps - 1), state)
held = parts.torch_steps, parts.networks.read_weights
parts.networks.read_weights = lambda path: state
for precision, exact, passes in (("tf32", 2.0, False), ("tf32", 2.003, True), ("fp32", 2.003, False)):
    parts.torch_steps = pytorch(exact)
    told = parts.three_iterations(Compared(args, 2, time.time() + 600), [trainer], "resnet18", precision, 8)
    assert told["passed"] is passes, (precision, exact, told)
parts.torch_steps, parts.networks.read_weights = held

# Throughput is planned with measured profiles: they come first, and a plan without them waits until the end.
import check as script, workplace
order = script.stages([{"name": "resnet50", "part": part} for part in range(1, 6)])
assert all(order.index(stage) < [part for part, *_ in order].index(4) for stage in order if stage[4]), order
assert sum(stage[4] for stage in order) == 2 and {part for part, *_ in order} == set(range(1, 6))
assert not session.may_be_planned_better(warning, trainer)
open("beside/results/profile-resnet18.json", "w").write("{}")
assert session.may_be_planned_better(warning, trainer)
assert not session.may_be_planned_better(warning, {**trainer, "costs": "results/profile-resnet18.json"})


# The workplace: builds stay, what changed is replaced with what was made of it, and of two results the newer one
# counts.
def written(path, text, age=0):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)
    os.utime(path, (time.time() - age,) * 2)
for path in ("index.json", "source/a.cpp", "source/old.cpp", "trainers/t.tar.gz", "networks/n/model.onnx.gz"):
    written(f"given/{path}", path)
workplace.brought_in("given", "work")
made = ("build/a.o", "trainers/t/build/train", "networks/n/model.onnx", "results/part-1.json")
for path in made:
    written(f"work/{path}", "made", 100)
before = os.stat("work/source/a.cpp").st_mtime_ns
for path in ("source/a.cpp", "trainers/t.tar.gz", "networks/n/model.onnx.gz"):
    written(f"given/{path}", path)  # copied again, with other times
workplace.brought_in("given", "work")
assert all(os.path.exists(f"work/{path}") for path in made) and os.stat("work/source/a.cpp").st_mtime_ns == before
os.remove("given/source/old.cpp")
for path in ("trainers/t.tar.gz", "networks/n/model.onnx.gz", "results/part-1.json"):
    written(f"given/{path}", "other")
workplace.brought_in("given", "work")
assert [path for path in made if os.path.exists(f"work/{path}")] == ["build/a.o", "results/part-1.json"]
assert not os.path.exists("work/source/old.cpp") and open("work/results/part-1.json").read() == "other"
written("work/results/part-1.json", "newer")
written("given/results/part-1.json", "older", 50)
workplace.brought_in("given", "work")
workplace.brought_back("work", "given")
assert open("given/results/part-1.json").read() == "newer" and sorted(
    os.listdir("given")) == ["index.json", "networks", "results", "source", "trainers"]

session.ENDS = None
for command, grows in (("echo hi; sleep 1007.5 & sleep 1007.5", None),
                       ("echo hi; echo >told; sleep 1007.5 & sleep 1007.5", "told")):
    open("told", "w").close()
    began = time.time()
    try:
        session.shell(["sh", "-c", command], 3 if not grows else 60, grows=grows)
        raise SystemExit("it has ended")
    except RuntimeError as error:
        assert "hi" in str(error) and time.time() - began < 12, error
PY
! pgrep -fx 'sleep 1007.5' >/dev/null || fail "a process that never ends has left another"
