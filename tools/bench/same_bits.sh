#!/usr/bin/env bash
# Compares weights after three iterations, bit by bit: four networks, each under six budgets with policy auto, and under
# every policy, unlimited and with its minimum, in one round and in rounds of 3 samples. Every trainer with a host pool
# also runs with the pool in a spill file. This builds some 280 trainers in an hour; tests/e2e/policies.sh tests a part
# of it.
#
# usage: tools/bench/same_bits.sh BUILD [NETWORK…]     (BUILD: a build of Plimsoll; of resnet18 googlenet densenet lstm,
# by default all)
set -euo pipefail
source=$(realpath "$(dirname "$0")/../..")
export PLIMSOLL_BUILD=$(realpath "${1:?usage: same_bits.sh BUILD [NETWORK…]}") PLIMSOLL_CLI=$source/tests/cli \
  PLIMSOLL_E2E=$source/tests/e2e PLIMSOLL_SOURCE=$source
export PATH=$PLIMSOLL_BUILD/bin:$PATH
shift
networks=${*:-resnet18 googlenet densenet lstm}
work=$PLIMSOLL_BUILD/bench/same_bits-${networks// /-}
mkdir -p "$work"
cd "$work"
. "$PLIMSOLL_E2E/trainer.bash"
. "$PLIMSOLL_E2E/same_bits.bash"
policies=$(all_policies)
declare -A spec=([resnet18]=resnet18:input=32,stem=cifar,width=16,classes=10 [googlenet]=googlenet:input=64,classes=10
                 [densenet]=densenet121:input=32,classes=10 [lstm]=lstm:steps=12,layers=2,hidden=32,classes=10)
declare -A dimensions=([resnet18]="3 32 32" [googlenet]="3 64 64" [densenet]="3 32 32" [lstm]="12 32")

files=0
try() { # TRAINER OPTIONS…: in memory and, if it has a host pool, in a file
  local trainer=$1
  same_bits "$@"
  if (( $(figure "$name-$trainer/plan.json" host_pool_bytes) > 0 )); then
    spilled "$trainer"
    files=$((files + 1))
  fi
  rm -r "${name:?}-$trainer"
}
for each in $networks; do [[ -n ${spec[$each]:-} ]] || fail "unknown network $each; there are ${!spec[*]}"; done
for sub_batch in 8 3; do
  for each in $networks; do
    network $each "${spec[$each]}" $sub_batch ${dimensions[$each]}
    files=0
    for percent in 0 5 15 30 50 75; do try at$percent --policy auto --budget "$(budget $percent)"; done
    for policy in $policies; do
      try "${policy//:/-}" --policy "$policy" --budget auto
      plimsoll plan $each.onnx --batch $batch --sub-batch $sub_batch --batch-norm split --policy "$policy" \
        -q -o own.json
      try "${policy//:/-}-least" --policy "$policy" --budget "$(figure own.json minimum_bytes)"
    done
    conclude | sed "s/:/, sub-batch $sub_batch:/; s/\$/, $files with a spill file/"
  done
done
