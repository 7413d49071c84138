# A model with external weights. If --save is killed before any system call, there is the old model with its weights or
# the new one with its own, whether of one network or of two. The next --save removes leftover weights.
. "$PLIMSOLL_E2E/trainer.bash"
plimsoll model lenet -o ten.onnx 2>/dev/null
plimsoll model lenet:classes=7 -o seven.onnx 2>/dev/null
build_trainer ten ten.onnx --batch 8 --external-data
build_trainer seven seven.onnx --batch 8 --external-data
c++ -std=c++20 -shared -fPIC -O1 "$PLIMSOLL_CLI/preload/die.cpp" -o die.so -ldl
mkdir saved
empty() { find saved -mindepth 1 -delete; }
train() { "$1/build/train" --data synthetic --quiet --steps 1 --save saved/net.onnx "${@:2}"; }
weights_of() { grep -aom1 '[0-9a-f]\{16\}\.weights' "$1" | head -n 1; }
pair() {
  { sed 's/[0-9a-f]\{16\}\.weights/weights/g' saved/net.onnx; cat "saved/$(weights_of saved/net.onnx)"; } | sha256sum
}

train ten;          first=$(pair)
train ten --seed 5; same_network=$(pair)
train seven;        other_network=$(pair)
[[ $first != "$same_network" && $(ls -A saved | wc -l) -eq 2 ]] ||
  fail "the model and its weights should be there, and are $(ls -A saved)"
for how in "same_network ten --seed 5" "other_network seven"; do
  read -r after options <<<"$how"
  rm -rf before && empty && train ten && cp -r saved before
  for ((call = 1; ; ++call)); do
    empty && cp before/* saved
    code=0
    LD_PRELOAD=$PWD/die.so DIE_FROM=saved DIE_EVERY=1 DIE_AT=$call train $options 2>/dev/null || code=$?
    [[ $code -eq 137 || $code -eq 0 ]] || fail "exit $code when it was killed at call $call of --save"
    is=$(pair)
    [[ $is == "$first" || $is == "${!after}" ]] ||
      fail "killed at call $call, --save left a model with weights that are not its own"
    [[ $code -ne 0 ]] || break
    train ten && [[ $(ls -A saved | wc -l) -eq 2 && $(pair) == "$first" ]] ||
      fail "after a kill at call $call, --save left $(ls -A saved)"
  done
  [[ $call -gt 12 && $is == "${!after}" && $(ls -A saved | wc -l) -eq 2 ]] ||
    fail "--save with $call calls left $(ls -A saved)"
done
