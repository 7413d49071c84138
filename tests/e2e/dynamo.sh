# Files of PyTorch 2's default exporter train as PyTorch does. The compiler reports layers that the exporter folded
# away, with the option that keeps them.
. "$PLIMSOLL_E2E/trainer.bash"
newer=$(python_with torch torchvision onnx onnxscript)
if [[ -z $newer ]]; then
  echo "skipped: no Python here has torch 2 with onnxscript (tools/setup.sh python, or set PLIMSOLL_PYTHON)"
  exit 77
fi
"$newer" "$PLIMSOLL_SOURCE/tools/bench/parity.py" --plimsoll "$(command -v plimsoll)" --runtime "$PLIMSOLL_BUILD" \
  --models resnet18,lstm_states,llama,shared,buffers,frozen_norm --exporter dynamo --work work
"$newer" - 2>log <<'PY' || { cat log; fail "the exporter"; }
import torch, torchvision
model = torchvision.models.mobilenet_v2()
torch.onnx.export(model.train(), (torch.randn(2, 3, 64, 64),), "folded.onnx", dynamo=True, verbose=False)
PY
expect 0 plimsoll plan folded.onnx --batch 8 --policy liveness -o plan.json
says "folded 52 batch normalizations"; says "dynamo=True, optimize=False"
expect 4 plimsoll plan folded.onnx --batch 8 --policy liveness --require-bn -o none.json
says "error: the exporter folded 52 batch normalizations"
# Splits into sequences, masks of stochastic depth and of dropout drawn in several steps, resized images.
"$newer" "$PLIMSOLL_SOURCE/tools/bench/torchvision_models.py" --plimsoll "$(command -v plimsoll)" --exporter dynamo \
  --work exported \
  --models shufflenet_v2_x0_5,mobilenet_v3_small,lraspp_mobilenet_v3_large >out 2>log ||
  { cat log; fail "the exporter"; }
[[ $(grep -c planned out) -eq 3 ]] || { cat out; fail "not all are planned"; }
