"""Calls of PyTorch's functions that its exporters cannot write, or write as something else, in a form that they can."""

import contextlib
import functools
import inspect
import math

from . import (ctc, draws, dropouts, matrices, ordered, pools, recurrence, refusals, resizing, scans, special_functions,
               torchscript_forms)


def form_of(torch, exporter, function, args, kwargs, rows):
    """The same call in a form that exporters can write: function, arguments, keyword arguments. `rows`: ctc.Rows."""
    if function == torch.nn.functional.normalize and (kwargs or {}).get("out") is not None:
        # No trainer keeps what forward() leaves in a buffer.
        return function, args, {key: value for key, value in kwargs.items() if key != "out"}
    if function in (torch.Tensor.H.__get__, torch.Tensor.mT.__get__, torch.Tensor.mH.__get__):
        if not args[0].is_complex():
            return torch.Tensor.transpose, (args[0], -2, -1), None
    if function == torch.vdot and not args[0].is_complex():
        return torch.dot, args, kwargs
    if function in (torch.atan2, torch.arctan2, torch.Tensor.atan2, torch.Tensor.arctan2):
        return functools.partial(_atan2, torch), args, kwargs
    if function in (torch.max, torch.min, torch.Tensor.max, torch.Tensor.min):
        call = _selection_along(torch, *args, **(kwargs or {}))
        return (function, args, kwargs) if call is None else (functools.partial(_selected, torch, function), call, None)
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
    if function == torch.nn.functional.embedding:
        call = _arguments(function, args, kwargs)
        _check_rows(call)
        return function, (), {**call, "scale_grad_by_freq": False}
    if function == torch.nn.functional.embedding_bag:
        call = _arguments(function, args, kwargs)
        _check_rows(call)
        _check_bags(call)
        return functools.partial(_embedding_bag, torch), (call,), None
    if function == torch.lstm and recurrence.is_projected(function, args):
        return functools.partial(recurrence.projected_lstm, torch), args, kwargs
    if exporter == "torchscript" and (form := recurrence.form_of(torch, function, args)) is not None:
        return form, args, kwargs
    if function in (torch.scatter_reduce, torch.Tensor.scatter_reduce, torch.Tensor.scatter_reduce_):
        return functools.partial(_scatter_reduce, torch, function), args, kwargs
    if exporter == "torchscript" and function == torch.nn.functional.softplus:
        return functools.partial(_softplus, torch), args, kwargs
    if (kwargs or {}).get("out") is None or function == torch.eye:  # the only form that takes `out`
        of_one = (torchscript_forms,) if exporter == "torchscript" else ()
        for room in (pools, scans, ordered, special_functions, matrices, draws, dropouts, resizing, *of_one):
            if (form := room.form_of(torch, function)) is not None:
                return form, args, kwargs
    if exporter == "torchscript" and (form := _torchscript_form(torch, function, args)) is not None:
        return form, args, kwargs
    if exporter == "torchscript" and function == torch.nn.functional.pad:
        return functools.partial(_pad, torch), args, kwargs
    if function == torch.nn.functional.ctc_loss:
        return ctc.form_of(torch, function, args, kwargs, rows), (), None
    if function == torch.nn.functional.gaussian_nll_loss:
        call = _arguments(function, args, kwargs)
        if (var := _variances(torch, call["input"], call["var"])) is not None:
            return functools.partial(_gaussian_nll_loss, torch), (), {**call, "var": var}
    return function, args, kwargs


def _torchscript_form(torch, function, args):
    """Another function for the same arguments, if TorchScript's exporter writes something else for this one."""
    of = torch.Tensor
    if function in (torch.floor_divide, of.floor_divide, of.__floordiv__, of.__rfloordiv__):
        if any(isinstance(a, of) and a.is_floating_point() for a in args):
            return functools.partial(_floor_divide, torch, function == of.__rfloordiv__)
    if function in (torch.index_add, of.index_add, of.index_add_):
        return functools.partial(_index_add, torch, of.scatter_add_ if function == of.index_add_ else of.scatter_add)
    if function in (torch.index_put, of.index_put, of.index_put_):
        return functools.partial(_index_put, torch, function)
    return None


def _arguments(function, args, kwargs):
    """All arguments of a call by name, also those that have their default."""
    call = inspect.signature(function).bind(*args, **(kwargs or {}))
    call.apply_defaults()
    return call.arguments


def _selection_along(torch, input, *args, out=None, **kwargs):  # noqa: A002: PyTorch's name
    """The input, dim and keepdim of max(dim) or min(dim). None for other forms of max() and min(), and for values
    without a gradient."""
    given = dict(zip(("dim", "keepdim"), args), **kwargs)
    dim = given.get("dim", given.get("axis"))  # PyTorch accepts NumPy's names, too
    if type(dim) is not int or out is not None or input.dim() == 0 or not input.is_floating_point():
        return None
    return input, dim, given.get("keepdim", given.get("keepdims", False))


def _selected(torch, function, input, dim, keepdim=False):  # noqa: A002: PyTorch's name
    """Exporters write a reduction, whose gradient equal elements share. PyTorch's goes to the first of them."""
    is_max = function in (torch.max, torch.Tensor.max)
    places = (torch.argmax if is_max else torch.argmin)(input, dim, keepdim=True)
    found = (torch.gather(input, dim, places), places)
    return (torch.return_types.max if is_max else torch.return_types.min)(
        found if keepdim else [each.squeeze(dim) for each in found])


def _atan2(torch, input, other):  # noqa: A002: PyTorch's name
    """Exporters write the arctangent of the quotient, which has no gradient where the divisor is 0. Here the divisor is
    the larger one."""
    is_wide = other.abs() >= input.abs()
    divisor, dividend = torch.where(is_wide, other, input), torch.where(is_wide, input, other)
    is_zero, zero, one = divisor == 0, torch.zeros_like(divisor), torch.ones_like(divisor)
    angle = torch.where(is_zero, zero, torch.atan(dividend / torch.where(is_zero, one, divisor)))
    half = torch.where(input >= 0, torch.full_like(angle, math.pi / 2), torch.full_like(angle, -math.pi / 2))
    turned = torch.where(other < 0, angle + 2 * half, angle)
    return torch.where(is_wide, turned, half - angle)


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


def _check_rows(call):
    """A trainer changes parameters only by their gradients, which are sums over the rows that are read."""
    if call["max_norm"] is not None:
        raise refusals.Refused("an embedding with max_norm cannot be exported: PyTorch rescales rows of the parameter "
                               "in forward(), and a trainer does not. Rescale the rows that are read: max_norm=None, "
                               "and rows * (max_norm / rows.norm(dim=-1, keepdim=True)).clamp(max=1)")
    if call["scale_grad_by_freq"] and call["weight"].requires_grad:
        raise refusals.Refused("an embedding with scale_grad_by_freq=True cannot be exported: ONNX has no place for a "
                               "gradient that is divided by how often a row is read. Use scale_grad_by_freq=False")


def _check_bags(call):
    if call["input"].dim() != 2:
        raise refusals.Refused("embedding_bag() can be exported for bags of one size: an input [N,S] without offsets. "
                               "Fill smaller bags with a row of their own, padding_idx")


def _embedding_bag(torch, call):
    """A sum, mean or maximum over each row's embeddings: exporters write embedding_bag() as a loop over the bags."""
    ids, weight, padding = call["input"], call["weight"], call["padding_idx"]
    rows = torch.nn.functional.embedding(ids, weight)
    if call["per_sample_weights"] is not None:
        rows = rows * call["per_sample_weights"].unsqueeze(-1)
    if padding is None:
        if call["mode"] == "max":
            return _selected(torch, torch.max, rows, 1).values
        return rows.sum(dim=1) if call["mode"] == "sum" else rows.mean(dim=1)
    counts = (ids != padding % weight.shape[0]).to(rows.dtype).unsqueeze(-1)
    if call["mode"] == "max":
        counted = torch.where(counts > 0, rows, torch.full_like(rows, torch.finfo(rows.dtype).min))
        most = _selected(torch, torch.max, counted, 1).values
        return torch.where(counts.sum(dim=1) > 0, most, torch.zeros_like(most))
    total = (rows * counts).sum(dim=1)
    return total if call["mode"] == "sum" else total / counts.sum(dim=1).clamp(min=1)


def _softplus(torch, input, beta=1.0, threshold=20.0):  # noqa: A002: PyTorch's name
    """With its threshold, which TorchScript's exporter leaves out. From 20 on, both forms are equal in f32."""
    smooth = torch.nn.functional.softplus(input, beta)
    return smooth if threshold >= 20 else torch.where(input * beta > threshold, input, smooth)


def _floor_divide(torch, is_reversed, input, other):  # noqa: A002: PyTorch's name
    """TorchScript's exporter rounds to zero."""
    above, below = (other, input) if is_reversed else (input, other)
    return torch.floor(above / below)


def _check_adds(torch):
    """Files of PyTorch 1 have opset 15, in which no operator adds several values at one place."""
    if torch.__version__.startswith("1."):
        raise refusals.Refused("values that index_add() or index_put(…, accumulate=True) adds at one place are lost "
                               "by the exporter of PyTorch 1. Use PyTorch 2")


def _index_add(torch, scatter_add, input, dim, index, source, alpha=1):  # noqa: A002: PyTorch's name
    """TorchScript's exporter keeps one of several values that are added at one place."""
    _check_adds(torch)
    shape = [1] * source.dim()
    if shape:
        shape[dim] = -1
    places = index.long().reshape(shape).expand_as(source)
    return scatter_add(input, dim, places, source if alpha == 1 else source * alpha)


def _index_put(torch, function, input, indices, values, accumulate=False):  # noqa: A002: PyTorch's name
    """The same, in the form of index_add()."""
    if not accumulate:
        return function(input, indices, values)
    is_in_place, count = function == torch.Tensor.index_put_, len(indices)
    if any(i is None or not _is_integral(torch, i) for i in indices) or is_in_place and count > 1:
        raise refusals.Refused("TorchScript's exporter loses values that index_put(…, accumulate=True) adds at one "
                               "place. Use integers for each of the first axes, not index_put_() of several axes, or "
                               "exporter='dynamo'")
    rest, places = input.shape[count:], torch.zeros_like(indices[0])
    for size, index in zip(input.shape, indices):
        places = places * size + torch.where(index < 0, index + size, index)
    values = values.expand(places.shape + rest).reshape(-1, *rest)
    if count == 1:
        add = torch.Tensor.scatter_add_ if is_in_place else torch.scatter_add
        return _index_add(torch, add, input, 0, places.flatten(), values)
    lines = input.flatten(0, count - 1)
    return _index_add(torch, torch.scatter_add, lines, 0, places.flatten(), values).reshape(input.shape)


def _scatter_reduce(torch, function, input, dim, index, src, reduce, *, include_self=True):  # noqa: A002
    """Dynamo's exporter writes another number for a mean."""
    if reduce != "mean":
        return function(input, dim, index, src, reduce, include_self=include_self)
    zeros = torch.zeros_like(input)
    counts = zeros.scatter_add(dim, index, torch.ones_like(src))
    total = (input if include_self else zeros).scatter_add(dim, index, src)
    mean = torch.where(counts > 0, total / (counts + int(include_self)).clamp(min=1), input)
    return input.copy_(mean) if function == torch.Tensor.scatter_reduce_ else mean


def _is_integral(torch, index):
    return not index.is_floating_point() and index.dtype not in (torch.bool, torch.uint8)


def _pad(torch, input, pad, mode="constant", value=None):  # noqa: A002: PyTorch's name
    """TorchScript's exporter of PyTorch 1 takes circular padding from the wrong end, and PyTorch 2's if a size is
    negative, which crops."""
    if mode != "circular" or not (min(pad) < 0 or torch.__version__.startswith("1.")):
        return torch.nn.functional.pad(input, pad, mode, value)
    padded = torch.nn.functional.pad(input, [min(size, 0) for size in pad])
    for i in range(len(pad) // 2):
        axis, before, after = padded.dim() - 1 - i, max(pad[2 * i], 0), max(pad[2 * i + 1], 0)
        parts = [padded.narrow(axis, int(padded.shape[axis]) - before, before)] if before > 0 else []
        parts += [padded, padded.narrow(axis, 0, after)] if after > 0 else [padded]
        padded = torch.cat(parts, axis)
    return padded


@contextlib.contextmanager
def without_validation(torch):
    """Distributions validate their arguments, and exporters cannot write a branch that depends on data."""
    validated = torch.distributions.Distribution._validate_args
    torch.distributions.Distribution.set_default_validate_args(False)
    try:
        yield
    finally:
        torch.distributions.Distribution.set_default_validate_args(validated)
