"""Determinants, inverses and Cholesky factors of small matrices, and covariances.

Of these, ONNX has the determinant alone, which the compiler refuses. Here they are written by the matrix's elements.
"""

import functools

from . import refusals

CLOSED = 4  # rows of a matrix whose determinant and inverse are written by cofactors
UNROLLED = 8  # rows of a matrix that is factorized, or solved if it is triangular, row by row


@functools.lru_cache(maxsize=None)
def _forms(torch):
    of, linalg = torch.Tensor, torch.linalg
    places = {
        _det: (torch.det, of.det, linalg.det),
        _logdet: (torch.logdet, of.logdet),
        _inv: (torch.inverse, of.inverse, linalg.inv),
        _solve: (linalg.solve,),
        _solve_triangular: (linalg.solve_triangular,),
        _cholesky: (getattr(torch, "cholesky", None), getattr(of, "cholesky", None), linalg.cholesky),
        _cov: (torch.cov, of.cov),
        _corrcoef: (torch.corrcoef, of.corrcoef),
    }
    forms = {function: functools.partial(form, torch) for form, functions in places.items() for function in functions}
    for function in (torch.slogdet, of.slogdet, linalg.slogdet):
        results = getattr(torch.return_types, "linalg_slogdet" if function == linalg.slogdet else "slogdet")
        forms[function] = functools.partial(_slogdet, torch, results)
    return forms


def form_of(torch, function):
    """A function for the same arguments; None for others."""
    return _forms(torch).get(function)


def _elements(matrix, most, call):
    """The elements of square matrices, by row and column."""
    size = int(matrix.shape[-1])
    if size > most:
        raise refusals.Refused(
            f"{call} of a matrix of {size} rows cannot be exported: plimsoll.export writes it by its elements, for at "
            f"most {most} rows. If the matrix has no gradient, compute the result outside of forward(), and keep it as "
            "a buffer or give it as an input")
    return [[matrix[..., row, column] for column in range(size)] for row in range(size)]


def _matrix(torch, rows):
    return torch.stack([torch.stack(row, -1) for row in rows], -2)


def _pairs(upper, lower):
    """The determinants of two rows at columns a < b."""
    return {(a, b): upper[a] * lower[b] - upper[b] * lower[a] for b in range(len(upper)) for a in range(b)}


def _minors(torch, rows):
    """The determinants that are left without one row and one column, of at most 4 rows."""
    size = len(rows)
    if size == 1:
        return [[torch.ones_like(rows[0][0])]]
    if size == 2:
        return [[rows[1 - i][1 - j] for j in range(2)] for i in range(2)]
    if size == 3:
        columns = ((1, 2), (0, 2), (0, 1))
        return [[_pairs(*(rows[:i] + rows[i + 1:]))[each] for each in columns] for i in range(3)]
    pairs, minors = (_pairs(*rows[:2]), _pairs(*rows[2:])), []
    for i in range(4):
        other, two = rows[i ^ 1], pairs[i < 2]  # the rest of these two rows, and both of the other two
        columns = ((1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2))
        minors.append([other[a] * two[b, c] - other[b] * two[a, c] + other[c] * two[a, b] for a, b, c in columns])
    return minors


def _determinant(rows):
    """Of at most 4 rows: of 4, the sum over pairs of columns of the minors of the first two rows and the last two."""
    if len(rows) == 1:
        return rows[0][0]
    first = _pairs(rows[0], rows[1])
    if len(rows) == 2:
        return first[0, 1]
    if len(rows) == 3:
        return rows[2][0] * first[1, 2] - rows[2][1] * first[0, 2] + rows[2][2] * first[0, 1]
    last = _pairs(rows[2], rows[3])
    return (first[0, 1] * last[2, 3] - first[0, 2] * last[1, 3] + first[0, 3] * last[1, 2]
            + first[1, 2] * last[0, 3] - first[1, 3] * last[0, 2] + first[2, 3] * last[0, 1])


def _det(torch, input=None, *, A=None):  # noqa: A002, N803: here and below PyTorch's names
    return _determinant(_elements(A if input is None else input, CLOSED, "the determinant"))


def _logdet(torch, input):  # noqa: A002
    return torch.log(_det(torch, input))


def _slogdet(torch, results, input=None, *, A=None):  # noqa: A002, N803
    determinant = _det(torch, input, A=A)
    return results((torch.sign(determinant.detach()), torch.log(determinant.abs())))


def _inverse_of(torch, matrix, call):
    rows = _elements(matrix, CLOSED, call)
    minors, size = _minors(torch, rows), range(len(rows))
    cofactors = [[minors[i][j] if (i + j) % 2 == 0 else -minors[i][j] for j in size] for i in size]
    determinant = sum(element * cofactor for element, cofactor in zip(rows[0], cofactors[0]))
    return _matrix(torch, list(zip(*cofactors))) / determinant.unsqueeze(-1).unsqueeze(-1)


def _inv(torch, input=None, *, A=None):  # noqa: A002, N803
    return _inverse_of(torch, A if input is None else input, "the inverse")


def _solve(torch, A, B, *, left=True):  # noqa: N803
    """By the inverse. B is a vector in the same cases as in PyTorch."""
    inverse = _inverse_of(torch, A, "solve()")
    if B.dim() == 1 or (A.dim() - 1 == B.dim() and B.shape == A.shape[:-1]):
        return torch.matmul(inverse, B.unsqueeze(-1)).squeeze(-1)
    return torch.matmul(inverse, B) if left else torch.matmul(B, inverse)


def _cholesky(torch, input, upper=False):  # noqa: A002
    """Of the lower triangle, or the upper one. As in PyTorch, the gradient is symmetric."""
    flipped = input.transpose(-2, -1)
    mean = (input + flipped) / 2
    read = (flipped if upper else input).detach()
    symmetric = mean + (read - mean.detach())
    rows = _elements(symmetric, UNROLLED, "the Cholesky factor")
    zero = torch.zeros_like(rows[0][0])
    factor = [[zero] * len(rows) for _ in rows]
    for i, row in enumerate(factor):
        for j in range(i + 1):
            rest = rows[i][j]
            for k in range(j):
                rest = rest - row[k] * factor[j][k]
            row[j] = torch.sqrt(rest) if i == j else rest / factor[j][j]
    return _matrix(torch, list(zip(*factor)) if upper else factor)


def _solve_triangular(torch, A, B, *, upper, left=True, unitriangular=False):  # noqa: N803
    """Row by row, by what the rows before have found."""
    if not left:
        flipped = (each.transpose(-2, -1) for each in (A, B))
        return _solve_triangular(torch, *flipped, upper=not upper, unitriangular=unitriangular).transpose(-2, -1)
    rows, found = _elements(A, UNROLLED, "solve_triangular()"), {}
    order = range(len(rows))
    for i in reversed(order) if upper else order:
        rest = B[..., i, :]
        for j, each in found.items():
            rest = rest - rows[i][j].unsqueeze(-1) * each
        found[i] = rest if unitriangular else rest / rows[i][i].unsqueeze(-1)
    shape = torch.broadcast_shapes(*(each.shape for each in found.values()))
    return torch.stack([found[i].expand(shape) for i in order], -2)


def _cov(torch, input, *, correction=1, fweights=None, aweights=None):  # noqa: A002
    if fweights is not None or aweights is not None:
        return torch.cov(input, correction=correction, fweights=fweights, aweights=aweights)
    rows = input if input.dim() == 2 else input.reshape(1, -1)
    apart = rows - rows.mean(1, keepdim=True)
    result = torch.matmul(apart, apart.transpose(0, 1)) / max(int(rows.shape[1]) - correction, 0)
    return result if input.dim() == 2 else result.reshape(())


def _corrcoef(torch, input):  # noqa: A002
    products = _cov(torch, input)
    if input.dim() != 2:
        return products / products
    deviations = torch.sqrt((products * torch.eye(int(input.shape[0]), dtype=input.dtype)).sum(1))
    return (products / deviations.unsqueeze(1) / deviations.unsqueeze(0)).clamp(-1, 1)
