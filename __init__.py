"""polyad: a multiple-dispatch array language with automatic differentiation, batching and MPI parallelism.

Operations are generic functions of the types and devices of their arguments; derivatives, `vmap`, tracing and `pmap` are
layers of the same dispatch, so they nest in any order and work on ordinary Python and NumPy code.

>>> import numpy as np, polyad as pa
>>> pa.grad(lambda x: pa.sum(pa.sin(x)))(np.zeros(2))
array([1., 1.])
"""

from . import ad, devices, dispatch, dsl, parallel

# arithmetic
from .dsl import (
    add, ceil, clip, divide, floor, floor_divide, hypot, masked_product, masked_quotient, maximum, minimum, mod, multiply,
    negative, positive, reciprocal, remainder, rint, round, sign, square, subtract, trunc,
)  # fmt: skip
# bits
from .dsl import (
    bitwise_and, bitwise_invert, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor,
)  # fmt: skip
# comparison, logic, choice
from .dsl import (
    equal, greater, greater_equal, isfinite, isinf, isnan, less, less_equal, logical_and, logical_not,
    logical_or, logical_xor, not_equal, where,
)  # fmt: skip
# exponentials, powers, angles
from .dsl import (
    acos, acosh, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, asin, asinh, atan, atan2, atanh,
    cbrt, cos, cosh, exp, exp2, expm1, log, log1p, log2, log10, pow, power, sin, sinh, sqrt, tan, tanh,
)  # fmt: skip
# complex parts, dtypes, the cut of derivatives
from .dsl import (
    abs, angle, astype, conj, imag, real, stop_gradient, with_slopes_of,
)  # fmt: skip
# special functions, activations, rows
from .dsl import (
    beta, betainc, betaln, digamma, elu, entr, erf, erfc, erfcinv, erfcx, erfinv, expi, expit, gamma, gammainc,
    gammainc_da, gammaincc, gammaincinv, gammaln, gelu, i0, i0e, i1, i1e, j0, j1, leaky_relu, lgamma, log_ndtr,
    log_sigmoid, log_softmax, logaddexp, logaddexp2, logit, logsumexp, ndtr, ndtri, polygamma, relu, sigmoid, silu,
    softmax, softplus, standardize, xlog1py, xlogy, zeta,
)  # fmt: skip
# Bessel functions, relatives of the gamma function
from .dsl import (
    gammasgn, iv, ive, jv, kv, kve, multigammaln, rgamma, y0, y1, yv,
)  # fmt: skip
# degrees, parts of floating numbers, whole numbers
from .dsl import (
    deg2rad, degrees, fabs, float_power, frexp, gcd, heaviside, lcm, ldexp, modf, rad2deg, radians, sinc,
)  # fmt: skip
# random numbers
from .dsl import random
# reductions and products
from .dsl import (
    all, any, cdist, dot, matmul, max, mean, min, outer, prod, sqeuclidean, sum, vecdot,
)  # fmt: skip
# linear algebra as `polyad.linalg`
from .dsl import linalg
# products over chosen axes; Fourier transforms as `polyad.fft`
from .dsl import (
    contract, cross, einsum, fft, inner, kron, matvec, tensordot, vdot, vecmat,
)  # fmt: skip
# convolution, pooling, windows
from .dsl import (
    conv, conv_input, conv_weight, convolve, correlate, max_pool, mean_pool, overlap_add, sliding_window_view,
    sliding_windows,
)  # fmt: skip
# shape
from .dsl import (
    broadcast_to, concat, concatenate, expand_dims, matrix_transpose, moveaxis, permute_dims, ravel, reshape,
    squeeze, stack, swapaxes, transpose,
)  # fmt: skip
# rearrangement
from .dsl import (
    append, array_split, atleast_1d, atleast_2d, atleast_3d, block, column_stack, delete, diag, diagflat, diagonal,
    dsplit, dstack, flip, fliplr, flipud, hsplit, hstack, insert, pad, repeat, resize, roll, rollaxis, rot90, split,
    tile, trace, tril, triu, vsplit, vstack,
)  # fmt: skip
# cumulative sums and products, sampled functions
from .dsl import (
    cumprod, cumsum, cumulative_prod, cumulative_sum, diff, ediff1d, gradient, interp, nancumprod, nancumsum,
    trapezoid,
)  # fmt: skip
# search and order
from .dsl import (
    allclose, argmax, argmin, argpartition, argsort, argwhere, array_equal, array_equiv, choose, compress,
    count_nonzero, digitize, extract, flatnonzero, fmax, fmin, insertion_places, isclose, lexsort, nanargmax,
    nanargmin, nonzero, partition, piecewise, put_along_axis, searchsorted, select, sort, take_along_axis,
)  # fmt: skip
# statistics
from .dsl import (
    average, bincount, corrcoef, cov, histogram, histogram_bin_edges, median, nanmax, nanmean, nanmedian, nanmin,
    nanpercentile, nanprod, nanquantile, nanstd, nansum, nanvar, percentile, ptp, quantile, std, var,
)  # fmt: skip
# sets
from .dsl import (
    in1d, intersect1d, isin, setdiff1d, setxor1d, union1d, unique, unique_all, unique_counts, unique_inverse,
    unique_values,
)  # fmt: skip
# indexing
from .dsl import (
    Slice, at, c_, getitem, index, index_add, index_set, join_index, r_, take,
)  # fmt: skip
# creation
from .dsl import (
    arange, array, asarray, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid, ones, ones_like,
    zeros, zeros_like,
)  # fmt: skip
# dtypes, constants, and what the array API standard has a namespace say of itself
from .dsl import (
    __array_api_version__, __array_namespace_info__, bool, can_cast, complex64, complex128, e, finfo, float32, float64,
    iinfo, inf, int8, int16, int32, int64, isdtype, nan, newaxis, pi, result_type, uint8, uint16, uint32, uint64,
)  # fmt: skip
# signs and neighbours; several arrays at once
from .dsl import (
    broadcast_arrays, broadcast_shapes, copysign, nextafter, signbit, unstack,
)  # fmt: skip
# in-place code
from .dsl import debug_mutation
# parts of numbers and repairs, polynomials
from .dsl import (
    fmod, iscomplex, isneginf, isposinf, isreal, nan_to_num, polyadd, polyder, polyint, polymul, polysub, polyval,
    real_if_close, unwrap, vander,
)  # fmt: skip
# Python functions called from inside, and the search for NaNs
from .dsl import (
    callback, debug_conventions, debug_nans, debug_print, effect_call, io_callback, pure_call,
)  # fmt: skip
# lanes and named axes
from .dsl import (
    all_gather, axis_index, axis_size, pmax, pmean, pmin, psum, vmap,
)  # fmt: skip
# programs
from .dsl import (
    PASSES, Program, compile_program, disable_jit, jit, make_ir,
)  # fmt: skip
# control flow
from .dsl import (
    associative_scan, cond, fori_loop, map, scan, switch, while_loop,
)  # fmt: skip
# declaring operations and families
from .dsl import (
    Aval, bilinear, bilinear_family, claim, combine_rule, composite, elementwise, elementwise_family, eval_shape,
    linear, linear_family, opaque, reduction, reduction_family, scalar_rule,
)  # fmt: skip

# array types, each written as a user would
from .dsl.arrays import Diagonal, OneHot, Zeros

# how a call finds its method
from .dispatch import (
    CPU,
    CUDA,
    AmbiguousMethodError,
    Array,
    AxisError,
    AxisNameError,
    ConcreteValueError,
    Container,
    DensifyError,
    DensifyWarning,
    DeviceKind,
    DeviceMismatchError,
    DTypeError,
    HostArray,
    LaneSplitError,
    Layer,
    LeakedLayerError,
    LinAlgError,
    MethodError,
    MissingRuleError,
    MutationError,
    ConventionError,
    ConventionWarning,
    NaNError,
    On,
    PerformanceWarning,
    PolyadError,
    PolyadWarning,
    PromotionError,
    RegistrationError,
    ReplacedWarning,
    ShapeError,
    SparsityError,
    StructureError,
    Tangent,
    ambiguities,
    array_type,
    call_next,
    conversion,
    convert,
    dense,
    densify,
    generic,
    invoke,
    methods,
    methodswith,
    promote,
    promote_type,
    promotion_rule,
    register_device_of,
    register_kind,
    tree,
    which,
)

# cotangents seen and changed, tapes drawn
from .ad import draw_tape, grad_hook

# derivatives
from .ad import (
    NoTangent, check_grads, derivative, derivatives, grad, gvp, hessian, hvp, jacfwd, jacobian, jacrev, jet, jvp,
    linear_transpose, linearize, value_and_grad, vjp,
)  # fmt: skip

# other styles of derivatives: tapes, variables, explicit graphs, programs made ahead of time
from .ad import Tape, aot, function, gradients, no_grad, placeholder, variable, zero_grad

# derivative rules by type (`op.jvp.method`, `op.vjp.method`), opting out of them; functions as trees of what they capture
from .ad import closure, no_derivative, opt_out
# derivative rules of functions, recomputation
from .ad import checkpoint, checkpoint_name, custom_jvp, custom_vjp, policies
# sparse Jacobians and Hessians
from .ad import (
    column_coloring, hessian_sparsity, jacobian_sparsity, sparse_hessian, sparse_jacobian, star_coloring,
)  # fmt: skip

# devices and parallelism
from .devices import (
    Device, DeviceError, available_devices, device, device_of, memory, place, register_devices, synchronize, to_device,
)  # fmt: skip
from .parallel import CollectiveError, CollectiveMismatch, CollectiveTimeout, RankError, pmap, world

__version__ = "0.1.0"
__all__ = [name for name in dir() if not name.startswith("_")]
