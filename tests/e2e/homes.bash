# Sourced after trainer.bash by the tests of weights and optimizer state that reside in the host pool.
same() { $python "$PLIMSOLL_E2E/weights.py" "$1" "$2" 0 || fail "other weights: $1 $2"; }
# figures DIR|plan.json: the budget, the bytes of all weights, the number of weights in the host pool, and that of state
# tensors there.
figures() {
  $python - "$1" <<'PY'
import json, os, sys
plan = json.load(open(os.path.join(sys.argv[1], "plan.json") if os.path.isdir(sys.argv[1]) else sys.argv[1]))
of = lambda kind: [t for t in plan["tensors"] if t["kind"] == kind]
print(plan["budget_bytes"], sum(t["bytes"] for t in of("weight")), sum("home_offset" in t for t in of("weight")),
      sum("home_offset" in t for t in of("optimizer_state")))
PY
}
least() {
  plimsoll plan "$@" -q -o free.json &&
    $python -c 'import json; print(json.load(open("free.json"))["summary"]["minimum_bytes"])'
}
# pair NAME MODEL options…: NAME-device with everything in the arena, NAME-home with the minimum budget.
pair() {
  local name=$1
  shift
  build_trainer $name-device "$@"
  build_trainer $name-home "$@" --budget "$(least "$@")"
  plimsoll verify $name-home -q
  read -r budget weights away states <<<"$(figures $name-home)"
  read -r _ _ device_away device_states <<<"$(figures $name-device)"
  (( device_away == 0 && device_states == 0 )) || fail "$name: weights live on the host without a budget"
  (( away >= 2 )) || fail "$name: $away weights live on the host"
}
