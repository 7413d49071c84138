# Runs every node test of the onnx package: none ends in an internal error, and every accepted test has the right value.
. "$PLIMSOLL_E2E/trainer.bash"
python=
for modules in "onnx onnx.reference" "onnx"; do [[ -n $python ]] || python=$(python_with $modules); done
if [[ -z $python ]]; then
  echo "skipped: no Python here has onnx, which has the node tests (tools/setup.sh python)"
  exit 77
fi
"$python" "$PLIMSOLL_SOURCE/tests/node/write_cases.py" cases >out 2>err || {
  tail -3 err
  echo "skipped: the onnx package of $python cannot make its node tests with the NumPy that is here"
  exit 77
  }
cat out
[[ $(find cases -name '*.onnx' | wc -l) -gt 500 ]] || fail "these are not all of ONNX's node tests"
# Through the command line: any exit code except 1, and no signal.
find cases -name '*.onnx' | sort | xargs -P 2 -I{} bash -c \
  'plimsoll inspect {} >/dev/null 2>{}.log; code=$?
   [[ $code -ne 1 && $code -lt 126 ]] || { echo "{}: exit $code"; head -3 {}.log; }' >bad
[[ ! -s bad ]] || { head -40 bad; fail "internal errors"; }
PLIMSOLL_NODE_CASES=$PWD/cases "$PLIMSOLL_TEST_NODE" >out 2>&1 || { tail -80 out; fail "values differ"; }
grep -v '^$' out | tail -9
# docs/operators.md has the counts for one version of the package. PLIMSOLL_UPDATE=1 rewrites that section.
page=$PLIMSOLL_SOURCE/docs/operators.md
version=$("$python" -c 'import onnx; print(onnx.__version__)')
{
  printf '%s\n' "## ONNX's node tests" "" \
    "The node tests are those of version $version of the onnx package. The table counts the compiler's result for" \
    "each test (\`tests/node/node.sh\`), and whether the host's kernels compute what ONNX expects. Most tests are" \
    "of operators or types that no network is trained with, or supply at run time what the compiler has to know." \
    "Random tests draw other numbers than NumPy, so what is compared are shapes, the values that can be drawn, and" \
    "of a dropout the factor and the share of what it keeps. \"Otherwise\" is \`Resize\` with \`align_corners\` and" \
    "a rounded size, which is computed as PyTorch does." ""
  grep '^|' out
  echo
  grep ' are accepted in one form or the other' out
  echo
  sed -n 's/^random: \(.*\)/Random: \1./p' out | fold -s -w 120 | sed 's/ $//'
} >section
if [[ -n ${PLIMSOLL_UPDATE:-} ]]; then
  sed '/^## ONNX.s node tests/,$d' "$page" >kept
  { sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' kept; echo; cat section; } >"$page"
fi
grep -q "^The node tests are those of version $version of" "$page" ||
  { echo "docs/operators.md counts another version's"; exit 0; }
sed -n '/^## ONNX.s node tests/,$p' "$page" | diff - section ||
  fail "docs/operators.md counts others: PLIMSOLL_UPDATE=1 ctest -R 'node: node'"
