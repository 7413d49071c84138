"""Pools in a form that PyTorch's exporters can write."""

import functools
import math


def form_of(torch, function):
    """A function for the same arguments; None for one that is no pool, or that exporters can write."""
    functional = torch.nn.functional
    if function in (functional.avg_pool2d, functional.avg_pool3d):
        return functools.partial(_avg_pool, torch, function)
    for axes in (1, 2, 3):
        for kind in ("avg", "max"):
            if function == getattr(functional, f"adaptive_{kind}_pool{axes}d"):
                pool = getattr(functional, f"{kind}_pool{axes}d")
                return functools.partial(_adaptive_pool, torch, function, pool, axes)
    return None


def _windows(size, count):
    """The first and the last element, exclusive, of each window of an adaptive pool (ATen, AdaptivePooling.h)."""
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _equal_windows(windows):
    """The kernel and the stride of windows that are equal and follow each other at equal distances; else None."""
    lengths = {end - begin for begin, end in windows}
    steps = {later[0] - begin[0] for begin, later in zip(windows, windows[1:])} or {1}
    return (lengths.pop(), steps.pop()) if len(lengths) == len(steps) == 1 else None


def _adaptive_pool(torch, adaptive, pool, axes, input, output_size, return_indices=False):  # noqa: A002: PyTorch's name
    """Exporters write adaptive pools only where the windows do not overlap, and dynamo's none of three dimensions.

    Here it is one pool where all windows are equal. Otherwise each axis is pooled by itself: the mean over a window is
    the mean of its rows' means, and the first of its largest elements is in the first row that has one.
    """
    wanted = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * axes
    sizes = [int(size) for size in input.shape[-axes:]]
    counts = [size if count is None else count for size, count in zip(sizes, wanted)]
    if return_indices or all(count == 1 for count in counts):
        return adaptive(input, output_size, return_indices) if return_indices else adaptive(input, output_size)
    windows = [_windows(size, count) for size, count in zip(sizes, counts)]
    equal = [_equal_windows(each) for each in windows]
    if all(equal):
        kernel, stride = zip(*equal)
        return pool(input, kernel, stride)
    for axis in reversed(range(axes)):
        ones = [1] * axes

        def along(number):
            return ones[:axis] + [number] + ones[axis + 1:]

        if equal[axis] is not None:
            input = pool(input, along(equal[axis][0]), along(equal[axis][1]))
            continue
        parts = [(input.narrow(axis - axes, begin, end - begin), end - begin) for begin, end in windows[axis]]
        # The length of a window, not the size of its part: TorchScript's tracer takes sizes for data.
        input = torch.cat([pool(part, along(length), ones) for part, length in parts], axis - axes)
    return input


def _avg_pool(torch, pool, input, kernel_size, stride=None, padding=0, ceil_mode=False,  # noqa: A002: PyTorch's name
              count_include_pad=True, divisor_override=None):
    """With its divisor, which exporters leave out: the mean of a window, padding included, times its
    number of pixels is their sum."""
    if divisor_override is None:
        return pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad)
    axes = 2 if pool == torch.nn.functional.avg_pool2d else 3
    kernel, step, before = (
        list(given) * (axes // len(given)) if isinstance(given, (tuple, list)) else [given] * axes
        for given in (kernel_size, kernel_size if stride is None or stride == [] else stride, padding)
    )
    pads = []
    for axis in reversed(range(axes)):
        length, k, s, p = int(input.shape[axis - axes]), kernel[axis], step[axis], before[axis]
        after = p
        if ceil_mode:  # the last window may reach beyond the padding, but not begin behind the input
            count = -(-(length + 2 * p - k) // s) + 1
            count -= int((count - 1) * s >= length + p)
            after = max(p, (count - 1) * s + k - length - p)
        pads += [p, after]
    padded = torch.nn.functional.pad(input, pads) if any(pads) else input
    return pool(padded, kernel, step) * (math.prod(kernel) / divisor_override)
