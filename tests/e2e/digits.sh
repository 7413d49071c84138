# A residual network learns real handwritten digits with a quarter of the memory, in one round: at least 97 % accuracy
# on unseen digits.
. "$PLIMSOLL_E2E/trainer.bash"
has $python sklearn || { echo "skipped: no scikit-learn for $python"; exit 77; }
$python "$PLIMSOLL_SOURCE/tools/data/digits.py" digits
plimsoll model resnet18:input=32,stem=cifar,width=16,channels=1,classes=10 -o net.onnx
build_trainer trainer net.onnx --batch 64 --budget 25% --policy auto
trainer/build/train --data npy:digits/train_x.npy,digits/train_y.npy --test npy:digits/test_x.npy,digits/test_y.npy \
  --epochs 6 --lr 0.05 --save trained.onnx --metrics metrics.jsonl >out 2>&1 || { cat out; fail "training"; }
cat out
[[ -s trained.onnx ]] || fail "no trained weights"
$python - <<'PY'
import re
text = open("out").read()
shares = [float(x) for x in re.findall(r"test accuracy\s+([0-9.]+)\s*%", text)]
assert shares and max(shares[-2:]) >= 97, f"test accuracy {shares}"
PY

# The model's predictions match the accuracy that the evaluation reported.
trainer/build/train --predict digits/test_x.npy --out scores.npy --model trained.onnx >predicted
grep -q " of 360 samples: scores.npy" predicted || { cat predicted; fail "it does not say what it wrote"; }
$python - <<'PY'
import re
import numpy as np
scores, labels = np.load("scores.npy"), np.load("digits/test_y.npy")
assert scores.shape == (360, 10) and scores.dtype == np.float32
told = re.findall(r"test accuracy\s+([0-9.]+)\s*%", open("out").read())[-1]
assert f"{100 * np.mean(scores.argmax(1) == labels):.2f}" == told, told
PY
