"""PyTorch's losses for which an exporter has no form, or not the right one, written with operators that it knows.

TorchScript's exporter has none for any of them. Dynamo's has one for each, but its form of binary_cross_entropy has no
gradient where a probability is 0 or 1.

Each function has the parameters of its namesake in torch.nn.functional, and computes the same.
"""

import functools
import inspect
import math

from .writable import pairwise_distance

_DEPRECATED = ("size_average", "reduce")


def of_call(torch, exporter, function, args, kwargs):
    """A function without arguments that computes the loss of this call; None if the exporter has a form for it, if
    `function` is no such loss, or if the call has a deprecated argument, or weights that the form here does not know.
    """
    losses = _LOSSES if exporter == "torchscript" else _OF_ALL_EXPORTERS
    write = losses.get(getattr(function, "__name__", ""))
    if write is None or function is not getattr(torch.nn.functional, function.__name__, None):
        return None
    call = inspect.signature(function).bind(*args, **(kwargs or {}))
    call.apply_defaults()
    values = dict(call.arguments)
    if any(values.pop(name, None) is not None for name in _DEPRECATED):
        return None
    reduction = values.pop("reduction")
    if "weight" not in inspect.signature(write).parameters and values.pop("weight", None) is not None:
        return None
    return functools.partial(_reduced, torch, write, values, reduction)


def _reduced(torch, write, values, reduction):
    loss = write(torch, **values)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def _l1_loss(torch, input, target):  # noqa: A002: here and below PyTorch's names
    return (input - target).abs()


def _smooth_l1_loss(torch, input, target, beta):  # noqa: A002
    distance = (input - target).abs()
    if beta == 0:
        return distance
    return torch.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)


def _huber_loss(torch, input, target, delta):  # noqa: A002
    distance = (input - target).abs()
    return torch.where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))


def _binary_cross_entropy(torch, input, target, weight):  # noqa: A002
    """As in PyTorch, no logarithm is below -100, and the gradient divides by no less than 1e-12."""
    fixed = input.detach()
    yes, no = torch.log(fixed).clamp(min=-100), torch.log1p(-fixed).clamp(min=-100)
    slope = (fixed - target) / (fixed * (1 - fixed)).clamp(min=1e-12)
    loss = (target - 1) * no - target * yes + (input - fixed) * slope.detach()
    return loss if weight is None else loss * weight


def _soft_margin_loss(torch, input, target):  # noqa: A002
    return torch.nn.functional.softplus(-target * input)


def _hinge_embedding_loss(torch, input, target, margin):  # noqa: A002
    zero = torch.zeros_like(input)
    apart = torch.where(target != 1, (margin - input).clamp(min=0), zero)
    return apart + torch.where(target != -1, input, zero)


def _poisson_nll_loss(torch, input, target, log_input, full, eps):  # noqa: A002
    loss = torch.exp(input) - target * input if log_input else input - target * torch.log(input + eps)
    if full:  # Stirling's approximation of log(target!)
        most = target.clamp(min=1)
        stirling = most * torch.log(most) - most + 0.5 * torch.log(2 * math.pi * most)
        loss = loss + torch.where(target > 1, stirling, torch.zeros_like(stirling))
    return loss


def _margin_ranking_loss(torch, input1, input2, target, margin):
    return (margin - target * (input1 - input2)).clamp(min=0)


def _triplet_margin_loss(torch, anchor, positive, negative, margin, p, eps, swap):
    def distance(a, b):
        return pairwise_distance(torch, a, b, p, eps)

    apart = distance(anchor, negative)
    if swap:
        apart = torch.minimum(apart, distance(positive, negative))
    return (margin + distance(anchor, positive) - apart).clamp(min=0)


def _cosine_embedding_loss(torch, input1, input2, target, margin):
    squares = ((input1 * input1).sum(-1) + 1e-12) * ((input2 * input2).sum(-1) + 1e-12)
    cosine = (input1 * input2).sum(-1) / torch.sqrt(squares)
    zero = torch.zeros_like(cosine)
    unlike = torch.where(target == -1, (cosine - margin).clamp(min=0), zero)
    return unlike + torch.where(target == 1, 1 - cosine, zero)


def _multi_margin_loss(torch, input, target, p, margin, weight):  # noqa: A002
    """The margin of the label to each other class, as a mean over all classes."""
    labels, classes = target.unsqueeze(-1), torch.arange(int(input.shape[-1]))
    apart = (margin - torch.gather(input, -1, labels) + input).clamp(min=0)
    apart = apart if p == 1 else apart * apart
    if weight is not None:
        apart = apart * weight[labels]
    return torch.where(classes == labels, torch.zeros_like(apart), apart).mean(-1)


_OF_ALL_EXPORTERS = {"binary_cross_entropy": _binary_cross_entropy}
_LOSSES = {
    **_OF_ALL_EXPORTERS,
    "l1_loss": _l1_loss,
    "smooth_l1_loss": _smooth_l1_loss,
    "huber_loss": _huber_loss,
    "soft_margin_loss": _soft_margin_loss,
    "hinge_embedding_loss": _hinge_embedding_loss,
    "poisson_nll_loss": _poisson_nll_loss,
    "margin_ranking_loss": _margin_ranking_loss,
    "triplet_margin_loss": _triplet_margin_loss,
    "cosine_embedding_loss": _cosine_embedding_loss,
    "multi_margin_loss": _multi_margin_loss,
}
