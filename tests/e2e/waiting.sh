# Threads spin only briefly, unless the user says otherwise. The trainer reports a plan whose prediction is wrong on
# this machine, with the likely cause, and a plan for more threads than there are processors.
. "$PLIMSOLL_E2E/trainer.bash"
small_model
# Few tasks, because measuring takes most of the time here.
few=(--trainable 'fc3*')
plimsoll profile net.onnx --batch 16 "${few[@]}" --threads 2 -o P.json -q
build_trainer trainer net.onnx --batch 16 "${few[@]}" --costs P.json
[[ -z "${OMP_WAIT_POLICY:-}${GOMP_SPINCOUNT:-}${KMP_BLOCKTIME:-}" ]] || fail "the tests should run with what users get"

# variable_of NAME ENVIRONMENT…: the variable's value in a trainer that runs with this environment.
variable_of() {
  local name=$1
  shift
  rm -f m.jsonl
  env "$@" trainer/build/train --data synthetic --steps 1000000000 --quiet --metrics m.jsonl & local child=$!
  while [[ ! -s m.jsonl ]]; do kill -0 $child || fail "it ends by itself"; sleep 0.05; done
  tr '\0' '\n' <"/proc/$child/environ" | sed -n "s/^$name=//p"
  kill -TERM $child
  wait $child || true
}
[[ $(variable_of GOMP_SPINCOUNT) -gt 0 && $(variable_of KMP_BLOCKTIME) -gt 0 ]] ||
  fail "nothing sets how long threads spin"
[[ $(variable_of GOMP_SPINCOUNT GOMP_SPINCOUNT=77) == 77 ]] || fail "what the user says does not hold"
[[ -z $(variable_of GOMP_SPINCOUNT OMP_WAIT_POLICY=active) ]] || fail "what the user says does not hold"
# The program is executed again under the same name and with the same arguments.
# Grep -q closes a pipe early.
(cd trainer/build && ln -s train "a name" && exec -a "another name" "./a name" --help) >help
grep -q -- "--data" help || fail "does not start again as it was"

# As if the costs were measured on a much faster machine, whatever this one measures and runs at the same time.
$python - <<'PY'
import json
profile = json.load(open("P.json"))
for task in profile["tasks"]:
    for algorithm in task["algorithms"]:
        algorithm["seconds"] = 1e-7
profile["links"]["launch_seconds"] = profile["links"]["latency_seconds"] = 1e-9
for rates in profile["links"]["ram"].values():
    rates.update(d2h_bytes_per_second=1e12, h2d_bytes_per_second=1e12)
json.dump(profile, open("fast.json", "w"))
PY
build_trainer fast net.onnx --batch 16 "${few[@]}" --costs fast.json
expect 0 fast/build/train --data synthetic --steps 40
says "times the predicted"; says "Likely cause: "
[[ $(grep -c "times the predicted" err) -eq 1 ]] || fail "it is told of more than once"
expect 0 fast/build/train --data synthetic --steps 4
! grep "times the predicted" err || fail "the first iterations are slow by nature"

# Two threads on one processor.
expect 0 taskset -c "$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//')" trainer/build/train --data synthetic --steps 3
says "the plan is for 2 threads, and this process may use 1 processor"; says "--threads 1"
