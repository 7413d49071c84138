# Two ranks by NCCL, each with an emulated GPU of its own, NCCL played by sockets: the sums are on the comm stream and in the
# recorded round, in the same order everywhere, and the weights are those of one rank.
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
# Without its waits a reduction adds up what is not there yet.
sed -i -E 's/r\.after\(\{[0-9, ]*\}\)\.reduce/r.reduce/' two/steps_*.cpp
linked two "$also"
ranks two 2 raced.onnx --steps 4 --on-nan ignore
$python "$PLIMSOLL_E2E/weights.py" two.onnx raced.onnx 0 2>/dev/null && fail "reductions that do not wait train as if they did"
true
