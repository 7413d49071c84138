# Two rounds are equivalent to one: without batch normalization, gradients summed over sub-batches give the same weights
# within 1e-6, also when the last round is smaller.
. "$PLIMSOLL_E2E/trainer.bash"
plimsoll model lenet -o net.onnx 2>/dev/null
random_data 64 1 32 10
for sub in 16 8 6; do build_trainer sub$sub net.onnx --batch 16 --sub-batch $sub; done
for sub in 16 8 6; do trained sub$sub $sub.onnx --steps 3 --lr 0.05; done
$python "$PLIMSOLL_E2E/weights.py" 16.onnx 8.onnx 1e-6
$python "$PLIMSOLL_E2E/weights.py" 16.onnx 6.onnx 1e-6
