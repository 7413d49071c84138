#!/usr/bin/env python3
"""Trains torchvision's networks and small transformers in PyTorch and in a trainer, and compares gradients and weights.

Each network is exported as torch does (training mode), compiled and built. The trainer runs on the same samples from
the same weights. The comparison is, tensor by tensor, ||ours - theirs|| / ||theirs||:

  gradient   of one iteration: median and worst tensor     every one must be within --tolerance (1e-4)
  1 step     weights and running statistics, likewise      every one must be within --tolerance
  f64        the median distance of PyTorch's own iteration from the same one in double precision, for comparison
  5 steps    the movement of the weights in five iterations: the distance of ours from PyTorch's, and that between
             PyTorch's two memory formats. Five iterations amplify rounding, and one draw of weights and samples says
             little about the amount. So the columns are medians over --draws draws, and the quartiles of ours/formats.
             If ours were one more of PyTorch's ways, each of the two would be the closer one equally often. p is the
             probability by Wilcoxon's test (signed ranks of log ours/formats, one-sided, exact) that ours is this much
             farther by chance. Requirement: p is at least 0.01, if there are enough draws for the test (8 or more).
             With fewer, ours must be within --slack of the largest distance between three ways, the third without
             oneDNN

Samples are random, but not all of them are suitable. Of millions of activations a few are so close to zero that
rounding decides whether a Relu passes them, or which of two values a max pool takes. Then the gradients of a deep
network differ by a per cent, even PyTorch's own in single precision from its own in double. So the biases of the batch
normalizations in the deeper networks are about 1.75 or -1.75 (SPREAD) instead of 0. Then few activations are near zero,
and channels still pass some and block others. The images are small, and the seed of the samples is one with which
PyTorch takes every such decision alike in both precisions (--search finds such seeds). With these samples nothing
excuses a tensor beyond the tolerance. If the rounding on another machine decides differently, the next seed of the list
is used: that removes chance, but a wrong gradient is wrong with all seeds.

Some tensors are zero except for rounding: the gradient of a bias before a batch normalization, which removes the bias,
and the means of a convolution of normalized values. They have no relative distance (column "zero"; PyTorch's double
precision identifies them), and are compared with the median gradient's norm. With Adam, whose first step has the
gradient's sign, an element that is almost zero changes as much as a large one. There the distance of a tensor from
double precision may be at most --slack times that of PyTorch's single precision, for this tensor or for nine tenths of
all.

usage: parity.py --plimsoll build/bin/plimsoll --runtime build [--models resnet18,alexnet] [--work DIR]
                 [--optimizer adam]
       parity.py --search 1:40 --models resnet50          find suitable seeds
       parity.py … --exporter dynamo                      as PyTorch 2 exports them; needs a Python with PyTorch 2
"""
import argparse
import copy
import itertools
import os
import subprocess
import sys
import warnings

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from parity_networks import MODELS, ONLY_BY_DYNAMO, OPSETS, OPTIONS_OF_DYNAMO, STEPS, make_model, make_samples

# The test is used from 8 draws on, and rejects chance below a probability of 0.01.
DRAWS_THAT_TELL, CHANCE = 8, 0.01
# A power of two, so large that w1 = w0 - LR * g keeps the bits of g: one step of plain SGD gives the gradient.
GRADIENT_LR = 2.0 ** 24


def run(command):
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"$ {' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}")


# Where the slope of each activation jumps.
EDGES = {"relu": (0.0,), "hardtanh": (0.0, 6.0), "hardswish": (-3.0, 3.0), "hardsigmoid": (-3.0, 3.0)}


class Decisions:
    """A context that records the inputs of max pools and of activations with edges."""

    def __enter__(self):
        functional, self.kept, self.inputs = torch.nn.functional, {}, []

        def watch(name):
            original = self.kept[name] = getattr(functional, name)

            def watched(x, *args, **options):
                self.inputs.append((name, x.detach().clone().double(), args, options))
                return original(x, *args, **options)
            setattr(functional, name, watched)
        for name in *EDGES, "max_pool2d":
            watch(name)
        return self

    def __exit__(self, *_):
        for name, original in self.kept.items():
            setattr(torch.nn.functional, name, original)

    def against(self, exact):
        """How many decisions differ from those of `exact`, and the distance of the nearest edge in units of the largest
        rounding error there."""
        flips, margin = 0, np.inf
        for (kind, x, args, options), (_, y, _, _) in zip(self.inputs, exact.inputs):
            if kind == "max_pool2d":
                options = {k: v for k, v in options.items() if k != "return_indices"}
                choices = [
                    torch.nn.functional.max_pool2d(z, *args, **options, return_indices=True)[1].flatten(2)
                    for z in (x, y)
                ]
                taken = [y.flatten(2).gather(2, choice) for choice in choices]
                flips += int((taken[0] != taken[1]).sum())
                continue
            for edge in EDGES[kind]:
                flips += int(((x > edge) != (y > edge)).sum())
                margin = min(margin, float((y - edge).abs().min() / (x - y).abs().max()))
        return flips, margin


def search(name, seeds):
    model, batch, found = make_model(name), MODELS[name][2], []
    for seed in seeds:
        x, _ = make_samples(name, seed)
        with torch.no_grad(), Decisions() as single:
            copy.deepcopy(model)(x[:batch])
        with torch.no_grad(), Decisions() as double:
            copy.deepcopy(model).double()(x[:batch].double())
        flips, margin = single.against(double)
        print(f"{name} seed {seed}: {flips} decisions differ, margin {margin:.2f}", flush=True)
        if flips == 0:
            found.append((margin, seed))
    print(f"{name}: {[seed for _, seed in sorted(found, reverse=True)[:3]]}", flush=True)


def export(model, x, path, exporter, opset):
    if exporter == "dynamo":  # PyTorch 2; the exporter's optimizer would fold batch normalizations
        torch.onnx.export(copy.deepcopy(model), (x,), path, dynamo=True, optimize=False, verbose=False,
                          dynamic_shapes=({0: torch.export.Dim("batch")},), opset_version=opset)
        return
    torch.onnx.export(copy.deepcopy(model), x, path, training=torch.onnx.TrainingMode.TRAINING,
                      do_constant_folding=False, opset_version=15, input_names=["images"], output_names=["logits"],
                      dynamic_axes={"images": {0: "batch"}, "logits": {0: "batch"}})


def step_torch(model, x, y, make_optimizer, steps, **how):
    """The weights after `steps` iterations, and the gradients of the first iteration."""
    with torch.backends.mkldnn.flags(enabled=how.pop("onednn", True)):
        return step_torch_so(model, x, y, make_optimizer, steps, **how)


def step_torch_so(model, x, y, make_optimizer, steps, channels_last=False, double=False, gradients_too=True):
    model = copy.deepcopy(model)
    if double:
        model, x = model.double(), x.double() if x.is_floating_point() else x
    if channels_last and x.dim() == 4:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    optimizer = make_optimizer(model.parameters())
    gradients, batch = {}, len(x) // steps
    for step in range(steps):
        optimizer.zero_grad()
        part = slice(step * batch, (step + 1) * batch)
        scores, labels = model(x[part]), y[part]
        if scores.dim() == 3:  # per token
            scores, labels = scores.flatten(0, 1), labels.flatten()
        torch.nn.functional.cross_entropy(scores, labels).backward()
        if step == 0 and gradients_too:
            gradients = {name: p.grad.detach().numpy().copy() for name, p in model.named_parameters()}
        optimizer.step()
    return state(model), gradients


def state(model):
    """Weights and running statistics, without buffers that training does not change, such as a mask."""
    trained = list(model.named_parameters()) + [(name, t) for name, t in model.named_buffers() if ".running_" in name]
    return {name: t.detach().numpy().copy() for name, t in trained}


def initializers(path):
    return {i.name: numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer}


class Trainer:
    """A compiled and built trainer of one network."""

    def __init__(self, args, model, directory, batch, optimizer, extra=()):
        run([args.plimsoll, "compile", model, "--batch", batch, "--assume", "trainable", "--budget", args.budget,
             "--optimizer", optimizer,
             "--costs", "modelled", "-o", directory, "-q", *extra])
        run(["cmake", "-S", directory, "-B", f"{directory}/build", "-G", "Ninja",
             f"-DPLIMSOLL_RUNTIME={os.path.abspath(args.runtime)}", *args.cmake_option])
        run(["cmake", "--build", f"{directory}/build"])
        self.directory = directory

    def weights(self, data, steps, lr, *options):
        out = f"{self.directory}/after.onnx"
        run([
            f"{self.directory}/build/train", "--data", data, "--no-shuffle", "--steps", steps, "--lr", lr, "--save",
            out, "--quiet", *options
        ])
        return initializers(out)

    def model_from(self, start):
        """The trainer's model file, with the weights and statistics of `start` instead of its own."""
        model, path = onnx.load(f"{self.directory}/model.onnx"), f"{self.directory}/from.onnx"
        for tensor in model.graph.initializer:
            if tensor.name in start:
                tensor.CopyFrom(numpy_helper.from_array(start[tensor.name].astype(np.float32), tensor.name))
        onnx.save(model, path)
        return path


def norm(a):
    return float(np.linalg.norm(a.astype(np.float64)))


def distance(a, b):
    scale, apart = norm(b), norm(a.astype(np.float64) - b)
    return apart / scale if scale > 0 else apart


def distance_of_moves(a, b, start):
    """The distance between two models' weights, relative to the movement of the second; all tensors of `start` as one
    vector."""
    apart = sum(norm(a[n].astype(np.float64) - b[n]) ** 2 for n in start)
    return float(np.sqrt(apart / sum(norm(b[n].astype(np.float64) - start[n]) ** 2 for n in start)))


def zeros(exact, single):
    return {n for n in single if norm(exact[n]) < 1e-6 * norm(single[n])}


class Verdict:
    """The distances of `ours` from `theirs`, tensor by tensor; those in `zero` relative to the scale of the others."""

    def __init__(self, ours, theirs, exact, zero, args):
        own = {n: distance(theirs[n], exact[n]) for n in theirs if n not in zero}
        apart = {n: distance(ours[n], theirs[n]) for n in own}
        self.median, self.worst = float(np.median(list(apart.values()))), max(apart.values())
        self.torch = float(np.median(list(own.values())))
        common = min(float(np.quantile(list(own.values()), 0.9)), 0.1)
        self.wrong = []
        for n in theirs:
            if n in zero:
                scale = float(np.median([norm(theirs[other]) for other in own]))
                if norm(ours[n] - theirs[n]) > args.tolerance * scale:
                    self.wrong.append(f"{n}: {norm(ours[n]):.1e} when it should be zero but for rounding")
            elif apart[n] > args.tolerance:
                from_exact = distance(ours[n], exact[n])
                if args.optimizer == "momentum" or from_exact > args.slack * max(own[n], common):
                    self.wrong.append(
                        f"{n}: {apart[n]:.1e} from PyTorch, {from_exact:.1e} from double precision where PyTorch "
                        f"is {own[n]:.1e}")

    def __str__(self):
        return f"{self.median:8.1e} {self.worst:8.1e} {self.torch:8.1e}"


def save_samples(work, name, seed):
    x, y = make_samples(name, seed)
    np.save(f"{work}/x.npy", x.numpy())
    np.save(f"{work}/y.npy", y.numpy().astype(np.int32))
    return x, y


def five_steps(trainer, data, model, x, y, names, make_optimizer, args):
    """Three distances: ours from PyTorch, between PyTorch's two memory formats, and the largest one between its ways.
    The third way takes longest. It can only raise the last distance, so it is left out where ours is near anyway."""
    start = {n: t for n, t in state(model).items() if n in names}
    trained = trainer.weights(data, STEPS, args.lr, "--model", trainer.model_from(start))
    way = lambda **how: step_torch(model, x, y, make_optimizer, STEPS, gradients_too=False, **how)[0]
    plain, last = way(), way(channels_last=True)
    ours, formats = (distance_of_moves(each, plain, start) for each in (trained, last))
    if args.draws >= DRAWS_THAT_TELL or ours <= max(args.tolerance, args.slack * formats):
        return ours, formats, formats
    ways = plain, last, way(onednn=False)
    return ours, formats, max(distance_of_moves(a, b, start) for a, b in itertools.combinations(ways, 2))


def chance_of_farther(ours, formats):
    """The probability of this sum of signed ranks of the logarithms, or a larger one, if both signs are equally
    likely."""
    differences = np.log(np.maximum(ours, 1e-30)) - np.log(np.maximum(formats, 1e-30))
    ranks = np.argsort(np.argsort(np.abs(differences))) + 1
    ways = np.zeros(int(ranks.sum()) + 1)  # the number of sign patterns for each sum of positive ranks
    ways[0] = 1
    for rank in ranks:
        ways[rank:] += ways[:-rank].copy()
    return float(ways[ranks[differences > 0].sum():].sum() / ways.sum())


def judge_five(draws, args):
    """Whether ours are close enough, and the text for the table."""
    ours, formats, ways = (np.array(column) for column in zip(*draws))
    told = f"{np.median(ours):8.1e} {np.median(formats):8.1e}"
    if args.draws < DRAWS_THAT_TELL:
        return np.median(ours) <= max(args.tolerance, args.slack * np.median(ways)), told
    chance = chance_of_farther(ours, formats)
    low, middle, high = np.quantile(ours / np.maximum(formats, 1e-30), [0.25, 0.5, 0.75])
    told += f" {low:5.2f} {middle:5.2f} {high:5.2f} {int((ours <= formats).sum()):3}/{args.draws:<3} {chance:6.3f}"
    return chance >= CHANCE or np.median(ours) <= args.tolerance, told


def compare(args, name, seed):
    _, size, batch, _ = MODELS[name]
    model = make_model(name)
    work = os.path.join(args.work, name)
    os.makedirs(work, exist_ok=True)
    x, y = save_samples(work, name, seed)
    path = f"{work}/{name}.onnx"
    # The exporter would treat a batch of one sample as a constant.
    export(model, x[:max(batch, 2)], path, args.exporter, OPSETS.get(name))
    # The exporter runs the model to trace it, which changes the running statistics in the file. PyTorch starts from
    # those.
    exported = initializers(path)
    model.load_state_dict(
        {n: torch.from_numpy(exported[n].copy()) if n in exported else t for n, t in model.state_dict().items()})
    del exported
    data = f"npy:{work}/x.npy,{work}/y.npy"
    start = state(model)

    known = OPTIONS_OF_DYNAMO.get(name, []) if args.exporter == "dynamo" else []
    extra = known + (["--weight-decay", "0.01"] if args.optimizer == "adamw" else [])
    trainer = Trainer(args, path, f"{work}/{args.optimizer}", batch, args.optimizer, extra)
    # The first step is the same with momentum as without.
    plainly = trainer if args.optimizer == "momentum" else Trainer(args, path, f"{work}/sgd", batch, "sgd", known)
    after = plainly.weights(data, 1, GRADIENT_LR)
    make_optimizer = {"momentum": lambda p: torch.optim.SGD(p, lr=args.lr, momentum=0.9),
                      "adam": lambda p: torch.optim.Adam(p, lr=args.lr),
                      "adamw": lambda p: torch.optim.AdamW(p, lr=args.lr, weight_decay=0.01)}[args.optimizer]
    torch_one, theirs = step_torch(model, x[:batch], y[:batch], make_optimizer, 1)
    exact_one, exact = step_torch(model, x[:batch], y[:batch], make_optimizer, 1, double=True)
    missing = [n for n in start if n not in after]
    if missing:
        print(f"{name}: the trained model lacks {len(missing)} tensors of PyTorch's, the first is {missing[0]}")
        return False
    nothing = [n for n in theirs if not theirs[n].any()]
    if 2 * len(nothing) > len(theirs):
        print(
            f"{name}: {len(nothing)} of {len(theirs)} gradients are zero in PyTorch, the first is {nothing[0]}'s: "
            "nothing to compare"
        )
        return False
    zero = zeros(exact, theirs)
    gradient = Verdict({n: (start[n].astype(np.float64) - after[n]) / GRADIENT_LR for n in theirs}, theirs, exact, zero,
                       args)
    names = list(theirs)
    del start, after, theirs, exact  # for a large network these are gigabytes

    one = trainer.weights(data, 1, args.lr)
    first = Verdict(one, torch_one, exact_one, zero | zeros(exact_one, torch_one), args)
    del one, torch_one, exact_one
    draws = []
    for draw in range(args.draws):
        if draw > 0:
            model = make_model(name, draw)
            x, y = save_samples(work, name, seed + 100 * draw)
        draws.append(five_steps(trainer, data, model, x, y, names, make_optimizer, args))
    near, told = judge_five(draws, args) if draws else (True, "")
    ok = not gradient.wrong and not first.wrong and near
    print(
        f"{name:14} {batch:5} {size:5} {seed:5}  {gradient} {len(zero):5}   {first}   {told:51}  "
        f"{'ok' if ok else 'FAILED'}",
        flush=True)
    for line in gradient.wrong:
        print(f"  gradient of {line}")
    for line in first.wrong:
        print(f"  after one iteration {line}")
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll")
    parser.add_argument("--runtime")
    parser.add_argument("--cmake-option", action="append", default=[], help="e.g. -DPLIMSOLL_WERROR=ON")
    parser.add_argument("--search", metavar="FIRST:LAST")
    parser.add_argument("--models", help="default: all that the exporter supports")
    parser.add_argument("--image", type=int, help="image size, instead of each network's own")
    parser.add_argument("--work", default="build/parity")
    parser.add_argument("--budget", default="100%")
    parser.add_argument("--optimizer", default="momentum", choices=["momentum", "adam", "adamw"])
    parser.add_argument("--exporter", default="torchscript", choices=["torchscript", "dynamo"])
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--slack", type=float, default=3.0)
    parser.add_argument("--draws", type=int, default=1,
                        help="draws of weights and samples for the five steps; 0: only one step")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="PyTorch's")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")  # the exporter's warnings
    torch.set_num_threads(args.threads)
    known = [name for name in MODELS if args.exporter == "dynamo" or name not in ONLY_BY_DYNAMO]
    names = args.models.split(",") if args.models else known
    for name in names if args.image else []:
        MODELS[name] = (MODELS[name][0], args.image, *MODELS[name][2:])
    if args.search:
        first, last = map(int, args.search.split(":"))
        for name in names:
            search(name, range(first, last + 1))
        return
    print(
        f"{'':32}  {'gradient':^32}   {'1 step':^26}   {'5 steps':^50}\n"
        f"{'network':14} {'batch':>5} {'image':>5} {'seed':>5}  {'median':>8} {'worst':>8} {'f64':>8} {'zero':>5}   "
        f"{'median':>8} "
        f"{'worst':>8} {'f64':>8}   {'ours':>8} {'formats':>8} {'ours / formats':^17} {'nearer':>7} {'p':>6}",
        flush=True)
    results = [any(compare(args, name, seed) for seed in MODELS[name][3]) for name in names]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
