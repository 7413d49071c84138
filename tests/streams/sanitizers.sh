# The sanitizers accept correct plans, random ones and those of policies, and reject wrong plans and wrong lifetimes.
. "$PLIMSOLL_CLI/common.sh"
export OMP_NUM_THREADS=1 TSAN_OPTIONS=exitcode=66 LSAN_OPTIONS=suppressions=$PWD/leaks:print_suppressions=0
echo "leak:libdnnl" >leaks  # oneDNN 3 never frees a few bytes of its own
resnet=resnet18:input=16,stem=cifar,width=16,classes=10 lstm=lstm:steps=4,features=8,hidden=16,classes=5

watched() { # NETWORK PLAN…, by both sanitizers
  local spec=$1
  shift
  for sanitizer in thread address; do
    for options in "$@"; do
      expect 0 play_$sanitizer $spec $options
      grep -q "Sanitizer" err && { cat err; fail "$sanitizer: $spec $options"; }
      cat out
    done
  done
}
small=("seed=3 batch=3 sub-batch=2 gap=1 homes=70" "policy=auto percent=0 spill=1")
all=("seed=1" "seed=2 offload=90 recompute=0 spill=1" "${small[@]}" "policy=auto percent=20 batch=3 sub-batch=2" \
  "policy=vdnn-all:m" "policy=superneurons:memory")
watched $resnet "${all[@]}"
watched $lstm "${all[@]}"
watched densenet121:input=16,stem=cifar,growth=16,classes=10 "${small[@]}"
watched googlenet:input=64,classes=10,paper=1 "${small[@]}"
watched gpt:layers=1,heads=2,width=32,context=8,vocab=61 "${small[@]}"
# In bf16 weights are cast, and the casts are recomputed and offloaded as well.
in_bf16=("${small[@]/%/ bf16=1}" "policy=auto percent=20 batch=3 sub-batch=2 bf16=1")
watched $resnet "${in_bf16[@]}"
watched $lstm "${in_bf16[@]}"

# The thread that reads ahead; and a trainer that would use samples beyond their lifetime.
expect 0 feed_thread;        says "2 failures"
grep -q "Sanitizer" err && { cat err; fail "thread: the feeder"; }
expect 66 feed_thread late;  says "data race"

# The race of a missing wait is detected, for every wait at the beginning of the plan.
for (( wait = 0; wait < 20; ++wait )); do
  expect 66 play_thread $lstm seed=4 wait=$wait;   says "data race"
done

# The same for a policy's plan, with weights and state that reside in the host pool.
for wait in 0 5 10 15; do
  expect 66 play_thread $lstm policy=auto percent=0 wait=$wait;   says "data race"
done
expect 66 play_thread $lstm policy=auto percent=0 bf16=1 wait=3;   says "data race"

# An access to a tensor after its lifetime is detected, too.
for (( life = 0; life < 50; life += 5 )); do
  expect 1 play_address $lstm seed=4 life=$life;   says "use-after-poison"
done
for life in 0 20 40; do
  expect 1 play_address $lstm policy=auto percent=0 life=$life;   says "use-after-poison"
done
expect 1 play_address $lstm policy=auto percent=0 bf16=1 life=10;   says "use-after-poison"
