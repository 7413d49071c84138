# The commit that `plimsoll --version` prints: of the repository, of what `git archive` wrote, or of PLIMSOLL_COMMIT.
. "$PLIMSOLL_CLI/common.sh"
unset PLIMSOLL_COMMIT

mkdir -p root/cmake
# commit_is EXPECTED [VARIABLE=VALUE]…: what cmake/commit.cmake finds in root.
commit_is() {
  local expected=$1
  shift
  rm -f commit.cpp
  env "$@" cmake -DROOT="$PWD/root" -DOUT="$PWD/commit.cpp" -P "$PLIMSOLL_SOURCE/cmake/commit.cmake" ||
    fail "commit.cmake"
  grep -qF "return \"$expected\";" commit.cpp || { cat commit.cpp; fail "the commit is not '$expected'"; }
}

# An archive that was not written by git, then one that was.
echo '$Format:%H$' >root/cmake/archived_commit
commit_is ""
commit_is 0123456789ab PLIMSOLL_COMMIT=0123456789ab
echo aaaaaaaaaaaabbbbbbbbbbbbccccccccccccdddd >root/cmake/archived_commit
commit_is aaaaaaaaaaaa
commit_is aaaaaaaaaaaa PLIMSOLL_COMMIT=0123456789ab

# A repository where git cannot say the commit: it may not be installed, or the repository was copied without its
# history.
mkdir root/.git
commit_is aaaaaaaaaaaa

command -v git >/dev/null || { echo "skipped: git is not installed"; exit 77; }
rmdir root/.git
git -C root init -q
git -C root -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
commit_is "$(git -C root rev-parse --short=12 HEAD)"
# Also in a clone that belongs to another user.
if [[ $(id -u) -eq 0 ]]; then
  head=$(git -C root rev-parse --short=12 HEAD)
  chown -R nobody root
  commit_is "$head"
fi
