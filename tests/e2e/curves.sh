# train --html and --tensorboard write what --metrics writes: in every epoch, after a resume and after an error.
. "$PLIMSOLL_E2E/trainer.bash"
plimsoll model lenet -o net.onnx -q
random_data 64 1 32 10
build_trainer net net.onnx --batch 16 --budget 90%
train() { net/build/train --data npy:x.npy,y.npy --quiet "$@"; }

expect 0 train --test npy:x.npy,y.npy --epochs 3 --lr 0.05 --metrics m.jsonl --html run.html --tensorboard events
$python - <<'PY'
import json, re

lines = [json.loads(line) for line in open("m.jsonl")]
iterations = [line for line in lines if "loss" in line]
tests = [line for line in lines if "eval_loss" in line]
assert len(iterations) == 12 and len(tests) == 3

page = open("run.html").read()
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
run = data["runs"][0]
assert not data["running"] and "Trained for 12 iterations: best test accuracy" in page
near = lambda a, b: abs(a - b) <= 1e-6 * max(1, abs(b))
columns = {
    "loss": "loss", "accuracy": "accuracy", "rate": "lr", "speed": "samples_per_second", "iteration": "iteration"
}
for key, name in columns.items():
    assert len(run[key]) == 12 and all(near(a, b[name]) for a, b in zip(run[key], iterations)), key
for key, name in (("loss", "eval_loss"), ("accuracy", "eval_accuracy"), ("iteration", "iteration")):
    shown = run["evaluations"][key]
    assert len(shown) == 3 and all(near(a, b[name]) for a, b in zip(shown, tests)), key
assert run["allocated"] == iterations[0]["arena_allocated_bytes"]
PY

# TensorBoard's own reader, where there is one.
reader=$(python_with tensorboard)
if [[ -n $reader ]]; then
  "$reader" - <<'PY'
import glob, json
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

lines = [json.loads(line) for line in open("m.jsonl")]
iterations, tests = [[line for line in lines if key in line] for key in ("loss", "eval_loss")]
near = lambda a, b: abs(a - b) <= 1e-6 * max(1, abs(b))
[path] = glob.glob("events/events.out.tfevents.*")
read = EventAccumulator(path)
read.Reload()
losses, accuracies = read.Scalars("loss/train"), read.Scalars("accuracy/test")
assert [event.step for event in losses] == list(range(12))
assert all(near(event.value, line["loss"]) for event, line in zip(losses, iterations))
assert all(near(event.value, line["eval_accuracy"]) for event, line in zip(accuracies, tests)) and len(accuracies) == 3
assert set(read.Tags()["scalars"]) == {"loss/train", "loss/test", "accuracy/train", "accuracy/test", "learning_rate",
                                       "samples_per_second", "memory/process_MiB", "memory/arena_MiB"}, read.Tags()
PY
else
  echo "no TensorBoard here: tests/train/run_page_test.cpp reads event files without it"
fi

# A resumed run goes on with its page, and its events replace those that it repeats.
expect 0 train --steps 6 --checkpoint ck --checkpoint-every 2 --html part.html --tensorboard part
expect 0 train --epochs 3 --checkpoint ck --resume --html part.html --tensorboard part
[[ $(ls part | wc -l) -eq 2 ]] || fail "a resumed run has no event file of its own"
grep -q "Trained for 12 iterations" part.html || fail "the page of a resumed run"
$python - <<'PY'
import json, re
data = json.loads(re.search(r'id="data">(.*?)</script>', open("part.html").read(), re.S)[1])
assert data["runs"][0]["iteration"] == list(range(12)), data["runs"][0]["iteration"]
PY
[[ -z $reader ]] || "$reader" - <<'PY'
# Every step once, in order: the second run's events replace what the first says of the same steps.
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
read = EventAccumulator("part")
read.Reload()
assert [event.step for event in read.Scalars("loss/train")] == list(range(12))
PY

# A run that diverges leaves its page.
expect 4 train --epochs 3 --lr 1e30 --html bad.html --tensorboard bad
grep -q "Stopped in epoch 1 of 3" bad.html || fail "the page of a run that diverged"

# What cannot be written, and what has no effect, is refused before the run.
expect 7 train --epochs 1 --html none/run.html;               says "cannot write 'none/run.html'"
expect 7 train --epochs 1 --tensorboard x.npy;                says "cannot write 'x.npy/events"
expect 2 train --epochs 1 --html a.html --trace ./a.html;     says "name the same file"
expect 2 net/build/train --predict npy:x.npy --out o.npy --html a.html; says "--predict trains nothing"

# The page in a browser, where there is one: while the run goes on it reloads itself, and keeps its view.
$python - <<'PY'
import os, re, shutil, sys, time
sys.path.insert(0, os.environ["PLIMSOLL_SOURCE"] + "/tests/browser")
from chromium import Page, PROGRAMS
if not any(shutil.which(program) for program in PROGRAMS):
    print("no Chromium here: the page is not opened")
    sys.exit()
for dark in (False, True):
    for width in (1280, 390):
        with Page("run.html", width=width, height=844, dark=dark) as page:
            page.wait_for("window.page !== undefined")
            page.settle()
            assert page.requests == [page.address], page.requests
            text = page.evaluate("document.body.innerText")
            for wanted in ("Training of lenet", "Trained for 12 iterations", "Loss", "Accuracy", "Learning rate",
                           "Samples a second", "Memory", "Made by train --html"):
                assert wanted in text, wanted
            assert page.evaluate("document.querySelectorAll('#plot-0 circle').length") == 3
            assert page.evaluate("document.documentElement.scrollWidth") <= width, "it runs out of the window"
            page.evaluate("document.getElementById('by-elapsed').click(); document.getElementById('log').click()")
            page.wait_for("location.hash === '#axis=time&loss=log'")
            page.evaluate("window.before = true")
            page.ask("Page.reload")
            for _ in range(200):  # there is a moment between the two pages when nothing can be asked
                try:
                    if page.evaluate("window.before === undefined && window.page !== undefined"): break
                except RuntimeError:
                    pass
                time.sleep(0.05)
            assert page.evaluate("page.axis === 'elapsed' && page.log"), "a reload forgets the view"
            assert page.complaints == [], page.complaints
# As it is during the run, and before the first iteration.
text = open("run.html").read()
open("running.html", "w").write(text.replace('"running":false', '"running":true'))
empty = re.sub(r'"(iteration|elapsed|loss|accuracy|rate|speed|resident)":\[[^\]]*\]', r'"\1":[]', text)
open("empty.html", "w").write(empty)
with Page("running.html") as page:
    page.wait_for("window.page !== undefined")
    assert page.complaints == [], page.complaints
with Page("empty.html") as page:
    page.wait_for("window.page !== undefined")
    assert "There is no iteration yet." in page.evaluate("document.body.innerText")
    assert page.complaints == [], page.complaints
PY
