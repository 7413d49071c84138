# docs/operators.md is what `plimsoll operators --markdown` prints; PLIMSOLL_UPDATE=1 writes it anew. What stands at its end on ONNX's node
# tests is tests/node/node.sh's.
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
