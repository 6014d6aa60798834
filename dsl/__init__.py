"""The array language: operations, batching, tracing, programs. Array types lie in `dsl.arrays`."""

from . import numpy_protocol, operators
from .avals import Aval, eval_shape, reduced_axes
from .batching import Batched, Replicated
from .card import Card, bilinear, composite, elementwise, linear, opaque, operations, reduction
from .families import bilinear_family, claim, combine_rule, elementwise_family, linear_family, reduction_family
from .ir import Program
from .ops.arithmetic import (
    add,
    ceil,
    clip,
    divide,
    floor,
    floor_divide,
    hypot,
    maximum,
    minimum,
    multiply,
    negative,
    positive,
    reciprocal,
    remainder,
    rint,
    sign,
    square,
    subtract,
    trunc,
)
from .ops.bitwise import (
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
)
from .ops.compare import (
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    where,
)
from .ops.complex import abs, angle, astype, conj, imag, real, stop_gradient
from .ops.create import (
    arange,
    arange_like,
    array,
    asarray,
    empty,
    eye,
    eye_like,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from .ops.exponential import cbrt, exp, exp2, expm1, log, log1p, log2, log10, power, sqrt
from .ops.indexing import Slice, at, getitem, index, index_add, index_set, join_index, take
from .ops.linalg import dot, matmul, outer, vecdot
from .ops.named import all_gather, axis_index, axis_size, pmax, pmean, pmin, psum
from .ops.reduce import all, any, max, mean, min, prod, sum
from .ops.shape import (
    broadcast_to,
    concatenate,
    expand_dims,
    full_permutation,
    matrix_transpose,
    moveaxis,
    ravel,
    reshape,
    squeeze,
    stack,
    swapaxes,
    transpose,
)
from .ops.trigonometric import (
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    cos,
    cosh,
    sin,
    sinh,
    tan,
    tanh,
)
from .tracing import Traced, make_ir
from .vmap import vmap

operators.install()
numpy_protocol.install()

# the array API's names
acos, acosh, asin, asinh, atan, atan2, atanh = arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh
concat, permute_dims, pow, mod, round = concatenate, transpose, power, remainder, rint

__all__ = [name for name in dir() if not name.startswith("_") and name not in ("ops", "operators", "numpy_protocol")]
