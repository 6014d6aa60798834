"""polyad: a multiple-dispatch array language with automatic differentiation, batching and MPI parallelism.

Operations are generic functions of the types and devices of their arguments; derivatives, `vmap`, tracing and `pmap` are
layers of the same dispatch, so they nest in any order and work on ordinary Python and NumPy code.

>>> import numpy as np, polyad as pa
>>> pa.grad(lambda x: pa.sum(pa.sin(x)))(np.zeros(2))
array([1., 1.])
"""

from typing import TYPE_CHECKING

from . import ad as ad, devices as devices, dispatch as dispatch, dsl as dsl, parallel as parallel

# the language: operations, dtypes, transformations, control flow (dsl/names.py lists them)
from .dsl import __array_api_version__ as __array_api_version__, __array_namespace_info__ as __array_namespace_info__
from .dsl.names import *

# array types, each written as a user would
from .dsl.arrays import Diagonal as Diagonal, OneHot as OneHot, Zeros as Zeros

# what a transformation of your own is made of, with Layer
from .dispatch import (
    Run as Run, check_level as check_level, check_runs as check_runs, snapshot as snapshot, step_into as step_into,
)  # fmt: skip
from .dsl import concrete as concrete

# how a call finds its method
from .dispatch import (
    CPU as CPU, CUDA as CUDA, Array as Array, Container as Container, DeviceKind as DeviceKind,
    HostArray as HostArray, Layer as Layer, On as On, Tangent as Tangent, ambiguities as ambiguities,
    array_type as array_type, call_next as call_next, conversion as conversion, convert as convert, dense as dense,
    densify as densify, generic as generic, invoke as invoke, methods as methods, methodswith as methodswith,
    promote as promote, promote_type as promote_type, promotion_rule as promotion_rule,
    register_device_of as register_device_of, register_kind as register_kind, tree as tree, which as which,
)  # fmt: skip

# errors and warnings
from .dispatch import (
    AmbiguousMethodError as AmbiguousMethodError, AxisError as AxisError, AxisNameError as AxisNameError,
    ConcreteValueError as ConcreteValueError, ConventionError as ConventionError,
    ConventionWarning as ConventionWarning, DTypeError as DTypeError, DensifyError as DensifyError,
    DensifyWarning as DensifyWarning, DeviceMismatchError as DeviceMismatchError, LaneSplitError as LaneSplitError,
    LeakedLayerError as LeakedLayerError, LinAlgError as LinAlgError, MethodError as MethodError,
    MissingRuleError as MissingRuleError, MutationError as MutationError, NaNError as NaNError,
    PerformanceWarning as PerformanceWarning, PolyadError as PolyadError, PolyadWarning as PolyadWarning,
    PromotionError as PromotionError, RegistrationError as RegistrationError, ReplacedWarning as ReplacedWarning,
    ShapeError as ShapeError, SparsityError as SparsityError, StructureError as StructureError,
)  # fmt: skip

# derivatives
from .ad import (
    NoTangent as NoTangent, check_grads as check_grads, derivative as derivative, derivatives as derivatives,
    grad as grad, gvp as gvp, hessian as hessian, hvp as hvp, jacfwd as jacfwd, jacobian as jacobian,
    jacrev as jacrev, jet as jet, jvp as jvp, linear_transpose as linear_transpose, linearize as linearize,
    value_and_grad as value_and_grad, vjp as vjp,
)  # fmt: skip

# other styles of derivatives: tapes, variables, explicit graphs, programs made ahead of time
from .ad import (
    Tape as Tape, aot as aot, function as function, gradients as gradients, no_grad as no_grad,
    placeholder as placeholder, variable as variable, zero_grad as zero_grad,
)  # fmt: skip

# rules of functions and rules by type (`op.jvp.method`), opting out of them; functions as trees of what they capture
from .ad import (
    closure as closure, custom_jvp as custom_jvp, custom_vjp as custom_vjp, no_derivative as no_derivative,
    opt_out as opt_out,
)  # fmt: skip

# recomputation
from .ad import checkpoint as checkpoint, checkpoint_name as checkpoint_name, policies as policies

# cotangents seen and changed, tapes drawn
from .ad import draw_tape as draw_tape, grad_hook as grad_hook

# sparse Jacobians and Hessians
from .ad import (
    column_coloring as column_coloring, hessian_sparsity as hessian_sparsity,
    jacobian_sparsity as jacobian_sparsity, sparse_hessian as sparse_hessian, sparse_jacobian as sparse_jacobian,
    star_coloring as star_coloring,
)  # fmt: skip

# devices and parallelism
from .devices import (
    Device as Device, DeviceError as DeviceError, available_devices as available_devices, device as device,
    device_of as device_of, lowering as lowering, memory as memory, place as place,
    register_devices as register_devices, synchronize as synchronize, to_device as to_device,
)  # fmt: skip
from .parallel import (
    CheckpointError as CheckpointError, CollectiveError as CollectiveError, CollectiveMismatch as CollectiveMismatch,
    CollectiveTimeout as CollectiveTimeout, FarmError as FarmError, LaunchError as LaunchError, Mesh as Mesh,
    PartitionSpec as PartitionSpec, RankError as RankError, Request as Request, Schedule as Schedule, Sharded as Sharded,
    WorkerDied as WorkerDied, data_parallel as data_parallel, default_sharding as default_sharding,
    explain_sharding as explain_sharding, farm as farm, farm_iter as farm_iter, gather as gather, irecv as irecv,
    isend as isend, launch as launch, load_checkpoint as load_checkpoint, local as local, make_mesh as make_mesh,
    pipeline as pipeline, pipeline_schedule as pipeline_schedule, pmap as pmap, progress as progress,
    read_array as read_array, recv as recv, redistribute as redistribute, save_checkpoint as save_checkpoint,
    send as send, sendrecv as sendrecv, shard as shard, shard_map as shard_map, timeline as timeline,
    with_sharding_constraint as with_sharding_constraint, world as world, write_array as write_array,
)  # fmt: skip
from .parallel.launching.notebook import load_ipython_extension as load_ipython_extension  # for %load_ext polyad

__version__ = "0.1.0"

if not TYPE_CHECKING:  # type checkers see what is handed on (`x as x`); a list that is computed would hide all of it
    del TYPE_CHECKING
    __all__ = [name for name in dir() if not name.startswith("_")]
