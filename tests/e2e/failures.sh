# What goes wrong while training: a sentence, an exit code, and nothing half-done. Paths may have spaces.
. "$PLIMSOLL_E2E/trainer.bash"
plimsoll model lenet -o "my net.onnx" 2>/dev/null
random_data 32 1 32 10
build_trainer "my trainer" "my net.onnx" --batch 8
train() { "my trainer/build/train" --data npy:x.npy,y.npy --quiet "$@"; }

expect 4 train --steps 4 --lr 1e30 --save broken.onnx;   says "--lr"
[[ ! -e broken.onnx ]] || fail "weights of a training that diverged were saved"
expect 0 train --steps 4 --lr 1e30 --on-nan ignore
expect 2 train --on-nan perhaps
expect 0 train --steps 1 --save "my weights.onnx"
expect 0 train --steps 1 --model "my weights.onnx" --save again.onnx
expect 7 train --steps 1 --save no/such/place.onnx
head -c 1000 "my weights.onnx" > short.onnx
expect 4 train --steps 1 --model short.onnx
expect 3 train --steps 1 --model missing.onnx;           says "missing.onnx"
$python -c 'import numpy; numpy.save("y.npy", numpy.full(32, 10, numpy.int32))'
expect 4 train --steps 1;                                says "classes 0 to 9"
