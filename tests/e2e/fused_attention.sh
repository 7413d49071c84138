# A language model gives the same losses with --attention fused as with the attention that it spells out, and needs less
# memory. So it does in the form that the planner chooses, which the trainer's plan states.
. "$PLIMSOLL_E2E/trainer.bash"
/usr/bin/env python3 -c 'import array, random
random.seed(1); array.array("H", [random.randrange(64) for _ in range(4000)]).tofile(open("data.bin", "wb"))'
plimsoll model gpt:layers=2,heads=2,width=32,context=136,vocab=64 -o gpt.onnx
for attention in spelled fused auto; do
  policy=network-wide
  [[ $attention == auto ]] && policy=auto
  build_trainer $attention gpt.onnx --batch 4 --optimizer sgd --policy $policy --attention $attention
  $attention/build/train --data tokens:data.bin --no-shuffle --lr 0.1 --steps 4 --quiet --save $attention.onnx \
    --metrics $attention.jsonl
done
$python - <<'PY'
import json
losses = [[json.loads(line)["loss"] for line in open(name + ".jsonl")] for name in ("spelled", "fused", "auto")]
print(*losses, sep="\n")
assert [len(each) for each in losses] == [4, 4, 4]
for spelled, *others in zip(*losses):
    assert all(abs(spelled - other) <= 1e-5 * spelled for other in others), (spelled, others)
arenas = [json.load(open(name + "/plan.json"))["summary"]["arena_bytes"] for name in ("spelled", "fused")]
print("arena", *arenas)
assert arenas[1] < 0.8 * arenas[0], arenas
chosen = json.load(open("auto/plan.json"))["target"]["attention"]
assert chosen.split(":")[0] in ("spelled", "fused") and "faster" in chosen, chosen
PY
for form in fused auto; do $python "$PLIMSOLL_E2E/weights.py" spelled.onnx $form.onnx 1e-5; done
