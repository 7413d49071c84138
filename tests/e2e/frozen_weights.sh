# Frozen weights in bf16: what products and rows of tables read of them is stored in bf16 alone, rounded to the nearest
# when it is read from the file. A saved model, an exported checkpoint and a continued run have the numbers of the file.
. "$PLIMSOLL_E2E/trainer.bash"
/usr/bin/python3 -c "import onnx, numpy" 2>/dev/null || { echo "skipped: no python3-onnx here"; exit 77; }
random_data 32 3 16 10
/usr/bin/env python3 -c 'import array, random
random.seed(1); array.array("H", [random.randrange(64) for _ in range(4000)]).tofile(open("data.bin", "wb"))'
plimsoll model resnet18:input=16,stem=cifar,width=16,classes=10 -o conv.onnx -q
plimsoll model gpt:layers=1,heads=2,width=32,context=64,vocab=64 -o gpt.onnx -q
cat >frozen.py <<'PY'
import json, sys
import numpy as np
import onnx
from onnx import numpy_helper

def weights(path):
    return {i.name: numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer}

def rounded(array):
    """To the nearest bf16, ties to even."""
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)

def stored_so(name):
    """The frozen weights that a plan stores in bf16, by their name in the model."""
    plan = json.load(open(name + "/plan.json"))
    names = {t["name"] for t in plan["tensors"]}
    narrow = {t["name"] for t in plan["tensors"] if t["kind"] == "weight" and t.get("type") == "bf16"}
    assert not any(name + ".bf16" in names for name in narrow), "a task casts a weight"
    return {name for name in narrow if name + ".low" not in names}

def same(a, b):
    return np.array_equal(a.view(np.uint32), b.view(np.uint32))
PY
declare -A flags=([conv]="--trainable fc.* --frozen-statistics *" [gpt]="--trainable *mlp*")
declare -A data=([conv]=npy:x.npy,y.npy [gpt]=tokens:data.bin)
for net in conv gpt; do
  read -ra options <<<"${flags[$net]}"
  build_trainer $net $net.onnx --batch 8 --optimizer adam --precision bf16 "${options[@]}"
  train() { $net/build/train --data "${data[$net]}" --no-shuffle --lr 0.01 --quiet "$@"; }
  # The same model, whose frozen weights are already rounded.
  /usr/bin/python3 - $net <<'PY'
import sys
from frozen import *
net = sys.argv[1]
given, frozen = weights(net + "/model.onnx"), stored_so(net)
model = open(net + "/model.onnx", "rb").read()
print(*sorted(frozen))
expected = {"conv": {"conv1.weight", "layer4.1.conv2.weight"},
            "gpt": {"transformer.wte.weight", "transformer.h.0.attn.c_attn.weight"}}[net]
assert expected <= frozen, (expected, frozen)
for name in frozen:
    assert not same(given[name], rounded(given[name])) and model.count(given[name].tobytes()) == 1, name
    model = model.replace(given[name].tobytes(), rounded(given[name]).tobytes())
open(net + "-rounded.onnx", "wb").write(model)
PY
  train --steps 4 --checkpoint $net-ck --checkpoint-every 4 --save $net-a.onnx
  train --steps 4 --model $net-rounded.onnx --save $net-b.onnx
  train --steps 6 --checkpoint $net-ck --resume --save $net-continued.onnx
  train --steps 6 --save $net-straight.onnx
  expect 0 plimsoll export $net --checkpoint "$(echo $net-ck/ckpt-*4)" -o $net-exported.onnx
  cmp $net-continued.onnx $net-straight.onnx || fail "a continued run has other weights"
  /usr/bin/python3 - $net <<'PY'
import sys
from frozen import *
net = sys.argv[1]
given, a, b, exported = (weights(f"{net}{end}.onnx") for end in ("/model", "-a", "-b", "-exported"))
frozen = stored_so(net)
moved = 0
for name in given:
    assert same(a[name], exported[name]), name + " is another one in the checkpoint"
    if name in frozen:
        assert same(a[name], given[name]) and same(b[name], rounded(given[name])), name
    else:
        assert same(a[name], b[name]), name + " is trained with other frozen weights"
        moved += not same(a[name], given[name])
assert moved >= 2, moved
PY
done
