# tools/bare.sh: a partial run replaces only its own table in the page, and a base that is not what it should be is
# refused before anything is made.
. "$PLIMSOLL_CLI/common.sh"
page() { /usr/bin/python3 "$PLIMSOLL_SOURCE/tools/bare_page.py" "$@"; }

cp "$PLIMSOLL_SOURCE/docs/installation.md" page.md
for release in bookworm trixie; do
  for part in demo package pip tests; do
    echo "$release $part 1" | page page.md $release $part "commit 1"
  done
done
[[ $(grep -c ", commit 1, " page.md) -eq 8 ]] || fail "not every part of each release has a place in the page"
cp page.md before.md
printf 'a \\1 table\nof two lines\n' | page page.md bookworm package "commit 2"
diff before.md page.md >changed && fail "the page did not change"
[[ $(grep '^<' changed) == *"commit 1"*$'\n'"< bookworm package 1" ]] ||
  { cat changed; fail "more than one table is lost"; }
[[ $(grep '^>' changed) == *"commit 2"*$'\n'"> a \\1 table"$'\n'"> of two lines" ]] ||
  { cat changed; fail "another table"; }
! echo | page page.md bookworm nothing "commit 2" 2>err || fail "a part that the page does not have"
grep -q "0 places for the part nothing of bookworm" err || { cat err; fail "the missing place is not named"; }

mkdir -p other/etc full/etc full/usr/bin
echo VERSION_CODENAME=bookworm | tee other/etc/os-release >full/etc/os-release
touch full/usr/bin/cmake
expect 2 "$PLIMSOLL_SOURCE/tools/bare.sh" --base other trixie
says "other is a chroot of bookworm, not a chroot of trixie"
expect 2 "$PLIMSOLL_SOURCE/tools/bare.sh" --base full bookworm
says "full is not bare: it has cmake"
mkdir nothing
expect 2 "$PLIMSOLL_SOURCE/tools/bare.sh" --base nothing bookworm
says "nothing is not a chroot of bookworm"
expect 2 "$PLIMSOLL_SOURCE/tools/bare.sh" --only nothing bookworm
says "is no part (demo, package, pip, tests)"
