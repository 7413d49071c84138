# Sourced after trainer.bash by tests that train a network under many plans and require the same bits from all:
# tests/e2e/policies.sh, and tools/bench/same_bits.sh, which tries every policy and six budgets on every network.
batch=8
figure() { $python -c 'import json, sys; print(json.load(open(sys.argv[1]))["summary"][sys.argv[2]])' "$@"; }
data() { $python - "$@" <<'PY'
import sys
import numpy as np
shape = list(map(int, sys.argv[1:]))
r = np.random.RandomState(0)
np.save("x.npy", r.randn(*shape).astype(np.float32))
np.save("y.npy", r.randint(0, 10, shape[0]).astype(np.int32))
PY
}
network() { # NAME ZOO_SPEC SUB_BATCH INPUT_DIMENSIONS…: and the trainer that keeps everything
  name=$1 sub_batch=$3 moved=0 again=0 homes=0 slices=0 built=0
  plimsoll model "$2" -o "$name.onnx" 2>/dev/null
  shift 3
  data $((3 * batch)) "$@"
  build_trainer "$name-free" "$name.onnx" --batch $batch --sub-batch "$sub_batch" --batch-norm split --policy liveness
  plimsoll plan "$name.onnx" --batch $batch --sub-batch "$sub_batch" --batch-norm split --policy auto \
    --algorithms-of "$name-free" -q -o free.json
  least=$(figure free.json minimum_bytes) most=$(figure free.json unconstrained_bytes)
  "$name-free/build/train" --data npy:x.npy,y.npy --no-shuffle --save "$name-free.onnx" --steps 3 >free.out
  around=$(($(resident free.out) - $(figure "$name-free/plan.json" arena_bytes)))
}
resident() { awk '/peak resident/ {print int($(NF-1) * 1048576)}' "$1"; } # bytes, from a trainer's output
same_bits() { # TRAINER OPTIONS…
  local trainer=$name-$1
  shift
  build_trainer "$trainer" "$name.onnx" --batch $batch --sub-batch "$sub_batch" --batch-norm split \
    --algorithms-of "$name-free" "$@"
  trained "$trainer" "$trainer.onnx" --steps 3
  $python "$PLIMSOLL_E2E/weights.py" "$name-free.onnx" "$trainer.onnx" 0 ||
    fail "$trainer: other bits than of the trainer that keeps everything"
  moved=$((moved + $(figure "$trainer/plan.json" offloaded_bytes)))
  again=$((again + $(figure "$trainer/plan.json" recomputed_tasks)))
  homes=$((homes + $(tensors_with home_offset "$trainer"))) slices=$((slices + $(tensors_with slice_of "$trainer")))
  built=$((built + 1))
}
tensors_with() {
  $python -c 'import json, sys
print(sum(sys.argv[1] in t for t in json.load(open(sys.argv[2] + "/plan.json"))["tensors"]))' "$@"
}
# spilled TRAINER: once more with its host pool in a file. Without its arena, the process is then at most 8 MiB larger
# than that of the trainer that keeps everything.
spilled() {
  "$name-$1/build/train" --data npy:x.npy,y.npy --no-shuffle --save spilled.onnx --steps 3 --spill . >spilled.out
  local arena bytes
  arena=$(figure "$name-$1/plan.json" arena_bytes) bytes=$(resident spilled.out)
  (( bytes > arena / 2 && bytes <= arena + around + 8 * 1048576 )) ||
    fail "$name-$1: $bytes bytes are resident, of an arena of $arena"
  $python "$PLIMSOLL_E2E/weights.py" "$name-free.onnx" spilled.onnx 0 || fail "$name-$1: other bits with a spill file"
}
budget() { echo $((least + (most - least) * $1 / 100)); }
conclude() {
  [[ $moved -gt 0 ]] || fail "$name: no trainer moved anything"
  [[ $again -gt 0 ]] || fail "$name: no trainer recomputed anything"
  echo "$name: $built trainers, the same bits; $moved bytes moved, $again tasks run again," \
    "$homes tensors at home in the host pool, $slices slices"
}
# The message for an unknown policy lists the names of all policies.
all_policies() {
  local names
  plimsoll model lenet -o lenet.onnx 2>/dev/null
  names=$({ plimsoll plan lenet.onnx --batch 8 --policy none 2>&1 || true; } | sed -n 's/.*; policies: //p' | tr -d ,)
  [[ $names == *liveness* ]] || fail "no list of policies: $names"
  echo $names
}
