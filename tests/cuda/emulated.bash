# Sourced by the tests of this folder: trainers for --target cuda, linked with the emulation.
. "$PLIMSOLL_E2E/trainer.bash"

# emulated DIR MODEL compile-options…: a trainer that is also linked with $also
emulated() {
  local directory=$1 model=$2
  shift 2
  PLIMSOLL_PROFILER=$PLIMSOLL_EMULATED_PROFILER plimsoll compile "$model" -o "$directory" -q --target cuda \
    --costs h200 "$@"
  linked "$directory" ${also:-}
}
linked() { # DIR files that it is linked with, too…
  local directory=$1
  # The program's files are compiled as one, as in a trainer's own build.
  (cd "$directory" && printf '#include "%s"\n' *.cpp >program.unit &&
    ${CXX:-g++} -std=c++20 -O0 -I. -fsanitize=alignment -DPLIMSOLL_TRAINER_DIR="\"$PWD\"" \
     -x c++ program.unit runtime/train/main.cpp -x none "${@:2}" "$PLIMSOLL_EMULATED" $PLIMSOLL_PICTURES \
     -o train) >log 2>&1 || { cat log; fail "build of $directory"; }
}
run() { # DIR OUT.onnx options…
  local directory=$1 out=$2
  shift 2
  "$directory/train" --data npy:x.npy,y.npy --no-shuffle --quiet --save "$out" "$@"
}
same() { $python "$PLIMSOLL_E2E/weights.py" "$@" || fail "$1 and $2 differ"; }
