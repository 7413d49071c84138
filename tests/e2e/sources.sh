# Common data sources: folders of PNG and JPEG files, the binary files of CIFAR-10 and MNIST, NumPy arrays; for
# training, evaluation and prediction. The same images have the same scores, whatever their file format.
. "$PLIMSOLL_E2E/trainer.bash"
has $python PIL || { echo "skipped: no PIL to write pictures with"; exit 77; }
$python - <<'PY'
import os, struct
import numpy as np
from PIL import Image
r = np.random.RandomState(0)
pixels, labels = r.randint(0, 256, (40, 32, 32, 3), np.uint8), np.arange(40) % 10
for i, (x, y) in enumerate(zip(pixels, labels)):
    os.makedirs(f"photos/{y:02}", exist_ok=True)
    Image.fromarray(x).save(f"photos/{y:02}/{i:03}.png")
    os.makedirs(f"large/{y:02}", exist_ok=True)
    Image.fromarray(x).resize((50, 40)).save(f"large/{y:02}/{i:03}.jpeg", quality=95)
order = sorted(range(40), key=lambda i: (labels[i], i))  # the order of files in a folder
np.save("x.npy", pixels[order].transpose(0, 3, 1, 2)); np.save("y.npy", labels[order])
os.mkdir("cifar"); os.mkdir("mnist")
records = [bytes([y]) + x.transpose(2, 0, 1).tobytes() for x, y in zip(pixels[order], labels[order])]
for part in range(5):
    open(f"cifar/data_batch_{part + 1}.bin", "wb").write(b"".join(records[8 * part:8 * part + 8]))
open("cifar/test_batch.bin", "wb").write(b"".join(records))
for name in ("train", "t10k"):
    open(f"mnist/{name}-images-idx3-ubyte",
         "wb").write(struct.pack(">iiii", 0x803, 40, 28, 28) + pixels[:, :28, :28, 0].tobytes())
    open(f"mnist/{name}-labels-idx1-ubyte",
         "wb").write(struct.pack(">ii", 0x801, 40) + labels.astype(np.uint8).tobytes())
PY
# One image of each common kind, compared with Pillow's result: in colour and in grey.
$python - <<'PY'
import os
import numpy as np
from PIL import Image
r = np.random.RandomState(1)
smooth = Image.fromarray(r.randint(0, 256, (4, 4, 3), np.uint8)).resize((32, 32), Image.BICUBIC)
inks = Image.merge("CMYK", [*smooth.split(), Image.new("L", (32, 32), 70)])
kinds = [("gray.png", smooth.convert("L"), {}), ("palette.png", smooth.convert("P"), {}),
         ("one-bit.png", smooth.convert("1"), {}), ("opaque.png", smooth.convert("RGBA"), {}),
         ("named-wrongly.png", smooth, {"format": "JPEG"}), ("plain.png", smooth, {}),
         ("gray.jpg", smooth.convert("L"), {}), ("progressive.JPG", smooth, {"progressive": True}),
         ("inks.jpeg", inks, {}), ("held-upright.jpg", smooth, {})]
exif = Image.Exif()
exif[0x0112] = 6  # turned by a quarter, says the camera
for i, (name, image, how) in enumerate(kinds):
    os.makedirs(f"kinds/{i:02}")
    image.save(f"kinds/{i:02}/{name}", **how, **({"exif": exif} if "upright" in name else {}))
opened = [Image.open(f"kinds/{i:02}/{name}") for i, (name, _, _) in enumerate(kinds)]
np.save("kinds.npy", np.stack([np.asarray(image.convert("RGB")) for image in opened]).transpose(0, 3, 1, 2))
np.save("kinds-gray.npy", np.stack([np.asarray(image.convert("L"))[None, 2:30, 2:30] for image in opened]))
PY
plimsoll model vgg11:input=32,width=4,hidden=16,classes=10 -o net.onnx 2>/dev/null
plimsoll model resnet18:input=28,stem=cifar,channels=1,width=4,classes=10 -o digits.onnx 2>/dev/null
build_trainer net net.onnx --batch 8
build_trainer digits digits.onnx --batch 8
train() { expect 0 "$@" --steps 5 --lr 0.01; says "40 samples, 5 iterations an epoch"; says "of 40"; }
train net/build/train --data images:photos --eval-data images:photos --mean 0.4914,0.4822,0.4465 \
  --std 0.2470,0.2435,0.2616
train net/build/train --data images:large --eval-data images:large --resize 36 --random-crop --flip
train net/build/train --data cifar10:cifar --eval-data cifar10:cifar
train net/build/train --data npy:x.npy,y.npy --eval-data npy:x.npy,y.npy
train digits/build/train --data mnist:mnist --eval-data mnist:mnist

predicted() { expect 0 net/build/train --predict "$1" --out "$2" "${@:3}"; says "of 40 samples"; }
predicted x.npy npy.npy
predicted images:photos png.npy
predicted cifar10:cifar cifar.npy
predicted images:photos normalized.npy --mean 0.4914,0.4822,0.4465 --std 0.2470,0.2435,0.2616
predicted images:large jpeg.npy
for scores in "net kinds.npy" "digits kinds-gray.npy"; do
  read -r trainer expected <<<"$scores"
  expect 0 $trainer/build/train --predict $expected --out $trainer-npy.npy
  expect 0 $trainer/build/train --predict images:kinds --out $trainer-images.npy --resize 32
done
$python - <<'PY'
import numpy as np
scores = {name: np.load(name + ".npy") for name in ("npy", "png", "cifar", "normalized", "jpeg")}
assert all(s.shape == (40, 10) for s in scores.values())
same = lambda a, b: np.abs(scores[a] - scores[b]).max() < 1e-4 * np.abs(scores[a]).max()
assert same("npy", "png") and same("cifar", "normalized")
for trainer in ("net", "digits"):
    npy, images = (np.load(f"{trainer}-{source}.npy") for source in ("npy", "images"))
    apart = np.abs(npy - images).max(axis=1) / np.abs(npy).max()
    # The grey values of a JPEG are not rounded twice.
    assert apart.max() < 0.02, f"{trainer}: kinds of pictures differ from Pillow's by {apart}"
assert not same("npy", "cifar") and not same("png", "jpeg")
PY

# Errors in an image or a folder are reported by name, before anything runs.
mkdir none
expect 3 net/build/train --data images:none;     says "none"
head -c 300 photos/03/003.png >cut && mv cut photos/03/003.png
expect 3 net/build/train --data images:photos;   says "photos/03/003.png"
