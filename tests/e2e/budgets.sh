# Under another budget with the same sub-batch, weights have the same bits. The same is true when a trainer runs twice.
. "$PLIMSOLL_E2E/trainer.bash"
plimsoll model resnet18:input=32,stem=cifar,width=16,classes=10 -o net.onnx 2>/dev/null
random_data 32 3 32 10
build_trainer full net.onnx --batch 8 --sub-batch 4
build_trainer tight net.onnx --batch 8 --sub-batch 4 --budget "$($python -c '
import json; print(json.load(open("full/plan.json"))["summary"]["arena_bytes"])')"
build_trainer separate net.onnx --batch 8 --sub-batch 4 --policy network-wide --budget auto
trained full a.onnx --steps 3
trained full b.onnx --steps 3
trained tight c.onnx --steps 3
trained separate d.onnx --steps 3
for other in b c d; do $python "$PLIMSOLL_E2E/weights.py" a.onnx $other.onnx 0; done

# Weights and optimizer state that reside in the host pool, in memory and in a file: the same bits, even if updates are
# left out, and if a trainer with other residences resumes from the checkpoint.
adam="net.onnx --batch 8 --sub-batch 4 --optimizer adam"
plimsoll plan $adam -q -o free.json
build_trainer device $adam
build_trainer home $adam --budget "$($python \
  -c 'import json; print(json.load(open("free.json"))["summary"]["minimum_bytes"])')"
away() {
  $python -c 'import json, sys
print(sum("home_offset" in t for t in json.load(open(sys.argv[1] + "/plan.json"))["tensors"]))' "$1"
}
(( $(away device) == 0 && $(away home) > 10 )) || fail "$(away device) and $(away home) tensors live in the host pool"
same() { $python "$PLIMSOLL_E2E/weights.py" "$1" "$2" 0 || fail "other weights: $1 $2"; }
trained device on_device.onnx --steps 4
trained home at_home.onnx --steps 4
trained home in_file.onnx --steps 4 --spill .
for other in at_home in_file; do same on_device.onnx $other.onnx; done
for order in "device home" "home device" "home home"; do
  set -- $order
  trained $1 part.onnx --steps 2 --checkpoint "$1-$2"
  trained $2 resumed.onnx --steps 4 --checkpoint "$1-$2" --resume
  same on_device.onnx resumed.onnx
done
$python - <<'PY'
import numpy as np
x = np.load("x.npy"); x[9, 0, 0, 0] = np.nan; np.save("bad.npy", x)
PY
for trainer in device home; do
  $trainer/build/train --data npy:bad.npy,y.npy --no-shuffle --quiet --save skipped-$trainer.onnx --steps 4 \
    --on-nan skip
done
same skipped-device.onnx skipped-home.onnx
home/build/train --data npy:x.npy,y.npy --steps 1 | grep "optimizer state that reside" >/dev/null ||
  fail "does not say where the state lives"
plimsoll inspect home | grep "state kept on the host" >/dev/null || fail "inspect does not say where the state lives"
