# --optimizer-state bf16 with two ranks. They add up gradients in another order than one process, so other bits are
# rounded: their weights are as far from those of one process as these are from fp32 (sqrt(2) times, if both roundings
# are independent).
. "$PLIMSOLL_E2E/ranks.bash"
plimsoll model vgg11:input=32,width=8,hidden=128,classes=10 -o vgg.onnx -q
random_data 32 3 32 10
options="--batch 4 --sub-batch 2 --threads 1 --optimizer adam --clip-norm 1"
run="--data npy:x.npy,y.npy --no-shuffle --steps 16 --lr 0.001"
build_trainer fp32 vgg.onnx $options
build_trainer one vgg.onnx $options --optimizer-state bf16
build_trainer two vgg.onnx $options --optimizer-state bf16 --ranks 2
expect 0 fp32/build/train $run --save fp32.onnx
expect 0 one/build/train $run --save one.onnx
expect 0 mpirun -np 2 two/build/train $run --save two.onnx
$python - <<'PY'
import numpy as np
import onnx
from onnx import numpy_helper


def weights(path):
    tensors = onnx.load(path).graph.initializer
    return np.concatenate([numpy_helper.to_array(tensor).ravel().astype(np.float64) for tensor in tensors])


fp32, one, two = weights("fp32.onnx"), weights("one.onnx"), weights("two.onnx")
rounded, apart = np.linalg.norm(one - fp32), np.linalg.norm(two - one)
print(f"one process from fp32 {rounded:.3e}, two ranks from one process {apart:.3e}")
assert 0 < apart < 2 * rounded, (apart, rounded)
PY
