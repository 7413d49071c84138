# Sourced by the tests of several ranks: how to start ranks on this machine, and how to wait for them.
. "$PLIMSOLL_E2E/trainer.bash"
command -v mpirun >/dev/null && ls "$PLIMSOLL_BUILD"/runtime/libplimsoll_ranks_host.a >/dev/null 2>&1 ||
  { echo "skipped: no MPI"; exit 77; }
# OpenMPI 5 reads PRTE_… where earlier versions read OMPI_….
export OMP_WAIT_POLICY=passive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
  OMPI_MCA_rmaps_base_oversubscribe=1 \
       PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none \
       OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none

# by_hand N DIR options…: starts N processes as torchrun does, their process ids in pids. If `before` is set, it is
# called for each with the rank and the command.
by_hand() {
  local size=$1 directory=$2 rank port=$((20000 + (RANDOM + $$) % 10000))
  shift 2
  pids=()
  for ((rank = 0; rank < size; ++rank)); do
    MASTER_ADDR=${address:-127.0.0.1} MASTER_PORT=$port WORLD_SIZE=$size RANK=$rank ${before:+$before $rank} \
      "$directory/build/train" "$@" >out.$rank 2>err.$rank & pids+=($!)
  done
}

# trains FILE PID: waits until its metrics have three lines.
trains() {
  while [[ $(cat "$1" 2>/dev/null | wc -l) -lt 3 ]]; do
    kill -0 "$2" || { cat err err.*; fail "it did not train"; }; sleep 0.05
  done
}

# ended CODE RANKS…: waits for ranks started by by_hand.
ended() {
  local wanted=$1 rank got
  shift
  for rank in "$@"; do
    got=0
    wait "${pids[$rank]}" || got=$?
    [[ $got -eq $wanted ]] || { cat err.*; fail "rank $rank ended with $got; expected $wanted"; }
  done
}

# one_says PATTERN RANKS…: exactly one of the ranks prints the pattern, on one line. Four ranks on two cores are slower
# than predicted, and rank 0 may report it: that warning does not count.
one_says() {
  local pattern=$1 rank
  shift
  : >err
  for rank in "$@"; do grep -v '^warning: an iteration takes ' err.$rank >>err || true; done
  grep -q "$pattern" err || { tail -n +1 err.*; fail "nobody says: $pattern"; }
  [[ $(grep -c . err) -eq 1 ]] || { tail -n +1 err.*; fail "more than one line"; }
}
