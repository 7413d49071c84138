# Files that are not what they should be: an exit code and a sentence for each, never a crash, nothing left behind.
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
expect 3 plimsoll verify missing.json;   says "missing.json"
echo '{"schema": 99}' > future.json
expect 4 plimsoll verify future.json;    says "schema"
echo '[[[[' > broken.json
expect 4 plimsoll verify broken.json;    says "broken.json: plan.json: is no JSON: line 2, column 1: it ends there"; says "plimsoll plan"
mkdir nothing_here
expect 3 plimsoll verify nothing_here;   says "plan.json"
[[ ! -e plan.json ]] || fail "a command that failed left plan.json behind"
