# Trainers in fp16 on the emulation: losses as in fp32, the same bits under every budget, an overflow that is skipped
# and recovers, a scale that grows, checkpoints that resume with the same bits.
. "$(dirname "$0")/emulated.bash"

figure() { $python -c 'import json, sys; print(json.load(open(sys.argv[1]))["summary"][sys.argv[2]])' "$@"; }
# Of the iterations in a file of metrics: the values of a column.
column() {
  $python -c 'import json, sys
print(*[line[sys.argv[2]] for line in map(json.loads, open(sys.argv[1])) if "loss" in line])' "$@"
}
is() { [[ "$1" == "$2" ]] || fail "$3: '$1', expected '$2'"; }

# --- two matrix products, with Adam
random_data 48 3 4 10
$python - <<'PY'
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
r = np.random.RandomState(1)
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 4, 4])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 10])
weights = {"w": r.randn(32, 48) * 0.2, "b": np.zeros(32), "v": r.randn(10, 32) * 0.2, "c": np.zeros(10)}
nodes = [helper.make_node("Flatten", ["x"], ["f"], name="flat"),
         helper.make_node("Gemm", ["f", "w", "b"], ["h"], name="first", transB=1),
         helper.make_node("Relu", ["h"], ["a"], name="relu"),
         helper.make_node("Gemm", ["a", "v", "c"], ["y"], name="second", transB=1)]
graph = helper.make_graph(nodes, "two", [x], [y],
                          [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), "net.onnx")
PY
options=(--batch 8 --optimizer adam)
for precision in fp32 fp16; do
  emulated $precision net.onnx "${options[@]}" --precision $precision
  run $precision $precision.onnx --steps 10 --metrics $precision.jsonl
done
$python - <<'PY'
import json
plans = [json.load(open(f"{name}/plan.json")) for name in ("fp32", "fp16")]
assert plans[1]["target"]["precision"] == "fp16", plans[1]["target"]
assert {t["kind"] for t in plans[1]["tensors"] if t.get("type")} == {"activation", "activation_gradient"}
assert {t.get("type") for t in plans[1]["tensors"]} == {None, "f16"}
factor, = [t for t in plans[1]["tensors"] if t["name"] == "gradients.factor"]
assert factor["bytes"] == 4, factor
tasks = {t["name"]: t for t in plans[1]["tasks"]}
updates = [t for t in plans[1]["tasks"] if t["name"].endswith(".update")]
assert len(tasks["gradients.unscale"]["reads"]) == len(updates) == 4, "the check reads every gradient"
assert all(factor["id"] in t["reads"] for t in updates)
losses = [[json.loads(line)["loss"] for line in open(f"{name}.jsonl")] for name in ("fp32", "fp16")]
print("losses", *losses, sep="\n")
assert len(losses[0]) == len(losses[1]) == 10 and losses[0] != losses[1]
assert all(abs(a - b) <= 2e-3 * a for a, b in zip(*losses)), losses
PY
is "$(column fp16.jsonl loss_scale)" "65536 65536 65536 65536 65536 65536 65536 65536 65536 65536" "the scale"
is "$(column fp16.jsonl skipped_steps)" "0 0 0 0 0 0 0 0 0 0" "skipped"
! grep -q loss_scale fp32.jsonl || fail "a trainer in fp32 has a scale"
same fp32.onnx fp16.onnx 5e-2
# Another scale changes only what f16 rounds to zero or to a subnormal number.
run fp16 smaller.onnx --steps 10 --init-scale 4096
same fp16.onnx smaller.onnx 1e-3

# --- a frozen weight is stored in f16, and saved as the file has it
emulated frozen net.onnx "${options[@]}" --precision fp16 --freeze w
run frozen frozen.onnx --steps 10 --metrics frozen.jsonl
$python - <<'PY'
import json
import onnx
from onnx import numpy_helper
tensors = {t["name"]: t for t in json.load(open("frozen/plan.json"))["tensors"]}
assert tensors["w"]["type"] == "f16" and tensors["w"]["bytes"] == 2 * 32 * 48 and "w.f16" not in tensors, tensors["w"]
assert "v.f16" in tensors and "type" not in tensors["v"], "a trained weight is f32, and a task casts it"
given, saved = ({i.name: numpy_helper.to_array(i) for i in onnx.load(name).graph.initializer}
                for name in ("net.onnx", "frozen.onnx"))
assert (given["w"] == saved["w"]).all() and not (given["v"] == saved["v"]).any()
losses = [[json.loads(line)["loss"] for line in open(f"{name}.jsonl") if "loss" in line] for name in ("fp16", "frozen")]
assert losses[0][0] == losses[1][0] and losses[0][1] != losses[1][1], losses  # rounded as a cast rounds
PY

# --- the same bits under a budget, and step by step
least=$(figure fp16/plan.json minimum_bytes) most=$(figure fp16/plan.json unconstrained_bytes)
emulated tight net.onnx "${options[@]}" --precision fp16 --budget $((least + (most - least) / 10))
run tight tight.onnx --steps 10
same fp16.onnx tight.onnx 0
run fp16 steps.onnx --steps 10 --no-graph
same fp16.onnx steps.onnx 0

# --- a scale whose gradients overflow: skipped until it fits, and no weight and no state has changed then
run fp16 none.onnx --steps 3 --init-scale 1e30 --metrics none.jsonl --metrics none.csv --checkpoint none
is "$(column none.jsonl skipped_steps)" "1 2 3" "skipped"
head -n 1 none.csv | grep -q ',loss_scale,skipped_steps$' || fail "none.csv lacks columns"
run fp16 start.onnx --steps 1 --lr 0
same start.onnx none.onnx 0
$python - <<'PY'
import glob
for path in glob.glob("none/*/state.safetensors"):
    with open(path, "rb") as f:
        length = int.from_bytes(f.read(8), "little")
        header, data = f.read(length), f.read()
    assert b'"loss_scale"' in header and b'"skipped_steps":"3"' in header, header
    assert data and not any(data), "Adam's state has changed"
PY
run fp16 huge.onnx --steps 60 --init-scale 1e12 --growth-interval 4 --metrics huge.jsonl
$python - <<'PY'
import json
lines = [json.loads(line) for line in open("huge.jsonl")]
scales, skipped = [l["loss_scale"] for l in lines], [l["skipped_steps"] for l in lines]
print("scales", scales, "skipped", skipped, sep="\n")
good, before = 0, 0
for i, (scale, total) in enumerate(zip(scales, skipped)):  # the rule, once more
    assert total - before in (0, 1), (i, total, before)
    good = 0 if total > before else good + 1
    after = scale / 2 if total > before else scale * 2 if good == 4 else scale
    good, before = 0 if good == 4 else good, total
    if i + 1 < len(scales):
        assert abs(scales[i + 1] / after - 1) < 1e-6, (i, scales[i + 1], after)
first = next(i for i, total in enumerate(skipped) if total <= i)  # the first step that was taken
assert 10 < first < 40, first
assert skipped[-1] > first, "the scale grows until it is too large again"
assert lines[-1]["loss"] < lines[0]["loss"]
PY

# --- checkpoints: the scale, the iterations since it has changed, and the skipped ones
run fp16 first.onnx --steps 33 --init-scale 1e12 --growth-interval 4 --checkpoint ck
run fp16 resumed.onnx --steps 60 --growth-interval 4 --checkpoint ck --resume --metrics resumed.jsonl
same huge.onnx resumed.onnx 0
is "$(column resumed.jsonl loss_scale)" "$(column huge.jsonl loss_scale | cut -d' ' -f34-)" "scales after --resume"

# --- rounds, whose gradients add up with the scale; clipping by the norm without it; state in bf16
emulated rounds net.onnx "${options[@]}" --precision fp16 --sub-batch 3
run rounds rounds.onnx --steps 10 --init-scale 1024
same fp32.onnx rounds.onnx 5e-2
run rounds rounds-none.onnx --steps 2 --init-scale 1e30
same start.onnx rounds-none.onnx 0
emulated clipping net.onnx "${options[@]}" --precision fp32 --clip-norm 0.1
run clipping clipped-fp32.onnx --steps 10
run fp16 clipped.onnx --steps 10 --clip-norm 0.1
same clipped-fp32.onnx clipped.onnx 5e-2
for state in bf16 int8; do
  emulated state-$state net.onnx "${options[@]}" --precision fp16 --optimizer-state $state
  run state-$state state.onnx --steps 10
  same fp32.onnx state.onnx 2e-1
  run state-$state state.onnx --steps 2 --init-scale 1e30
  same start.onnx state.onnx 0
done

# --- refused
expect 2 plimsoll plan net.onnx --batch 8 --precision fp16 -o x.json
says "--precision bf16 takes the same memory"
expect 2 plimsoll plan net.onnx --batch 8 --keep-fp32 '*' -o x.json
says "requires --precision bf16 or fp16"
expect 2 fp32/train --data npy:x.npy,y.npy --init-scale 2
says "does not scale its loss"
expect 2 fp16/train --data npy:x.npy,y.npy --init-scale 0
says "a number above 0"

# --- attention on tensor cores, embeddings and layer normalization
/usr/bin/env python3 -c 'import array, random
random.seed(1); array.array("H", [random.randrange(64) for _ in range(2000)]).tofile(open("data.bin", "wb"))'
plimsoll model gpt:layers=1,heads=2,width=16,context=64,vocab=64 -o gpt.onnx -q
for precision in fp32 fp16; do
  emulated gpt-$precision gpt.onnx --batch 1 --precision $precision --attention fused
  gpt-$precision/train --data tokens:data.bin --no-shuffle --quiet --steps 2 --metrics gpt-$precision.jsonl
done
$python - <<'PY'
import json
plan = json.load(open("gpt-fp16/plan.json"))
assert sum(s.get("algorithm") == "f16_tiles" for s in plan["steps"]) >= 2, "attention is not multiplied in f16"
losses = [[json.loads(line)["loss"] for line in open(f"gpt-{name}.jsonl")] for name in ("fp32", "fp16")]
print("losses", *losses, sep="\n")
assert all(0 < abs(a - b) <= 2e-3 * a for a, b in zip(*losses)), losses
PY

# --- a convolutional network, in both layouts
random_data 8 3 8 10
plimsoll model resnet18:input=8,stem=cifar,width=8,classes=10 -o conv.onnx -q
emulated conv-fp32 conv.onnx --batch 8 --precision fp32
run conv-fp32 conv-fp32.onnx --steps 1 --metrics conv-fp32.jsonl
for layout in nchw nhwc; do
  emulated conv-$layout conv.onnx --batch 8 --precision fp16 --layout $layout
  run conv-$layout conv-$layout.onnx --steps 1 --metrics conv-$layout.jsonl
done
$python - <<'PY'
import json
single, *halves = [json.loads(open(f"conv-{name}.jsonl").readline())["loss"] for name in ("fp32", "nchw", "nhwc")]
print("first losses", single, halves)
assert all(0 < abs(half - single) < 2e-3 * single for half in halves), (single, halves)
PY
