"""How a call finds its method: generics, layers, containers, promotion, introspection, errors."""

from typing import TYPE_CHECKING

from . import tree

from .callers import is_library
from .call_watchers import step, stepping, unwatch, users_code, watch, watchers
from .effects import Remembered, Replayed, effect_name, effects_are_kept
from .containers import Container, Immutable, Tangent, array_type, as_tangent, batch_axis, densify, is_container, require_whole
from .errors import (
    AmbiguousMethodError,
    AxisError,
    AxisNameError,
    ConcreteValueError,
    ConventionError,
    ConventionWarning,
    DensifyError,
    DensifyWarning,
    DeviceMismatchError,
    DTypeError,
    LaneSplitError,
    LeakedLayerError,
    LinAlgError,
    MethodError,
    MissingRuleError,
    MutationError,
    NaNError,
    PerformanceWarning,
    PolyadError,
    PolyadWarning,
    PromotionError,
    RegistrationError,
    ReplacedWarning,
    ShapeError,
    SparsityError,
    StructureError,
    describe,
    type_name,
)
from .generic import Method, all_generics, clear_all, generic
from .introspect import ambiguities, methods, methodswith, table, which
from .device_kinds import CPU, CUDA, DeviceKind, On, register_device_of, register_kind
from .layers import (
    Layer,
    Run,
    become,
    current_depth,
    innermost_run,
    layers_of,
    open_runs,
    refuse,
    settled,
    snapshot,
)
from .promotion import conversion, convert, dense, promote, promote_type, promotion_rule
from .shapes_dtypes import dtype_of, is_number, ndim_of, shape_of
from .next_methods import call_next, invoke, step_into
from .resolve import lazy_libraries
from .rule_methods import RuleTable
from .targets import captured, check_level, check_runs, several
from .type_tests import PlainMembers, isa

if TYPE_CHECKING:
    from .annotations import Array, HostArray
else:
    from .arrays import Array, HostArray

    __all__ = [name for name in dir() if not name.startswith("_")]
