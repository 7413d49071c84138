# A whole run of tools/gpu_check.sh, rehearsed without a GPU: all parts to the end, in portions of nine minutes, each of
# which stops by itself and is continued by the next. Prints the seconds of each part.
. "$PLIMSOLL_E2E/trainer.bash"
# PyTorch's threads spin briefly, as a trainer's do (runtime/host/waiting.h), because other tests run at the same time.
export GOMP_SPINCOUNT=1000
has $python torch torchvision onnx ||
  { echo "skipped: no torch, torchvision and onnx for $python"; exit 77; }
[[ -x "$PLIMSOLL_BUILD/bin/plimsoll-replay-cuda" && -x "$PLIMSOLL_BUILD/bin/plimsoll-profile-cuda" ]] ||
  { echo "skipped: this build has no CUDA runtime"; exit 77; }

# gpu_check.sh has prepared parts 1 and 3. Preparing all parts keeps what these have and makes the rest.
before=$PLIMSOLL_BUILD/tests/e2e/gpu_check
[[ -d $before/gpu-check && -d $before/.cache ]] || fail "run through ctest, which runs e2e: gpu_check first"
cp -r "$before/gpu-check" "$before/.cache" .
rm -r gpu-check/results
expect 0 "$PLIMSOLL_SOURCE/tools/gpu_check.sh" prepare --small -d gpu-check
! grep "another compiler" out || fail "the parts that gpu_check.sh prepared are by another compiler"
for portion in 1 2 3; do
  code=0 began=$SECONDS
  # The runtime of this build, which is not built again.
  PLIMSOLL_GPU_CHECK_BUILT=$PLIMSOLL_BUILD PYTHON=$python gpu-check/gpu_check.sh run --dry-run --work work \
    --minutes "${PLIMSOLL_GPU_CHECK_MINUTES:-9}" >out 2>err || code=$?
  echo "portion $portion: $((SECONDS - began)) s, exit $code"
  [[ $((SECONDS - began)) -lt 620 ]] || fail "a portion does not stop at its end"
  [[ $code -eq 10 ]] || break
  says "run it again to go on"
done
[[ $code -eq 0 ]] || { cat out err; fail "the run ends with $code"; }
$python - <<'PY'
import json
steps = {}
for part in range(1, 6):
    steps[part] = json.load(open(f"gpu-check/results/part-{part}-dry.json"))
    wrong = {
        name: one.get("error") or one for name, one in steps[part].items()
        if "error" in one or one.get("passed") is False
    }
    assert not wrong, wrong
    print(
        f"part {part}: {len(steps[part])} steps, "
        f"{sum(one.get('took_seconds', 0) for one in steps[part].values()):.0f} s"
    )
names = [name for part in steps.values() for name in part]
for words in ("operators", "memcheck", "racecheck", "initcheck", "bf16", "tf32", "gpt fp32",
              "gpt bf16", "ncu nhwc", "ncu nchw", "torch eager",
              "torch compile", "profile", "two ranks"):
    assert any(words in name for name in names), (words, names)
PY
