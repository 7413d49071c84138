# A saved model knows how its images were prepared, what its classes are called and how good it was; --predict uses
# that, and names files and classes.
. "$PLIMSOLL_E2E/trainer.bash"
has $python PIL || { echo "skipped: no PIL to write images with"; exit 77; }
$python - <<'PY'
import os
import numpy as np
from PIL import Image
r = np.random.RandomState(0)
for i in range(32):
    name = ["blue bird", "red,fox"][i % 2]
    os.makedirs(f"photos/{name}", exist_ok=True)
    pixels = r.randint(0, 128, (40, 48, 3), np.uint8)
    pixels[..., 2 if i % 2 == 0 else 0] += 127
    Image.fromarray(pixels).save(f"photos/{name}/{i:02}.png")
os.mkdir("new")
for name in ("b.png", "a.png"): Image.fromarray(pixels).save("new/" + name)
PY
plimsoll model vgg11:input=32,width=4,hidden=16,classes=2 -o net.onnx -q 2>/dev/null
build_trainer net net.onnx --batch 8
as=(--resize 36 --mean 0.4,0.5,0.6 --std 0.2,0.25,0.3)
expect 0 net/build/train --data images:photos --eval-data images:photos "${as[@]}" --epochs 2 --lr 0.01 \
  --save trained.onnx
$python - <<'PY'
import onnx
model = onnx.load("trained.onnx")
onnx.checker.check_model(model)
notes = {p.key: p.value for p in model.metadata_props}
get = lambda key: notes["plimsoll.trained." + key]
assert get("classes").split("\n") == ["blue bird", "red,fox"], notes
assert (get("source"), get("resize"), get("crop")) == ("images", "36", "32x32"), notes
assert [float(x) for x in get("mean").split(",")
       ] == [float(f"{x:.9g}") for x in map(__import__("numpy").float32, (0.4, 0.5, 0.6))], notes
assert get("iterations") == "8" and get("eval_samples") == "32" and float(
    get("eval_loss")) > 0 and 0 <= float(get("eval_accuracy")) <= 1
PY

# The scores are those of the same preparation, given by hand; what is given replaces what the model says.
expect 0 net/build/train --predict images:photos --out by_hand.npy --model trained.onnx "${as[@]}"
expect 0 net/build/train --predict images:photos --out by_notes.npy --model trained.onnx
says "images as in the model's training: shorter side 36"
cmp by_hand.npy by_notes.npy || fail "the preparation that the model says differs"
expect 0 net/build/train --predict images:photos --out other.npy --model trained.onnx --mean 0 --std 1
! cmp -s by_hand.npy other.npy || fail "--mean does not replace what the model says"

expect 0 net/build/train --predict images:photos --out p.csv --model trained.onnx
$python - <<'PY'
import csv
import numpy as np
scores = np.load("by_notes.npy").astype(np.float64)
probabilities = np.exp(scores - scores.max(1, keepdims=True)); probabilities /= probabilities.sum(1, keepdims=True)
rows = list(csv.reader(open("p.csv")))
assert rows[0] == ["file", "class", "probability", "blue bird", "red,fox"], rows[0]
for row, p in zip(rows[1:], probabilities, strict=True):
    assert row[0].startswith("photos/") and row[1] == rows[0][3 + p.argmax()], row
    assert np.allclose([float(x) for x in row[2:]], [p.max(), *p], rtol=1e-4, atol=1e-12), (row, p)
PY
# Images in no folder of a class.
expect 0 net/build/train --predict images:new --out - --model trained.onnx --quiet
[[ $(wc -l <out) -eq 2 && $(head -1 out) == "new/a.png: "*" %, "*" %" ]] || { cat out; fail "text of a prediction"; }
expect 3 net/build/train --data images:new --epochs 1; says "in a folder of a class"
expect 3 net/build/train --predict images:none --out -; says "none"

# Compiled again, the model still has its notes; trained again, it has those of the new training, once.
build_trainer again trained.onnx --batch 8
expect 0 again/build/train --predict images:photos --out again.npy
cmp again.npy by_notes.npy || fail "a model that is compiled again lost its notes"
expect 0 again/build/train --data images:photos --epochs 1 --lr 0.001 --save twice.onnx
expect 0 net/build/train --data images:photos --epochs 1 --lr 0.001 --model trained.onnx --save thrice.onnx
for model in twice thrice; do
  $python -c "
import onnx
model = onnx.load('$model.onnx'); onnx.checker.check_model(model)
notes = {p.key: p.value for p in model.metadata_props}
assert notes['plimsoll.trained.mean'] == '0' and 'plimsoll.trained.eval_loss' not in notes, notes"
done
expect 0 plimsoll export twice.onnx --inference -o inference.onnx
$python -c "import onnx
assert any(p.key == 'plimsoll.trained.classes' for p in onnx.load('inference.onnx').metadata_props)"

# Weights in a file of their own.
build_trainer apart trained.onnx --batch 8 --external-data
expect 0 apart/build/train --data images:photos --epochs 1 --lr 0.001 "${as[@]}" --save out.onnx
expect 0 apart/build/train --data images:photos --epochs 1 --lr 0.001 "${as[@]}" --model out.onnx --save out.onnx
expect 0 apart/build/train --predict images:photos --out - --model out.onnx; says "blue bird"
[[ $(find . -maxdepth 1 -name '*.weights' | wc -l) -eq 1 ]] || fail "saving twice leaves two files of weights"
printf x >>out.onnx
expect 4 apart/build/train --predict images:photos --out - --model out.onnx; says "bytes"
