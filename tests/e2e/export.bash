# Sourced by the tests of plimsoll.export: trainer.bash, and in addition
#   exporters              the exporters that a Python here has: torchscript, or torchscript dynamo
#   with_exporter NAME     makes with_torch a Python with this exporter; at first, with TorchScript's
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
