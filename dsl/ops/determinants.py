"""Determinants. The derivative of det is the adjugate, which needs no inverse: it is right at singular matrices, too."""

from typing import NamedTuple

from ..avals import Aval, shape_of
from ..card import opaque
from ..samples import case, complex_normal, normal
from .arithmetic import add, multiply, subtract
from .compare import equal, logical_or, where
from .complex import imag, is_complex, real
from .create import arange_like, eye_like
from .factorize import svd
from .linalg import matmul
from .matrices import adjoint, check_square, computed_dtype, lanes_lead, real_dtype
from .reduce import prod, sum
from .shape import expand_dims, matrix_transpose, reshape
from .solve import inv, regular


@opaque(home="linalg", samples=[case(normal(3, 3)), case(normal(2, 2, 2)), case(complex_normal(2, 2)), case(normal(1, 1))])
def det(x, /):
    """Determinant of square matrices, shape (…, n, n) to (…). First and second derivatives are right at singular ones.

    Raises ShapeError. For large matrices `slogdet` neither over- nor underflows.
    """


@det.rule("shape")
def det_shape(x):
    check_square("det", x)
    return Aval(x.shape[:-2], computed_dtype("det", x))


det.rule("jvp")(lambda dxs, y, x: sum(multiply(matrix_transpose(adjugate(x)), dxs[0]), axis=(-2, -1)))
det.rule("vjp")([lambda ct, y, x: multiply(_on_matrices(ct), matrix_transpose(adjugate(x)))])
det.rule("batch")(lanes_lead(det))
det.rule("depends")("ab->")


def _on_matrices(v):
    """One number per matrix, with two axes to broadcast against the matrices."""
    return reshape(v, shape=(*shape_of(v), 1, 1))


@opaque(home="linalg", numpy=(), samples=[case(normal(3, 3)), case(normal(2, 2, 2)), case(complex_normal(3, 3))])
def adjugate(x, /):
    """Transposed matrix of the cofactors of square matrices, shape (…, n, n): x @ adjugate(x) = det(x) times the identity.

    It is a polynomial in the elements, defined for singular matrices, too; computed from the singular values. Its derivative
    is right everywhere, its second one where singular values differ. Raises ShapeError.
    """


@adjugate.rule("shape")
def adjugate_shape(x):
    check_square("adjugate", x)
    return Aval(x.shape, computed_dtype("adjugate", x))


@adjugate.rule("jvp")
def adjugate_jvp(dxs, y, x):
    """adj(U S Vᴴ) = det(U) det(Vᴴ) V adj(S) Uᴴ, and adj(S + F) is to first order a product of all but two of S, times F."""
    u, s, vh = svd(x)
    v, n = adjoint(vh), shape_of(x)[-1]
    f = matmul(matmul(adjoint(u), dxs[0]), v)
    eye, places = eye_like(s, n), arange_like(s, n)
    row, column = reshape(places, shape=(n, 1, 1)), reshape(places, shape=(n, 1))
    left_out = logical_or(equal(row, places), equal(column, places))
    others = prod(where(left_out, 1.0, reshape(s, shape=(*shape_of(s)[:-1], 1, 1, n))), axis=-1)
    others = multiply(others, subtract(1.0, eye))  # [i, j]: the product of all but s[i] and s[j]
    traces = matmul(others, expand_dims(sum(multiply(f, eye), axis=-1), -1))
    inner = subtract(multiply(traces, eye), multiply(others, f))
    return multiply(_on_matrices(multiply(det(u), det(vh))), matmul(matmul(v, inner), adjoint(u)))


adjugate.rule("batch")(lanes_lead(adjugate))
adjugate.rule("depends")("ab->ij")


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: object
    logabsdet: object


@opaque(home="linalg", samples=[case(regular()), case(regular(2)), case(regular(kind=complex_normal))])
def slogdet(x, /):
    """Sign and logarithm of the absolute value of the determinant of square matrices: det(x) = sign * exp(logabsdet).

    x: shape (…, n, n). Returns the named tuple (sign, logabsdet) of arrays of shape (…); for a singular matrix (0, -inf),
    which has no derivative (LinAlgError). Raises ShapeError.
    """


@slogdet.rule("shape")
def slogdet_shape(x):
    check_square("slogdet", x)
    dtype = computed_dtype("slogdet", x)
    return SlogdetResult(Aval(x.shape[:-2], dtype), Aval(x.shape[:-2], real_dtype(dtype)))


@slogdet.rule("jvp")
def slogdet_jvp(dxs, y, x):
    """With t = tr(x⁻¹ dx): the logarithm grows by Re t, the sign turns by Im t."""
    t = sum(multiply(matrix_transpose(inv(x)), dxs[0]), axis=(-2, -1))
    turn = multiply(multiply(y[0], 1j), imag(t)) if is_complex(x) else None
    return turn, real(t)


@slogdet.rule("vjp")
def slogdet_vjp(i, ct, y, x):
    by_sign, by_log = ct
    c = by_log
    if by_sign is not None and is_complex(x):
        turn = multiply(real(multiply(multiply(by_sign, y[0]), 1j)), -1j)
        c = turn if c is None else add(c, turn)
    return None if c is None else multiply(_on_matrices(c), matrix_transpose(inv(x)))


slogdet.rule("batch")(lanes_lead(slogdet))
slogdet.rule("depends")("ab->,")
