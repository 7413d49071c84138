# docs/operators.md is what `plimsoll operators --markdown` prints; PLIMSOLL_UPDATE=1 writes it anew.
. "$PLIMSOLL_CLI/common.sh"

page="$PLIMSOLL_CLI/../../docs/operators.md"
expect 0 plimsoll operators
says "Conv "; says "of constants and shapes only:"
if grep -q '^MseLoss\|^Reorder' out; then fail "an operator that is in no model"; fi
expect 0 plimsoll operators --markdown
[[ -z ${PLIMSOLL_UPDATE:-} ]] || cp out "$page"
diff "$page" out || fail "docs/operators.md is not up to date: PLIMSOLL_UPDATE=1 ctest -R 'cli: operators'"
