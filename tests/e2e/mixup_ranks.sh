# --mixup and --cutmix with --mixed-labels give two ranks the weights of one process, in rounds: what is drawn and what
# divides the loss is a function of the whole batch, with class weights and ignored labels, too.
. "$PLIMSOLL_E2E/ranks.bash"
same() { $python "$PLIMSOLL_E2E/weights.py" "$1" "$2" "$3" || fail "other weights: $1 $2"; }

plimsoll model lenet -o net.onnx 2>/dev/null
random_data 52 1 32 10
options="--batch 16 --sub-batch 8 --threads 1 --mixed-labels --ignore-index 3 --label-smoothing 0.1"
weights=1,2,0.5,1,3,1,1,0.25,1,2
build_trainer one net.onnx $options --class-weights $weights
build_trainer two net.onnx $options --class-weights $weights --ranks 2
run="--data npy:x.npy,y.npy --lr 0.02 --last keep --steps 8 --mixup 0.4 --cutmix 1"
expect 0 one/build/train $run --save one.onnx;              says "training samples are mixed: mixup 0.4, cutmix 1"
sed -n 's/  [0-9.]* s, .*//; /^epoch/p' out >one.epochs
expect 0 mpirun -np 2 two/build/train $run --save two.onnx; says "batch 16 on 2 ranks in 2 rounds of 8, 1 thread each"
sed -n 's/  [0-9.]* s, .*//; /^epoch/p' out >two.epochs
same one.onnx two.onnx 1e-6
$python - <<'PY'
import re
numbers = lambda name: [float(x) for x in re.findall(r"\d+\.\d+", open(name).read())]
one, two = numbers("one.epochs"), numbers("two.epochs")
assert len(one) == 4 and len(two) == 4, (one, two)
assert all(abs(a - b) <= 1e-4 * abs(a) for a, b in zip(one, two)), (one, two)
PY
# Another seed draws other samples, so the comparison is of what was mixed.
expect 0 one/build/train $run --seed 5 --no-shuffle --save other.onnx
expect 0 one/build/train $run --seed 6 --no-shuffle --save another.onnx
cmp -s other.onnx another.onnx && fail "nothing was mixed"
true
