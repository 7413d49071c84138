# docs/operators.md is the output of `plimsoll operators --markdown`; PLIMSOLL_UPDATE=1 rewrites it. The section at its
# end, on ONNX's node tests, belongs to tests/node/node.sh.
. "$PLIMSOLL_CLI/common.sh"

page="$PLIMSOLL_CLI/../../docs/operators.md"
expect 0 plimsoll operators
says "Conv "; says "of constants and shapes only:"
if grep -q '^MseLoss\|^Reorder' out; then fail "an operator that is in no model"; fi
expect 0 plimsoll operators --markdown
sed -n '/^## ONNX.s node tests/,$p' "$page" >counted
[[ -z ${PLIMSOLL_UPDATE:-} || ! -s counted ]] || { cat out; echo; cat counted; } >"$page"
sed '/^## ONNX.s node tests/,$d' "$page" | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >printed
diff printed out || fail "docs/operators.md is not up to date: PLIMSOLL_UPDATE=1 ctest -R 'cli: operators'"
