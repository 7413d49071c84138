"""Dropouts of whole channels, alpha dropouts, and the random slopes of RReLU.

TorchScript's exporter refuses dropouts of both kinds in training mode. A trainer evaluates with the mean of each mask
in place of the mask. In dynamo's form of an alpha dropout the result is then not the input; in the form below it is.
"""

import functools
import math

ALPHA = -1.7580993408473766  # what SELU makes of minus infinity, as PyTorch has it


@functools.lru_cache(maxsize=None)
def _forms(torch):
    functional = torch.nn.functional
    places = {
        (_drop, 3): ("dropout1d",),
        (_drop, None): ("dropout2d", "feature_dropout", "feature_dropout_"),
        (_drop, 5): ("dropout3d",),
        (_rrelu, None): ("rrelu", "rrelu_"),
        (_drop_to_alpha, False): ("alpha_dropout", "alpha_dropout_"),
        (_drop_to_alpha, True): ("feature_alpha_dropout", "feature_alpha_dropout_"),
    }
    forms = {}
    for (form, option), names in places.items():
        for function in (getattr(room, name, None) for room in (functional, torch) for name in names):
            if function is not None:
                forms[function] = functools.partial(form, torch, function, option)
    return forms


def form_of(torch, function):
    """A function for the same arguments; None for others."""
    return _forms(torch).get(function)


def _changes_input(function, inplace):
    return inplace or getattr(function, "__name__", "").endswith("_")


def _kept(torch, input, p, per_channel):  # noqa: A002: here and below PyTorch's names
    """1 with probability 1 - p, else 0: for each element, or for each channel of each sample."""
    if per_channel:
        for axis in range(2, input.dim()):
            input = input.narrow(axis, 0, 1)  # noqa: A001
    return (torch.rand_like(input) < 1 - p).to(input.dtype)


def _drop(torch, function, dims, input, p=0.5, training=True, inplace=False, *, train=None):  # noqa: A002
    """`dims`: the axes of a batch, where the call also takes a single sample, without the first of them. `train`: the
    name of `training` in functions of torch itself."""
    if not (training if train is None else train) or p == 0:
        return input
    single = dims is not None and input.dim() == dims - 1
    batch = input.unsqueeze(0) if single else input
    result = batch * 0 if p == 1 else batch * (_kept(torch, batch, p, True) / (1 - p))
    result = result.squeeze(0) if single else result
    return input.copy_(result) if _changes_input(function, inplace) else result


def _drop_to_alpha(torch, function, per_channel, input, p=0.5, training=False, inplace=False, *,  # noqa: A002
                   train=None):
    """y = x s + t, where s and t depend on the mask m alone. Dropped elements are ALPHA, and a scale a and an offset
    keep mean and variance:

        m                s                                t
        1                a                                -a ALPHA p
        0                0                                a ALPHA (1 - p)
        1 - p, its mean  1, so that the result is x       0
    """
    if not (training if train is None else train) or p == 0:
        return input
    if p == 1:
        result = input * 0
    else:
        scale = 1 / math.sqrt((1 - p) * (1 + p * ALPHA ** 2))
        more_at_mean = (1 / (1 - p) - scale) / p
        mask = _kept(torch, input, p, per_channel)
        result = input * (mask * (scale + more_at_mean * (1 - mask))) + scale * ALPHA * ((1 - p) - mask)
    return input.copy_(result) if _changes_input(function, inplace) else result


def _rrelu(torch, function, _, input, lower=1 / 8, upper=1 / 3, training=False, inplace=False):  # noqa: A002
    """A slope for each element. In evaluation it is the mean slope, also of a file that draws the slopes: the mask m is
    then 0.5, and 4 m (1 - m), which is 0 in training, is 1."""
    inplace = _changes_input(function, inplace)
    if not training:
        return torch.nn.functional.rrelu(input, lower, upper, False, inplace)
    slopes, mean = torch.rand_like(input) * (upper - lower) + lower, (lower + upper) / 2
    mask = _kept(torch, input, 0.5, True)
    slopes = slopes + (4 * mask * (1 - mask)) * (mean - slopes)
    result = torch.where(input >= 0, input, input * slopes)
    return input.copy_(result) if inplace else result
