# Two ranks whose weights and optimizer state reside in the host pool, with clipped gradients and a frozen weight. The
# bits are those of two ranks with weights in the arena, and the weights are those of one process. Each rank's host pool
# holds the same.
. "$PLIMSOLL_E2E/ranks.bash"
. "$PLIMSOLL_E2E/homes.bash"
plimsoll model vgg11:input=32,width=16,hidden=64,classes=10 -o net.onnx 2>/dev/null
random_data 32 3 32 10
options="--batch 8 --sub-batch 4 --clip-norm 1 --freeze features.3.weight --threads 1"
pair two net.onnx $options --ranks 2
(( states >= 2 )) || fail "$states of the optimizer's states live on the host"
build_trainer one net.onnx $options
run="--data npy:x.npy,y.npy --no-shuffle --quiet --steps 4"
mpirun -np 2 two-device/build/train $run --save device.onnx
mpirun -np 2 two-home/build/train $run --save home.onnx
one/build/train $run --save one.onnx
same device.onnx home.onnx
$python "$PLIMSOLL_E2E/weights.py" one.onnx home.onnx 1e-6 || fail "two ranks are not one"

# Resumed from each other's checkpoints.
for order in "device home" "home device"; do
  set -- $order
  mpirun -np 2 two-$1/build/train $run --steps 2 --checkpoint $1-$2
  mpirun -np 2 two-$2/build/train $run --checkpoint $1-$2 --resume --save resumed.onnx
  same device.onnx resumed.onnx
done
