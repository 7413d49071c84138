# Two ranks with NCCL, each with its own emulated GPU; NCCL is emulated over sockets. The sums are on the comm stream
# and in the recorded round, in the same order everywhere, and the weights are those of one rank.
. "$(dirname "$0")/emulated.bash"
# ranks DIR N OUT.onnx options…
ranks() {
  local directory=$1 size=$2 out=$3 rank processes=()
  shift 3
  export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 10000)) WORLD_SIZE=$size
  for ((rank = 1; rank < size; ++rank)); do RANK=$rank run "$directory" "$out" "$@" & processes+=($!); done
  RANK=0 run "$directory" "$out" "$@"
  wait "${processes[@]}"
  unset MASTER_ADDR MASTER_PORT WORLD_SIZE
}

plimsoll model vgg11:input=32,width=2,hidden=16,classes=10 -o net.onnx 2>/dev/null
random_data 16 3 32 10
options="--batch 8 --sub-batch 4 --optimizer adam"
emulated one net.onnx $options
run one one.onnx --steps 4
also=$PLIMSOLL_RANKS_EMULATED
emulated two net.onnx $options --ranks 2
ranks two 2 two.onnx --steps 4
same one.onnx two.onnx 1e-5
ranks two 2 steps.onnx --steps 4 --no-graph
same two.onnx steps.onnx 0

# With momentum, which divides by nothing: within 1e-6, as on the host.
also=
emulated once net.onnx --batch 8 --sub-batch 4
run once once.onnx --steps 4
also=$PLIMSOLL_RANKS_EMULATED
emulated twice net.onnx --batch 8 --sub-batch 4 --ranks 2
ranks twice 2 twice.onnx --steps 4
same once.onnx twice.onnx 1e-6

# In fp16, a gradient that overflows on one rank is infinite in the sum, so all ranks skip the update. Class 0 is almost
# certain: the gradients of rank 0, whose labels are 0, are small. Those of rank 1, whose labels are 1, are 1/8 of the
# scale, and f16 ends at 65504.
mkdir half
$python - <<'PY'
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
r = np.random.RandomState(1)
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 16])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 10])
weights = {"w": r.randn(10, 16) * 0.02, "b": np.where(np.arange(10) == 0, 20, 0)}
node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], name="fc", transB=1)
graph = helper.make_graph([node], "one", [x], [y],
                          [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), "half/net.onnx")
np.save("half/x.npy", r.randn(16, 16).astype(np.float32))
np.save("half/y.npy", (np.arange(16) % 8 // 4).astype(np.int32))
PY
(
  cd half
  skipped() { grep -o '"skipped_steps": *[0-9]*' "$1.jsonl" | grep -o '[0-9]*$' | tr '\n' ' '; }
  options="--batch 8 --precision fp16 --optimizer momentum"
  scale="--steps 6 --init-scale 1000000"
  also=
  emulated one net.onnx $options
  run one one.onnx $scale --metrics one.jsonl
  also=$PLIMSOLL_RANKS_EMULATED
  emulated two net.onnx $options --ranks 2
  ranks two 2 two.onnx $scale --metrics two.jsonl
  [[ $(skipped one) == "1 1 1 1 1 1 " && $(skipped two) == "$(skipped one)" ]] ||
    fail "skipped: '$(skipped one)', with two ranks '$(skipped two)'"
  same one.onnx two.onnx 1e-5
  # Without the labels 1 nothing overflows: it was rank 1.
  $python -c 'import numpy; numpy.save("y.npy", numpy.zeros(16, numpy.int32))'
  run one none.onnx $scale --metrics none.jsonl
  [[ $(skipped none) == "0 0 0 0 0 0 " ]] || fail "rank 0 overflows: $(skipped none)"
)

# started DIR-OF-RANK-0 DIR-OF-RANK-1 options…: both in the background, their process ids in pids.
started() {
  local directories=("$1" "$2") rank port=$((20000 + RANDOM % 10000))
  shift 2
  pids=()
  for rank in 0 1; do
    MASTER_ADDR=127.0.0.1 MASTER_PORT=$port WORLD_SIZE=2 RANK=$rank ${directories[$rank]}/train --data npy:x.npy,y.npy \
      --quiet "$@" >out.$rank 2>err.$rank & pids+=($!)
  done
}
ended() { # CODE RANKS…
  local wanted=$1 rank code
  shift
  for rank in "$@"; do
    code=0; wait "${pids[$rank]}" || code=$?
    [[ $code -eq $wanted ]] || { cat err.*; fail "rank $rank ended with $code; expected $wanted"; }
  done
}
trains() {
  while [[ $(cat life.jsonl 2>/dev/null | wc -l) -lt 3 ]]; do
    kill -0 "${pids[0]}" || { cat err.*; fail "it did not train"; }; sleep 0.05
  done
}

# NCCL waits forever, on the device, for a lost rank. A lifeline ends the other ranks and names the lost one.
for lost in 0 1; do
  rm -f life.jsonl
  started twice twice --epochs 100000 --metrics life.jsonl
  trains
  kill -9 "${pids[$lost]}"
  ended 11 $((1 - lost))
  grep -q "^error: rank $lost is lost in iteration [0-9]*: its process ended; all others end$" err.$((1 - lost)) ||
    { cat err.*; fail "no rank reports that rank $lost is lost"; }
done
# NCCL does not report a broken link by itself while all ranks are alive, so it is queried.
NCCL_BREAKS=20 started twice twice --epochs 100000
ended 11 0 1
cat err.0 err.1 | grep -c "^error: on rank [01]: NCCL: an error of the emulation: its explanation" >/dev/null ||
  { cat err.*; fail "nobody says that NCCL failed, and why"; }
cat err.0 err.1 | grep -c "^error: rank [01] is lost in iteration [0-9]*: the reduction over the ranks failed there" \
  >/dev/null || { cat err.*; fail "nobody says whose sums failed"; }

# Ranks with different plans do not start.
started twice two
ended 8 0 1
grep -q "^error: rank 1 has another plan: .*; start one and the same trainer on all ranks$" err.0 ||
  { cat err.*; fail "another plan is not refused"; }

# Without its waits a reduction adds up values that are not computed yet.
sed -i -E 's/r\.after\(\{[0-9, ]*\}\)\.reduce/r.reduce/' two/steps_*.cpp
linked two "$also"
ranks two 2 raced.onnx --steps 4 --on-nan ignore
$python "$PLIMSOLL_E2E/weights.py" two.onnx raced.onnx 0 2>/dev/null &&
  fail "reductions that do not wait train as if they did"
true
