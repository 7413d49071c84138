# Pages show the output of their commands; those that explain reports inspect the plans frozen in docs/examples/.
. "$PLIMSOLL_CLI/common.sh"
remake() { /usr/bin/python3 "$PLIMSOLL_SOURCE/tools/docs/remake.py" --plimsoll "$(command -v plimsoll)" "$@"; }
expect 0 remake --check

# A page with other output is refused, shown, and corrected.
cat >page.md <<'MD'
<!-- remake with there/plan.json=densenet.json -->
Text.

<!-- remake | paragraphs 1 -->
```
$ plimsoll inspect there
something else
```

<!-- remake $ plimsoll inspect there | section "the peak" | rows 2 1 -->
```
```

```
$ plimsoll is not run here
```
MD
cp page.md before.md
expect 1 remake --check page.md; says "-something else"; says "tools/docs/remake.py"
cmp page.md before.md || fail "--check changed the page"
expect 0 remake page.md; says "changed "
expect 0 remake --check page.md
grep -q '^the peak: .* at ' page.md && grep -q '^  policy auto' page.md && grep -q '^  …$' page.md &&
  grep -q '^…$' page.md ||
  { cat page.md; fail "the output is not there"; }
grep -q 'is not run here' page.md || fail "a block without a comment changed"
grep -q '^Text\.$' page.md || fail "the text changed"

# What an author gets wrong is told with its place.
sed 's/paragraphs 1/paragraph 1/' before.md >wrong.md
expect 1 remake wrong.md; says "wrong.md:4: there is no filter 'paragraph'"
sed 's/densenet.json/none.json/' before.md >wrong.md
expect 1 remake wrong.md; says "docs/examples/none.json does not exist"
