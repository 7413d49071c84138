"""--mixup and --cutmix with soft labels, compared with PyTorch: the loss of the papers is F.cross_entropy(scores,
probabilities) on mixed samples and mixed one-hot labels.

    mixup.py export                    soft.onnx, x.npy, y.npy
    mixup.py check TRAINED MIXUP CUTMIX    weights after one epoch equal PyTorch's

What is drawn is defined by runtime/train/random.h and mixing.cpp; this is a second implementation of it.
"""
import inspect
import math
import sys

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper
from torch import nn

SAMPLES, BATCH, SEED, RATE, SIDE, CLASSES = 24, 8, 3, 0.5, 6, 4
MASK = (1 << 64) - 1
# PyTorch 1 has one exporter, and no option to choose it.
CHOICE = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3)
        self.fc = nn.Linear(3 * (SIDE - 2) ** 2, CLASSES)

    def forward(self, x, y):
        scores = self.fc(torch.tanh(self.conv(x)).flatten(1))
        # PyTorch 1 exports F.cross_entropy of probabilities as SoftmaxCrossEntropyLoss, which takes class numbers only.
        if torch.onnx.is_in_onnx_export() and not CHOICE:
            return -(y * F.log_softmax(scores, 1)).sum(1).mean()
        return F.cross_entropy(scores, y)


def bits(seed, counter):
    z = (seed * 0xD1342543DE82EF95 + (counter + 1) * 0x9E3779B97F4A7C15) & MASK
    for _ in range(2):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
    return z


def unit(seed, counter):
    return (bits(seed, counter) >> 11) * 2.0**-53


class Draws:
    def __init__(self, key):
        self.key, self.count = key, 0

    def unit(self):
        self.count += 1
        return unit(self.key, self.count - 1)

    def normal(self):
        radius = math.sqrt(-2 * math.log(1 - self.unit()))
        return radius * math.cos(2 * math.pi * self.unit())


def log_gamma(alpha, draws):
    raised = alpha + 1 if alpha < 1 else alpha
    d = raised - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = draws.normal()
        root = 1 + c * x
        if root <= 0:
            continue
        v = root**3
        if math.log(1 - draws.unit()) < 0.5 * x * x + d - d * v + d * math.log(v):
            break
    return math.log(d * v) + (math.log(1 - draws.unit()) / alpha if alpha < 1 else 0)


def beta(alpha, key):
    draws = Draws(key)
    a = log_gamma(alpha, draws)
    return 1 / (1 + math.exp(log_gamma(alpha, draws) - a))


def mixed(x, y, sample, key, mixup, cutmix):
    own_key = bits(bits(key, sample), 0x6D6978)
    other = bits(own_key, 0) % SAMPLES
    cut = cutmix > 0 and (mixup == 0 or bits(own_key, 1) % 2 == 0)
    own = beta(cutmix if cut else mixup, bits(own_key, 2))
    if not cut:
        return own * x[sample] + (1 - own) * x[other], own * y[sample] + (1 - own) * y[other]
    half = math.sqrt(1 - own) / 2
    center = unit(own_key, 5) * SIDE, unit(own_key, 4) * SIDE  # y, x
    ends = [min(max(math.floor(at + sign * half * SIDE + 0.5), 0), SIDE) for at in center for sign in (-1, 1)]
    top, bottom, left, right = ends
    image = x[sample].clone()
    image[:, top:bottom, left:right] = x[other][:, top:bottom, left:right]
    own = 1 - (bottom - top) * (right - left) / SIDE**2
    return image, own * y[sample] + (1 - own) * y[other]


def export():
    torch.manual_seed(1)
    model = Model()
    x = torch.randn(SAMPLES, 1, SIDE, SIDE)
    y = F.one_hot(torch.randint(0, CLASSES, (SAMPLES,)), CLASSES).float()
    torch.onnx.export(model.train(), (x[:BATCH], y[:BATCH]), "soft.onnx", do_constant_folding=False,
                      training=torch.onnx.TrainingMode.TRAINING, input_names=["x", "y"], output_names=["loss"],
                      dynamic_axes={"x": {0: "N"}, "y": {0: "N"}}, **CHOICE)
    np.save("x.npy", x.numpy())
    np.save("y.npy", y.numpy())
    torch.save(model.state_dict(), "model.pt")


def check(trained, mixup, cutmix):
    model = Model()
    model.load_state_dict(torch.load("model.pt"))
    x, y = torch.from_numpy(np.load("x.npy")), torch.from_numpy(np.load("y.npy"))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    key = bits(SEED, 0)
    soft = 0
    for first in range(0, SAMPLES, BATCH):
        pairs = [mixed(x, y, sample, key, mixup, cutmix) for sample in range(first, first + BATCH)]
        labels = torch.stack([label for _, label in pairs])
        soft += int((labels.max(1).values < 0.999).sum())
        optimizer.zero_grad()
        model(torch.stack([image for image, _ in pairs]), labels).backward()
        optimizer.step()
    assert soft > SAMPLES / 3, f"only {soft} labels are soft: the test would prove nothing"
    saved = {t.name: numpy_helper.to_array(t) for t in onnx.load(trained).graph.initializer}
    before = torch.load("model.pt")
    for name, value in model.state_dict().items():
        distance = np.abs(saved[name] - value.numpy()).max()
        moved = (value - before[name]).abs().max().item()
        print(f"{name}: distance {distance:.2e}, moved {moved:.2e}")
        assert distance < 1e-5 < moved, name


if sys.argv[1] == "export":
    export()
else:
    check(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
