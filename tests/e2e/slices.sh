# Large weights that reside in the host pool and are updated slice by slice: the same bits as with everything in the
# arena, with momentum and Adam, in one round and in several, with clipped gradients, with frozen weights, from each
# other's checkpoints.
. "$PLIMSOLL_E2E/trainer.bash"
. "$PLIMSOLL_E2E/homes.bash"
slices() {
  $python - "$1/plan.json" <<'PY'
import json, sys
plan = json.load(open(sys.argv[1]))
print(sum("slice_of" in t for t in plan["tensors"]))
PY
}
# sliced NAME options…: NAME-device with everything in the arena, NAME-home with the minimum budget, in slices; both
# train alike.
sliced() {
  local name=$1
  shift
  pair $name vgg.onnx --threads 1 "$@"
  (( $(slices $name-device) == 0 )) || fail "$name: slices without a budget"
  (( $(slices $name-home) >= 8 )) || fail "$name: $(slices $name-home) slices"
  trained $name-device $name-a.onnx --steps 4
  trained $name-home $name-b.onnx --steps 4
  same $name-a.onnx $name-b.onnx
}
plimsoll model vgg11:input=32,width=8,hidden=512,classes=10 -o vgg.onnx 2>/dev/null
random_data 32 3 32 10
sliced momentum --batch 4 --sub-batch 4
sliced adam --batch 7 --sub-batch 3 --optimizer adam --clip-norm 1 --freeze 'features.*'

# In bf16 a weight is in two halves, and its lower half is cut as its state is.
sliced bf16 --batch 4 --sub-batch 4 --optimizer adam --precision bf16
$python - bf16-home/plan.json <<'PY'
import json, sys
tensors = json.load(open(sys.argv[1]))["tensors"]
assert any(".low.slice" in t["name"] and t.get("type") == "i16" for t in tensors), "no slice of a lower half"
PY

# If the arena has room for the weights, only their state is updated slice by slice.
for sub_batch in 16 4; do
  state=state-$sub_batch
  build_trainer $state-device vgg.onnx --threads 1 --batch 16 --sub-batch $sub_batch
  build_trainer $state-home vgg.onnx --threads 1 --batch 16 --sub-batch $sub_batch --budget 4000000
  plimsoll verify $state-home -q
  grep '"whole_weights": true' $state-home/plan.json >/dev/null || fail "$state: weights are in slices, or nothing is"
  (( $(slices $state-home) >= 8 )) || fail "$state: $(slices $state-home) slices"
  trained $state-device $state-a.onnx --steps 4
  trained $state-home $state-b.onnx --steps 4
  same $state-a.onnx $state-b.onnx
done

trained momentum-home spilled.onnx --steps 4 --spill .
same momentum-a.onnx spilled.onnx
# A checkpoint has whole weights and states, wherever they reside.
for name in momentum adam bf16; do
  for order in "device home" "home device"; do
    set -- $order
    trained $name-$1 part.onnx --steps 2 --checkpoint "$name-$1-$2"
    trained $name-$2 resumed.onnx --steps 4 --checkpoint "$name-$1-$2" --resume
    same $name-a.onnx resumed.onnx
  done
done
plimsoll inspect momentum-home >inspected
grep "state kept on the host" inspected >/dev/null || { cat inspected; fail "inspect does not say where state lives"; }
