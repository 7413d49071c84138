"""Random numbers that PyTorch's exporters cannot write, as functions of uniform and normal ones."""

import functools

SMALLEST = 2 ** -25  # in place of 0, which a trainer draws, and of which PyTorch's exponential distribution has none


@functools.lru_cache(maxsize=None)
def _forms(torch):
    of = torch.Tensor
    return {
        torch.nn.functional.gumbel_softmax: functools.partial(_gumbel_softmax, torch),
        of.exponential_: functools.partial(_exponential_, torch),
        of.uniform_: functools.partial(_uniform_, torch),
        torch.normal: functools.partial(_normal, torch),
        torch.multinomial: functools.partial(_multinomial, torch),
        of.multinomial: functools.partial(_multinomial, torch),
    }


def form_of(torch, function):
    """A function for the same arguments; None for others."""
    return _forms(torch).get(function)


def _exponential(torch, like):
    return -torch.log(torch.rand_like(like).clamp(min=SMALLEST))


def _exponential_(torch, input, lambd=1.0, *, generator=None):  # noqa: A002: here and below PyTorch's names
    return input.copy_(_exponential(torch, input) / lambd)


def _uniform_(torch, input, *bounds, generator=None, **named):  # noqa: A002
    low = bounds[0] if bounds else named.get("from", 0.0)  # a keyword of Python, so no parameter can have this name
    high = bounds[1] if len(bounds) > 1 else named.get("to", 1.0)
    drawn = torch.rand_like(input)
    return input.copy_(drawn if (low, high) == (0, 1) else drawn * (high - low) + low)


def _gumbel_softmax(torch, logits, tau=1, hard=False, eps=1e-10, dim=-1):
    soft = ((logits - torch.log(_exponential(torch, logits))) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = torch.zeros_like(logits).scatter(dim, soft.argmax(dim, keepdim=True), 1.0)
    return chosen - soft.detach() + soft


def _normal(torch, mean, std=1.0, size=None, *, generator=None, **options):
    if size is not None:
        return torch.randn(size, **options) * std + mean
    return torch.randn_like(mean + std if isinstance(std, torch.Tensor) else mean) * std + mean


def _multinomial(torch, input, num_samples, replacement=False, *, generator=None):  # noqa: A002
    """The largest of the logarithms to which independent Gumbel numbers are added are such a sample (Gumbel-max)."""
    logits = torch.log(input)
    if replacement and num_samples > 1:
        logits = logits.unsqueeze(-2).expand(*logits.shape[:-1], num_samples, logits.shape[-1])
        return (logits - torch.log(_exponential(torch, logits))).argmax(-1)
    noisy = logits - torch.log(_exponential(torch, logits))
    return noisy.argmax(-1, keepdim=True) if num_samples == 1 else noisy.topk(num_samples, -1).indices
