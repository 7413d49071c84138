# --precision bf16: a convolutional network and a language model learn as in fp32, in less memory; every budget gives
# the same bits; weights are saved in f32; bad requests are refused.
. "$PLIMSOLL_E2E/trainer.bash"

# --- as in fp32
random_data 32 3 16 10
/usr/bin/env python3 -c 'import array, random
random.seed(1); array.array("H", [random.randrange(64) for _ in range(4000)]).tofile(open("data.bin", "wb"))'
plimsoll model resnet18:input=16,stem=cifar,width=16,classes=10 -o conv.onnx -q
plimsoll model gpt:layers=2,heads=2,width=32,context=64,vocab=64 -o gpt.onnx -q
for precision in fp32 bf16; do
  build_trainer conv-$precision conv.onnx --batch 16 --optimizer sgd --policy network-wide --precision $precision
  conv-$precision/build/train --data npy:x.npy,y.npy --no-shuffle --lr 0.003 --epochs 3 \
    --quiet --save conv-$precision.onnx \
    --metrics conv-$precision.jsonl
  build_trainer gpt-$precision gpt.onnx --batch 4 --optimizer sgd --policy network-wide --precision $precision
  gpt-$precision/build/train --data tokens:data.bin --no-shuffle --lr 0.1 --steps 6 --quiet --save gpt-$precision.onnx \
    --metrics gpt-$precision.jsonl
done
$python - <<'PY'
import json
for name in "conv", "gpt":
    losses = [[json.loads(line)["loss"] for line in open(f"{name}-{p}.jsonl")] for p in ("fp32", "bf16")]
    print(name, *losses, sep="\n")
    assert len(losses[0]) == len(losses[1]) == 6, "six iterations each"
    assert losses[0] != losses[1], "bf16 rounds"
    for single, half in zip(*losses):
        assert abs(single - half) <= 1e-2 * single, (single, half)
    plans = [json.load(open(f"{name}-{p}/plan.json")) for p in ("fp32", "bf16")]
    kept = [sum(t["bytes"] for t in plan["tensors"] if t["kind"] == "activation" and not t["name"].endswith(".bf16"))
            for plan in plans]  # without cast weights
    print("activations", *kept, "arena", *(plan["summary"]["arena_bytes"] for plan in plans))
    assert kept[1] < 0.6 * kept[0], kept
    assert plans[1]["target"]["precision"] == "bf16" and "precision" not in plans[0]["target"]
    kinds = {t["kind"] for t in plans[1]["tensors"] if t.get("type") == "bf16"}
    assert kinds == {"activation", "activation_gradient", "weight", "weight_gradient"}, kinds
    # Weights that products read are in two halves, and no task casts them.
    halves = {t["name"]: t["bytes"] for t in plans[1]["tensors"] if t["kind"] == "weight" and t.get("type") == "bf16"}
    lows = {t["name"]: t["bytes"] for t in plans[1]["tensors"] if t["name"].endswith(".low")}
    assert halves and lows == {name + ".low": size for name, size in halves.items()}, (halves, lows)
    assert not any(t["name"] == name + ".bf16" for t in plans[1]["tensors"] for name in halves)
    assert not any("type" in t for t in plans[0]["tensors"])
PY
# Not the convolutional network's: its gradients on random data are noise, also in PyTorch's autocast
# (docs/precision.md).
$python "$PLIMSOLL_E2E/weights.py" gpt-fp32.onnx gpt-bf16.onnx 5e-2

# Gradients that are added up, over rounds or ranks, are in f32.
for sum in "--sub-batch 8" "--ranks 2"; do
  plimsoll plan conv.onnx --batch 16 $sum --policy network-wide --precision bf16 --costs modelled -q -o sum.json
  $python - <<'PY'
import json
gradients = [t for t in json.load(open("sum.json"))["tensors"] if t["kind"] == "weight_gradient"]
assert gradients and not any("type" in t for t in gradients)
PY
done

# --- the same bits under every budget. How far the least memory is below the unlimited one depends on the processor:
# without products in bf16, convolutions need workspaces for f32 copies.
plimsoll plan conv.onnx --batch 16 --optimizer sgd --precision bf16 --algorithms-of conv-bf16 --costs modelled -q \
  -o free.json
read -r least half < <($python -c 'import json
of = json.load(open("free.json"))["summary"]
print(of["minimum_bytes"], (of["minimum_bytes"] + of["unconstrained_bytes"]) // 2)')
for budget in "$half" "$least"; do
  build_trainer "at$budget" conv.onnx --batch 16 --optimizer sgd --precision bf16 --budget "$budget" \
    --algorithms-of conv-bf16
  "at$budget/build/train" --data npy:x.npy,y.npy --no-shuffle --lr 0.003 --epochs 3 --quiet --save tight.onnx --spill .
  cmp tight.onnx conv-bf16.onnx || fail "a budget of $budget gives other bits"
done
$python - "at$least" <<'PY'
import json, sys
plan = json.load(open(sys.argv[1] + "/plan.json"))
of = {t["id"]: t for t in plan["tensors"]}
moved = [of[s["tensor"]] for s in plan["steps"] if s["kind"] == "offload"]
assert any(t.get("type") == "bf16" for t in moved), "nothing in bf16 is offloaded"
PY

# --- kept in fp32, continued from dumps
expect 0 plimsoll plan conv.onnx --batch 16 --precision bf16 --keep-fp32 'layer4.*' --costs modelled -o kept.json \
  --dump dumps
grep -q in_bf16 dumps/*.assign_precision.network || fail "the dump does not say what is in bf16"
expect 0 plimsoll plan --from dumps/03.assign_precision.network --batch 16 --precision bf16 --keep-fp32 'layer4.*' \
  --costs modelled -o again.json
expect 0 plimsoll plan --from dumps/05.build_task_graph.tasks --costs modelled -o unsaid.json
$python - <<'PY'
import json
kept, again = (json.load(open(name)) for name in ("kept.json", "again.json"))
assert kept["tensors"] == again["tensors"]
assert json.load(open("unsaid.json"))["target"]["precision"] == "bf16", "a dump in bf16 is planned as such"
of_layer4 = [t for t in kept["tensors"] if t["kind"] == "activation" and "layer4" in t["name"]]
assert of_layer4 and not any("type" in t for t in of_layer4), of_layer4
PY

# --- refused
expect 2 plimsoll plan conv.onnx --batch 16 --precision fp64 -o x.json
says "fp32, tf32, bf16 or fp16"
expect 2 plimsoll plan conv.onnx --batch 16 --precision fp16 -o x.json
says "--precision bf16 takes the same memory"
expect 2 plimsoll plan conv.onnx --batch 16 --keep-fp32 '*' -o x.json
says "requires --precision bf16"
expect 2 plimsoll plan conv.onnx --batch 16 --precision bf16 --keep-fp32 decoder -o x.json;      says "matches no node"
expect 2 conv-bf16/build/train --data npy:x.npy,y.npy --precision fp32
says "decided when the model is compiled"
