# Failures during training: each gives a sentence and an exit code, and leaves nothing half-done. Paths may have spaces.
. "$PLIMSOLL_E2E/trainer.bash"
plimsoll model lenet -o "my net.onnx" 2>/dev/null
random_data 32 1 32 10
build_trainer "my trainer" "my net.onnx" --batch 8
train() { "my trainer/build/train" --data npy:x.npy,y.npy --quiet "$@"; }

# The trainer was copied to a machine whose library needs more workspace than planned, or has only another algorithm. It
# uses what fits there and says so; if nothing fits, it does not start.
bring() {
  rm -rf brought && cp -r "my trainer" brought && rm -rf brought/build
  sed -i -E -z "$1" brought/kernels_0.cpp
  cmp -s brought/kernels_0.cpp "my trainer/kernels_0.cpp" && fail "nothing was changed: $1"
  cmake -S brought -B brought/build -G Ninja "${with_runtime[@]}" -DPLIMSOLL_WERROR=ON >log 2>&1 &&
    cmake --build brought/build >log 2>&1
}
bring 's/(k\.add<Conv[^;]*)"direct"/\1"of another machine"/g'
expect 0 brought/build/train --data npy:x.npy,y.npy --quiet --steps 1
says "kernels are not as planned"
says "of another machine -> "
expect 0 brought/build/train --predict x.npy --out p.npy --quiet;        says "kernels are not as planned"
rm p.npy
bring 's/(k\.add<Conv[^;]*"direct", )[0-9]+/\1-1/g'
expect 8 brought/build/train --data npy:x.npy,y.npy --quiet;             says "bytes of workspace"
says "compile the model on this machine"
# Of a number of samples that is not planned, it says what to do instead.
bring 's/(k\.add<Conv[^;]*"direct", )[0-9]+/\1(n == 3 ? -1 : 1 << 30)/g'
expect 0 brought/build/train --data npy:x.npy,y.npy --quiet --steps 1
expect 8 brought/build/train --data npy:x.npy,y.npy --quiet --batch 3
says "the workspace is planned for rounds of 8 samples, not of 3: another --batch or --sub-batch may fit"
$python -c 'import numpy; [numpy.save(f"{n}11.npy", numpy.load(f"{n}.npy")[:11]) for n in "xy"]'
expect 8 brought/build/train --data npy:x11.npy,y11.npy --quiet --last keep
says "the workspace is planned for rounds of 8 samples, not of 3: use --last pad or drop"
expect 0 brought/build/train --data npy:x11.npy,y11.npy --quiet --last pad
bring 's/(k\.add<Conv[^;]*"direct", )[0-9]+/\1-1/g'
# With --revalidate it uses no other algorithm: it counts matching ones and lists all differences at once.
expect 0 "my trainer/build/train" --data npy:x.npy,y.npy --steps 1 --revalidate
says "revalidated: "
says "kernels as planned "
expect 8 brought/build/train --data npy:x.npy,y.npy --quiet --revalidate
says "--revalidate: "
says "bytes of workspace on this machine, but -1 are planned"
bring 's/(k\.add<Conv[^;]*)"direct"/\1"of another machine"/g'
expect 8 brought/build/train --data npy:x.npy,y.npy --quiet --steps 1 --revalidate
says "no convolution algorithm 'of another machine'"
expect 8 brought/build/train --predict x.npy --out p.npy --quiet --revalidate;      says "--revalidate: "
[[ ! -e p.npy ]] || fail "a prediction was made by kernels that are not as planned"

# Missing memory is reported before any is taken.
c++ -std=c++20 -shared -fPIC -O1 "$PLIMSOLL_CLI/preload/machine.cpp" -o machine.so -ldl
mkdir -p machine/proc && echo "MemAvailable: 100 kB" > machine/proc/meminfo
expect 6 env MACHINE=machine LD_PRELOAD="$PWD/machine.so" "my trainer/build/train" --data npy:x.npy,y.npy
says "error: the arena of "
says "is more than the 0.1 MiB (102400 bytes) that this machine has left"
says "compile the model with --budget 102400"
grep -q "plimsoll compile 'my net.onnx' -o 'my trainer' -q --batch 8" "my trainer/README.md" ||
  fail "the README does not say how to make it again"

# Times of another device, workspaces of this machine.
build_trainer elsewhere "my net.onnx" --batch 8 --costs k40m
elsewhere/build/train --data npy:x.npy,y.npy --quiet --steps 2

# The loss is NaN: no weight changes, nothing is saved, and the message names the tensor where NaN first appeared.
expect 4 train --steps 4 --lr 1e30 --save broken.onnx
says "--lr"
says "of layer '/conv2/Conv' (step "
says "holds Inf ("
[[ ! -e broken.onnx ]] || fail "weights of a training that diverged were saved"
expect 0 train --steps 4 --lr 1e30 --on-nan ignore
expect 2 train --on-nan perhaps;                         says "stop, skip, ignore"
$python -c 'import numpy; x = numpy.load("x.npy"); x[13, 0, 5] = float("nan"); numpy.save("bad.npy", x)'
expect 4 train --data npy:bad.npy,y.npy --no-shuffle
says "in iteration 1: input '"
says "holds NaN (32 of 8192 elements) in the data; --on-nan skip"
# If such an iteration is left out, the weights are those of the other iterations.
expect 0 train --data npy:bad.npy,y.npy --no-shuffle --on-nan skip --save skipped.onnx
says "skipped, "
says "in iteration 1: input 'input' holds NaN"
$python -c 'import numpy
for name in "xy": a = numpy.load(name + ".npy"); numpy.save(name + "3.npy", numpy.concatenate([a[:8], a[16:]]))'
expect 0 train --data npy:x3.npy,y3.npy --no-shuffle --save three.onnx
$python "$PLIMSOLL_E2E/weights.py" skipped.onnx three.onnx 0
$python -c 'import numpy; numpy.save("none.npy", numpy.full_like(numpy.load("x.npy"), float("nan")))'
expect 0 "my trainer/build/train" --data npy:none.npy,y.npy --on-nan skip
says "epoch 1  every iteration was skipped  "
expect 0 train --steps 1 --save "my weights.onnx"
expect 0 train --steps 1 --model "my weights.onnx" --save again.onnx
expect 7 train --steps 1 --save no/such/place.onnx
expect 2 train --predict x.npy;                          says "--predict needs --out"
expect 2 train --out y.npy;                              says "--out needs --predict"
expect 2 train --predict x.npy --out o.npy --save s.onnx; says "--save"
expect 4 train --predict y.npy --out o.npy;              says "'y.npy' has samples of"
expect 3 train --predict missing.npy --out o.npy;        says "missing.npy"
expect 7 train --predict x.npy --out no/such/place.npy;  says "no/such/place.npy"
expect 3 train --predict x.npy --out o.npy --model missing.onnx
[[ ! -e o.npy && -z $(find . -name 'o.npy*') ]] || fail "a prediction that failed left something behind"
head -c 1000 "my weights.onnx" > short.onnx
expect 4 train --steps 1 --model short.onnx
expect 3 train --steps 1 --model missing.onnx;           says "missing.onnx"
$python -c 'import numpy; numpy.save("y.npy", numpy.full(32, 10, numpy.int32))'
expect 4 train --steps 1;                                says "classes 0 to 9"

random_data 32 1 32 10
# A model is identified by its content: only the values of its weights may differ from those of the trainer's model.
$python - <<'PY'
import numpy as np
import onnx
from onnx import numpy_helper
model = onnx.load("my trainer/model.onnx")
def save(name, change):
    other = onnx.ModelProto()
    other.CopyFrom(model)
    change(other.graph)
    onnx.save(other, name)
def first(graph, change):
    values = numpy_helper.to_array(graph.initializer[0]).copy()
    change(values)
    graph.initializer[0].raw_data = values.tobytes()
def swap(graph):
    one, two = (next(i for i, t in enumerate(graph.initializer) if t.name == n) for n in ("conv1.weight", "conv2.bias"))
    a, b = onnx.TensorProto(), onnx.TensorProto()
    a.CopyFrom(graph.initializer[one]); b.CopyFrom(graph.initializer[two])
    graph.initializer[one].CopyFrom(b); graph.initializer[two].CopyFrom(a)
save("same.onnx", lambda graph: None)
save("trained.onnx", lambda graph: first(graph, lambda values: np.multiply(values, 0.5, out=values)))
save("nan.onnx", lambda graph: first(graph, lambda values: values.reshape(-1).__setitem__(3, np.nan)))
save("swapped.onnx", swap)
save("renamed.onnx", lambda graph: setattr(graph.node[0], "name", graph.node[0].name[:-1] + "_"))
PY
for model in same trained; do expect 0 train --steps 1 --model $model.onnx --save again.onnx; done
for model in swapped renamed; do
  [[ $(stat -c %s $model.onnx) -eq $(stat -c %s "my trainer/model.onnx") ]] || fail "$model.onnx has another size"
  expect 4 train --steps 1 --model $model.onnx --save other.onnx
  says "'$model.onnx' is not the model that this trainer was made with"
  expect 4 "my trainer/build/train" --model $model.onnx --predict x.npy --out other.npy
  [[ ! -e other.onnx && ! -e other.npy ]] || fail "something was made with another model"
done
expect 4 train --steps 1 --model nan.onnx --save other.onnx; says "holds NaN or infinite numbers before training begins"
expect 0 train --steps 1 --model nan.onnx --on-nan ignore
