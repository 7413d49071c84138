# Models trained here are used elsewhere: in onnxruntime the saved model has the accuracy that the trainer reported, and
# the scores of `train --predict`. The same is true of a checkpoint's model and of weights in a separate file.
. "$PLIMSOLL_E2E/trainer.bash"
newer=$(python_with onnxruntime numpy)
[[ -n $newer ]] ||
  { echo "skipped: no Python here has onnxruntime (tools/setup.sh python, or set PLIMSOLL_PYTHON)"; exit 77; }
has $python sklearn || { echo "skipped: no scikit-learn for $python"; exit 77; }
$python "$PLIMSOLL_SOURCE/tools/data/digits.py" digits
plimsoll model resnet18:input=32,stem=cifar,width=8,channels=1,classes=10 -o net.onnx 2>/dev/null
build_trainer trainer net.onnx --batch 64 --budget 60%
build_trainer apart net.onnx --batch 64 --budget 60% --external-data
train() {
  "$1/build/train" --data npy:digits/train_x.npy,digits/train_y.npy --test npy:digits/test_x.npy,digits/test_y.npy \
    --epochs 2 --lr 0.05 "${@:2}"
}
train trainer --save trained.onnx --checkpoint ck >out
said=$(sed -n 's/.*test accuracy \([0-9.]*\)%.*/\1/p' out | tail -n 1)
[[ -n $said ]] || { cat out; fail "no accuracy is told"; }
train apart --save apart.onnx --quiet
plimsoll export trained.onnx --inference -o one.onnx
plimsoll export trainer --checkpoint "$(ls -d ck/ckpt-* | tail -n 1)" --inference -o two.onnx
plimsoll export apart.onnx --inference -o three.onnx
trainer/build/train --predict digits/test_x.npy --out scores.npy --model trained.onnx --quiet
trainer/build/train --predict npy:digits/test_x.npy,digits/test_y.npy --out again.npy --checkpoint ck --resume --quiet
cmp scores.npy again.npy || fail "the checkpoint predicts otherwise than the model that was saved with it"
"$newer" - "$said" <<'PY'
import sys
import numpy as np, onnxruntime
x, y = np.load("digits/test_x.npy"), np.load("digits/test_y.npy")
ours = np.load("scores.npy")
assert ours.shape == (len(x), 10) and ours.dtype == np.float32
for name in ("one", "two", "three"):
    session = onnxruntime.InferenceSession(f"{name}.onnx", providers=["CPUExecutionProvider"])
    scores, = session.run([session.get_outputs()[0].name], {session.get_inputs()[0].name: x})
    accuracy = 100 * np.mean(scores.argmax(1) == y)
    apart = np.abs(scores - ours).max() / np.abs(scores).max()
    print(f"{name}: {accuracy:.2f} % right, scores {apart:.1e} apart")
    assert f"{accuracy:.2f}" == sys.argv[1], f"the trainer said {sys.argv[1]} %"
    assert apart < 1e-4
PY
