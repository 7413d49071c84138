"""Functions of single numbers in a form that PyTorch's exporters can write."""

import functools
import math

SHIFT = 4  # from here on, the asymptotic series of lgamma and digamma have the accuracy of f32
LGAMMA = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)  # factors of 1/z, 1/z**3, …
DIGAMMA = (-1 / 12, 1 / 120, -1 / 252, 1 / 240)  # of 1/z**2, 1/z**4, …
# erfinv(x) / x by w = -log(1 - x**2): a polynomial of w - 2.5 below 5, of sqrt(w) - 3 above (Giles 2010).
ERFINV_BELOW = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
                -0.00417768164, 0.246640727, 1.50140941)
ERFINV_ABOVE = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
                0.00943887047, 1.00167406, 2.83297682)


@functools.lru_cache(maxsize=None)
def _forms(torch):
    of, special = torch.Tensor, torch.special
    places = {
        _lgamma: (torch.lgamma, of.lgamma, special.gammaln),
        _digamma: (torch.digamma, of.digamma, special.digamma, special.psi),
        _mvlgamma: (torch.mvlgamma, of.mvlgamma, special.multigammaln),
        _erfinv: (torch.erfinv, of.erfinv, special.erfinv),
        _xlogy: (torch.xlogy, of.xlogy, special.xlogy),
        logaddexp: (torch.logaddexp, of.logaddexp),
        _copysign: (torch.copysign, of.copysign),
        _hypot: (torch.hypot, of.hypot),
        _fmax: (torch.fmax, of.fmax),
        _fmin: (torch.fmin, of.fmin),
    }
    return {function: functools.partial(form, torch) for form, functions in places.items() for function in functions}


def form_of(torch, function):
    """A function for the same arguments; None for others."""
    return _forms(torch).get(function)


def _real(torch, input):  # noqa: A002: here and below PyTorch's names
    return input if input.is_floating_point() else input.to(torch.get_default_dtype())


def _polynomial(factors, x):
    """By Horner's scheme, with the factor of the highest power first."""
    value = factors[0]
    for factor in factors[1:]:
        value = value * x + factor
    return value


def _reflected(torch, input):  # noqa: A002
    """Gamma(x) Gamma(1 - x) = pi / sin(pi x). Where x is negative, 1 - x, and the angle pi x without its multiples of
    pi. The angle of other x is pi / 2: no branch that torch.where() does not select has an infinite gradient."""
    is_negative = input < 0
    angle = math.pi * torch.where(is_negative, input - torch.round(input.detach()), torch.full_like(input, 0.5))
    return is_negative, torch.where(is_negative, 1 - input, input), angle


def _shifted(torch, x):
    """Gamma(x + 4) = x (x + 1) (x + 2) (x + 3) Gamma(x). An argument from 4 on, and the four factors, 1 to 4 if x needs
    no shift."""
    is_small = x < SHIFT
    first = torch.where(is_small, x, torch.ones_like(x))
    return is_small, torch.where(is_small, x + SHIFT, x), [first + i if i > 0 else first for i in range(SHIFT)]


def _lgamma(torch, input):  # noqa: A002
    """Stirling's series, with an absolute or relative error below 1e-6, and the derivative digamma."""
    is_negative, x, angle = _reflected(torch, _real(torch, input))
    is_small, z, factors = _shifted(torch, x)
    inverse, constant = 1 / z, 0.5 * math.log(2 * math.pi) - 0.5
    value = (z - 0.5) * (torch.log(z) - 1) + (constant + inverse * _polynomial(LGAMMA[::-1], inverse * inverse))
    product = factors[0] * factors[1] * factors[2] * factors[3]
    value = torch.where(is_small, value - torch.log(product), value)
    return torch.where(is_negative, math.log(math.pi) - torch.log(torch.sin(angle).abs()) - value, value)


def _digamma(torch, input):  # noqa: A002
    is_negative, x, angle = _reflected(torch, _real(torch, input))
    is_small, z, factors = _shifted(torch, x)
    inverse = 1 / z
    square = inverse * inverse
    value = torch.log(z) - 0.5 * inverse + square * _polynomial(DIGAMMA[::-1], square)
    value = torch.where(is_small, value - sum(1 / factor for factor in factors), value)
    return torch.where(is_negative, value - math.pi * torch.cos(angle) / torch.sin(angle), value)


def _mvlgamma(torch, input, p):  # noqa: A002
    return sum(_lgamma(torch, input - i / 2) for i in range(p)) + p * (p - 1) / 4 * math.log(math.pi)


def _erfinv(torch, input):  # noqa: A002
    """Giles's approximation has a relative error of 4e-7. Its derivative is replaced by the exact one."""
    input = _real(torch, input)  # noqa: A001
    fixed = input.detach()
    is_edge = fixed.abs() == 1
    inner = torch.where(is_edge, torch.zeros_like(fixed), fixed)
    w = -torch.log((1 - inner) * (1 + inner))
    below = _polynomial(ERFINV_BELOW, torch.minimum(w, torch.full_like(w, 5)) - 2.5)
    above = _polynomial(ERFINV_ABOVE, torch.sqrt(torch.maximum(w, torch.full_like(w, 5))) - 3)
    value = inner * torch.where(w < 5, below, above)
    slope = 0.5 * math.sqrt(math.pi) * torch.exp(value * value)
    return torch.where(is_edge, fixed / (1 - fixed.abs()), value.detach() + (input - fixed) * slope.detach())


def _xlogy(torch, input, other):  # noqa: A002
    """0 where the factor is 0 and the logarithm is infinite or NaN. TorchScript's exporter has no form."""
    if not isinstance(other, torch.Tensor):
        return _real(torch, input) * (math.log(other) if other > 0 else torch.xlogy(input, other))
    other, is_zero = _real(torch, other), other <= 0
    is_zero = is_zero & (input == 0) if isinstance(input, torch.Tensor) or input == 0 else torch.zeros_like(is_zero)
    return input * torch.log(torch.where(is_zero, torch.ones_like(other), other))


def logaddexp(torch, input, other):  # noqa: A002
    """Exporters write the logarithm of a sum of exponentials, which are infinite from 89 on."""
    return torch.maximum(input, other) + torch.nn.functional.softplus(-(input - other).abs())


def _copysign(torch, input, other):  # noqa: A002
    size = _real(torch, input).abs()
    if not isinstance(other, torch.Tensor):
        return size * math.copysign(1, other)
    return size * torch.where(other < 0, torch.full_like(other, -1), torch.ones_like(other)).to(size.dtype)


def _hypot(torch, input, other):  # noqa: A002
    """The larger number is the factor of a root from 1 to 2: no square is too large or too small."""
    one, two = input.abs(), other.abs()
    most = torch.maximum(one, two).detach()
    scale = torch.where(most > 0, most, torch.ones_like(most))
    return torch.sqrt((input / scale) ** 2 + (other / scale) ** 2) * scale


def _numbers(torch, input, other):  # noqa: A002
    """Each argument, with the other one in place of a NaN."""
    return torch.where(torch.isnan(input), other, input), torch.where(torch.isnan(other), input, other)


def _fmax(torch, input, other):  # noqa: A002
    return torch.maximum(*_numbers(torch, input, other))


def _fmin(torch, input, other):  # noqa: A002
    return torch.minimum(*_numbers(torch, input, other))
