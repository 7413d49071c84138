# --optimizer-state bf16 and int8: it takes fewer bytes and learns as fp32. Every budget, with slices and residence on
# the host, gives the same bits. Checkpoints hold f32 and continue with the same bits. Wrong requests name the flag.
. "$PLIMSOLL_E2E/trainer.bash"
. "$PLIMSOLL_E2E/homes.bash"
plimsoll model vgg11:input=32,width=8,hidden=512,classes=10 -o vgg.onnx -q
random_data 32 3 32 10
state_bytes() { # PLAN: of the state in a plan with momentum or Lion, in per cent of the weights' bytes
  $python - "$1" <<'PY'
import json, sys
tensors = [t for t in json.load(open(sys.argv[1]))["tensors"] if "slice_of" not in t]
of = lambda kind: sum(t["bytes"] for t in tensors if t["kind"] == kind)
print(round(100 * of("optimizer_state") / of("weight")))
PY
}

# --- every policy and optimizer has a plan, also in rounds, which the checker accepts
for state in bf16 int8; do
  for optimizer in momentum adam adamw lamb lion; do
    [[ $state-$optimizer != int8-lamb ]] || continue
    for options in "--policy auto --budget 75%" "--policy auto --sub-batch 2" "--policy vdnn-all:m" "--ranks 2"; do
      plimsoll plan vgg.onnx --batch 4 --optimizer $optimizer --optimizer-state $state --costs modelled $options \
        --effort 0 -q -o plan.json
      plimsoll verify plan.json -q
    done
  done
  plimsoll plan vgg.onnx --batch 4 --optimizer-state $state --costs modelled --effort 0 -q -o $state.json
  grep -q "\"optimizer_state\":\"$state\"" $state.json || fail "plan.json does not say $state"
done
[[ $(state_bytes bf16.json) == 50 && $(state_bytes int8.json) == 25 ]] ||
  fail "state has $(state_bytes bf16.json) % and $(state_bytes int8.json) % of the weights' bytes"

# --- the same bits with everything in the arena and at the minimum budget, from each other's checkpoints
for state in bf16 int8; do
  options="--batch 4 --sub-batch 2 --threads 1 --optimizer adam --clip-norm 1 --optimizer-state $state"
  pair $state vgg.onnx $options
  trained $state-device a.onnx --steps 4
  trained $state-home b.onnx --steps 4
  same a.onnx b.onnx
  trained $state-device part.onnx --steps 2 --checkpoint ck-$state
  trained $state-home resumed.onnx --steps 4 --checkpoint ck-$state --resume
  same a.onnx resumed.onnx
done
slices=$($python - <<'PY'
import json
print(sum("slice_of" in tensor for tensor in json.load(open("bf16-home/plan.json"))["tensors"]))
PY
)
(( slices >= 8 )) || fail "$slices slices of state in bf16"

# --- near fp32, whose checkpoints it continues
build_trainer fp32 vgg.onnx --batch 4 --sub-batch 2 --threads 1 --optimizer adam --clip-norm 1
for state in fp32 bf16-device int8-device; do
  trained $state $state.onnx --steps 16 --lr 0.001 --metrics $state.jsonl
done
trained fp32 part.onnx --steps 2 --checkpoint ck
trained int8-device more.onnx --steps 4 --checkpoint ck --resume
# In bf16, a step is off by at most the sum of a 128th of m and half of a 128th of v. In 8 bits, v of a small element is
# at most 2.1 times what it should be, or 0.6 times, which makes a step smaller or larger by a third. So the loss may be
# off by 2 % and 33 % of what is learned. Steps amplify any difference, also one of rounding, so that the first eight
# losses are compared.
$python - <<'PY'
import json
names = "fp32", "bf16-device", "int8-device"
losses = {name: [json.loads(line)["loss"] for line in open(name + ".jsonl")] for name in names}
print(losses)
learned = losses["fp32"][0] - min(losses["fp32"])
assert learned > 0.1, learned
for name, part in (("bf16-device", 0.02), ("int8-device", 0.33)):
    assert losses[name] != losses["fp32"], name
    off = max(abs(a - b) for a, b in zip(losses[name][:8], losses["fp32"][:8]))
    assert off < part * learned, (name, off, learned)
PY

# --- refused
refused() { # ARGUMENTS...
  expect 2 plimsoll plan vgg.onnx --batch 4 "$@" -o x.json
}
refused --optimizer-state fp16; says "fp32, bf16 or int8"
refused --optimizer sgd --optimizer-state bf16; says "--optimizer-state bf16"; says "keeps no state"
refused --optimizer lamb --optimizer-state int8; says "--optimizer-state int8"; says "lamb"
refused --rules vdnn --optimizer-state bf16; says "--optimizer-state"
