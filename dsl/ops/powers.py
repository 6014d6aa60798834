"""Powers and the exponential of square matrices, and products of several matrices in the cheapest order."""

from ...dispatch import ShapeError
from ..avals import Aval, shape_of
from ..card import composite, opaque
from ..samples import case, complex_normal, normal, sequence_case
from .create import eye_like, zeros_like
from .linalg import matmul
from .matrices import check_square, computed_dtype, lanes_lead
from .shape import broadcast_to, concatenate, expand_dims, matrix_transpose, reshape
from .solve import inv, regular


@composite(
    home="linalg",
    samples=[case(normal(3, 3), 5), case(regular(2), -2), case(complex_normal(2, 2), 3), case(normal(2, 2), 0)],
)
def matrix_power(x, /, n):
    """The product of n copies of square matrices, shape (…, n, n); of the inverses for negative n, the identity for 0.

    n: int. Raises ShapeError, and LinAlgError for negative powers of singular matrices.
    """
    check_square("matrix_power", x)
    try:
        n = n.__index__()
    except AttributeError:
        raise ShapeError(f"matrix_power: the power is an integer, not {n!r}; see linalg.eigh for others") from None
    if n == 0:
        return broadcast_to(eye_like(x, shape_of(x)[-1]), shape=shape_of(x))
    if n < 0:
        x, n = inv(x), -n
    y, square = None, x
    while True:  # by the binary digits of n, the last one first
        n, odd = divmod(n, 2)
        if odd:
            y = square if y is None else matmul(y, square)
        if not n:
            return y
        square = matmul(square, square)


@composite(
    home="linalg",
    sequence=True,
    samples=[
        sequence_case(normal(2, 3), normal(3, 4)), sequence_case(normal(3), normal(3, 2), normal(2, 4), normal(4)),
        sequence_case(normal(5, 1), normal(1, 5), normal(5, 2)),
    ],
)  # fmt: skip
def multi_dot(arrays, /):
    """Product of two or more matrices, in the order that takes the fewest multiplications.

    arrays: sequence of matrices of fitting shapes; the first and the last may be vectors, as for `matmul`. Raises
    ShapeError.
    """
    raise AssertionError("replaced by multi_dot_body: a sequence's body takes the arrays one by one")


def multi_dot_body(*arrays):
    shapes = [shape_of(x) for x in arrays]
    row, column = len(shapes[0]) == 1, len(shapes[-1]) == 1
    given = ", ".join(str(list(shape)) for shape in shapes)
    if len(arrays) < 2:
        raise ShapeError("multi_dot: give two matrices or more")
    xs = [expand_dims(arrays[0], 0) if row else arrays[0], *arrays[1:-1], expand_dims(arrays[-1], 1) if column else arrays[-1]]
    if any(len(shape_of(x)) != 2 for x in xs):
        raise ShapeError(f"multi_dot: of the shapes {given} only the first and the last may have one axis, all others have two")
    lengths = [shape_of(xs[0])[0], *[shape_of(x)[1] for x in xs]]
    if any(shape_of(x)[0] != n for x, n in zip(xs, lengths, strict=False)):
        raise ShapeError(f"multi_dot: the shapes {given} do not fit each other")
    splits = cheapest_splits(lengths)

    def product(i, j):
        return xs[i] if i == j else matmul(product(i, splits[i, j]), product(splits[i, j] + 1, j))

    y = product(0, len(xs) - 1)
    return reshape(y, shape=shape_of(y)[row : 2 - column]) if row or column else y


multi_dot.card.body = multi_dot_body


def cheapest_splits(lengths):
    """After which factor to split each product (i, …, j) of matrices lengths[k] × lengths[k + 1] (dynamic programming)."""
    count, splits = len(lengths) - 1, {}
    cost = {(i, i): 0 for i in range(count)}
    for width in range(1, count):
        for i in range(count - width):
            j = i + width
            total = lambda k, i=i, j=j: cost[i, k] + cost[k + 1, j] + lengths[i] * lengths[k + 1] * lengths[j + 1]
            splits[i, j] = min(range(i, j), key=total)
            cost[i, j] = total(splits[i, j])
    return splits


@opaque(home="linalg", numpy=(), samples=[case(normal(3, 3)), case(normal(2, 2, 2)), case(complex_normal(2, 2))])
def expm(x, /):
    """Exponential of square matrices, shape (…, n, n): the sum of x^k / k!, by scaling, squaring and Padé approximants
    (A. H. Al-Mohy and N. J. Higham, SIAM J. Matrix Anal. Appl. 31, 2009; SciPy's function).

    Its derivative is a block of the exponential of [[x, dx], [0, x]]. Raises ShapeError, DTypeError, and ImportError without
    SciPy.
    """


@expm.rule("shape")
def expm_shape(x):
    check_square("expm", x)
    return Aval(x.shape, computed_dtype("expm", x))


def _along(dx, x):
    """The derivative of expm at x in the direction dx (I. Najfeld and T. F. Havel, Adv. Appl. Math. 16, 1995)."""
    n = shape_of(x)[-1]
    blocks = [concatenate([x, dx], axis=-1), concatenate([zeros_like(x), x], axis=-1)]
    return expm(concatenate(blocks, axis=-2))[..., :n, n:]


expm.rule("jvp")(lambda dxs, y, x: _along(dxs[0], x))
expm.rule("vjp")([lambda ct, y, x: _along(ct, matrix_transpose(x))])
expm.rule("batch")(lanes_lead(expm))


@expm.rule("taylor")
def expm_taylor(k, y, x):
    """Coefficients of a series multiply as block triangular matrices with them along the diagonals do."""
    zero, n = zeros_like(x(0)), shape_of(x(0))[-1]
    blocks = [x(0), *[zero if x(j) is None else x(j) for j in range(1, k + 1)]]
    rows = [concatenate([*[zero] * i, *blocks[: k + 1 - i]], axis=-1) for i in range(k + 1)]
    return expm(concatenate(rows, axis=-2))[..., :n, k * n :]


expm.rule("depends")("ab->ij")
