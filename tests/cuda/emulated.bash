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
  local directory=$1 headers=()
  # The program's files are compiled as one, as in a trainer's own build, and without the emulation's sanitizer: the
  # program calls kernels and touches no tensor itself. g++ uses what is precompiled only with the same options
  # (tests/e2e/CMakeLists.txt).
  [[ ! -e $PLIMSOLL_BUILD/tests/e2e/program_headers.h.gch ]] ||
    headers=(-include "$PLIMSOLL_BUILD/tests/e2e/program_headers.h")
  (cd "$directory" && printf '#include "%s"\n' *.cpp >program.unit &&
    ${CXX:-g++} -std=c++20 -O0 -g1 -DNDEBUG -U_FORTIFY_SOURCE -fopenmp -Wall -Wextra -I. \
     -DPLIMSOLL_TRAINER_DIR="\"$PWD\"" "${headers[@]}" -x c++ -c program.unit -o program.o &&
    ${CXX:-g++} -std=c++20 -O0 -I. -DPLIMSOLL_TRAINER_DIR="\"$PWD\"" -c runtime/train/main.cpp -o main.o &&
    ${CXX:-g++} -fsanitize=alignment program.o main.o "${@:2}" "$PLIMSOLL_EMULATED" $PLIMSOLL_PICTURES \
     -o train) >log 2>&1 || { cat log; fail "build of $directory"; }
}
run() { # DIR OUT.onnx options…
  local directory=$1 out=$2
  shift 2
  "$directory/train" --data npy:x.npy,y.npy --no-shuffle --quiet --save "$out" "$@"
}
same() { $python "$PLIMSOLL_E2E/weights.py" "$@" || fail "$1 and $2 differ"; }
