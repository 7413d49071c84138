# Without --costs, the costs of a trainer are measured on this machine, once; those of a report are modelled.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model lenet -o lenet.onnx 2>/dev/null
mkdir tmp && export TMPDIR=$PWD/tmp

# A profiler that records its requests.
cat >listing <<SH
#!/bin/bash
set -euo pipefail
if [[ " \$* " != *" --describe "* && " \$* " != *" --no-measure "* ]]; then
  tee -a "$PWD/asked" | "$PLIMSOLL_BUILD/bin/plimsoll-profile-host" "\$@" | sed "\$PLIMSOLL_UNDISTURBED"
  exit
fi
exec "$PLIMSOLL_BUILD/bin/plimsoll-profile-host" "\$@"
SH
chmod +x listing
export PLIMSOLL_PROFILER=$PWD/listing
touch asked
asked() { wc -c <asked; }
costs_of() { /usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["target"]["costs"])' "$1"; }
# Few tasks and no search, because measuring takes most of the time here.
net="lenet.onnx --batch 4 --threads 1 --sub-batch 4 --policy liveness --trainable fc*"

expect 0 plimsoll plan $net -o plan.json;                    says "(modelled)"
[[ $(costs_of plan.json) == modelled ]] || fail "a plan's costs are $(costs_of plan.json)"
expect 0 plimsoll frontier lenet.onnx --batch 4 --threads 1 --effort 0 --csv
expect 0 plimsoll compare lenet.onnx --batch 4 --threads 1 --effort 0 --budget 50% --csv
expect 0 plimsoll compile $net --costs modelled -o modelled; says "(modelled)"
[[ $(costs_of modelled/plan.json) == modelled ]] || fail "modelled costs are $(costs_of modelled/plan.json)"
[[ $(asked) -eq 0 ]] || fail "measured where it should not"

expect 0 plimsoll compile $net -o trainer
says "(profiled)"
says "profiling "
says "--costs modelled"
[[ $(grep -c "profiling " err) -eq 1 ]] || fail "says more than once that it measures"
! grep "profiling \[" err >/dev/null || fail "a bar where no terminal is"
[[ $(costs_of trainer/plan.json) == profiled ]] || fail "a trainer's costs are $(costs_of trainer/plan.json)"
once=$(asked)
[[ $once -gt 0 ]] || fail "measured nothing"
expect 0 plimsoll compile $net -o again;                     says "(profiled)"
[[ $(asked) -eq $once ]] || fail "measured again what was known"
! grep "measuring" err >/dev/null || fail "says that it measures when all is known"
cmp trainer/kernels_0.cpp again/kernels_0.cpp || fail "the same command gives another trainer"
expect 0 plimsoll compile $net --costs profiled -o again
[[ $(asked) -eq $once ]] || fail "--costs profiled is another thing than the default"
# Output of a library on stdout must not get into the answer.
expect 0 env XDG_CACHE_HOME="$PWD/other" DNNL_VERBOSE=1 plimsoll compile $net -q -o quiet
! grep -v '^note: loss: ' err && [[ $(asked) -gt $once ]] || { cat err; fail "not quiet with -q"; }

# A compiler that is killed while it measures keeps its measurements and leaves nothing else. This profiler measures one
# task at a time, and the compiler is killed at the fourth.
cat >one_by_one <<SH
#!/bin/bash
set -euo pipefail
[[ " \$* " == *" --describe "* || " \$* " == *" --no-measure "* ]] && exec "$PWD/listing" "\$@"
sed 's/"seconds":[0-9.e+-]*/"seconds":0/' >"$PWD/one.json"
echo >>"$PWD/times"
[[ ! -e "$PWD/kill" || \$(wc -l <"$PWD/times") -lt 4 ]] || { kill -KILL \$PPID; exit 1; }
"$PLIMSOLL_BUILD/bin/plimsoll-profile-host" "\$@" <"$PWD/one.json" | sed "\$PLIMSOLL_UNDISTURBED"
SH
chmod +x one_by_one
export PLIMSOLL_PROFILER=$PWD/one_by_one XDG_CACHE_HOME=$PWD/ended
touch kill
expect 137 plimsoll compile $net -q -o ended_trainer
# A header, the links, and one task from each of two requests: the third was not answered.
[[ $(cat ended/plimsoll/costs-*.jsonl | wc -l) -eq 4 ]] ||
  { cat ended/plimsoll/*; fail "what was measured before is lost"; }
[[ ! -e ended_trainer && -z $(ls -A tmp) ]] || fail "ended, it left $(ls -A ended_trainer tmp)"
rm kill times
expect 0 plimsoll compile $net -q -o ended_trainer
[[ $(costs_of ended_trainer/plan.json) == profiled ]] || fail "ended once, it measures no more"
cat ended/plimsoll/costs-*.jsonl | sed 1d | cut -d'"' -f1-4 | sort >lines
[[ $(uniq lines | wc -l) -eq $(wc -l <lines) ]] || fail "measured again what was kept"
[[ -z $(ls -A tmp) ]] || fail "left behind: $(ls -A tmp)"

# Workspaces always come from the profiler, even with modelled times.
expect 8 env PLIMSOLL_PROFILER="$PWD/nowhere" plimsoll compile $net -o none
says "cannot run '$PWD/nowhere'"
says "set PLIMSOLL_PROFILER to its path"
[[ ! -e none ]] || fail "a trainer without a profiler"
# As in a build without CUDA: the message says what is missing, and how to work without it.
mkdir without && cp "$(command -v plimsoll)" "$(command -v plimsoll-profile-host)" without/
expect 8 env -u PLIMSOLL_PROFILER without/plimsoll compile $net --target cuda --costs h100 -o none
says "plimsoll-profile-cuda'"; says "nvcc and cuDNN 9.8 or later"; says 'plimsoll plan --target cuda --costs h200`'
expect 0 env -u PLIMSOLL_PROFILER without/plimsoll plan $net --target cuda --costs h100 -o plan.json
expect 0 env -u PLIMSOLL_PROFILER without/plimsoll doctor
tr -s ' \n' ' ' <out >one_line && mv one_line out;  says "generating trainers for them does not"
