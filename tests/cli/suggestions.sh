# Names known from other tools get a one-line suggestion, and are never guessed.
. "$PLIMSOLL_CLI/common.sh"
small_model

means() { # WANTED ARGUMENTS…
  local wanted=$1
  shift
  expect 2 plimsoll "$@"
  says "Did you mean '$wanted'?"
  [[ $(wc -l <err) -le 3 && $(grep -c '^error: ' err) -eq 1 ]] || { cat err; fail "more than one message: $*"; }
}
plan() { echo plan net.onnx --batch 8 "$@"; }

means compile compil net.onnx
means compile build net.onnx
means inspect show net.onnx
means model zoo
expect 2 plimsoll train net.onnx; says "--data SOURCE is required"
means train fit net.onnx
means --batch plan net.onnx --batch-size 8
means --batch plan net.onnx --batch_size=8
means --budget $(plan --memory-limit 4GiB)
means --sub-batch $(plan --micro-batch 4)
means --target $(plan --device cuda)
means --weight-decay $(plan --wd 0.1)
means -o $(plan --output-dir x)
means --budget $(plan --bugdet 4GiB)
means adamw $(plan --optimizer AdamW)
means momentum $(plan --optimizer sgd-momentum)
means softmax-cross-entropy $(plan --loss cross-entropy)
means softmax-cross-entropy $(plan --loss CrossEntropyLoss)
means bce-logits $(plan --loss bce)
means cuda $(plan --target gpu)
means cuda $(plan --target CUDA)
means host $(plan --target cpu)
means tf32 $(plan --precision TF32)
means h100 $(plan --costs H100)
means liveness $(plan --policy livenes)
means superneurons:speed $(plan --policy superneurons-speed)
means nhwc $(plan --layout NHWC)
means resnet18 model resnet-18:input=32 -o x.onnx
means bash completion bsh
# An option of the trainer is reported as such, unless the compiler has an option of that name.
for option in --lr --epochs --data --save --no-shuffle; do
  expect 2 plimsoll $(plan $option 1); says "that is a trainer's flag"
done
# Only similar names are suggested.
expect 2 plimsoll $(plan --optimizer zoom); ! grep "Did you mean" err || fail "suggests something for zoom"
expect 2 plimsoll $(plan --policy magic);   ! grep "Did you mean" err || fail "suggests something for magic"
expect 2 plimsoll compress net.onnx;        ! grep "Did you mean" err || fail "suggests something for compress"
# A costs file is not a misspelt device.
expect 3 plimsoll $(plan --costs h10.json)
[[ ! -e x.onnx ]] || fail "a refused command left a file behind"
