# The cases that test_ops records are computed again, in two processes and continuing after a case that ended its
# process; and reported as a table.
set -euo pipefail
rm -f told
PLIMSOLL_CASES=$PWD/cases.json "$PLIMSOLL_TEST_OPS" '[.cases]' >/dev/null
first=$(grep -o '"name":"[^"]*"' cases.json | sed -n '1s/"name":"\(.*\)"/\1/p')
echo "{\"case\":\"$first\",\"kernel\":\"Lost\"}" >told
"$PLIMSOLL_REPLAY" cases.json --results told --share 0/2 --skip Conv
"$PLIMSOLL_REPLAY" cases.json --results told --share 0/2
"$PLIMSOLL_REPLAY" cases.json --results told --share 1/2
[[ $("$PLIMSOLL_REPLAY" cases.json --results told) == *"0 kernels on"* ]] ||
  { echo "something was computed twice"; exit 1; }
grep -qF "\"case\":\"$first\",\"ended\":true,\"error\":\"the process ended in it\"" told ||
  { echo "a case that ended its process is not told"; exit 1; }
/usr/bin/python3 - <<'PY'
import json, os, sys
sys.path.insert(0, os.environ["PLIMSOLL_SOURCE"] + "/tools/gpu")
from replayed import replay_table
cases = json.load(open("cases.json"))["cases"]
result = replay_table(["told"])
assert result["cases"] == len({case["name"] for case in cases}) == len(cases), (result["cases"], len(cases))
assert list(result["failures"]) == ["Lost"] and not result["passed"], result["failures"]
assert len(result["table"]) == 2 + len({case["kernel"] for case in cases}), result["table"]
PY
