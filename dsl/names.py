"""The public names of the language: the one list. `polyad.dsl` and the front door take it over as a whole.

An operation is listed by one entry in its module's line. `x as x` says to readers and type checkers that x is handed on.
"""

from math import e as e, inf as inf, nan as nan, pi as pi

from . import fft as fft, linalg as linalg, random as random
from .avals import Aval as Aval
from .card import (
    bilinear as bilinear, composite as composite, elementwise as elementwise, linear as linear,
    opaque as opaque, reduction as reduction,
)  # fmt: skip
from .numpy_calls.creation import (
    empty as empty, empty_like as empty_like, eye as eye, full as full, full_like as full_like, ones as ones,
    ones_like as ones_like, zeros as zeros, zeros_like as zeros_like,
)  # fmt: skip
from .mutation_checks import debug_mutation as debug_mutation
from .effects import callback as callback, debug_print as debug_print, io_callback as io_callback
from .dtypes import (
    bool as bool, can_cast as can_cast, complex128 as complex128, complex64 as complex64, finfo as finfo,
    float32 as float32, float64 as float64, iinfo as iinfo, int16 as int16, int32 as int32, int64 as int64,
    int8 as int8, isdtype as isdtype, result_type as result_type, uint16 as uint16, uint32 as uint32,
    uint64 as uint64, uint8 as uint8,
)  # fmt: skip
from .families import (
    bilinear_family as bilinear_family, claim as claim, combine_rule as combine_rule,
    elementwise_family as elementwise_family, linear_family as linear_family,
    reduction_family as reduction_family,
)  # fmt: skip
from .numpy_calls.index_tricks import c_ as c_, r_ as r_
from .debug.nans import debug_nans as debug_nans
from .debug.conventions import debug_conventions as debug_conventions
from .ir.programs import Program as Program

# the operations
from .ops.activation import (
    elu as elu, expit as expit, gelu as gelu, leaky_relu as leaky_relu, log_sigmoid as log_sigmoid,
    logaddexp as logaddexp, logaddexp2 as logaddexp2, relu as relu, silu as silu, softplus as softplus,
)  # fmt: skip
from .ops.arithmetic import (
    add as add, ceil as ceil, clip as clip, divide as divide, floor as floor, floor_divide as floor_divide,
    hypot as hypot, masked_product as masked_product, masked_quotient as masked_quotient, maximum as maximum,
    minimum as minimum, multiply as multiply, negative as negative, positive as positive,
    reciprocal as reciprocal, remainder as remainder, rint as rint, sign as sign, square as square,
    subtract as subtract, trunc as trunc,
)  # fmt: skip
from .ops.at import at as at
from .ops.bessel import (
    gammasgn as gammasgn, iv as iv, ive as ive, jv as jv, kv as kv, kve as kve, multigammaln as multigammaln,
    rgamma as rgamma, y0 as y0, y1 as y1, yv as yv,
)  # fmt: skip
from .ops.bitwise import (
    bitwise_and as bitwise_and, bitwise_invert as bitwise_invert, bitwise_left_shift as bitwise_left_shift,
    bitwise_or as bitwise_or, bitwise_right_shift as bitwise_right_shift, bitwise_xor as bitwise_xor,
)  # fmt: skip
from .ops.compare import (
    equal as equal, greater as greater, greater_equal as greater_equal, isfinite as isfinite, isinf as isinf,
    isnan as isnan, less as less, less_equal as less_equal, logical_and as logical_and,
    logical_not as logical_not, logical_or as logical_or, logical_xor as logical_xor, not_equal as not_equal,
    where as where,
)  # fmt: skip
from .ops.complex import (
    abs as abs, angle as angle, astype as astype, conj as conj, imag as imag, real as real,
    stop_gradient as stop_gradient, with_slopes_of as with_slopes_of,
)  # fmt: skip
from .ops.conv import conv as conv, conv_input as conv_input, conv_weight as conv_weight
from .ops.convolve import convolve as convolve, correlate as correlate
from .ops.counting import bincount as bincount, histogram as histogram, histogram_bin_edges as histogram_bin_edges
from .ops.create import (
    arange as arange, array as array, asarray as asarray, from_dlpack as from_dlpack, linspace as linspace,
)  # fmt: skip
from .ops.cumulative import (
    cumprod as cumprod, cumsum as cumsum, cumulative_prod as cumulative_prod, cumulative_sum as cumulative_sum,
    diff as diff, ediff1d as ediff1d, nancumprod as nancumprod, nancumsum as nancumsum,
)  # fmt: skip
from .ops.editing import append as append, delete as delete, insert as insert
from .ops.effects import effect_call as effect_call, pure_call as pure_call
from .ops.einsum import contract as contract, einsum as einsum
from .ops.exponential import (
    cbrt as cbrt, exp as exp, exp2 as exp2, expm1 as expm1, log as log, log10 as log10, log1p as log1p,
    log2 as log2, power as power, sqrt as sqrt,
)  # fmt: skip
from .ops.finite import (
    fmod as fmod, iscomplex as iscomplex, isneginf as isneginf, isposinf as isposinf, isreal as isreal,
    nan_to_num as nan_to_num, real_if_close as real_if_close, unwrap as unwrap,
)  # fmt: skip
from .ops.gamma import (
    beta as beta, betainc as betainc, betaln as betaln, digamma as digamma, gamma as gamma,
    gammainc as gammainc, gammainc_da as gammainc_da, gammaincc as gammaincc, gammaincinv as gammaincinv,
    gammaln as gammaln, polygamma as polygamma, zeta as zeta,
)  # fmt: skip
from .ops.halo import halo as halo
from .ops.indexing import (
    Slice as Slice, getitem as getitem, index as index, index_add as index_add, index_set as index_set,
    join_index as join_index, take as take,
)  # fmt: skip
from .ops.joining import (
    array_split as array_split, atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d,
    block as block, column_stack as column_stack, dsplit as dsplit, dstack as dstack, hsplit as hsplit,
    hstack as hstack, split as split, vsplit as vsplit, vstack as vstack,
)  # fmt: skip
from .ops.lane_moves import (
    all_gather as all_gather, all_to_all as all_to_all, broadcast as broadcast, ppermute as ppermute,
    pshuffle as pshuffle, psum_scatter as psum_scatter, scan_over_axis as scan_over_axis,
)  # fmt: skip
from .ops.linalg import dot as dot, matmul as matmul, outer as outer, vecdot as vecdot
from .ops.named import (
    axis_index as axis_index, axis_size as axis_size, barrier as barrier, pmax as pmax, pmean as pmean,
    pmin as pmin, pprod as pprod, psum as psum, pvary as pvary,
)  # fmt: skip
from .ops.nanstatistics import (
    nanmax as nanmax, nanmean as nanmean, nanmedian as nanmedian, nanmin as nanmin,
    nanpercentile as nanpercentile, nanprod as nanprod, nanquantile as nanquantile, nanstd as nanstd,
    nansum as nansum, nanvar as nanvar,
)  # fmt: skip
from .ops.norms import cdist as cdist, sqeuclidean as sqeuclidean
from .ops.numeric import (
    deg2rad as deg2rad, degrees as degrees, fabs as fabs, float_power as float_power, frexp as frexp,
    gcd as gcd, heaviside as heaviside, lcm as lcm, ldexp as ldexp, modf as modf, rad2deg as rad2deg,
    radians as radians, sinc as sinc,
)  # fmt: skip
from .ops.padding import pad as pad
from .ops.polynomials import (
    polyadd as polyadd, polyder as polyder, polyint as polyint, polymul as polymul, polysub as polysub,
    polyval as polyval, vander as vander,
)  # fmt: skip
from .ops.pooling import max_pool as max_pool, mean_pool as mean_pool
from .ops.products import (
    cross as cross, inner as inner, kron as kron, matvec as matvec, tensordot as tensordot, vdot as vdot,
    vecmat as vecmat,
)  # fmt: skip
from .ops.rearrange import (
    diag as diag, diagflat as diagflat, diagonal as diagonal, flip as flip, fliplr as fliplr, flipud as flipud,
    repeat as repeat, resize as resize, roll as roll, rollaxis as rollaxis, rot90 as rot90, tile as tile,
    trace as trace, tril as tril, triu as triu,
)  # fmt: skip
from .ops.reduce import all as all, any as any, max as max, mean as mean, min as min, prod as prod, sum as sum
from .ops.sampled import gradient as gradient, interp as interp, trapezoid as trapezoid
from .ops.search import (
    argmax as argmax, argmin as argmin, argwhere as argwhere, count_nonzero as count_nonzero,
    digitize as digitize, flatnonzero as flatnonzero, insertion_places as insertion_places,
    nanargmax as nanargmax, nanargmin as nanargmin, nonzero as nonzero, searchsorted as searchsorted,
)  # fmt: skip
from .ops.selection import (
    allclose as allclose, array_equal as array_equal, array_equiv as array_equiv, choose as choose,
    compress as compress, extract as extract, fmax as fmax, fmin as fmin, isclose as isclose,
    piecewise as piecewise, select as select,
)  # fmt: skip
from .ops.sets import (
    in1d as in1d, intersect1d as intersect1d, isin as isin, setdiff1d as setdiff1d, setxor1d as setxor1d,
    union1d as union1d, unique as unique, unique_all as unique_all, unique_counts as unique_counts,
    unique_inverse as unique_inverse, unique_values as unique_values,
)  # fmt: skip
from .ops.several import (
    broadcast_arrays as broadcast_arrays, broadcast_shapes as broadcast_shapes, meshgrid as meshgrid,
    unstack as unstack,
)  # fmt: skip
from .ops.shape import (
    broadcast_to as broadcast_to, concatenate as concatenate, expand_dims as expand_dims,
    matrix_transpose as matrix_transpose, moveaxis as moveaxis, ravel as ravel, reshape as reshape,
    squeeze as squeeze, stack as stack, swapaxes as swapaxes, transpose as transpose,
)  # fmt: skip
from .ops.signs import copysign as copysign, nextafter as nextafter, round as round, signbit as signbit
from .ops.softmax import (
    log_softmax as log_softmax, logsumexp as logsumexp, softmax as softmax, standardize as standardize,
)  # fmt: skip
from .ops.sorting import (
    argpartition as argpartition, argsort as argsort, lexsort as lexsort, partition as partition,
    put_along_axis as put_along_axis, sort as sort, take_along_axis as take_along_axis,
)  # fmt: skip
from .ops.special import (
    entr as entr, erf as erf, erfc as erfc, erfcinv as erfcinv, erfcx as erfcx, erfinv as erfinv, expi as expi,
    i0 as i0, i0e as i0e, i1 as i1, i1e as i1e, j0 as j0, j1 as j1, log_ndtr as log_ndtr, logit as logit,
    ndtr as ndtr, ndtri as ndtri, xlog1py as xlog1py, xlogy as xlogy,
)  # fmt: skip
from .ops.statistics import (
    average as average, corrcoef as corrcoef, cov as cov, median as median, percentile as percentile,
    ptp as ptp, quantile as quantile, std as std, var as var,
)  # fmt: skip
from .ops.trigonometric import (
    arccos as arccos, arccosh as arccosh, arcsin as arcsin, arcsinh as arcsinh, arctan as arctan,
    arctan2 as arctan2, arctanh as arctanh, cos as cos, cosh as cosh, sin as sin, sinh as sinh, tan as tan,
    tanh as tanh,
)  # fmt: skip
from .ops.windows import (
    overlap_add as overlap_add, sliding_window_view as sliding_window_view, sliding_windows as sliding_windows,
)  # fmt: skip

# what is done with programs and functions
from .ir.compiling import compile_program as compile_program
from .control import (
    associative_scan as associative_scan, cond as cond, fori_loop as fori_loop, map as map, scan as scan,
    switch as switch, while_loop as while_loop,
)  # fmt: skip
from .jit import disable_jit as disable_jit, jit as jit
from .scalars import scalar_rule as scalar_rule
from .layers.eval_shape import eval_shape as eval_shape
from .ir.pass_selection import PASSES as PASSES
from .layers.tracing import make_ir as make_ir
from .layers.vmap import vmap as vmap

newaxis = None  # `x[newaxis]` is x with one more axis in front

# the array API's names
acos, acosh, asin, asinh, atan, atan2, atanh = arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh
lgamma, sigmoid = gammaln, expit  # as other libraries call them
concat, permute_dims, pow, mod = concatenate, transpose, power, remainder
