# A language model gives the same losses, hits and weights with --loss-form fused as with its logits in a tensor, in one
# round and in several, in fp32 and in bf16, and needs less memory in fp32. It has the same bits under another budget.
. "$PLIMSOLL_E2E/trainer.bash"
/usr/bin/env python3 -c 'import array, random
random.seed(1); array.array("H", [random.randrange(1100) for _ in range(4000)]).tofile(open("data.bin", "wb"))'
for kind in 0.4 1.2; do
  tied=${kind%.*} sub_batch=${kind#*.}
  plimsoll model gpt:layers=1,heads=2,width=32,context=64,vocab=1100,tied=$tied -o gpt$tied.onnx
  for form in plain fused; do
    build_trainer $form.$kind gpt$tied.onnx --batch 4 --sub-batch $sub_batch --optimizer sgd --budget 100% \
      --loss-form $form
    $form.$kind/build/train --data tokens:data.bin --eval-data tokens:data.bin --eval-every 4 --no-shuffle --lr 0.1 \
      --steps 4 --quiet --save $form.$kind.onnx --metrics $form.$kind.jsonl
  done
  $python "$PLIMSOLL_E2E/weights.py" plain.$kind.onnx fused.$kind.onnx 1e-4
done
for form in plain fused; do
  build_trainer $form.bf16 gpt1.onnx --batch 4 --optimizer sgd --budget 100% --precision bf16 --loss-form $form
  $form.bf16/build/train --data tokens:data.bin --no-shuffle --lr 0.1 --steps 4 --quiet --save $form.bf16.onnx \
    --metrics $form.bf16.jsonl
done
$python - <<'PY'
import json

def lines(name):
    return [json.loads(line) for line in open(name + ".jsonl")]

def minimum(name):
    return json.load(open(name + "/plan.json"))["summary"]["minimum_bytes"]

for kind, within in (("0.4", 1e-5), ("1.2", 1e-5), ("bf16", 2e-3)):
    plain, fused = lines("plain." + kind), lines("fused." + kind)
    assert len(plain) == len(fused) >= 4
    for one, other in zip(plain, fused):
        for key in ("loss", "eval_loss"):
            if one.get(key) is not None:
                assert abs(one[key] - other[key]) <= within * one[key], (kind, key, one, other)
        if kind != "bf16" and one.get("eval_accuracy") is not None:
            assert one["eval_accuracy"] == other["eval_accuracy"], (kind, one, other)
    assert any(line.get("eval_loss") is not None for line in fused) or kind == "bf16"
    print(kind, "minimum", minimum("plain." + kind), minimum("fused." + kind))
    # In bf16, the step of the fused form reads the weight in bf16 as well, which a small model has no room for.
    assert kind == "bf16" or minimum("fused." + kind) < minimum("plain." + kind)
target = json.load(open("fused.0.4/plan.json"))["target"]
assert target["loss_form"] == "fused", target
PY

# The same bits with less memory, from the algorithms of the plan with more.
build_trainer tight gpt0.onnx --batch 4 --sub-batch 4 --optimizer sgd --budget 95% \
  --loss-form fused --algorithms-of fused.0.4/plan.json
tight/build/train --data tokens:data.bin --no-shuffle --lr 0.1 --steps 4 --quiet --save tight.onnx
$python "$PLIMSOLL_E2E/weights.py" fused.0.4.onnx tight.onnx 0

# There are no scores to predict with; a label that is no class is refused as before.
$python -c 'import numpy as np
ids = np.arange(4 * 64).reshape(4, 64) % 1100
np.save("ids.npy", ids); np.save("odd.npy", ids + 1000)'
expect 2 fused.0.4/build/train --predict ids.npy --out scores.npy; says "compile with --loss-form plain"
expect 4 fused.0.4/build/train --data npy:ids.npy,odd.npy --steps 1
says "label 1100, but the model has classes 0 to 1099, and ignores -100"
