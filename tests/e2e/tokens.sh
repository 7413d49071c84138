# A small language model learns real text, byte by byte: the pages of this repository. Its loss on unseen pages falls
# well below the entropy of the bytes. It has the same bits under every budget, and when resumed.
. "$PLIMSOLL_E2E/trainer.bash"
/usr/bin/env python3 "$PLIMSOLL_SOURCE/tools/text_to_tokens.py" -o train.bin --held-out eval.bin \
  "$PLIMSOLL_SOURCE"/docs/ARCHITECTURE.md "$PLIMSOLL_SOURCE"/docs/decisions/*.md "$PLIMSOLL_SOURCE"/docs/training.md
plimsoll model gpt:layers=2,heads=2,width=48,context=48,vocab=256 -o gpt.onnx
options=(--batch 16 --sub-batch 8 --optimizer adamw --weight-decay 0.01)
build_trainer full gpt.onnx "${options[@]}"
gpt() { # DIR OUT.onnx options…
  local directory=$1 out=$2
  shift 2
  "$directory/build/train" --data tokens:train.bin --lr 0.003 --warmup 10 --quiet --save "$out" "$@"
}
gpt full full.onnx --steps 500 --eval-data tokens:eval.bin --eval-every 250 --metrics m.jsonl
/usr/bin/env python3 - <<'PY'
import array, collections, json, math
tokens = array.array("H", open("eval.bin", "rb").read()[1024:])
counts = collections.Counter(tokens).values()
entropy = -sum(c / len(tokens) * math.log(c / len(tokens)) for c in counts)
lines = [json.loads(line) for line in open("m.jsonl")]
first, evaluated = lines[0]["loss"], [line for line in lines if line.get("eval_loss")][-1]
print(f"loss {first:.3f} at first, {evaluated['eval_loss']:.3f} on unseen text, entropy of its bytes {entropy:.3f}, "
      f"accuracy {evaluated['eval_accuracy']:.3f}")
assert abs(first - math.log(256)) < 0.1, "the first loss is that of a guess"
assert evaluated["eval_loss"] < entropy - 0.25
assert 0.2 < evaluated["eval_accuracy"] < 1
PY

# The same bits with less memory, and when the run is stopped and resumed.
least=$($python -c 'import json; print(json.load(open("full/plan.json"))["summary"]["minimum_bytes"])')
build_trainer tight gpt.onnx "${options[@]}" --policy auto --budget "$((least + least / 50))"
gpt full few.onnx --steps 6
gpt tight tight.onnx --steps 6
$python "$PLIMSOLL_E2E/weights.py" few.onnx tight.onnx 0
gpt tight half.onnx --steps 4 --checkpoint ck --lr-schedule constant
gpt tight resumed.onnx --steps 6 --checkpoint ck --resume
$python "$PLIMSOLL_E2E/weights.py" few.onnx resumed.onnx 0

# An id that the model does not know, and a file that is not a token file.
/usr/bin/env python3 -c 'import array; array.array("H", [1] * 500 + [256] + [1] * 500).tofile(open("bad.bin", "wb"))'
expect 4 full/build/train --data tokens:bad.bin
says "token 500 of 'bad.bin' is 256, but the model has tokens 0 to 255"
# Such an id is refused in prediction, too. A label that the loss ignores is permitted; any other number that is not a
# class is refused.
$python -c 'import numpy as np
ids = np.arange(16 * 48).reshape(16, 48) % 256
np.save("ids.npy", ids); np.save("labels.npy", np.where(ids % 5, ids, -100)); np.save("odd.npy", ids - 7)
np.save("bad.npy", ids + 1)'
expect 4 full/build/train --predict bad.npy --out scores.npy;  says "the index 256, but the model has rows 0 to 255"
[[ ! -e scores.npy ]] || fail "a prediction that was refused is there"
expect 0 full/build/train --data npy:ids.npy,labels.npy --steps 1
# A prediction has the scores of every token of every sample: those of the loss.
expect 0 full/build/train --data npy:ids.npy,labels.npy --no-shuffle --steps 1 --lr 0 --metrics one.jsonl
expect 0 full/build/train --predict ids.npy --out scores.npy;  says "f32[48,256] of 16 samples: scores.npy"
$python - <<'PY'
import json
import numpy as np
scores, labels = np.load("scores.npy").astype(np.float64), np.load("labels.npy")
assert scores.shape == (16, 48, 256), scores.shape
logs = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
loss = -np.take_along_axis(logs, np.maximum(labels, 0)[..., None], -1)[..., 0][labels >= 0].mean()
trained = json.loads(open("one.jsonl").readline())["loss"]
assert abs(loss - trained) < 1e-5 * trained, (loss, trained)
PY
expect 4 full/build/train --data npy:ids.npy,odd.npy --steps 1
says "label -7, but the model has classes 0 to 255, and ignores -100"
