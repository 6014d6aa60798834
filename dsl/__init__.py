"""The array language: operations, batching, tracing, programs. Array types lie in `dsl.arrays`."""

from .ir import loading, saving
from .numpy_calls import operators, protocol
from .avals import reduced_axes
from .layers.batching import Batched, Replicated, concrete
from .card import Card, operations
from .inspection import __array_namespace_info__ as __array_namespace_info__
from .names import *
from .ops.create import arange_like, eye_like
from .ops.shape import full_permutation
from .layers.tracing import Traced
from .avals import Aval
from .card import bilinear, composite, elementwise, linear, opaque, reduction
from .numpy_calls.creation import empty, empty_like, eye, full, full_like, ones, ones_like, zeros, zeros_like
from .mutation_checks import debug_mutation
from .effects import callback, debug_print, io_callback
from .dtypes import bool, can_cast, complex64, complex128, finfo, float32, float64, iinfo, int8, int16, int32, int64, isdtype, result_type, uint8, uint16, uint32, uint64
from .families import bilinear_family, claim, combine_rule, elementwise_family, linear_family, reduction_family
from .numpy_calls.index_tricks import c_, r_
from .debug.nans import debug_nans
from .debug.conventions import debug_conventions
from .ir.programs import Program
from .ops.activation import elu, expit, gelu, leaky_relu, log_sigmoid, logaddexp, logaddexp2, relu, silu, softplus
from .ops.arithmetic import add, ceil, clip, divide, floor, floor_divide, hypot, masked_product, masked_quotient, maximum, minimum, multiply, negative, positive, reciprocal, remainder, rint, sign, square, subtract, trunc
from .ops.bessel import gammasgn, iv, ive, jv, kv, kve, multigammaln, rgamma, y0, y1, yv
from .ops.bitwise import bitwise_and, bitwise_invert, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor
from .ops.compare import equal, greater, greater_equal, isfinite, isinf, isnan, less, less_equal, logical_and, logical_not, logical_or, logical_xor, not_equal, where
from .ops.complex import abs, angle, astype, conj, imag, real, stop_gradient, with_slopes_of
from .ops.counting import bincount, histogram, histogram_bin_edges
from .ops.create import arange, array, asarray, from_dlpack, linspace
from .ops.conv import conv, conv_input, conv_weight
from .ops.convolve import convolve, correlate
from .ops.cumulative import cumprod, cumsum, cumulative_prod, cumulative_sum, diff, ediff1d, nancumprod, nancumsum
from .ops.effects import effect_call, pure_call
from .ops.editing import append, delete, insert
from .ops.einsum import contract, einsum
from .ops.finite import fmod, iscomplex, isneginf, isposinf, isreal, nan_to_num, real_if_close, unwrap
from .ops.exponential import cbrt, exp, exp2, expm1, log, log1p, log2, log10, power, sqrt
from .ops.gamma import beta, betainc, betaln, digamma, gamma, gammainc, gammainc_da, gammaincc, gammaincinv, gammaln, polygamma, zeta
from .ops.at import at
from .ops.indexing import Slice, getitem, index, index_add, index_set, join_index, take
from .ops.joining import array_split, atleast_1d, atleast_2d, atleast_3d, block, column_stack, dsplit, dstack, hsplit, hstack, split, vsplit, vstack
from .ops.linalg import dot, matmul, outer, vecdot
from .ops.norms import cdist, sqeuclidean
from .ops.named import all_gather, axis_index, axis_size, pmax, pmean, pmin, psum
from .ops.nanstatistics import nanmax, nanmean, nanmedian, nanmin, nanpercentile, nanprod, nanquantile, nanstd, nansum, nanvar
from .ops.numeric import deg2rad, degrees, fabs, float_power, frexp, gcd, heaviside, lcm, ldexp, modf, rad2deg, radians, sinc
from .ops.padding import pad
from .ops.polynomials import polyadd, polyder, polyint, polymul, polysub, polyval, vander
from .ops.pooling import max_pool, mean_pool
from .ops.products import cross, inner, kron, matvec, tensordot, vdot, vecmat
from .ops.rearrange import diag, diagflat, diagonal, flip, fliplr, flipud, repeat, resize, roll, rollaxis, rot90, tile, trace, tril, triu
from .ops.reduce import all, any, max, mean, min, prod, sum
from .ops.sampled import gradient, interp, trapezoid
from .ops.search import argmax, argmin, argwhere, count_nonzero, digitize, flatnonzero, insertion_places, nanargmax, nanargmin, nonzero, searchsorted
from .ops.selection import allclose, array_equal, array_equiv, choose, compress, extract, fmax, fmin, isclose, piecewise, select
from .ops.sets import in1d, intersect1d, isin, setdiff1d, setxor1d, union1d, unique, unique_all, unique_counts, unique_inverse, unique_values
from .ops.several import broadcast_arrays, broadcast_shapes, meshgrid, unstack
from .ops.shape import broadcast_to, concatenate, expand_dims, matrix_transpose, moveaxis, ravel, reshape, squeeze, stack, swapaxes, transpose
from .ops.signs import copysign, nextafter, round, signbit
from .ops.softmax import log_softmax, logsumexp, softmax, standardize
from .ops.sorting import argpartition, argsort, lexsort, partition, put_along_axis, sort, take_along_axis
from .ops.special import entr, erf, erfc, erfcinv, erfcx, erfinv, expi, i0, i0e, i1, i1e, j0, j1, log_ndtr, logit, ndtr, ndtri, xlog1py, xlogy
from .ops.statistics import average, corrcoef, cov, median, percentile, ptp, quantile, std, var
from .ops.trigonometric import arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, cos, cosh, sin, sinh, tan, tanh
from .ops.windows import overlap_add, sliding_window_view, sliding_windows
from .ir.compiling import compile_program
from .control import associative_scan, cond, fori_loop, map, scan, switch, while_loop
from .jit import disable_jit, jit
from .scalars import scalar_rule
from .layers.eval_shape import eval_shape
from .ir.pass_selection import PASSES
from .layers.tracing import make_ir
from .layers.weak_types import follow_numbers as _follow_numbers

__array_api_version__ = "2025.12"

operators.install()
_follow_numbers(Traced)
protocol.install()
