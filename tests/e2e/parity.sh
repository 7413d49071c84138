# Gradients and weights compared with PyTorch's, on networks as torch exports them. Other optimizers than momentum:
# optimizers.sh.
. "$PLIMSOLL_E2E/trainer.bash"
has $python torch torchvision onnx || { echo "skipped: no torch, torchvision and onnx for $python"; exit 77; }
# PyTorch's threads spin briefly, as a trainer's do (runtime/host/waiting.h), because other tests run at the same time.
export GOMP_SPINCOUNT=1000
$python "$PLIMSOLL_SOURCE/tools/bench/parity.py" --plimsoll "$(command -v plimsoll)" \
  --runtime "$PLIMSOLL_BUILD" "${with_runtime[@]/#/--cmake-option=}" \
  --models googlenet,resnet18,mobilenet_v2,gpt,vit,encoder,assorted,shared,frozen_norm,gru,tagger --work work
