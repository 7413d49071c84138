# Whole trainers for a GPU, on the emulation: the generated program, the backend's streams, events and graphs, and all
# own kernels. Stand-ins replace NVIDIA's libraries. The weights are those of the host's trainer, except for rounding.
# The bits are the same step by step and as a graph, and when tensors are offloaded, prefetched and recomputed.
. "$(dirname "$0")/emulated.bash"

figure() { $python -c 'import json, sys; print(json.load(open(sys.argv[1]))["summary"][sys.argv[2]])' "$@"; }

# The emulation runs each thread of a kernel on the host: small images, and four iterations, the last of which begins
# the samples again.
plimsoll model resnet18:input=8,stem=cifar,width=8,classes=10 -o net.onnx 2>/dev/null
random_data 24 3 8 10

build_trainer host net.onnx --batch 8
trained host host.onnx --steps 4
emulated free net.onnx --batch 8
run free free.onnx --steps 4
same host.onnx free.onnx 1e-4
run free steps.onnx --steps 4 --no-graph
same free.onnx steps.onnx 0

# The next batch is copied while this one is computed, to the last bytes of the budget. With one byte less it is not,
# and the bits are the same. The gradients of residual joins are added by the convolutions.
grep -q '"inputs_ahead"' free/plan.json || fail "free/plan.json has no room for the next inputs"
grep -q '\.inputs_ahead = ' free/program.cpp || fail "free/program.cpp does not say where the next inputs wait"
emulated exposed net.onnx --batch 8 --budget $(($(figure free/plan.json unconstrained_bytes) - 1))
! grep -q 'inputs_ahead' exposed/plan.json exposed/program.cpp || fail "exposed has room that its budget has not"
run exposed exposed.onnx --steps 4
same free.onnx exposed.onnx 0
run free epochs.onnx --epochs 2 --test npy:x.npy,y.npy
run exposed exposed.onnx --epochs 2 --test npy:x.npy,y.npy
same epochs.onnx exposed.onnx 0
$python - <<'PY'
import json
tasks = json.load(open("free/plan.json"))["tasks"]
adding = [task for task in tasks if task["kind"] == "backward_data" and len(task["reads"]) == 3]
assert adding, "no convolution adds a gradient"
PY

# Channels last: every kernel that depends on the position of a channel, reorders in between, and the weights in the
# file unchanged.
emulated last net.onnx --batch 8 --layout nhwc
grep -q 'Layout::nhwc' last/*.cpp || fail "nothing is channels last"
run last last.onnx --steps 4
same host.onnx last.onnx 1e-4

# Under a budget, over both links: with the copies' waits the results are right. Without the waits they are not: the
# emulation detects a missing wait.
least=$(figure free/plan.json minimum_bytes) most=$(figure free/plan.json unconstrained_bytes)
emulated moved net.onnx --batch 8 --layout nhwc --policy auto --budget $((least + (most - least) / 20))
[[ $(figure moved/plan.json offloaded_bytes) -gt 0 ]] || fail "nothing was moved"
grep '"kind":"weight".*"home_offset"' moved/plan.json >/dev/null || fail "no weight lives on the host"
run moved moved.onnx --steps 4
same last.onnx moved.onnx 0
# The times of each step, by the emulation's clock; recording them changes nothing.
run moved traced.onnx --steps 4 --trace trace.json
same last.onnx traced.onnx 0
$python "$PLIMSOLL_E2E/trace.py" moved trace.json
sed -i -E 's/r\.after\(\{[0-9, ]*\}\)\./r./' moved/steps_*.cpp
linked moved
for way in "" --no-graph; do
  run moved raced.onnx --steps 4 --on-nan ignore $way
  $python "$PLIMSOLL_E2E/weights.py" last.onnx raced.onnx 0 2>/dev/null &&
    fail "a plan without its waits trains as if it had them"
done

emulated again net.onnx --batch 8 --policy sublinear --budget auto
[[ $(figure again/plan.json recomputed_tasks) -gt 0 ]] || fail "nothing was recomputed"
run again again.onnx --steps 4
same free.onnx again.onnx 0

# In bf16, both ways to lay images: the same bits under a budget, and nearly the losses of the host's trainer. (Batch
# normalization of random data amplifies another rounding: the weights are not compared.)
build_trainer host-half net.onnx --batch 8 --precision bf16
trained host-half host-half.onnx --steps 3 --metrics half-host.jsonl
for layout in nchw nhwc; do
  emulated half-$layout net.onnx --batch 8 --precision bf16 --layout $layout
  run half-$layout half-$layout.onnx --steps 3 --metrics half-$layout.jsonl
  emulated less-$layout net.onnx --batch 8 --precision bf16 --layout $layout --budget 70%
  run less-$layout less-$layout.onnx --steps 3
  same half-$layout.onnx less-$layout.onnx 0
done
$python - <<'PY'
import json
losses = [[line["loss"] for line in map(json.loads, open(f"half-{name}.jsonl")) if "loss" in line]
          for name in ("host", "nchw", "nhwc")]
print("losses in bf16:", losses)
assert len(losses[0]) == len(losses[1]) == len(losses[2]) > 0, losses
for ours in losses[1:]:
    assert abs(ours[0] - losses[0][0]) < 1e-2 * losses[0][0], losses
    assert all(abs(a - b) < 1e-1 * b for a, b in zip(ours, losses[0])), losses
PY

# Rounds, of which the last is smaller; gradients clipped by their norm; Adam, whose step depends on the iteration;
# dropout, whose mask changes with iteration and round; and evaluation between the epochs.
random_data 24 3 16 10
$python - <<'PY'
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
r = np.random.RandomState(1)
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 16, 16])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 10])
weights = {"w": r.randn(6, 3, 3, 3) * 0.2, "b": np.zeros(6), "fc": r.randn(10, 384) * 0.05, "fb": np.zeros(10)}
nodes = [helper.make_node("Conv", ["x", "w", "b"], ["a"], name="conv", pads=[1, 1, 1, 1]),
         helper.make_node("LRN", ["a"], ["l"], name="lrn", size=3),
         helper.make_node("Relu", ["l"], ["c"], name="relu"),
         helper.make_node("AveragePool", ["c"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
         helper.make_node("Dropout", ["p"], ["d"], name="drop", ratio=0.3),
         helper.make_node("Flatten", ["d"], ["f"], name="flat"),
         helper.make_node("Gemm", ["f", "fc", "fb"], ["y"], name="fc", transB=1)]
graph = helper.make_graph(nodes, "drop", [x], [y],
                          [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)]), "drop.onnx")
PY
options=(--batch 12 --sub-batch 5 --optimizer adam --clip-norm 0.4)
build_trainer host-rounds drop.onnx "${options[@]}"
emulated rounds drop.onnx "${options[@]}"
evaluate=(--epochs 4 --test npy:x.npy,y.npy)
trained host-rounds host-rounds.onnx "${evaluate[@]}" --metrics host.jsonl
run rounds rounds.onnx "${evaluate[@]}" --metrics cuda.jsonl
same host-rounds.onnx rounds.onnx 1e-4
run rounds rounds-steps.onnx "${evaluate[@]}" --no-graph
same rounds.onnx rounds-steps.onnx 0
emulated rounds-last drop.onnx "${options[@]}" --layout nhwc
run rounds-last rounds-last.onnx "${evaluate[@]}"
same host-rounds.onnx rounds-last.onnx 1e-4
$python - <<'PY'
import json
host, cuda = ([json.loads(line) for line in open(f)] for f in ("host.jsonl", "cuda.jsonl"))
assert len(host) == len(cuda) > 4
compared = 0
for a, b in zip(host, cuda):
    for name in a.keys() & {"loss", "eval_loss"}:
        assert abs(a[name] - b[name]) < 1e-4 * a[name], (name, a, b)
        compared += 1
assert compared >= len(host)
PY

# Iterations with NaN are left out, and the others continue as if these had not been.
$python -c 'import numpy as np; x = np.load("x.npy"); x[13, 0, 5] = np.nan; np.save("bad.npy", x)'
for file in "trained host-rounds host-skipped.onnx" "run rounds skipped.onnx" \
    "run rounds skipped-steps.onnx --no-graph"; do
  $file --data npy:bad.npy,y.npy --epochs 2 --on-nan skip 2>err || { cat err; fail "$file"; }
  grep -q "skipped, " err || fail "nothing was skipped"
done
same host-skipped.onnx skipped.onnx 1e-4
same skipped.onnx skipped-steps.onnx 0

# An incomplete last batch, padded and kept: the mean over its samples.
$python -c 'import numpy as np; [np.save(f, np.load(f)[:20]) for f in ("x.npy", "y.npy")]'
run rounds drop-last.onnx --epochs 2
for last in pad keep; do
  trained host-rounds host-$last.onnx --last $last --epochs 2
  run rounds $last.onnx --last $last --epochs 2
  $python "$PLIMSOLL_E2E/weights.py" drop-last.onnx $last.onnx 1e-4 2>/dev/null && fail "a last batch changes nothing"
  same host-$last.onnx $last.onnx 1e-4
done
