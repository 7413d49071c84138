"""--mixup and --cutmix with exact labels, compared with PyTorch: the loss of the papers is F.cross_entropy(scores,
probabilities) on mixed samples and mixed one-hot labels, which is own * CE(class of a) + (1 - own) * CE(class of b).

    mixup.py export                        soft.onnx, whose loss takes probabilities; scores.onnx, which has no loss;
                                           x.npy, y.npy, and classes.npy and holes.npy: 4 classes, some ignored
    mixup.py check TRAINED MIXUP CUTMIX    weights after one epoch equal PyTorch's
    mixup.py check … LABELS.npy METRICS.jsonl WEIGHT,… SMOOTHING    the same for class labels; losses and hits, too

What is drawn is defined by runtime/train/random.h and mixing.cpp; this is a second implementation of it.
"""
import inspect
import json
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

    def scores(self, x):
        return self.fc(torch.tanh(self.conv(x)).flatten(1))

    def forward(self, x, y=None):
        scores = self.scores(x)
        if y is None:
            return scores
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


def mix(x, sample, key, mixup, cutmix):
    """The mixed sample, the other sample, and the part of the sample itself."""
    own_key = bits(bits(key, sample), 0x6D6978)
    other = bits(own_key, 0) % SAMPLES
    cut = cutmix > 0 and (mixup == 0 or bits(own_key, 1) % 2 == 0)
    own = beta(cutmix if cut else mixup, bits(own_key, 2))
    if not cut:
        return own * x[sample] + (1 - own) * x[other], other, own
    half = math.sqrt(1 - own) / 2
    center = unit(own_key, 5) * SIDE, unit(own_key, 4) * SIDE  # y, x
    ends = [min(max(math.floor(at + sign * half * SIDE + 0.5), 0), SIDE) for at in center for sign in (-1, 1)]
    top, bottom, left, right = ends
    image = x[sample].clone()
    image[:, top:bottom, left:right] = x[other][:, top:bottom, left:right]
    own = 1 - (bottom - top) * (right - left) / SIDE**2
    return image, other, own


def export():
    torch.manual_seed(1)
    model = Model()
    x = torch.randn(SAMPLES, 1, SIDE, SIDE)
    y = F.one_hot(torch.randint(0, CLASSES, (SAMPLES,)), CLASSES).float()
    torch.onnx.export(model.train(), (x[:BATCH], y[:BATCH]), "soft.onnx", do_constant_folding=False,
                      training=torch.onnx.TrainingMode.TRAINING, input_names=["x", "y"], output_names=["loss"],
                      dynamic_axes={"x": {0: "N"}, "y": {0: "N"}}, **CHOICE)
    torch.onnx.export(model, x[:BATCH], "scores.onnx", do_constant_folding=False,
                      training=torch.onnx.TrainingMode.TRAINING, input_names=["x"], output_names=["scores"],
                      dynamic_axes={"x": {0: "N"}}, **CHOICE)
    classes = y.argmax(1)
    holes = torch.where(torch.arange(SAMPLES) % 5 == 0, -100, classes)
    for name, array in ("x", x), ("y", y), ("classes", classes), ("holes", holes):
        np.save(name + ".npy", array.numpy())
    torch.save(model.state_dict(), "model.pt")


def of_probabilities(model, images, y, rows, others, own):
    own = own[:, None]
    labels = own * y[rows] + (1 - own) * y[others]
    return model(images, labels), None


class OfClasses:
    """The loss of two classes by their shares, and that share of them that is hit."""

    def __init__(self, labels, weights, smoothing):
        self.labels, self.weights, self.smoothing = labels, weights, smoothing

    def __call__(self, model, images, y, rows, others, own):
        scores = model(images)
        loss = hits = divisor = 0
        for labels, share in (self.labels[rows], own), (self.labels[others], 1 - own):
            each = F.cross_entropy(scores, labels, self.weights, reduction="none", label_smoothing=self.smoothing)
            loss = loss + (share * each).sum()
            divisor = divisor + (share * self.weights[labels.clamp(min=0)] * (labels >= 0)).sum()
            hits += (share * (scores.argmax(1) == labels)).sum().item()
        loss = loss / divisor
        if self.weights.eq(1).all() and (self.labels >= 0).all():  # then it is PyTorch's loss of probabilities
            soft = own[:, None] * y[rows] + (1 - own[:, None]) * y[others]
            assert abs(loss - F.cross_entropy(scores, soft, label_smoothing=self.smoothing)) < 1e-5
        return loss, hits


def check(trained, mixup, cutmix, loss_of=of_probabilities, metrics=None):
    model = Model()
    model.load_state_dict(torch.load("model.pt"))
    x, y = torch.from_numpy(np.load("x.npy")), torch.from_numpy(np.load("y.npy"))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    key = bits(SEED, 0)
    lines = [json.loads(line) for line in open(metrics)] if metrics else []
    soft = 0
    for first in range(0, SAMPLES, BATCH):
        rows = list(range(first, first + BATCH))
        images, others, own = zip(*(mix(x, row, key, mixup, cutmix) for row in rows))
        soft += sum(0.001 < part < 0.999 and y[a].argmax() != y[b].argmax() for a, b, part in zip(rows, others, own))
        optimizer.zero_grad()
        loss, hits = loss_of(model, torch.stack(images), y, torch.tensor(rows), torch.tensor(others), torch.tensor(own))
        loss.backward()
        optimizer.step()
        if lines:
            line = lines[first // BATCH]
            assert abs(line["loss"] - loss.item()) < 1e-5 * abs(loss.item()), (first, line["loss"], loss.item())
            assert abs(line["correct"] - hits) < 1e-4, (first, line["correct"], hits)
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
elif len(sys.argv) == 5:
    check(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
else:
    labels, metrics, weights, smoothing = sys.argv[5:]
    weights = torch.tensor([float(weight) for weight in weights.split(",")])
    check(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]),
          OfClasses(torch.from_numpy(np.load(labels)), weights, float(smoothing)), metrics)
