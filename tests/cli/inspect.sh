# Reports of a plan: tables, one name explained, CSV that adds up, a trace and a page.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model resnet:n=3,input=32,width=8,channels=1,classes=10 -o net.onnx 2>/dev/null
expect 0 plimsoll plan net.onnx --batch 16 --costs k40m --effort 0 --policy auto --budget 35% --what-if 4MiB \
  -o plan.json

expect 0 plimsoll inspect plan.json
for part in "the peak:" "copies of one round" "layers, one round" "4.0 MiB more"; do says "$part"; done
[[ $(LC_ALL=C.UTF-8 wc -L <out) -le 100 ]] || fail "a line is longer than 100 characters"
[[ ! -s err ]] || fail "something is said beside the tables"

# The gain from 256 MiB more is reported by default, and equals that of an explicit request. If the batch can be split
# in many ways, it may be less. With a time limit the line names the option.
for asked in "" "--what-if 256MiB"; do
  plimsoll plan net.onnx --batch 8192 --costs k40m --effort 0 --policy auto --budget 35% -q $asked \
    -o "more${asked:+-asked}.json"
done
/usr/bin/python3 - <<'PY'
import json
unasked, asked = (json.load(open(name))["summary"] for name in ("more.json", "more-asked.json"))
assert unasked["unconstrained_bytes"] - unasked["arena_bytes"] > 256 << 20, "so much more is all that there is to have"
assert unasked[
    "more_bytes"] == 256 << 20 and unasked["more_seconds"] == asked["more_seconds"] < unasked["iteration_seconds"]
PY
expect 0 plimsoll inspect more.json; says "256.0 MiB more"; says "would save"
plimsoll plan net.onnx --batch 16 --costs k40m --effort 0 --policy auto -q -o all.json
expect 0 plimsoll inspect all.json;  says "256.0 MiB more"; says "would save nothing"
plimsoll model lenet -o splits.onnx 2>/dev/null
splits() { plimsoll plan splits.onnx --batch 32768 --costs k40m --policy auto --budget 40% -q "$@"; }
splits -o splits.json
splits --what-if 256MiB -o splits-asked.json
/usr/bin/python3 - <<'PY'
import json
unasked, asked = (json.load(open(name))["summary"] for name in ("splits.json", "splits-asked.json"))
assert unasked["more_bytes"] == asked["more_bytes"] == 256 << 20
assert asked["more_seconds"] <= unasked["more_seconds"] * (
    1 + 1e-9) and unasked["more_seconds"] < unasked["iteration_seconds"], (unasked, asked)
PY
expect 0 plimsoll inspect splits.json; says "256.0 MiB more"; says "would save"
splits --time-limit 1000 -o limited.json
expect 0 plimsoll inspect limited.json; says "\`plimsoll plan … --what-if 256MiB\` plans again to answer"

# The CSV tables agree with the summary and with each other.
for table in layers tensors steps; do expect 0 plimsoll inspect plan.json --csv=$table; cp out $table.csv; done
expect 0 plimsoll inspect plan.json --csv; cmp -s out layers.csv || fail "--csv alone is not the table of layers"
/usr/bin/python3 - <<'PY'
import csv, json
plan = json.load(open("plan.json")); summary = plan["summary"]
layers, tensors, steps = (list(csv.DictReader(open(name + ".csv"))) for name in ("layers", "tensors", "steps"))
near = lambda a, b: abs(a - b) <= 1e-9 + 1e-6 * abs(b)
assert max(int(step["live_bytes"]) for step in steps) == summary["live_bytes"]
assert int(steps[summary["peak_step"]]["live_bytes"]) == summary["live_bytes"]
assert near(sum(float(step["exposed_seconds"]) for step in steps), summary["stall_seconds"]), summary["stall_seconds"]
assert near(sum(float(layer["recompute_seconds"]) for layer in layers), summary["recompute_seconds"])
assert len(steps) == len(plan["steps"]) and len(tensors) >= len(plan["residencies"])
fates = {tensor["tensor"]: tensor for tensor in tensors}
for fate, column in (("keep", "kept_bytes"), ("offload", "offloaded_bytes"), ("recompute", "recomputed_bytes")):
    listed = sum(int(tensor["bytes"]) for tensor in fates.values() if tensor["fate"] == fate and tensor["layer"])
    assert listed == sum(int(layer[column]) for layer in layers), fate
moved = sum(int(tensor["bytes"]) for tensor in fates.values() if tensor["fate"] == "offload")
assert moved <= summary["prefetched_bytes"], (moved, summary["prefetched_bytes"])
assert any(tensor["fate"] in ("offload", "recompute") for tensor in fates.values())
assert summary["more_bytes"] == 4 << 20 and 0 < summary["more_seconds"] <= summary["iteration_seconds"] * (1 + 1e-9)
json.load(open("plan.json"))
PY

# An explanation of one name, and an unknown name.
gone=$(/usr/bin/python3 -c 'import csv
print(next(r["tensor"] for r in csv.DictReader(open("tensors.csv")) if r["fate"] in ("offload", "recompute")))')
expect 0 plimsoll inspect plan.json --explain "$gone";  says "made by"; says "gap"; says "kept, "
layer=$(/usr/bin/python3 -c 'import csv; print(next(csv.DictReader(open("layers.csv")))["layer"])')
expect 0 plimsoll inspect plan.json --explain "$layer"; says "layer $layer"
expect 2 plimsoll inspect plan.json --explain "${gone}x"; says "similar names: $gone"

# A layer from torch's dynamo exporter is named by its module too, and found by module or node.
expect 0 plimsoll plan "$PLIMSOLL_CLI/../fuzz/corpus/onnx/dynamo_unet.onnx" --batch 2 --assume trainable -q -o unet.json
for name in a a/node_conv2d node_conv2d; do
  expect 0 plimsoll inspect unet.json --explain $name; says "layer a/node_conv2d, Conv"
done

# A trace that viewers accept; a complete page. If it cannot be written, nothing is left.
expect 0 plimsoll inspect plan.json --trace trace.json --html page.html
[[ ! -s out ]] || fail "files were asked for, and tables came too"
/usr/bin/python3 - <<'PY'
import json
tracks = {}
for event in json.load(open("trace.json"))["traceEvents"]:
    if event["ph"] == "X":
        tracks.setdefault(event["tid"], []).append((round(event["ts"] * 1000), round(
            (event["ts"] + event["dur"]) * 1000)))
assert len(tracks) >= 2
for slices in tracks.values():
    slices.sort()
    assert all(a[1] <= b[0] for a, b in zip(slices, slices[1:]))
PY
[[ $(tail -c 8 page.html) == "</html>" ]] || fail "the page is not whole"
expect 0 plimsoll inspect plan.json --html again.html
cmp -s page.html again.html || fail "the same plan makes another page"
expect 7 plimsoll inspect plan.json --html nowhere/page.html
[[ ! -e nowhere ]] || fail "a refused page left something behind"
expect 0 plimsoll inspect plan.json --html measured.html --measured trace.json
# A directory's own measured.json needs no flag. A file of another plan is then ignored, but refused if it was given
# explicitly.
mkdir made; cp plan.json made
plimsoll inspect plan.json --trace made/measured.json 2>/dev/null
expect 0 plimsoll inspect made --html found.html; says "with the times measured in made/measured.json"
cmp -s found.html measured.html || fail "the file beside the plan is not what --measured makes of it"
plimsoll plan net.onnx --batch 16 --costs k40m --effort 0 --policy auto --budget 60% -q -o other.json
plimsoll inspect other.json --trace made/measured.json 2>/dev/null
expect 0 plimsoll inspect made --html found.html
says "made/measured.json is ignored"
says "is it a trace of this plan?"
cmp -s found.html page.html || fail "something of another plan's trace is in the page"
expect 4 plimsoll inspect made --html none.html --measured made/measured.json; says "is it a trace of this plan?"
expect 4 plimsoll inspect plan.json --html none.html --measured plan.json
says "no traceEvents"
[[ ! -e none.html ]] || fail "a refused page was written"
expect 2 plimsoll inspect plan.json --measured trace.json;   says "--html"
expect 2 plimsoll inspect net.onnx --html page.html;         says "applies to plans"
expect 2 plimsoll inspect plan.json --csv=colours
expect 2 plimsoll plan net.onnx --batch 16 --what-if 20% -o x.json; says "256MiB"

# The weights of a model, and what patterns leave to train. The plan for a pattern equals the plan with all other
# weights frozen.
plimsoll model resnet18:input=32,stem=cifar,width=8,channels=1,classes=10 -o net.onnx 2>/dev/null
expect 0 plimsoll inspect net.onnx; says "--weights lists them"
expect 0 plimsoll inspect net.onnx --weights; cp out all
grep -q '^trained .*fc.weight' all && grep -q '^statistic ' all || fail "the list of weights"
[[ $(grep -c '^trained' all) -eq 62 ]] || fail "not all weights are listed"
expect 0 plimsoll inspect net.onnx --weights --trainable 'fc.*'
[[ $(grep '^trained' out | awk '{ print $2 }' | sort | xargs) == "fc.bias fc.weight" ]] ||
  fail "not what matches is trained"
expect 2 plimsoll inspect net.onnx --weights --trainable 'head.*'
says "--trainable 'head.*' matches no trained weight"
expect 2 plimsoll inspect plan.json --weights;                      says "applies to models"
plimsoll plan net.onnx --batch 4 --costs k40m --policy liveness -q --trainable 'fc.*' --trainable 'layer4.*' \
  -o some.json
plimsoll plan net.onnx --batch 4 --costs k40m --policy liveness -q --freeze 'conv1*' --freeze 'bn1*' \
  --freeze 'layer[123].*' -o rest.json
/usr/bin/python3 - <<'PY'
import json
some, rest = (json.load(open(name)) for name in ("some.json", "rest.json"))
for plan in (some, rest): del plan["summary"]["planning_seconds"]
assert some == rest
assert {t["name"].split(".update")[0] for t in some["tasks"] if t["name"].endswith(".update")
       } >= {"fc.weight", "fc.bias"}
PY

# The bytes kept on the host at the peak are at most those that reside there, kind by kind. A slice is not counted in
# addition to its whole, nor a gradient as optimizer state.
plimsoll model lenet -o lenet.onnx 2>/dev/null
at_home() { # KINDS compile-options…
  local kinds=$1
  shift
  plimsoll plan lenet.onnx --batch 4 --costs k40m --effort 0 -q -o home.json "$@"
  expect 0 plimsoll inspect home.json
  /usr/bin/python3 - $kinds <<'PY'
import json, re, sys
named = {"weight": "weights", "optimizer_state": "optimizer state", "weight_gradient": "gradients"}
of = dict.fromkeys(named, 0)
for tensor in json.load(open("home.json"))["tensors"]:
    if "home_offset" in tensor and "slice_of" not in tensor: of[tensor["kind"]] += tensor["bytes"]
line = re.search("\n  kept on the host: (.*)", open("out").read()).group(1)
said = {kind: re.search(r"([0-9.]+) KiB of " + name, line) for kind, name in named.items()}
assert {kind for kind in named if said[kind]} == set(sys.argv[1:]), line
for kind in sys.argv[1:]: assert 0 < float(said[kind].group(1)) - 0.05 <= of[kind] / 1024, (line, of)  # rounded
PY
}
at_home "weight optimizer_state" --budget 220KiB;                                 says "fc1.weight.slice"
at_home "weight optimizer_state weight_gradient" --budget 240KiB --sub-batch 2
