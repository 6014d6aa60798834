"""The array language: operations, batching, tracing, programs. Array types lie in `dsl.arrays`."""

from .ir import loading, saving
from .numpy_calls import operators, protocol
from .avals import reduced_axes
from .layers.batching import Batched, Replicated
from .layers.splitting import concrete
from .card import Card, operations
from .inspection import __array_namespace_info__ as __array_namespace_info__
from .names import *
from .ops.create import arange_like, eye_like
from .ops.shape import full_permutation
from .layers.tracing import Traced
from .layers.weak_types import follow_numbers as _follow_numbers

__array_api_version__ = "2025.12"

operators.install_operators()
_follow_numbers(Traced)
protocol.install_protocols()
