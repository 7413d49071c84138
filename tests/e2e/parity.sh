# Gradients and weights compared with PyTorch's, on networks as torch exports them. Other optimizers than momentum:
# optimizers.sh.
. "$PLIMSOLL_E2E/trainer.bash"
has $python torch torchvision onnx || { echo "skipped: no torch, torchvision and onnx for $python"; exit 77; }
# PyTorch has one thread: Debian's BLAS has no more, and the others of PyTorch would spin while it multiplies.
$python "$PLIMSOLL_SOURCE/tools/bench/parity.py" --plimsoll "$(command -v plimsoll)" \
  --runtime "$PLIMSOLL_BUILD" "${with_runtime[@]/#/--cmake-option=}" \
  --models \
  googlenet,resnet18,mobilenet_v2,gpt,vit,encoder,assorted,smooth_activations,shared,frozen_norm,gru,tagger,packed \
  --threads 1 --work work
