# One training step of PyTorch models, a few of each kind. Loss and gradients are those that PyTorch computed in double
# precision when the models were frozen (tools/bench/frozen_models.py), and only trained tensors change.
. "$PLIMSOLL_E2E/trainer.bash"
/usr/bin/python3 -c "import onnx, numpy" 2>/dev/null || { echo "skipped: no python3-onnx here"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
prepare() { /usr/bin/python3 "$PLIMSOLL_SOURCE/tests/exported/prepare.py" "$@"; }

for name in $(/usr/bin/python3 -c \
    "import json, sys; print(*(n for n, m in json.load(open(sys.argv[1])).items() if 'step' in m))" \
    "$PLIMSOLL_SOURCE/tests/exported/models.json"); do
  mkdir "$name" && cd "$name"
  flags=$(prepare step "$name")
  for budget in 70% 100%; do  # the smallest models need all of their memory
    code=0
    # shellcheck disable=SC2086
    plimsoll compile "$name.onnx" --batch 4 --budget $budget --costs modelled --optimizer sgd -q $flags \
      -o trainer 2>err || code=$?
    [[ $code -eq 6 ]] || break
  done
  [[ $code -eq 0 ]] || { cat err; fail "$name is not compiled"; }
  cmake -S trainer -B trainer/build -G Ninja "${with_runtime[@]}" >log 2>&1 &&
    cmake --build trainer/build >log 2>&1 || { cat log; fail "the build of $name"; }
  data=$(ls [0-9].npy | paste -sd,)
  trainer/build/train --data "npy:$data" --no-shuffle --steps 1 --lr 1152921504606846976 --save step.onnx \
    --metrics metrics.jsonl --quiet 2>err || { cat err; fail "$name is not trained"; }
  prepare compare "$name" || fail "$name differs"
  cd .. && rm -rf "$name"
done
