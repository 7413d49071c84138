# Offloaded, prefetched and recomputed values are the same values: under budgets from the minimum up and under every
# policy, with the same sub-batch, a network trains to the same bits; with the host pool in a file, too.
. "$PLIMSOLL_E2E/trainer.bash"

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
network() { # NAME ZOO_SPEC INPUT_DIMENSIONS…: and the trainer that keeps everything
  name=$1 moved=0 again=0 built=0
  plimsoll model "$2" -o "$name.onnx" 2>/dev/null
  shift 2
  data 24 "$@"
  plimsoll plan "$name.onnx" --batch 8 --sub-batch 8 --policy auto -q -o free.json
  least=$(figure free.json minimum_bytes) most=$(figure free.json unconstrained_bytes)
  build_trainer "$name-free" "$name.onnx" --batch 8 --sub-batch 8 --policy liveness
  trained "$name-free" "$name-free.onnx" --steps 3
}
same_bits() { # TRAINER OPTIONS…
  local trainer=$name-$1
  shift
  build_trainer "$trainer" "$name.onnx" --batch 8 --sub-batch 8 "$@"
  trained "$trainer" "$trainer.onnx" --steps 3
  $python "$PLIMSOLL_E2E/weights.py" "$name-free.onnx" "$trainer.onnx" 0
  moved=$((moved + $(figure "$trainer/plan.json" offloaded_bytes)))
  again=$((again + $(figure "$trainer/plan.json" recomputed_tasks)))
  built=$((built + 1))
}
budget() { echo $((least + (most - least) * $1 / 100)); }
conclude() {
  [[ $moved -gt 0 ]] || fail "$name: no trainer moved anything"
  [[ $again -gt 0 ]] || fail "$name: no trainer recomputed anything"
  echo "$name: $built trainers, the same bits; $moved bytes moved, $again tasks run again"
}

# The names of all policies stand in the answer to a wrong one.
plimsoll model lenet -o lenet.onnx 2>/dev/null
policies=$({ plimsoll plan lenet.onnx --batch 8 --policy none 2>&1 || true; } | sed -n 's/.*there are //p' | tr -d ,)
[[ $policies == *liveness* ]] || fail "no list of policies: $policies"

network resnet18 resnet18:input=32,stem=cifar,width=16,classes=10 3 32 32
for percent in 0 5 15 30 50 75; do same_bits at$percent --policy auto --budget "$(budget $percent)"; done
trained resnet18-at0 spilled.onnx --steps 3 --spill .
$python "$PLIMSOLL_E2E/weights.py" resnet18-free.onnx spilled.onnx 0
for policy in $policies; do same_bits "${policy//:/-}" --policy "$policy" --budget auto; done
conclude

network googlenet googlenet:input=64,classes=10 3 64 64
for percent in 0 30; do same_bits at$percent --policy auto --budget "$(budget $percent)"; done
same_bits sublinear --policy sublinear --budget auto
conclude

network densenet densenet121:input=32,classes=10 3 32 32
for percent in 1 40; do same_bits at$percent --policy auto --budget "$(budget $percent)"; done
same_bits sublinear --policy sublinear --budget auto
conclude

network lstm lstm:steps=12,layers=2,hidden=32,classes=10 12 32
for percent in 0 30 60; do same_bits at$percent --policy auto --budget "$(budget $percent)"; done
same_bits sublinear --policy sublinear --budget auto
conclude
