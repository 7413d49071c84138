"""Cumulative products, maxima and minima, and logcumsumexp(), in log2(n) steps for an axis of n elements."""

import functools

from . import refusals, special_functions


@functools.lru_cache(maxsize=None)
def _forms(torch):
    of, forms = torch.Tensor, {}
    for function in (torch.cumprod, of.cumprod):
        forms[function] = functools.partial(_cumprod, torch, function)
    for function in (torch.logcumsumexp, of.logcumsumexp):
        forms[function] = functools.partial(_logcumsumexp, torch)
    for name, results in (("cummax", torch.return_types.cummax), ("cummin", torch.return_types.cummin)):
        for function in (getattr(torch, name), getattr(of, name)):
            forms[function] = functools.partial(_cumulative, torch, results, name == "cummax")
    return forms


def form_of(torch, function):
    """A function for the same arguments; None for one that is no scan."""
    return _forms(torch).get(function)


def _steps(torch, input, dim):  # noqa: A002: PyTorch's name
    """The distances at which elements are combined: each element covers twice as many after each step."""
    if input.dim() > 0 and dim % input.dim() == 0 and torch.jit.is_tracing():
        raise refusals.Refused("TorchScript's exporter cannot write cumprod(), cummax(), cummin() or logcumsumexp() "
                               "along the first axis: it records as many steps as the example needs, and the axis may "
                               "be the batch. Use exporter='dynamo', or if it is another axis: "
                               "x.unsqueeze(0).cumprod(1).squeeze(0)")
    size, step = int(input.shape[dim]) if input.dim() > 0 else 1, 1
    while step < size:
        yield step
        step *= 2


def _parts(tensor, dim, step):
    """The elements that no earlier one is combined with, the others, and the earlier ones, `step` before these."""
    rest = int(tensor.shape[dim]) - step
    return tensor.narrow(dim, 0, step), tensor.narrow(dim, step, rest), tensor.narrow(dim, 0, rest)


def _cumprod(torch, function, input, dim, dtype=None):  # noqa: A002: PyTorch's name
    """Products alone, no logarithms and no quotients: elements that are 0 have PyTorch's gradient."""
    if dtype is not None:
        input = input.to(dtype)  # noqa: A001
    if not input.is_floating_point():
        return function(input, dim)  # of integers
    result = input * 1
    for step in _steps(torch, result, dim):
        first, later, earlier = _parts(result, dim, step)
        result = torch.cat([first, later * earlier], dim)
    return result


def _logcumsumexp(torch, input, dim):  # noqa: A002: PyTorch's name
    """Exporters write sums of exponentials of all distances from the largest element, which underflow far below it."""
    result = input * 1
    for step in _steps(torch, result, dim):
        first, later, earlier = _parts(result, dim, step)
        result = torch.cat([first, special_functions.logaddexp(torch, later, earlier)], dim)
    return result


def _cumulative(torch, results, is_max, input, dim=None, *, axis=None):  # noqa: A002: PyTorch's name
    """As in PyTorch, the last one of equal elements counts, and has the gradient."""
    dim = axis if dim is None else dim
    shape = [1] * input.dim()
    if shape:
        shape[dim] = -1
    size = int(input.shape[dim]) if shape else 1
    values = input * 1
    places = torch.zeros_like(input, dtype=torch.int64) + torch.arange(size, device=input.device).reshape(shape)
    for step in _steps(torch, values, dim):
        parts = [_parts(each, dim, step) for each in (values, places)]
        _, later, earlier = parts[0]
        is_later = later >= earlier if is_max else later <= earlier
        values, places = (torch.cat([first, torch.where(is_later, after, before)], dim)
                          for first, after, before in parts)
    return results((values, places))
