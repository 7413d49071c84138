# Files of the runtime that are compiled together (runtime/train/batches.cmake) meet in any combination: no two of a folder
# have a name in common. Looked at by a compiler that has the whole folder before it.
set -euo pipefail
compiler=$(command -v g++) || { echo "skipped: there is no g++"; exit 77; }
together() { # FOLDER EXTENSION compiler-options…
  local folder=$1 extension=$2
  shift 2
  for file in "$PLIMSOLL_SOURCE/$folder"/*."$extension"; do
    [[ $folder/${file##*/} == runtime/train/main.cpp ]] || echo "#include \"$file\""
  done >together.cpp
  [[ $(wc -l <together.cpp) -gt 10 ]] || { echo "FAILED: $folder has no files" >&2; exit 1; }
  "$compiler" -std=c++20 -Wall -Wextra -Werror -Wno-psabi -Wno-unknown-pragmas -fsyntax-only -fopenmp "$@" -I"$PLIMSOLL_SOURCE" together.cpp || {
    echo "FAILED: two files of $folder have a name in common, so not every trainer would build: say whose it is (kSoftmaxLanes, not kLanes)" >&2; exit 1; }
}
together runtime/host/ops cpp
together runtime/train cpp
together runtime/cuda/ops cu -I"$PLIMSOLL_SOURCE/tests/cuda/emulation"
