"""Runs one training step in PyTorch and in a trainer, from the same weights and samples, and compares all tensors."""

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass

import numpy as np

from . import examples, state

# A power of two keeps the bits of a gradient. It is so large that after one step of SGD, w1 = w0 - LR * g, the gradient
# dominates the weight, even where it is tiny: for example, after a layer scale of 1e-5.
GRADIENT_LR = 2.0**60
LOSS_TOLERANCE = 1e-6


@dataclass
class Comparison:
    """One tensor of the model after one step."""

    name: str
    kind: str  # "loss", "gradient", "statistic" (a running mean or variance), "unmoved" (a frozen parameter, a buffer)
    relative: float  # ||ours - PyTorch's|| / ||PyTorch's||; for "unmoved": its change, relative to its own norm
    pytorch: float  # the distance of PyTorch's single precision from its double precision; 0 for "unmoved"

    def is_good(self, tolerance):
        """Within the tolerance, or at most ten times as far from PyTorch as its single from its double precision."""
        if self.kind == "unmoved":
            return self.relative == 0
        return self.relative <= max(LOSS_TOLERANCE if self.kind == "loss" else tolerance, 10 * self.pytorch)


def check(model, example_inputs, labels, trainer, *, loss=None, tolerance=1e-4, report=True):
    """Compares a trainer with the module that it was compiled from. Returns a list of Comparison, the largest first.

    model           the torch.nn.Module that was exported, in the same modes; it is not changed
    example_inputs  as in plimsoll.export: as many samples as the trainer's batch
    labels          the labels of the loss; None if the model computes its loss (`--loss output`)
    trainer         a directory that `plimsoll compile` wrote for one process and that is built in build/, with
                    `--optimizer sgd` or `momentum` (the default). The step is made without weight decay, momentum and
                    clipping, so that it is the gradient
    loss            loss(outputs, labels) in PyTorch, where `outputs` is what model() returns. Default: the loss that
                    the trainer was compiled with, without its weights, smoothing and ignored labels, on the output
                    that it was compiled for. Cross entropy is per token if the output has three axes.
    report          print a line for each tensor, and how many are good

    A module whose forward() converts to float32 cannot run in double precision. Then `pytorch` is 0 in all rows.

    Raises ValueError if the trainer cannot be compared, and RuntimeError with the trainer's messages if it fails.
    """
    import torch

    _check_types(torch, model)
    with open(os.path.join(trainer, "plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    loss = loss or _loss_of(torch, plan, trainer)
    with examples.given(torch, model, example_inputs) as arguments:
        _check_plan(plan, arguments, trainer)
        single = _gradients(torch, model, arguments, labels, loss)
        double = _gradients_in_double(torch, model, arguments, labels, loss) or single
        before, after, value = _one_step(torch, model, arguments, labels, plan, trainer)

    rows = [Comparison("loss", "loss", _distance(value, single.loss), _distance(single.loss, double.loss))]
    for name, tensor in after.items():
        if name in single.gradients:
            ours = (before[name].astype(np.float64) - tensor) / GRADIENT_LR
            norm = double.norm(name)
            rows.append(
                Comparison(
                    name,
                    "gradient",
                    _distance(ours, single.gradients[name], norm),
                    _distance(single.gradients[name], double.gradients[name], norm),
                )
            )
        elif name in single.statistics:
            norm = double.norm_of_statistic(name)
            rows.append(
                Comparison(
                    name,
                    "statistic",
                    _distance(tensor, single.statistics[name], norm),
                    _distance(single.statistics[name], double.statistics[name], norm),
                )
            )
        elif name in before:
            rows.append(Comparison(name, "unmoved", _distance(tensor, before[name]), 0.0))
    compared = {row.name for row in rows}
    absent = [name for name in single.gradients if name not in compared and not single.shared_with(name, compared)]
    if absent:
        raise ValueError(
            f"'{trainer}' does not hold {len(absent)} trained parameter(s) of the module: {', '.join(absent[:5])}; "
            "export the model with plimsoll.export"
        )
    rows.sort(key=lambda row: (row.is_good(tolerance), -row.relative))
    if report:
        _print(rows, tolerance)
    return rows


def _cross_entropy(outputs, labels):
    import torch

    if outputs.dim() == 3:
        outputs, labels = outputs.flatten(0, 1), labels.flatten()
    return torch.nn.functional.cross_entropy(outputs, labels.long())


def _mse(outputs, labels):
    import torch

    return torch.nn.functional.mse_loss(outputs, labels)


def _bce_logits(outputs, labels):
    import torch

    return torch.nn.functional.binary_cross_entropy_with_logits(outputs, labels.to(outputs.dtype))


# By the operator of the task that computes the loss.
LOSSES = {
    "SoftmaxCrossEntropyLoss": _cross_entropy,
    "LinearCrossEntropyLoss": _cross_entropy,
    "MseLoss": _mse,
    "BinaryCrossEntropyLoss": _bce_logits,
    "OutputLoss": lambda output, _: output,
}


def _loss_of(torch, plan, trainer):
    """The loss of a trainer, as a function of what the module returns and of the labels."""
    import onnx

    task = next(task for task in plan["tasks"] if task["kind"] == "loss")
    read = {plan["tensors"][tensor]["name"] for tensor in task["reads"]}
    proto = onnx.load(os.path.join(trainer, "model.onnx"), load_external_data=False)
    names = [output.name for output in proto.graph.output]

    def loss(returned, labels):
        outputs = _tensors_in(torch, returned)
        scalars = [output for output in outputs if output.dim() == 0]
        if labels is None and len(scalars) == 1:  # models of transformers return their scores, too
            return scalars[0]
        if len(outputs) != 1:
            outputs = [output for name, output in zip(names, outputs) if name in read and len(names) == len(outputs)]
        if len(outputs) != 1:
            raise ValueError(
                f"which tensor of the {type(returned).__name__} that the module returns does '{trainer}' train? "
                "pass loss=lambda outputs, labels: …"
            )
        output = outputs[0]
        if labels is None:  # the model computes its loss, of whatever operators
            return output
        if task["op"] not in LOSSES:
            raise ValueError(f"the loss of '{trainer}' is {task['op']}; pass it as loss=lambda outputs, labels: …")
        return LOSSES[task["op"]](output, labels)

    return loss


def _tensors_in(torch, value):
    """The tensors in what a module returns, in the order of the file's outputs."""
    if torch.is_tensor(value):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return []
    return [tensor for part in value for tensor in _tensors_in(torch, part)]


def _check_types(torch, model):
    """Gradients are read from saved weights, which have the type of the model's file."""
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            raise ValueError(
                f"'{name}' is {tensor.dtype}, which is too coarse to compare gradients; export model.float() and "
                "compare that: the trainer computes the same"
            )


def _check_plan(plan, arguments, trainer):
    batch = plan["model"]["batch"]
    samples = {a.shape[0] for a in arguments if getattr(a, "shape", ())}
    if samples != {batch}:
        raise ValueError(
            f"'{trainer}' trains batches of {batch} samples, and the example has {', '.join(map(str, sorted(samples)))}"
        )
    if plan.get("ranks", 1) != 1:
        raise ValueError(f"'{trainer}' is for {plan['ranks']} processes; compile one for a single process")
    # The names of the states tell the optimizer: SGD has none, momentum has ".momentum". Weights of bf16 trainers also
    # have lower halves, and all of these may be in slices. The number of tensors that an update changes does not tell
    # it, because accumulated gradients and lower halves count among them.
    states = (tensor["name"] for tensor in plan["tensors"] if tensor["kind"] == "optimizer_state")
    if not all(re.search(r"\.(momentum|low)(\.slice\d+)?$", name) for name in states):
        raise ValueError(
            f"'{trainer}' trains with Adam, LAMB or Lion, and the gradient cannot be derived from its step; "
            "compile one with --optimizer momentum"
        )


class _Step:
    """The results of one step of PyTorch: the loss, and gradients and running statistics by name."""

    def __init__(self, model, loss):
        from .exporting import _parameters_of

        self.loss = np.float64(loss.item())
        parameters = _parameters_of(model)
        self._identities = {name: id(p) for name, p in parameters.items()}
        self.gradients = {name: p.grad.double().numpy() for name, p in parameters.items() if p.grad is not None}
        self.statistics = {
            name: buffer.double().numpy()
            for name, buffer in model.named_buffers()
            if name.rpartition(".")[2] in ("running_mean", "running_var")
        }
        norms = [float(np.linalg.norm(g)) for g in self.gradients.values()]
        # In double precision, a gradient that consists of rounding errors alone is smaller than this.
        self.least = 1e-9 * max(norms, default=0.0)
        self.scale = float(np.median([norm for norm in norms if norm >= self.least])) if norms else 0.0

    def norm(self, name):
        """The norm to which a gradient's distances are relative: its own. A gradient of rounding errors alone, such as
        that of a bias before a batch normalization, is compared with the median norm. It is recognized by its size in
        double precision."""
        own = float(np.linalg.norm(self.gradients[name]))
        return own if own >= self.least else self.scale

    def norm_of_statistic(self, name):
        """The norm to which a statistic's distances are relative: its own. A mean of rounding errors alone, such as
        that of a convolution of normalized values, is compared with the standard deviations."""
        own = float(np.linalg.norm(self.statistics[name]))
        variance = self.statistics.get(name.removesuffix("mean") + "var", np.zeros(1))
        deviation = float(np.linalg.norm(np.sqrt(variance)))
        return own if own >= 1e-9 * deviation else deviation

    def shared_with(self, name, others):
        """Whether another name of the same parameter is among `others`."""
        return any(self._identities[other] == self._identities[name] for other in others if other in self._identities)


def _gradients(torch, model, arguments, labels, loss):
    model = state.copy_of(torch, model)
    model.zero_grad()
    value = loss(model(*arguments), labels)
    value.backward()
    return _Step(model, value)


def _gradients_in_double(torch, model, arguments, labels, loss):
    """The same in double precision. None if forward() asks for float32 itself, and PyTorch refuses to mix the two."""

    def widened(value):
        return value.double() if torch.is_tensor(value) and value.is_floating_point() else value

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # for the tensors that forward() makes
    try:
        model = state.copy_of(torch, model).double()
        return _gradients(torch, model, tuple(map(widened, arguments)), widened(labels), loss)
    except RuntimeError:
        return None
    finally:
        torch.set_default_dtype(before)


def _fed(plan, proto, tensors):
    """The tensors among the example's that the trainer reads, in its order: an input that no output depends on has no
    data, and the labels of a loss that the model computes come last."""
    from .exporting import METADATA_KEY

    names = [value.name for value in proto.graph.input]
    for entry in proto.metadata_props:
        if entry.key == METADATA_KEY:
            names = json.loads(entry.value).get("inputs", names)
    if len(names) != len(tensors):
        return tensors
    example = dict(zip(names, tensors))
    return [example[t["name"]] for t in plan["tensors"] if t["kind"] == "input" and t["name"] in example]


def _plain_step(plan):
    """The trainer's flags for a step that is the gradient times the learning rate, whatever it is compiled with."""
    flags = ["--weight-decay", "0"]
    if any(".momentum" in tensor["name"] for tensor in plan["tensors"] if tensor["kind"] == "optimizer_state"):
        flags += ["--momentum", "0"]  # the first step of Nesterov momentum would be longer
    if any(task["name"] == "gradients.clip" for task in plan["tasks"]):
        flags += ["--clip-norm", "1e30"]
    return flags


def _one_step(torch, model, arguments, labels, plan, trainer):
    """Runs the trainer for one step from the module's weights: the initializers before and after, and the loss."""
    import onnx
    from onnx import numpy_helper

    state = {name: t.detach().numpy() for name, t in model.state_dict(keep_vars=True).items()}
    with tempfile.TemporaryDirectory() as work:
        start, end, metrics = (os.path.join(work, name) for name in ("start.onnx", "end.onnx", "metrics.jsonl"))
        proto = onnx.load(os.path.join(trainer, "model.onnx"))
        arguments = _fed(plan, proto, [a for a in arguments if isinstance(a, torch.Tensor)])
        for initializer in proto.graph.initializer:
            if initializer.name in state and initializer.data_type == onnx.TensorProto.FLOAT:
                initializer.CopyFrom(
                    numpy_helper.from_array(state[initializer.name].astype(np.float32), initializer.name)
                )
        onnx.save(proto, start)
        files = []
        for i, tensor in enumerate(arguments if labels is None else (*arguments, labels)):
            files.append(os.path.join(work, f"{i}.npy"))
            array = tensor.detach().numpy()
            np.save(files[-1], array.astype(np.int32) if array.dtype == np.int64 and i == len(arguments) else array)
        command = [
            os.path.join(trainer, "build", "train"),
            "--data",
            "npy:" + ",".join(files),
            "--no-shuffle",
            "--steps",
            "1",
            "--lr",
            repr(GRADIENT_LR),
            "--model",
            start,
            "--save",
            end,
            "--metrics",
            metrics,
            "--quiet",
            *_plain_step(plan),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise ValueError(
                f"cannot run '{command[0]}': {error.strerror}; build the trainer: "
                f"cmake -S {trainer} -B {trainer}/build && cmake --build {trainer}/build"
            ) from error
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stderr}")
        read = lambda path: {
            i.name: numpy_helper.to_array(i)
            for i in onnx.load(path).graph.initializer
            if i.data_type == onnx.TensorProto.FLOAT
        }
        with open(metrics, encoding="utf-8") as lines:
            value = json.loads(lines.readline())["loss"]
        return read(start), read(end), np.float64(value)


def _distance(a, b, norm=None):
    """||a - b|| / norm, by default relative to the norm of b. If the norm is 0, the distance itself.

    Equal infinities, which occur in masks, have no distance. If only one is infinite, the distance is infinite.
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape == b.shape:
        same = a == b
        a, b = np.where(same & np.isinf(a), 0, a), np.where(same & np.isinf(b), 0, b)
    norm = float(np.linalg.norm(b)) if norm is None else norm
    apart = float(np.linalg.norm(a - b))
    return apart / norm if 0 < norm < np.inf else apart


def _print(rows, tolerance):
    for row in rows:
        mark = " " if row.is_good(tolerance) else "!"
        print(f"{mark} {row.kind:9} {row.relative:8.1e}  {row.name}")
    bad = sum(not row.is_good(tolerance) for row in rows)
    print(
        f"{len(rows)} tensors, {bad} beyond {tolerance:g}" if bad else f"{len(rows)} tensors, all within {tolerance:g}"
    )
