# Generated trainers with copies on threads and recomputations: the weights, losses and test results are those of the
# trainer without them, with the host pool in memory and in a file. They stay within their memory, allocate nothing
# while training, and report when there is no room.
. "$PLIMSOLL_E2E/trainer.bash"
plimsoll model resnet18:input=32,stem=cifar,width=16,classes=10 -o net.onnx 2>/dev/null
random_data 160 3 32 10
for plan in kept "mixed offload=60 recompute=30 homes=60 seed=3"; do
  set -- $plan
  make_trainer net.onnx "$@" batch=64 sub-batch=48 | tee "$1.plan"
  cmake -S "$1" -B "$1/build" -G Ninja "${with_runtime[@]}" -DPLIMSOLL_WERROR=ON >log 2>&1 ||
    { cat log; fail "cmake"; }
  cmake --build "$1/build" >log 2>&1 || { cat log; fail "build of $1"; }
done
train() {
  "$1/build/train" --data npy:x.npy,y.npy --test npy:x.npy,y.npy --epochs 2 --save "$2" "${@:3}" >"$2.out" || fail "$*"
}
train kept kept.onnx
train mixed memory.onnx
train mixed file.onnx --spill .
train mixed stepped.onnx --no-overlap
for other in memory file stepped; do
  $python "$PLIMSOLL_E2E/weights.py" kept.onnx $other.onnx 0
  diff <(grep -o 'loss.*of 160' kept.onnx.out) <(grep -o 'loss.*of 160' $other.onnx.out) || fail "$other: other results"
done
grep -q "host pool .* in memory" memory.onnx.out || fail "does not say where the host pool is"
grep -q "host pool .* in a file in \." file.onnx.out || fail "does not say where the host pool is"
[[ -z $(ls | grep spill) ]] || fail "the spill file has a name"

# With the pool in a file, the process has the arena and a trainer's other memory (two rounds of samples, and 48 MiB).
# With the pool in memory, the pool is added.
read -r arena pool <<<"$(awk '{print $2, $5}' mixed.plan)"
resident() { awk -v f="$1" '/peak resident/ {print int($(NF-1) * 1048576)}' "$1.onnx.out"; }
echo "arena $arena pool $pool resident: in memory $(resident memory), in a file $(resident file)"
(( $(resident file) <= arena + 2 * 48 * 3 * 32 * 32 * 4 + 48 * 1048576 )) ||
  fail "more than the arena, the samples and 48 MiB are resident"
(( $(resident memory) - $(resident file) >= pool / 2 )) || fail "the file's pool is resident too"

# While it trains, its own code allocates nothing. If an iteration is far slower than predicted, as on a loaded machine,
# the trainer reads how long its threads had to wait for a processor, which allocates a buffer. So it is the least of
# some runs that must be equal.
allocations() {
  for run in 1 2 3; do
    LD_PRELOAD="$PLIMSOLL_ALLOCATION_COUNTER" mixed/build/train --data npy:x.npy,y.npy --quiet --spill . \
      --steps "$@" 2>&1
  done | sort -k 3,3n | head -n 1
}
same_allocations() { # WHEN options…
  local when=$1 few many
  shift
  for attempt in 1 2 3 4; do
    few=$(allocations 1 "$@") many=$(allocations 4 "$@")
    # On a loaded machine, two processes with the same work may differ by one. An allocation per iteration makes three.
    (( ${many##* } - ${few##* } <= 1 )) && return 0
  done
  fail "allocates while $when: $few in 1 iteration, $many in 4"
}
[[ $(allocations 1) == "own allocations "* ]] || fail "allocations are not counted"
same_allocations "it trains"
same_allocations "each step is done when its line is called" --no-overlap

# A debugger stops in the line of a step when that step runs, on the training thread.
if command -v gdb >/dev/null; then
  line=$(grep -n 'r.run(conv_forward' mixed/steps_0.cpp | sed -n 2p | cut -d : -f 1)
  gdb -q -batch -iex 'set debuginfod enabled off' -ex 'set confirm off' -ex "break steps_0.cpp:$line" \
    -ex 'break plimsoll::backend::Streams::play' -ex run \
    -ex 'delete 2' -ex continue -ex where \
    --args mixed/build/train --data synthetic --quiet --steps 1 --no-overlap >debugger.out 2>&1 || true
  grep -q "steps_0.cpp:$line" debugger.out && grep -q '#.*Streams::.*play' debugger.out ||
    { tail -20 debugger.out; fail "a debugger does not stop in a step's line"; }
fi

expect 7 mixed/build/train --data synthetic --quiet --steps 1 --spill no/such/place;  says "no/such/place"
( ulimit -f 64; expect 7 mixed/build/train --data synthetic --quiet --steps 1 --spill . ); says "of the host pool"
expect 0 kept/build/train --data synthetic --quiet --steps 1 --spill no/such/place
