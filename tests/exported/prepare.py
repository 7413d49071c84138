"""Writes the frozen models of tests/exported as ONNX files to the current directory, or prepares or compares one step.

usage: prepare.py models                  every NAME.HOW.onnx; prints a line NAME.HOW FLAGS… for each
       prepare.py step NAME               NAME.onnx and the samples of one step, 0.npy, 1.npy…; prints FLAGS…
       prepare.py compare NAME            compares step.onnx and metrics.jsonl of a trainer with PyTorch's step
"""
import glob
import gzip
import json
import os
import sys

import fill
import numpy as np
import onnx
from onnx import numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
LEARNING_RATE = 2.0**60  # in w1 = w0 - LR * g the gradient dominates, and a power of two keeps its bits
TOLERANCE = 1e-4


def unpacked(name):
    with gzip.open(os.path.join(HERE, name + ".onnx.gz")) as file:
        proto = onnx.ModelProto.FromString(file.read())
    fill.fill(proto)
    return proto


def step(name, frozen):
    onnx.save(unpacked(f"{name}.{frozen.get('file', 'plimsoll')}"), name + ".onnx")
    specs = [(key, frozen["inputs"][key]) for key in frozen["names"]]
    if "labels" in frozen:
        specs.append(("labels", frozen["labels"]))
    for i, (key, spec) in enumerate(specs):
        array = fill.draw(key, spec)
        np.save(f"{i}.npy", array.astype(np.int32) if key == "labels" and spec["type"] == "int" else array)


def compare(name, frozen):
    """Fails and lists the tensors that differ. A product with a random direction differs at most by the gradients'
    distance."""
    before, after = ({i.name: numpy_helper.to_array(i) for i in proto.graph.initializer}
                     for proto in (onnx.load(name + ".onnx"), onnx.load("step.onnx")))
    with open("metrics.jsonl") as file:
        loss = json.loads(file.readline())["loss"]
    near = abs(loss - frozen["loss"]) <= 1e-5 * abs(frozen["loss"])
    wrong = [] if near else [f"loss {loss}; expected {frozen['loss']}"]
    norms = [digest[0] for digest in frozen["gradients"].values()]
    least = 1e-9 * max(norms)  # a smaller gradient is rounding alone, and is compared with a typical norm
    typical = float(np.median([norm for norm in norms if norm >= least]))
    compared = 0
    for key, wanted in frozen["gradients"].items():
        if key not in after:
            continue  # another name of a parameter in the file
        compared += 1
        scale = wanted[0] if wanted[0] >= least else typical
        got = fill.digest(key, (before[key].astype(np.float64) - after[key]) / LEARNING_RATE)
        distance = max(abs(a - b) for a, b in zip(got, wanted)) / scale
        if not distance <= TOLERANCE:
            wrong.append(f"gradient of {key}: {distance:.1e}")
    for key, old in before.items():
        moves = key in frozen["gradients"] or key.endswith(("running_mean", "running_var"))
        if not moves and old.dtype == np.float32 and key in after and not np.array_equal(old, after[key]):
            wrong.append(f"{key} has moved")
    if compared < 0.9 * len(frozen["gradients"]):
        wrong.append(f"only {compared} of {len(frozen['gradients'])} parameters are in the trainer's model")
    if wrong:
        sys.exit(f"{name}: " + "; ".join(wrong[:5]))
    print(f"{name}: loss {loss:.6f}, {compared} gradients")


def main():
    with open(os.path.join(HERE, "models.json")) as file:
        models = json.load(file)
    if sys.argv[1] == "models":
        for path in sorted(glob.glob(os.path.join(HERE, "*.onnx.gz"))):
            name = os.path.basename(path)[: -len(".onnx.gz")]
            if not name.endswith(".plimsoll"):
                onnx.save(unpacked(name), name + ".onnx")
                print(name, *models[name.rpartition(".")[0]]["flags"], flush=True)
        return
    model = models[sys.argv[2]]
    {"step": step, "compare": compare}[sys.argv[1]](sys.argv[2], model["step"])
    if sys.argv[1] == "step":
        plain = model["step"].get("file", "plimsoll") != "plimsoll"  # does not say what is trained
        print(*model["flags"], *(["--assume", "trainable"] if plain else []))


if __name__ == "__main__":
    main()
