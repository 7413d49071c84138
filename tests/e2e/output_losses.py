"""Losses that models compute themselves, as ONNX files, and the reference results of training, in double precision.

    output_losses.py make            NAME.onnx for each of LOSSES, and data of 21 samples: x, t, hot and eps.npy
    output_losses.py check NAME METRICS.jsonl OUT.onnx BATCH STEPS RATE      after training with plain SGD

The reference evaluates the file's own nodes with numpy; gradients are central differences.
"""
import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES = 21


def axes_of(attributes, inputs):
    axes = inputs[1] if len(inputs) > 1 else attributes.get("axes")
    return None if axes is None else tuple(int(a) for a in axes)


def log_softmax(x, axis):
    x = x - x.max(axis=axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=axis, keepdims=True))


def as_computed(array):
    return array if array.dtype == np.int64 else array.astype(np.float64)


def of_labels(logs, labels, weights, a):
    """-w[y] log p[y]: per label, summed, or divided by the total weight of the labels that count."""
    weights = np.ones(logs.shape[1]) if weights is None else weights
    counted = (labels >= 0) & (labels != a.get("ignore_index", -100))
    w = np.where(counted, weights[np.where(counted, labels, 0)], 0)
    each = -w * np.take_along_axis(logs, np.where(counted, labels, 0)[:, None], 1)[:, 0]
    reduction = a.get("reduction", b"mean")
    return each if reduction == b"none" else each.sum() / (w.sum() if reduction == b"mean" else 1)


def evaluated(node, inputs):
    a = {item.name: helper.get_attribute_value(item) for item in node.attribute}
    reduced = lambda f: f(inputs[0], axis=axes_of(a, inputs), keepdims=bool(a.get("keepdims", 1)))
    labelled = lambda logs: of_labels(logs, inputs[1], inputs[2] if len(inputs) > 2 else None, a)
    return {
        "Constant": lambda: as_computed(numpy_helper.to_array(a["value"])), "MatMul": lambda: inputs[0] @ inputs[1],
        "Add": lambda: inputs[0] + inputs[1], "Sub": lambda: inputs[0] - inputs[1],
        "Mul": lambda: inputs[0] * inputs[1], "Div": lambda: inputs[0] / inputs[1], "Exp": lambda: np.exp(inputs[0]),
        "Log": lambda: np.log(inputs[0]), "Sqrt": lambda: np.sqrt(inputs[0]), "Neg": lambda: -inputs[0],
        "Abs": lambda: np.abs(inputs[0]), "Tanh": lambda: np.tanh(inputs[0]), "Pow": lambda: inputs[0]**inputs[1],
        "Min": lambda: np.minimum(*inputs), "LogSoftmax": lambda: log_softmax(inputs[0], a["axis"]),
        "ReduceMean": lambda: reduced(np.mean), "ReduceSum": lambda: reduced(np.sum),
        "ReduceLogSumExp": lambda: np.log(reduced(lambda x, **how: np.exp(x).sum(**how))),
        "Transpose": lambda: np.transpose(inputs[0], a.get("perm")),
        "SoftmaxCrossEntropyLoss": lambda: labelled(log_softmax(inputs[0], 1)),
        "NegativeLogLikelihoodLoss": lambda: labelled(inputs[0]), "Where": lambda: np.where(*inputs),
        "Equal": lambda: inputs[0] == inputs[1], "Reshape": lambda: inputs[0].reshape(inputs[1]),
        "Pad": lambda: np.pad(inputs[0], list(zip(*np.split(inputs[1], 2))), constant_values=inputs[2]),
        "Slice": lambda: inputs[0][(slice(None),) * int(inputs[3][0]) + (slice(int(inputs[1][0]), int(inputs[2][0])),)],
    }[node.op_type]()


class Reference:
    def __init__(self, path):
        self.graph = onnx.load(path).graph
        self.held = {t.name: numpy_helper.to_array(t).astype(np.float64) if t.data_type == TensorProto.FLOAT else
                     numpy_helper.to_array(t) for t in self.graph.initializer}
        self.weights = sorted(name for name in self.held if name.startswith("w"))
        self.inputs = [i.name for i in self.graph.input]
        self.loss = "loss"

    def value(self, fed):
        values = dict(self.held, **fed)
        for node in self.graph.node:
            values[node.output[0]] = evaluated(node, [values[name] for name in node.input])
        return float(values[self.loss])

    def gradients(self, fed, h=1e-6):
        found = {}
        for name in self.weights:
            weight, slope = self.held[name], np.zeros_like(self.held[name])
            for at in np.ndindex(weight.shape):
                middle = weight[at]
                weight[at] = middle + h
                above = self.value(fed)
                weight[at] = middle - h
                slope[at] = (above - self.value(fed)) / (2 * h)
                weight[at] = middle
            found[name] = slope
        return found


class Graph:
    """Builds a list of nodes; each call returns the name of its output."""

    def __init__(self, name):
        self.name, self.nodes, self.held, self.count = name, [], [], 0
        self.random = np.random.RandomState(len(name))

    def __getattr__(self, op):
        def add(*inputs, out=None, **attributes):
            self.count += 1
            out = out or f"{op.lower()}{self.count}"
            self.nodes.append(helper.make_node(op, list(inputs), [out], name=out, **attributes))
            return out
        return add

    def weight(self, *shape):
        self.held.append(
            numpy_helper.from_array((0.4 * self.random.randn(*shape)).astype(np.float32), f"w{len(self.held)}"))
        return self.held[-1].name

    def number(self, value):
        return self.Constant(value=numpy_helper.from_array(np.array(value, np.float32)))

    def whole(self, *values):
        self.count += 1
        self.held.append(numpy_helper.from_array(np.array(values, np.int64), f"c{self.count}"))
        return self.held[-1].name

    def class_weights(self, *values):
        self.held.append(numpy_helper.from_array(np.array(values, np.float32), "by_class"))
        return "by_class"

    def linear(self, x, inside, outside):
        return self.Add(self.MatMul(x, self.weight(inside, outside)), self.weight(outside))

    def save(self, inputs, outputs=(("loss", []),)):
        types = {
            "x": (TensorProto.FLOAT, ["N", 6]), "t": (TensorProto.FLOAT, ["N", 3]),
            "hot": (TensorProto.FLOAT, ["N", 3]), "eps": (TensorProto.FLOAT, ["N", 2]), "u": (TensorProto.INT64, ["N"]),
            "v": (TensorProto.INT64, ["N"]), "holes": (TensorProto.INT64, ["N"]), "next": (TensorProto.INT64, ["N", 2])
        }
        described = lambda name: helper.make_tensor_value_info(name, *types[name])
        made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs]
        graph = helper.make_graph(self.nodes, self.name, [described(name) for name in inputs], made, self.held)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8),
                  self.name + ".onnx")


def mse(g):
    d = g.Sub(g.linear("x", 6, 3), "t")
    g.ReduceMean(g.Mul(d, d), out="loss", keepdims=0)
    g.save(["x", "t"])


def huber(g):
    e = g.Abs(g.Sub(g.linear("x", 6, 3), "t"))
    q = g.Min(e, g.number(0.7))
    half = g.Mul(g.number(0.5), g.Mul(q, q))
    g.ReduceMean(g.Add(half, g.Mul(g.number(0.7), g.Sub(e, q))), out="loss", keepdims=0)
    g.save(["x", "t"])


def focal(g):
    """The targets are the first input."""
    logs = g.LogSoftmax(g.linear("x", 6, 3), axis=1)
    of_class = g.ReduceSum(g.Mul(logs, "hot"), g.axes, keepdims=0)
    others = g.Sub(g.number(1.0), g.Exp(of_class))
    g.Neg(g.ReduceMean(g.Mul(g.Mul(others, others), of_class), keepdims=1), out="loss")
    g.save(["hot", "x"], [("loss", [1])])


def vae(g):
    """A sum over features, then the mean over samples, as in the paper; vae_sum has a sum instead."""
    recon, kl = vae_terms(g)
    both = g.Add(recon, g.Mul(g.number(0.3), kl))
    g.ReduceMean(both, out="loss", keepdims=0)
    g.save(["x", "eps"])


def vae_sum(g):
    recon, kl = vae_terms(g)
    g.Add(g.ReduceSum(recon, keepdims=0), g.Div(g.ReduceSum(kl, keepdims=0), g.number(4.0)), out="loss")
    g.save(["x", "eps"])


def vae_terms(g):
    hidden = g.Tanh(g.linear("x", 6, 4))
    mean, log_variance = g.linear(hidden, 4, 2), g.linear(hidden, 4, 2)
    z = g.Add(mean, g.Mul(g.Exp(g.Mul(log_variance, g.number(0.5))), "eps"))
    off = g.Sub(g.linear(z, 2, 6), "x")
    recon = g.ReduceSum(g.Mul(off, off), g.axes, keepdims=0)
    inner = g.Sub(g.Sub(g.Add(log_variance, g.number(1.0)), g.Mul(mean, mean)), g.Exp(log_variance))
    return recon, g.Mul(g.number(-0.5), g.ReduceSum(inner, g.axes, keepdims=0))


def heads(g):
    """Two heads; the other output is a part of the loss."""
    hidden = g.Tanh(g.linear("x", 6, 4))
    d = g.Sub(g.linear(hidden, 4, 3), "t")
    logs = g.LogSoftmax(g.linear(hidden, 4, 3), axis=1)
    likelihood = g.Mul(logs, "hot", out="likelihood")
    entropy = g.ReduceMean(g.ReduceSum(likelihood, g.axes, keepdims=0), keepdims=0)
    g.Sub(g.Mul(g.number(0.25), g.ReduceMean(g.Mul(d, d), keepdims=0)), entropy, out="loss")
    g.save(["x", "t", "hot"], [("likelihood", ["N", 3]), ("loss", [])])


def two_labels(g):
    """Cross entropies of two heads, each with its own labels, as exporters write them, and a penalty on the scores."""
    hidden = g.Tanh(g.linear("x", 6, 4))
    scores = g.linear(hidden, 4, 3)
    first = g.SoftmaxCrossEntropyLoss(scores, "u")
    second = g.NegativeLogLikelihoodLoss(g.LogSoftmax(g.linear(hidden, 4, 3), axis=1), "v")
    both = g.Add(first, g.Mul(g.number(0.4), second))
    g.Add(both, g.Mul(g.number(0.01), g.ReduceMean(g.Mul(scores, scores), keepdims=0)), out="loss")
    g.save(["x", "u", "v"])


def weighed(g):
    """Classes of different weights, and an ignored label."""
    g.NegativeLogLikelihoodLoss(g.LogSoftmax(g.linear("x", 6, 3), axis=1), "u", g.class_weights(0.5, 2, 1),
                                ignore_index=1, out="loss")
    g.save(["x", "u"])


def weighed_terms(g):
    """Means with different divisors, a sum, and a loss per sample that another input weights."""
    hidden = g.Tanh(g.linear("x", 6, 4))
    first = g.SoftmaxCrossEntropyLoss(g.linear(hidden, 4, 3), "holes", g.class_weights(0.5, 2, 1))
    second = g.SoftmaxCrossEntropyLoss(g.linear(hidden, 4, 3), "v", ignore_index=2)
    summed = g.SoftmaxCrossEntropyLoss(g.linear(hidden, 4, 3), "u", "by_class", reduction="sum")
    each = g.Mul(g.SoftmaxCrossEntropyLoss(g.linear(hidden, 4, 3), "u", reduction="none"),
                 g.ReduceSum("t", g.axes, keepdims=0))
    terms = g.Add(g.Add(first, second), g.Mul(g.number(0.1), summed))
    g.Add(terms, g.ReduceMean(each, keepdims=0), out="loss")
    g.save(["x", "holes", "v", "u", "t"])


def shifted(g):
    """Labels of the next token, as exporters write them: padded with ignored labels, cut, and flattened."""
    scores = g.Reshape(g.linear("x", 6, 6), g.whole(-1, 3))
    padded = g.Pad("next", g.whole(0, 0, 0, 1), g.Constant(value=numpy_helper.from_array(np.array(-100, np.int64))))
    following = g.Slice(padded, g.whole(1), g.whole(3), g.whole(1))
    g.SoftmaxCrossEntropyLoss(scores, g.Reshape(following, g.whole(-1)), ignore_index=-100, out="loss")
    g.save(["x", "next"])


def computed(g):
    """Labels that the model computes from its inputs, so only the model can count them."""
    hole = g.Constant(value=numpy_helper.from_array(np.array(-100, np.int64)))
    one = g.Constant(value=numpy_helper.from_array(np.array(1, np.int64)))
    g.SoftmaxCrossEntropyLoss(g.linear("x", 6, 3), g.Where(g.Equal("v", one), hole, "u"), out="loss")
    g.save(["x", "v", "u"])


def rmse(g):
    d = g.Sub(g.linear("x", 6, 3), "t")
    g.Sqrt(g.ReduceMean(g.Mul(d, d), keepdims=0), out="loss")
    g.save(["x", "t"])


def decay(g):
    """A term that does not depend on any sample."""
    d = g.Sub(g.linear("x", 6, 3), "t")
    w = g.held[0].name
    g.Add(g.ReduceMean(g.Mul(d, d), keepdims=0), g.Mul(g.number(0.01), g.ReduceSum(g.Mul(w, w), keepdims=0)),
          out="loss")
    g.save(["x", "t"])


def centred(g):
    """Samples compared with their mean."""
    y = g.Tanh(g.linear("x", 6, 3))
    d = g.Sub(g.Sub(y, g.ReduceMean(y, axes=[0], keepdims=1)), "t")
    g.ReduceSum(g.Mul(d, d), out="loss", keepdims=0)
    g.save(["x", "t"])


def contrastive(g):
    """InfoNCE of pairs in two views: every sample compared with every other, for a batch of exactly 8."""
    left, right = g.linear("x", 6, 3), g.linear("t", 3, 3)
    scores = g.Mul(g.MatMul(left, g.Transpose(right, perm=[1, 0])), g.number(2.0))
    own = g.ReduceSum(g.Mul(scores, g.number(np.eye(8))), g.axes, keepdims=0)
    towards = g.Sub(g.ReduceLogSumExp(scores, axes=[1], keepdims=0), own)
    back = g.Sub(g.ReduceLogSumExp(g.Transpose(scores, perm=[1, 0]), axes=[1], keepdims=0), own)
    g.ReduceMean(g.Add(towards, back), out="loss", keepdims=0)
    g.save(["x", "t"])


SPLIT = [mse, huber, focal, vae, vae_sum, heads, two_labels, weighed, weighed_terms, shifted]
WHOLE = [rmse, decay, centred, computed]


def make():
    for build in SPLIT + WHOLE + [contrastive]:
        g = Graph(build.__name__)
        g.axes = "axes"
        build(g)
        model = onnx.load(g.name + ".onnx")
        if any("axes" in node.input for node in model.graph.node):
            model.graph.initializer.append(numpy_helper.from_array(np.array([1], np.int64), "axes"))
            onnx.save(model, g.name + ".onnx")
    r = np.random.RandomState(0)
    classes = r.randint(0, 3, SAMPLES)
    for name, array in {
            "x": r.randn(SAMPLES, 6), "t": r.randn(SAMPLES, 3), "eps": r.randn(SAMPLES, 2), "hot": np.eye(3)[classes]
    }.items():
        np.save(name + ".npy", array.astype(np.float32))
    np.save("u.npy", classes.astype(np.int64))
    np.save("v.npy", r.randint(0, 3, SAMPLES).astype(np.int64))
    np.save("holes.npy", np.where(r.rand(SAMPLES) < 0.3, -100, classes).astype(np.int64))
    np.save("next.npy", np.where(r.rand(SAMPLES, 2) < 0.3, -100, r.randint(0, 3, (SAMPLES, 2))).astype(np.int64))


def check(name, metrics, trained, batch, steps, rate):
    """Plain SGD over the samples in order; an incomplete last batch is used as it is."""
    reference = Reference(name + ".onnx")
    data = {i: np.load(i + ".npy") for i in reference.inputs}
    data = {i: a if a.dtype == np.int64 else a.astype(np.float64) for i, a in data.items()}
    lines = [json.loads(line) for line in open(metrics)]
    assert len(lines) == steps, lines
    was = {w: reference.held[w].copy() for w in reference.weights}
    for step, line in enumerate(lines):
        fed = {i: a[step * batch:(step + 1) * batch] for i, a in data.items()}
        loss = reference.value(fed)
        assert abs(line["loss"] - loss) <= 1e-5 * max(1, abs(loss)), (name, step, line["loss"], loss)
        for weight, slope in reference.gradients(fed).items():
            reference.held[weight] -= rate * slope
    held = {t.name: numpy_helper.to_array(t) for t in onnx.load(trained).graph.initializer}
    for weight in reference.weights:
        moved = np.linalg.norm(reference.held[weight] - was[weight])
        off = np.linalg.norm(reference.held[weight] - held[weight])
        assert moved > 0 and off <= 1e-4 * moved, (name, weight, off, moved)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make()
    elif sys.argv[1] == "list":
        print(" ".join(build.__name__ for build in (SPLIT if sys.argv[2] == "split" else WHOLE)))
    elif sys.argv[1] == "inputs":
        print(",".join(i + ".npy" for i in Reference(sys.argv[2] + ".onnx").inputs))
    else:
        name, metrics, trained, batch, steps, rate = sys.argv[2:]
        check(name, metrics, trained, int(batch), int(steps), float(rate))
