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
    add, ceil, clip, divide, floor, floor_divide, hypot, maximum, minimum, mod, multiply, negative, positive,
    reciprocal, remainder, rint, round, sign, square, subtract, trunc,
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
    abs, angle, astype, conj, imag, real, stop_gradient,
)  # fmt: skip
# reductions and products
from .dsl import (
    all, any, dot, matmul, max, mean, min, outer, prod, sum, vecdot,
)  # fmt: skip
# shape
from .dsl import (
    broadcast_to, concat, concatenate, expand_dims, matrix_transpose, moveaxis, permute_dims, ravel, reshape,
    squeeze, stack, swapaxes, transpose,
)  # fmt: skip
# indexing
from .dsl import (
    Slice, at, getitem, index, index_add, index_set, join_index, take,
)  # fmt: skip
# creation
from .dsl import (
    arange, array, asarray, empty, eye, full, full_like, linspace, ones, ones_like, zeros, zeros_like,
)  # fmt: skip
# lanes and named axes
from .dsl import (
    all_gather, axis_index, axis_size, pmax, pmean, pmin, psum, vmap,
)  # fmt: skip
# programs
from .dsl import (
    Program, make_ir,
)  # fmt: skip
# declaring operations and families
from .dsl import (
    Aval, bilinear, bilinear_family, claim, combine_rule, composite, elementwise, elementwise_family, eval_shape,
    linear, linear_family, opaque, reduction, reduction_family,
)  # fmt: skip

# array types, each written as a user would
from .dsl.arrays import Diagonal, OneHot, Zeros

# how a call finds its method
from .dispatch import (
    CPU,
    CUDA,
    AmbiguousMethodError,
    Array,
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
    MethodError,
    MissingRuleError,
    On,
    PerformanceWarning,
    PolyadError,
    PolyadWarning,
    PromotionError,
    RegistrationError,
    ShapeError,
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

# derivatives
from .ad import (
    NoTangent, check_grads, derivative, grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, value_and_grad, vjp,
)  # fmt: skip

# devices and parallelism
from .devices import (
    Device, DeviceError, available_devices, device, device_of, memory, place, register_devices, synchronize, to_device,
)  # fmt: skip
from .parallel import CollectiveError, CollectiveMismatch, CollectiveTimeout, pmap, world

__version__ = "0.1.0"
__all__ = [name for name in dir() if not name.startswith("_")]
