# Invalid files: each gives an exit code and a sentence, never a crash, and leaves nothing on disk.
. "$PLIMSOLL_CLI/common.sh"
small_model

plan() { plimsoll plan "$1" --batch 4 -o plan.json; }
expect 3 plan missing.onnx;              says "missing.onnx"
mkdir directory.onnx
expect 3 plan directory.onnx;            says "directory"
: > empty.onnx
expect 4 plan empty.onnx
echo "this is no model, it is a sentence" > text.onnx
expect 4 plan text.onnx;                 says "text.onnx"
echo '{"irVersion": "8", "graph": {}}' > json.onnx
expect 4 plan json.onnx
head -c 20000 net.onnx > truncated.onnx
expect 4 plan truncated.onnx
head -c 100000 /dev/urandom > noise.onnx
expect 4 plan noise.onnx
# --strict turns warnings into errors.
cp net.onnx nan.onnx && printf '\x00\x00\xc0\x7f' |
  dd of=nan.onnx bs=1 seek=$(($(stat -c %s net.onnx) - 4)) conv=notrunc status=none
expect 0 plimsoll plan nan.onnx --batch 4 --policy liveness -o nan.json
says "warning: 1 weight in 1 tensor is NaN or infinite"
expect 4 plimsoll plan nan.onnx --batch 4 --strict -o plan.json
says "error: 1 weight in 1 tensor is NaN or infinite"
expect 4 plimsoll compile nan.onnx --batch 4 --strict -o trainer
expect 0 plimsoll plan net.onnx --batch 4 --policy liveness --strict -o strict.json
expect 4 plimsoll plan net.onnx --batch 4 --require-bn -o plan.json
says "error: the model has no batch normalization"
says "--require-bn asks"
plimsoll model resnet18:input=32,stem=cifar,width=8,channels=1,classes=10 -o norm.onnx 2>/dev/null
expect 0 plimsoll plan norm.onnx --batch 4 --policy liveness --require-bn -o norm.json
expect 3 plimsoll verify missing.json;   says "missing.json"
echo '{"schema": 99}' > future.json
expect 4 plimsoll verify future.json;    says "schema"
echo '[[[[' > broken.json
expect 4 plimsoll verify broken.json
says "broken.json: plan.json: is not JSON: line 2, column 1: it ends there"
says "plimsoll plan"
mkdir nothing_here
expect 3 plimsoll verify nothing_here;   says "plan.json"
[[ ! -e plan.json && ! -e trainer ]] || fail "a command that failed left plan.json behind"
