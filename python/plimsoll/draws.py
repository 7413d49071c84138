"""Random numbers that PyTorch's exporters cannot write, as functions of uniform and normal ones."""

import functools

SMALLEST = 2 ** -25  # in place of 0, which a trainer draws, and of which PyTorch's exponential distribution has none


@functools.lru_cache(maxsize=None)
def _forms(torch):
    of = torch.Tensor
    return {
        torch.nn.functional.gumbel_softmax: functools.partial(_gumbel_softmax, torch),
        of.exponential_: functools.partial(_exponential_, torch),
        of.normal_: functools.partial(_normal_, torch),
        of.log_normal_: functools.partial(_log_normal_, torch),
        of.uniform_: functools.partial(_uniform_, torch),
        of.bernoulli_: functools.partial(_bernoulli_, torch),
        torch.normal: functools.partial(_normal, torch),
        torch.multinomial: functools.partial(_multinomial, torch),
        of.multinomial: functools.partial(_multinomial, torch),
    }


def form_of(torch, function):
    """A function for the same arguments; None for others."""
    return _forms(torch).get(function)


def _exponential(torch, like):
    return -torch.log(torch.rand_like(like).clamp(min=SMALLEST))


# The tensors that these fill are zeros first: an exporter may write the memory of a new one as a constant, which the
# compiler can then repeat for each sample.
def _exponential_(torch, input, lambd=1.0, *, generator=None):  # noqa: A002: here and below PyTorch's names
    zeros = input.zero_()
    return zeros.add_(_exponential(torch, zeros) / lambd)


def _normal_(torch, input, mean=0, std=1, *, generator=None):  # noqa: A002
    zeros = input.zero_()
    return zeros.add_(torch.randn_like(zeros) * std + mean)


def _log_normal_(torch, input, mean=1, std=2, *, generator=None):  # noqa: A002
    zeros = input.zero_()
    return zeros.add_(torch.exp(torch.randn_like(zeros) * std + mean))


def _uniform_(torch, input, *bounds, generator=None, **named):  # noqa: A002
    low = bounds[0] if bounds else named.get("from", 0.0)  # a keyword of Python, so no parameter can have this name
    high = bounds[1] if len(bounds) > 1 else named.get("to", 1.0)
    zeros = input.zero_()
    if (low, high) == (0, 1):
        return zeros.copy_(torch.rand_like(zeros))  # the compiler recognizes a random mask that is made of it
    return zeros.add_(torch.rand_like(zeros) * (high - low) + low)


def _bernoulli_(torch, input, p=0.5, *, generator=None):  # noqa: A002
    """PyTorch 1's exporter refuses it, and dynamo's where `p` is a tensor."""
    if not isinstance(p, torch.Tensor) and not torch.__version__.startswith("1."):
        return input.bernoulli_(p)
    zeros = input.zero_()
    return zeros.copy_((torch.rand_like(zeros) < p).to(zeros.dtype))


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
