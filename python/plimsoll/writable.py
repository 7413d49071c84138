"""Calls of PyTorch's functions that its exporters cannot write, or write as something else, in a form that they can."""

import contextlib
import functools
import inspect
import math

from . import ctc


def form_of(torch, exporter, function, args, kwargs, rows):
    """The same call in a form that exporters can write: function, arguments, keyword arguments. `rows`: ctc.Rows."""
    if function == torch.nn.functional.normalize and (kwargs or {}).get("out") is not None:
        # No trainer keeps what forward() leaves in a buffer.
        return function, args, {key: value for key, value in kwargs.items() if key != "out"}
    if function == torch.Tensor.H.__get__ and not args[0].is_complex():
        return torch.Tensor.transpose, (args[0], -2, -1), None
    if function == torch.vdot and not args[0].is_complex():
        return torch.dot, args, kwargs
    if function == torch.logaddexp and "out" not in (kwargs or {}):
        return functools.partial(_logaddexp, torch), args, kwargs
    if exporter == "torchscript" and function == getattr(torch.nn.functional, "rms_norm", None):
        return functools.partial(_rms_norm, torch), args, kwargs
    if exporter == "torchscript" and function in (torch.diff, torch.Tensor.diff):
        return functools.partial(_diff, torch), args, kwargs
    if exporter == "dynamo" and function == getattr(torch.nn.functional, "scaled_dot_product_attention", None):
        return functools.partial(_attention_in_order, torch, function), args, kwargs
    if function == torch.nn.functional.pairwise_distance:
        return functools.partial(pairwise_distance, torch), args, kwargs
    if function == torch.cdist:
        return functools.partial(_cdist, torch), args, kwargs
    if function == torch.nn.functional.embedding_bag:
        call = inspect.signature(function).bind(*args, **(kwargs or {}))
        call.apply_defaults()
        if _has_bags_of_one_size(call.arguments):
            return functools.partial(_embedding_bag, torch), (call.arguments,), None
    if function == torch.nn.functional.ctc_loss:
        return ctc.form_of(torch, function, args, kwargs, rows), (), None
    if function == torch.nn.functional.gaussian_nll_loss:
        call = inspect.signature(function).bind(*args, **(kwargs or {}))
        call.apply_defaults()
        if (var := _variances(torch, call.arguments["input"], call.arguments["var"])) is not None:
            return functools.partial(_gaussian_nll_loss, torch), (), {**call.arguments, "var": var}
    return function, args, kwargs


def _logaddexp(torch, input, other):  # noqa: A002: PyTorch's name
    """Exporters write the logarithm of a sum of exponentials, which are infinite from 89 on."""
    return torch.maximum(input, other) + torch.nn.functional.softplus(-(input - other).abs())


def pairwise_distance(torch, x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """With its eps, which TorchScript's exporter leaves out: equal vectors have a gradient."""
    return torch.norm(x1 - x2 + eps, p, dim=-1, keepdim=keepdim)


def _rms_norm(torch, input, normalized_shape, weight=None, eps=None):  # noqa: A002: PyTorch's name
    axes = tuple(range(-len(normalized_shape), 0))
    eps = torch.finfo(input.dtype).eps if eps is None else eps
    normalized = input * torch.rsqrt(input.square().mean(axes, keepdim=True) + eps)
    return normalized if weight is None else normalized * weight


def _diff(torch, input, n=1, dim=-1, prepend=None, append=None):  # noqa: A002: PyTorch's name
    parts = [part for part in (prepend, input, append) if part is not None]
    result = torch.cat(parts, dim) if len(parts) > 1 else input
    for _ in range(n):
        later, earlier = result.narrow(dim, 1, result.shape[dim] - 1), result.narrow(dim, 0, result.shape[dim] - 1)
        result = later ^ earlier if result.dtype == torch.bool else later - earlier
    return result


def _attention_in_order(torch, attention, *args, **kwargs):
    """The strides of its result depend on the kernel that PyTorch takes. A reshape() of it may be a view in one pass of
    dynamo's exporter and need a copy in the next, which then fails."""
    return attention(*args, **kwargs).clone(memory_format=torch.contiguous_format)


def _cdist(torch, x1, x2, p=2.0, compute_mode=None):
    """Dynamo's exporter has no form. As in PyTorch, the distance of equal rows has the gradient 0."""
    return torch.norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, dim=-1)


def _variances(torch, input, var):  # noqa: A002: PyTorch's name
    """`var` with the axes of `input`, as gaussian_nll_loss() reads it: one variance may be that of a whole axis.

    None for a number, on which exporters can branch, and for shapes that PyTorch refuses.
    """
    if not isinstance(var, torch.Tensor):
        return None
    if var.shape != input.shape and var.shape == input.shape[:-1]:
        var = var.unsqueeze(-1)
    different = [size for size, wanted in zip(var.shape, input.shape) if size != wanted]
    return var if var.dim() == input.dim() and different in ([], [1]) else None


def _gaussian_nll_loss(torch, input, target, var, full, eps, reduction):  # noqa: A002: PyTorch's name
    """Without the test that no variance is negative, on which exporters cannot branch. As in PyTorch, a variance below
    eps counts as eps, and still has a gradient."""
    bounded = var + (var.clamp(min=eps) - var).detach()
    loss = 0.5 * (torch.log(bounded) + (input - target) ** 2 / bounded)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def _has_bags_of_one_size(call):
    """Whether each row of the input is a bag. Offsets would make the sizes of bags data."""
    is_plain = call["max_norm"] is None and not call["scale_grad_by_freq"]
    return call["input"].dim() == 2 and is_plain and (call["mode"] != "max" or call["padding_idx"] is None)


def _embedding_bag(torch, call):
    """A sum, mean or maximum over each row's embeddings: exporters write embedding_bag() as a loop over the bags."""
    ids, weight, padding = call["input"], call["weight"], call["padding_idx"]
    rows = torch.nn.functional.embedding(ids, weight)
    if call["mode"] == "max":
        return rows.max(dim=1).values
    if call["per_sample_weights"] is not None:
        rows = rows * call["per_sample_weights"].unsqueeze(-1)
    if padding is None:
        return rows.sum(dim=1) if call["mode"] == "sum" else rows.mean(dim=1)
    counts = (ids != padding % weight.shape[0]).to(rows.dtype).unsqueeze(-1)
    total = (rows * counts).sum(dim=1)
    return total if call["mode"] == "sum" else total / counts.sum(dim=1).clamp(min=1)


@contextlib.contextmanager
def without_validation(torch):
    """Distributions validate their arguments, and exporters cannot write a branch that depends on data."""
    validated = torch.distributions.Distribution._validate_args
    torch.distributions.Distribution.set_default_validate_args(False)
    try:
        yield
    finally:
        torch.distributions.Distribution.set_default_validate_args(validated)
