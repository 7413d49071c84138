# What tools/gpu_check.sh prepares: small enough to travel, and a trainer without its weights starts from the bits that PyTorch's
# twin starts from.
. "$PLIMSOLL_E2E/trainer.bash"
$python -c 'import torch, torchvision, onnx' 2>/dev/null || { echo "skipped: no torch, torchvision and onnx for $python"; exit 77; }
[[ -x "$PLIMSOLL_BUILD/bin/plimsoll-profile-cuda" ]] || { echo "skipped: this build has no CUDA runtime"; exit 77; }

expect 0 "$PLIMSOLL_SOURCE/tools/gpu_check.sh" prepare --small --part 2 -d travels;   says "MiB travel"
expect 0 "$PLIMSOLL_SOURCE/tools/gpu_check.sh" prepare --small --part 3 -d travels
[[ $(du -sk travels | cut -f1) -lt 8192 ]] || fail "a small folder has more than 8 MiB"
grep -q '"part": 2' travels/index.json && grep -q '"part": 3' travels/index.json || fail "the index forgot a part"
expect 2 "$PLIMSOLL_SOURCE/tools/gpu_check.sh" run --part 1 -d nowhere;              says "prepare"
PYTHON=$python expect 1 travels/gpu_check.sh run --part 1 --dry-run;                 says "part 1 was not prepared"

build_trainer host travels.models/resnet18.onnx --batch 2
gunzip -c travels/networks/resnet18/model.onnx.gz >zero.onnx
expect 0 host/build/train --init he:7 --model zero.onnx --data synthetic --steps 1 --lr 0 --save started.onnx
$python - "$PLIMSOLL_SOURCE" <<'PY'
import sys
sys.path.insert(0, sys.argv[1] + "/tools/gpu")
import numpy as np
import networks
with np.load("travels/networks/resnet18.npz") as small:
    twin = networks.twin("resnet18", 7, dict(small)).state_dict()
ours = networks.read_weights("started.onnx")
weights = [name for name, value in twin.items() if value.dim() >= 2]
assert len(weights) == 21, len(weights)
for name in weights:
    assert ours[name].tobytes() == twin[name].numpy().tobytes(), name
    assert abs(ours[name]).max() > 0, name
zero = networks.read_weights("zero.onnx")
assert all(not zero[name].any() for name in weights)
PY
