# Sourced by the tests of this folder: build_trainer and train.
. "$PLIMSOLL_CLI/common.sh"
python=/usr/bin/python3

# has PYTHON MODULES…: whether it has all of them. They are found, not imported: importing PyTorch takes a second.
has() {
  "$1" -c 'import importlib.util, sys
sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))' "${@:2}" 2>/dev/null
}

# python_with MODULES…: a Python with all of them: $PLIMSOLL_PYTHON, if somebody installed what Debian does not have
# (tools/setup.sh python), Debian's own, the one on the PATH, or that of tools/setup.sh keras; empty if none has.
python_with() {
  local candidate
  for candidate in "${PLIMSOLL_PYTHON:-$PLIMSOLL_SOURCE/build/python/bin/python3}" /usr/bin/python3 python3 \
    "$PLIMSOLL_SOURCE/build/keras/bin/python3"; do
    has "$candidate" "$@" && { echo "$candidate"; return; }
  done
  true
}

# preload NAME MODULES…: replaces the Python in the variable NAME with a command that runs each script in a process
# forked from one that has imported these modules (preloaded.py).
declare -A preloaded=()
preload() {
  local -n command=$1
  local real=$command
  [[ $real != "$PWD"/python-* ]] || return 0  # it is one already
  if [[ -z ${preloaded[$real]:-} ]]; then
    preloaded[$real]=$PWD/python-${#preloaded[@]}
    printf '#!/bin/sh\nexec /usr/bin/python3 -IS "%s/preloaded.py" run "%s.socket" "$@"\n' "$PLIMSOLL_E2E" \
      "${preloaded[$real]}" >"${preloaded[$real]}"
    chmod +x "${preloaded[$real]}"
    # Its input ends with this script.
    exec {preloading}> >(exec "$real" "$PLIMSOLL_E2E/preloaded.py" serve "${preloaded[$real]}.socket" "${@:2}")
    until [[ -S ${preloaded[$real]}.socket ]]; do
      kill -0 $! 2>/dev/null || fail "$real does not start"
      sleep 0.01
    done
  fi
  command=${preloaded[$real]}
}

# For cmake: a trainer with this build's runtime and precompiled headers, and what is known of this machine.
with_runtime=(-C"$PLIMSOLL_BUILD/tests/e2e/known.cmake" -DPLIMSOLL_RUNTIME="$PLIMSOLL_BUILD"
  -DCMAKE_PROJECT_INCLUDE="$PLIMSOLL_E2E/program_headers.cmake"
  -DPLIMSOLL_PROGRAM_HEADERS="$PLIMSOLL_BUILD/tests/e2e/program_headers.h")

# For tools/gpu_check.sh, which has a runtime of its own: the same for the rest.
printf -v PLIMSOLL_GPU_CHECK_OPTIONS '%q ' "${with_runtime[0]}" "${with_runtime[@]:2}"
export PLIMSOLL_GPU_CHECK_OPTIONS

# build_trainer DIR MODEL compile-options…: by default with modelled costs, so that plans are the same everywhere.
build_trainer() {
  local directory=$1 model=$2 costs=(--costs modelled)
  shift 2
  [[ " $* " != *" --costs "* ]] || costs=()
  plimsoll compile "$model" -o "$directory" -q "$@" "${costs[@]}"
  cmake -S "$directory" -B "$directory/build" -G Ninja "${with_runtime[@]}" -DPLIMSOLL_WERROR=ON >log 2>&1 ||
    { cat log; fail "cmake"; }
  cmake --build "$directory/build" >log 2>&1 || { cat log; fail "build of $directory"; }
}

# random_data SAMPLES CHANNELS SIZE CLASSES: x.npy, y.npy
random_data() {
  $python - "$@" <<'PY'
import sys
import numpy as np
n, c, s, k = map(int, sys.argv[1:])
r = np.random.RandomState(0)
np.save("x.npy", r.randn(n, c, s, s).astype(np.float32))
np.save("y.npy", r.randint(0, k, n).astype(np.int32))
PY
}

# trained DIR OUT.onnx options…: runs the trainer on x.npy, y.npy and saves the weights
trained() {
  local directory=$1 out=$2
  shift 2
  "$directory/build/train" --data npy:x.npy,y.npy --no-shuffle --quiet --save "$out" "$@"
}
