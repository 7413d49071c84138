"""interpolate() in a form that PyTorch's exporters can write."""

import functools
import struct

from . import pools


def form_of(torch, function):
    """A function for the same arguments; None for others."""
    return functools.partial(_interpolate, torch) if function == torch.nn.functional.interpolate else None


def _interpolate(torch, input, size=None, scale_factor=None, mode="nearest", align_corners=None,  # noqa: A002: here
                 recompute_scale_factor=None, antialias=False):  # and below PyTorch's names
    """With antialiasing, dynamo's exporter ignores align_corners, and writes sizes in place of a scale_factor, which
    may stand for another scale. TorchScript's exporter has no antialiasing, and neither of the two modes below."""
    functional = torch.nn.functional
    if not antialias and not (mode in ("area", "nearest-exact") and torch.jit.is_tracing()):
        return functional.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)
    axes = input.dim() - 2
    before = [int(length) for length in input.shape[2:]]
    factors = scale_factor if isinstance(scale_factor, (tuple, list)) else [scale_factor] * axes
    if size is None:
        after = [int(length * factor) for length, factor in zip(before, factors)]
    else:
        after = list(size) if isinstance(size, (tuple, list)) else [size] * axes
    if mode == "area":
        return pools.form_of(torch, getattr(functional, f"adaptive_avg_pool{axes}d"))(input, after)
    is_given = size is None and not recompute_scale_factor
    scales = [1 / factor if is_given else old / new for old, new, factor in zip(before, after, factors)]
    if align_corners:
        scales = [(old - 1) / (new - 1) if new > 1 else 0 for old, new in zip(before, after)]
    for axis, old, new, scale in zip(range(2, 2 + axes), before, after, map(_as_f32, scales)):
        if mode == "nearest-exact":
            places = [min(int(_as_f32((place + 0.5) * scale)), old - 1) for place in range(new)]
            input = input.index_select(axis, torch.tensor(places, device=input.device))  # noqa: A001
            continue
        weights = torch.tensor(_antialiased(mode, old, new, scale), dtype=input.dtype, device=input.device)
        along = input.transpose(axis, -1)
        input = torch.matmul(along, weights.transpose(0, 1)).transpose(axis, -1)  # noqa: A001
    return input


def _as_f32(number):
    """PyTorch computes the places of elements with a scale in f32."""
    return struct.unpack("f", struct.pack("f", number))[0]


def _linear(x):
    return max(0.0, 1 - abs(x))


def _cubic(x, a=-0.5):
    x = abs(x)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0


def _antialiased(mode, old, new, scale):
    """The weights of the old elements in each new one: a filter as wide as the elements that the new one stands for
    (ATen, UpSampleKernel.cpp)."""
    filter_of, reach = (_linear, 1) if mode == "bilinear" else (_cubic, 2)
    width = max(scale, 1.0)
    rows = []
    for place in range(new):
        center = scale * (place + 0.5)
        first, last = max(int(center - reach * width + 0.5), 0), min(int(center + reach * width + 0.5), old)
        weights = [filter_of((each - center + 0.5) / width) if first <= each < last else 0.0 for each in range(old)]
        rows.append([weight / sum(weights) for weight in weights])
    return rows
