#!/usr/bin/env bash
# Checks the lines that a change touches: C++ and CUDA against .clang-format, and every file for lines over 120 columns.
# Lines that the change does not touch are not looked at.
#   tools/format.sh [--fix] [BASE]
#     BASE    the commit that the working tree is compared with (default: where HEAD left origin/main or main; HEAD if
#             it is neither)
#     --fix   format the changed C++ lines in place instead of showing the difference
# Exit code 0: nothing to do. 1: something is not in style; it is shown. 8: clang-format is not installed.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set -e/{/^set -e/d;s/^# \{0,1\}//;p}' "$0"; }
fix="" base=""
while (( $# > 0 )); do
  case $1 in
    --fix) fix=1 ;;
    --help | -h) usage; exit 0 ;;
    -*) echo "format: there is no option '$1'; --help lists them" >&2; exit 2 ;;
    *) base=$1 ;;
  esac
  shift
done
for tool in clang-format git-clang-format; do
  command -v "$tool" >/dev/null || { echo "format: $tool is not installed (tools/setup.sh format)" >&2; exit 8; }
done
if [[ -z $base ]]; then
  for trunk in origin/main main HEAD; do
    base=$(git merge-base HEAD "$trunk" 2>/dev/null) && break
  done
fi
git rev-parse -q --verify "$base^{commit}" >/dev/null || { echo "format: there is no commit '$base'" >&2; exit 2; }

failed=0
extensions=h,cpp,cu,cuh
if [[ -n $fix ]]; then
  git clang-format --force --extensions "$extensions" "$base"
else
  # Old versions exit with 0 whatever they find, so the output decides.
  changes=$(git clang-format --diff --quiet --extensions "$extensions" "$base" || true)
  if [[ -n $changes ]]; then
    printf '%s\n' "$changes"
    echo "format: the lines above are not in the style of .clang-format; tools/format.sh --fix $base changes them" >&2
    failed=1
  fi
fi

# Data, frozen output, tables and links may be longer: they cannot be broken.
git diff -U0 --no-color --no-ext-diff --diff-filter=d "$base" -- \
    '*.h' '*.cpp' '*.cu' '*.cuh' '*.cmake' '*.sh' '*.py' '*.md' '*.js' '*.css' '*.html' '*.in' '*CMakeLists.txt' \
    ':!third_party' ':!docs/examples' |
  LC_ALL=C awk '
    /^\+\+\+ /  { file = substr($0, 7); next }
    /^@@ /      { split($3, range, /[+,]/); line = range[2] - 1; next }
    /^\+/ {
      ++line
      text = substr($0, 2)
      gsub(/[\200-\277]/, "", text)  # a character of several bytes is one column
      if (length(text) <= 120) next
      if (file ~ /\.md$/ && (text ~ /^[[:space:]]*\|/ || text ~ /^[[:space:]>]*!?\[[^]]*\]\([^)]*\)[.,:;]?$/)) next
      printf "%s:%d: %d columns\n", file, line, length(text)
      bad = 1
    }
    END { exit bad }' || { echo "format: the lines above are longer than 120 columns" >&2; failed=1; }
exit $failed
