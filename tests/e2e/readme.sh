# The first commands of README.md work one after the other as printed. The commands that download and build Plimsoll
# itself are left out: `tools/bare.sh` runs them on a bare machine.
. "$PLIMSOLL_E2E/trainer.bash"
has $python sklearn || { echo "skipped: no scikit-learn for $python"; exit 77; }
awk '/^```/ { if (++fences == 2) exit; next } fences == 1' "$PLIMSOLL_SOURCE/README.md" >printed
grep -vE '^(git clone|tools/setup.sh|cmake -S \. |export PATH=|$)' printed >commands
(( $(wc -l <commands) == 5 )) || { cat printed; fail "README.md's first block is not what this test expects"; }
grep -q '^cmake -S trainer ' commands || fail "README.md's first block builds no trainer"
ln -s "$PLIMSOLL_SOURCE/tools" tools
export PLIMSOLL_RUNTIME=$PLIMSOLL_BUILD  # e2e: carried builds the runtime that a trainer carries
bash -euo pipefail -x commands >log 2>&1 || { cat log; fail "README.md's first commands"; }
! grep 'warning: .*\[-W' log || fail "the trainer builds with warnings"
[[ -s trained.onnx ]] || { cat log; fail "no trained model"; }
grep -q "^PLIMSOLL_RUNTIME:PATH=$PLIMSOLL_BUILD$" trainer/build/CMakeCache.txt ||
  fail "the environment's PLIMSOLL_RUNTIME is ignored"
$python - <<'PY'
import re
shares = [float(x) for x in re.findall(r"accuracy\s+([0-9.]+)\s*%", open("log").read())]
assert shares and shares[-1] >= 90, f"accuracy {shares}"
PY
