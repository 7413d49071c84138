"""Medians, quantiles and places in sorted sequences, in a form that PyTorch's exporters can write."""

import functools
import math

import numpy as np


@functools.lru_cache(maxsize=None)
def _forms(torch):
    of, forms = torch.Tensor, {torch.searchsorted: functools.partial(_searchsorted, torch)}
    for place in (torch, of):
        forms[place.median] = functools.partial(_median, torch)
        forms[place.kthvalue] = functools.partial(_kthvalue, torch, torch.return_types.kthvalue)
        forms[place.quantile] = functools.partial(_quantile, torch)
    return forms


def form_of(torch, function):
    """A function for the same arguments; None for one that needs no order."""
    return _forms(torch).get(function)


def _length(tensor, dim):
    """A number, except of the first axis. It may be the batch, whose size is then the one that the exporter writes."""
    return tensor.shape[dim] if dim == 0 else int(tensor.shape[dim])


def _kthvalue(torch, results, input, k, dim=-1, keepdim=False, *, axis=None, keepdims=False):  # noqa: A002: PyTorch's
    dim = dim if axis is None else axis
    if input.dim() == 0:
        return results((input * 1, torch.zeros_like(input, dtype=torch.int64)))
    least = torch.topk(input, k, dim, largest=False)
    found = [each.narrow(dim, k - 1, 1) for each in least]
    return results(found if keepdim or keepdims else [each.squeeze(dim) for each in found])


def _median(torch, input, dim=None, keepdim=False, *, axis=None, keepdims=False):  # noqa: A002: PyTorch's name
    """The lower one of two elements in the middle. The median of all elements shares its gradient with its equals."""
    dim = axis if dim is None else dim
    if dim is not None:
        middle = (_length(input, dim % input.dim()) + 1) // 2 if input.dim() > 0 else 1
        return _kthvalue(torch, torch.return_types.median, input, middle, dim, keepdim or keepdims)
    elements = input.reshape(-1)
    value = _kthvalue(torch, tuple, elements.detach(), (elements.shape[0] + 1) // 2)[0]
    is_equal = elements.detach() == value
    equals = torch.where(is_equal, elements - elements.detach(), torch.zeros_like(elements))
    return value + equals.sum() / is_equal.to(elements.dtype).sum()


def _quantile(torch, input, q, dim=None, keepdim=False, *, interpolation="linear"):  # noqa: A002: PyTorch's name
    """Of one q or several."""
    axes = input.dim()
    elements = input.reshape(-1) if dim is None or axes == 0 else input
    dim = 0 if dim is None or axes == 0 else dim % axes
    ordered = torch.sort(elements, dim)[0]
    if not isinstance(q, torch.Tensor) and dim > 0:
        value = _at_rank(torch, ordered, dim, q, interpolation)
    else:
        q = torch.as_tensor(q, dtype=ordered.dtype)
        value = _at_ranks(torch, ordered, dim, q, interpolation)
    if not isinstance(q, torch.Tensor) or q.dim() == 0:
        if not keepdim:
            return value.squeeze(dim)
        return value if elements.dim() == axes else value.reshape([1] * axes)
    value = value.permute([dim, *(axis for axis in range(ordered.dim()) if axis != dim)])
    if not keepdim:
        return value
    return value.unsqueeze(dim + 1) if elements.dim() == axes else value.reshape([-1] + [1] * axes)


def _at_rank(torch, ordered, dim, q, interpolation):
    exact = float(np.float32(q)) * (int(ordered.shape[dim]) - 1)
    rank = float(np.float32(exact)) if torch.__version__.startswith("1.") else exact  # PyTorch 2 does not round it
    rank = float({"lower": math.floor, "higher": math.ceil, "nearest": round}.get(interpolation, float)(rank))
    below, above = (ordered.narrow(dim, number, 1) for number in (math.floor(rank), math.ceil(rank)))
    weight = 0.5 if interpolation == "midpoint" else rank - math.floor(rank)
    return below if rank == math.floor(rank) else below + (above - below) * weight


def _at_ranks(torch, ordered, dim, q, interpolation):
    """The same where the numbers or the length are not known. Their product is rounded to single precision."""
    ranks = q.detach().reshape(-1) * (_length(ordered, dim) - 1)
    if interpolation in ("lower", "higher", "nearest"):
        ranks = {"lower": torch.floor, "higher": torch.ceil, "nearest": torch.round}[interpolation](ranks)
    lower = torch.floor(ranks)
    below, above = (ordered.index_select(dim, each.to(torch.int64)) for each in (lower, torch.ceil(ranks)))
    shape = [1] * ordered.dim()
    shape[dim] = -1
    weights = torch.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - lower
    return below + (above - below) * weights.reshape(shape)


def _searchsorted(torch, sorted_sequence, input, *, out_int32=False, right=False, side=None,  # noqa: A002: PyTorch's
                  sorter=None):
    """The number of elements of the sorted sequence that are smaller, or not greater."""
    ordered = sorted_sequence if sorter is None else torch.gather(sorted_sequence, -1, sorter)
    if not isinstance(input, torch.Tensor):
        input = torch.full((), input, dtype=ordered.dtype, device=ordered.device)  # noqa: A001
    ordered = ordered if ordered.dim() == 1 else ordered.unsqueeze(-2)
    values = input.unsqueeze(-1)
    is_before = ordered <= values if right or side == "right" else ordered < values
    return is_before.to(torch.int64).sum(-1).to(torch.int32 if out_int32 else torch.int64)
