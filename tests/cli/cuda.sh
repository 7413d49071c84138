# Plans and trainers for a GPU that is not present: cuDNN's engines by name, with their exact workspaces.
. "$PLIMSOLL_CLI/common.sh"
profiler=$(dirname "$(command -v plimsoll)")/plimsoll-profile-cuda
[[ -x $profiler ]] || { echo "skipped: this build has no CUDA runtime"; exit 77; }
small_model

# TF32 is the default, as in PyTorch, and the first line of a report says so.
expect 0 plimsoll compile net.onnx --batch 64 --target cuda --costs h200 --precision fp32 -o trainer
expect 0 plimsoll compile net.onnx --batch 64 --target cuda --costs h200 --precision tf32 -o tf32
expect 0 plimsoll compile net.onnx --batch 64 --target cuda --costs t4 --precision fp32 -o t4
expect 0 plimsoll inspect tf32
[[ $(head -1 out) == *"products in TF32 (--precision fp32: none)"* ]] ||
  { cat out; fail "the first line does not say TF32"; }
expect 0 plimsoll inspect trainer
grep -q TF32 out && { cat out; fail "a plan in fp32 says TF32"; }
/usr/bin/python3 - <<'PY'
import json
def algorithms(path):
    plan = json.load(open(f"{path}/plan.json"))
    return {plan["tasks"][s["task"]]["name"]: s["algorithm"] for s in plan["steps"] if "algorithm" in s}
fp32, tf32, t4 = algorithms("trainer"), algorithms("tf32"), algorithms("t4")
convolutions = [each for each in open("trainer/kernels_0.cpp").read().split(";") if "k.add<Conv" in each]
assert len(convolutions) == 5 and all("eng" in line for line in convolutions), convolutions
assert any(a.startswith("fp32_") for a in fp32.values()) and not any(a.startswith("tf32_") for a in fp32.values())
assert any(a.startswith("tf32_") for a in tf32.values())
assert fp32 != tf32 and fp32 != t4
target = json.load(open("trainer/plan.json"))["target"]
assert target["device"] == "h200" and target["costs"] == "modelled" and target["libraries"]["cudnn"], target
PY
expect 0 plimsoll compile net.onnx --batch 64 --target cuda --costs h200 --precision fp32 -o again
cmp trainer/kernels_0.cpp again/kernels_0.cpp || fail "the same command gives another trainer"

# Without --costs a local GPU is measured. Without a GPU, a trainer is for an H200, and the compiler says so.
if ! nvidia-smi >/dev/null 2>&1; then
  expect 0 plimsoll compile net.onnx --batch 64 --target cuda -o default
  says "no GPU found"
  says "--costs h200"
  says "(modelled)"
  cmp tf32/kernels_0.cpp default/kernels_0.cpp || fail "without a GPU the default is not --costs h200"
  expect 0 plimsoll compile net.onnx --batch 64 --target cuda -q -o default
  ! grep -v '^note: loss: ' err || fail "not quiet with -q"
  expect 0 plimsoll plan net.onnx --batch 64 --target cuda -o plan.json
  ! grep "no GPU" err >/dev/null || fail "a report wants no GPU"
  expect 8 plimsoll compile net.onnx --batch 64 --target cuda --costs profiled -o none
fi

# The layout of images follows the tasks' times, channels last on tensor cores and otherwise not; or the request.
plimsoll model resnet18:input=64 -o resnet.onnx 2>/dev/null
expect 0 plimsoll plan resnet.onnx --batch 64 --target cuda --costs h100 --precision tf32 --policy liveness -o plan.json
says "layout   nhwc in "
expect 0 plimsoll plan net.onnx --batch 64 --target cuda --costs k40m -o plan.json
says "layout   nchw: tasks of a round take"
expect 0 plimsoll plan net.onnx --batch 64 --target cuda --costs h200 --precision tf32 --layout nhwc -o plan.json
says "layout   nhwc, as asked"
expect 0 plimsoll inspect plan.json
says "layout nhwc, as asked"
expect 2 plimsoll plan net.onnx --batch 64 --target cuda --layout nChw8c -o plan.json;              says "nchw and nhwc"
expect 2 plimsoll plan net.onnx --batch 64 --layout nhwc -o plan.json;                              says "is for GPUs"

# The last round is smaller: an engine must serve both rounds, whatever cuDNN prefers for each.
expect 0 plimsoll plan resnet.onnx --batch 32 --sub-batch 6 --target cuda --costs h200 -o plan.json
says "in 6 rounds of 6"

# A device that no profiler knows can be used for reports; a trainer needs workspaces.
expect 0 plimsoll plan net.onnx --batch 64 --target cuda --costs k40m -o plan.json;      says "(modelled)"
expect 8 plimsoll compile net.onnx --batch 64 --target cuda --costs k40m -o none;        says "k40m"
expect 2 plimsoll plan net.onnx --batch 64 --target cuda --costs host -o plan.json;      says "is not a GPU"
expect 2 plimsoll plan net.onnx --batch 64 --precision tf32 -o plan.json
says "the host computes in fp32"
expect 2 plimsoll plan net.onnx --batch 64 --target cuda --precision fp64 -o plan.json;       says "fp64"

expect 0 plimsoll plan net.onnx --batch 64 --target cuda --costs h200 --process-budget 800MiB -o plan.json
says "768.0 MiB for the context"; says "32.0 MiB for the arena"
/usr/bin/python3 -c 'import json; assert json.load(open("plan.json"))["budget_bytes"] == 32 << 20'
expect 6 plimsoll plan net.onnx --batch 64 --target cuda --costs h200 --process-budget 700MiB -o plan.json
says "leaves nothing"
expect 2 plimsoll plan net.onnx --batch 64 --process-budget 800MiB -o plan.json;         says "--budget"
expect 2 plimsoll plan net.onnx --batch 64 --target cuda --costs h200 --process-budget 50% -o plan.json; says "bytes"

# The profiler's request can be carried to another machine.
expect 0 plimsoll profile net.onnx --batch 64 --target cuda --tasks-only -o tasks.json
expect 0 "$profiler" tasks.json -o described.json --device-props a100
expect 0 "$profiler" --describe --device-props a100;                                     says "A100"
expect 8 "$profiler" --describe --device-props abacus;                                   says "abacus"
echo '{"deviceName": "half a device"}' >half.json
expect 8 "$profiler" --describe --device-props half.json;                                says "described device"
/usr/bin/python3 - <<'PY'
import json
profile = json.load(open("described.json"))
assert profile["described"] and not any("error" in t for t in profile["tasks"])
assert not any("seconds" in a for t in profile["tasks"] for a in t["algorithms"])
PY

# A library that cuDNN loads on demand and cannot load: the loader's reason is told.
cudnn=$(ldd "$profiler" | awk '/libcudnn\.so/ { print $3 }')
broken() {
  rm -rf libs && mkdir libs
  for each in "$(dirname "$cudnn")"/libcudnn_*.so.9; do ln -s "$(readlink -f "$each")" "libs/$(basename "$each")"; done
  cp "$(readlink -f "$cudnn")" "libs/$(basename "$cudnn")"
  rm -f "libs/libcudnn_$1.so.9"
  : >"libs/libcudnn_$1.so.9" >"libs/libcudnn_$1.so"
}
if [[ $cudnn == */libcudnn.so.9 ]]; then
  broken heuristic
  expect 0 env LD_LIBRARY_PATH="$PWD/libs" "$profiler" tasks.json -o without.json --device-props a100
  grep -q "cuDNN has no such convolution: .*libcudnn_heuristic.so.9: file too short" without.json ||
    fail "without.json does not say which library is broken"
  broken graph
  expect 8 env LD_LIBRARY_PATH="$PWD/libs" "$profiler" tasks.json -o without.json --device-props a100
  says "cuDNN is not complete: "
  says "libcudnn_graph.so.9: file too short"
fi
