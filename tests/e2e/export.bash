# Sourced by the tests of plimsoll.export: trainer.bash, and in addition
#   exporters              the exporters that a Python here has: torchscript, or torchscript dynamo
#   with_exporter NAME     makes with_torch a Python with this exporter; at first, with TorchScript's
#   losses_are_zero DIR TARGETS
#                          builds a trainer of net.onnx in DIR. Whether its squared errors are 0: in training on x.npy
#                          and zeros.npy, 64 samples, and in evaluation on x.npy and TARGETS
. "$PLIMSOLL_E2E/trainer.bash"
export PYTHONPATH=$PLIMSOLL_SOURCE/python PYTHONDONTWRITEBYTECODE=1

[[ -n $(python_with torch onnx numpy) ]] || { echo "skipped: no Python here has torch and onnx"; exit 77; }
exporters=torchscript
[[ -z $(python_with torch onnx numpy onnxscript) ]] || exporters+=" dynamo"

with_exporter() {
  local needed=(torch onnx numpy)
  [[ $1 == torchscript ]] || needed+=(onnxscript)
  with_torch=$(python_with "${needed[@]}")
  preload with_torch torch onnx onnxscript
}
with_exporter torchscript

losses_are_zero() {
  build_trainer "$1" net.onnx --batch 8 --loss mse --optimizer sgd
  expect 0 "$1/build/train" --data npy:x.npy,zeros.npy --eval-data "npy:x.npy,$2" --epochs 1 --lr 0 \
    --metrics metrics.jsonl
  "$with_torch" - <<'PY' || { cat metrics.jsonl; return 1; }
import json
records = [json.loads(line) for line in open("metrics.jsonl")]
losses = [each["loss"] for each in records if "loss" in each]
(evaluated,) = [each["eval_loss"] for each in records if "eval_loss" in each]
assert len(losses) == 8 and max(losses) < 1e-9 and evaluated < 1e-9, (losses, evaluated)
PY
}
