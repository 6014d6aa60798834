"""Derivative rules chosen by the types of an operation's arguments: `op.jvp` and `op.vjp`, each with methods of its own.

They are kept beside the operation's own methods. What is done with them is for those who differentiate to say
(`Generic.follow`); here is only how a rule is registered and found.
"""

import inspect
from abc import get_cache_token
from typing import Any

import numpy as np

from .containers import Container
from .device_kinds import common_device, lookup_kind
from .errors import RegistrationError
from .generic import Generic
from .layers import Array
from .resolve import lookup
from .signatures import parts
from .type_tests import isa

LEADING = {"jvp": ("dxs", "y"), "vjp": ("ct", "y")}


class RuleMethods(Generic):
    """The methods of one kind of rule of one operation: they take two more arguments, which are not dispatched on."""

    dense = False  # whether one of them takes a call without containers

    def __init__(self, table, operation, mode):
        self.table_of, self.operation, self.mode = table, operation, mode
        super().__init__(operation.prototype, operation.sequence)
        self.name = f"{operation.name}.{mode}"

    def _make_entry(self):
        """Compile no entry: what users hold is the table."""
        self.namespace, self.function, self.spread = {}, self.table_of, self.table_of

    def _annotations(self, implementation):
        """Those of the parameters after the tangents or the cotangent, and the value."""
        name = getattr(implementation, "__name__", repr(implementation))
        try:
            signature = inspect.signature(implementation)
        except (TypeError, ValueError):
            return super()._annotations(implementation)  # which raises
        parameters = list(signature.parameters.values())
        leading, parameters = parameters[:2], parameters[2:]
        if len(leading) < 2 or any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in leading):
            before, arrays = ", ".join(LEADING[self.mode]), ", ".join(self.arrays or [f"*{self.variadic}"])
            raise RegistrationError(f"{self.name}: a rule takes ({before}, {arrays}, /, …), but {name} does not")
        for p in leading:
            if p.annotation not in (p.empty, object, tuple, Array, "object", "tuple"):
                raise RegistrationError(
                    f"{self.name}: {name} annotates {p.name!r}, but a rule is chosen by the types of the operation's own "
                    "arguments alone; leave the annotation out, and test the value inside the method"
                )

        def shown():
            """The implementation as it is dispatched on."""

        shown.__name__, shown.__wrapped__ = name, implementation
        shown.__signature__ = signature.replace(parameters=parameters)
        return super()._annotations(shown)

    def add(self, implementation, types, varargs=None, kind=None):
        """Register a rule; seen by the operation's next call."""
        super().add(implementation, types, varargs, kind)
        self.dense = self.dense or _takes_dense(types, varargs)
        operation = self.operation
        with operation.lock:
            operation.rules = {**(operation.rules or {}), self.mode: self}
            operation.uses_abc = operation.uses_abc or self.uses_abc
        operation.clear()

    def chosen(self, args):
        """The rule for these arguments, without layers around them, or None. Raises AmbiguousMethodError."""
        types = tuple([np.ndarray if isa(x, np.generic) else type(x) for x in args])
        key = (types, get_cache_token())
        slot = self.table.get(key, self)
        if slot is self:
            slot = lookup(self, types)
            with self.lock:
                self.table[key] = slot
        if slot is None:
            return None
        kind = None
        if len(slot.methods) > 1 or None not in slot.methods:
            device = common_device(self.name, args)
            kind = device if device is None or isinstance(device, type) else device.kind
            kind = kind or next((k for k in map(lookup_kind, types) if k is not None), None)
        method = slot.methods.get(kind) or slot.methods.get(None)
        return None if method is None else method


def _takes_dense(types, varargs):
    """Return whether arrays that are no containers can be what a method takes."""
    needed = types or (varargs,)
    return all([any([not issubclass(c, Container) for c in parts(t)]) for t in needed])


class RuleTable:
    """Rules of an operation's derivative for arrays of certain types, `op.jvp` (forward) and `op.vjp` (reverse).

    `@op.vjp.method` above `def rule(ct, y, x: Diagonal, w: Array, /, **params)` registers one: it returns a tuple with a
    cotangent for each array, None or `NoTangent` for those without. `@op.jvp.method` above `def rule(dxs, y, …)` returns
    the tangent of y; dxs has one entry for each array, None where it is zero. Both are chosen by the types of the
    operation's arguments: dense arrays, also under layers of transformations (annotate `HostArray`, `np.ndarray`, your
    class), array types, `op.vjp.method(On[CUDA])` for a kind of device.

    A rule for dense arrays stands before the card's formula. A rule whose signature names an array type makes the call
    one step: that type's own method gives the value and is not differentiated itself. The rule in one mode gives the
    other by transposition. A rule that returns NotImplemented leaves this call to what there would be without it.
    `op.vjp(ct, y, *xs, **params)` calls the rule that these arguments have.

    >>> import numpy as np, polyad as pa
    >>> @pa.composite(kernel=None)
    ... def energy(a, x, /):
    ...     "xᵀ a x of a matrix and a vector."
    ...     return x @ (a @ x)
    >>> @energy.vjp.method
    ... def energy_vjp_diagonal(ct, y, a: pa.Diagonal, x: pa.Array, /):
    ...     return pa.Diagonal(ct * x * x), 2.0 * ct * (a @ x)
    >>> pa.grad(energy, (0, 1))(pa.Diagonal(np.array([1.0, 2.0])), np.array([3.0, 4.0]))
    (Diagonal(diag=array([ 9., 16.])), array([ 6., 16.]))
    >>> pa.methods(energy.vjp)[0].implementation is energy_vjp_diagonal
    True
    """

    __slots__ = ("_methods", "mode", "operation")
    run: Any = None  # put here by ad: function(table, leading, args, params) -> what the rule for these arguments gives

    def __init__(self, operation, mode):
        self.operation, self.mode, self._methods = operation, mode, None

    @property
    def generic(self):
        """The table's methods: `polyad.methods(op.vjp)`, `polyad.which(op.vjp, Diagonal, Array)`."""
        if self._methods is None:
            with self.operation.lock:
                if self._methods is None:
                    self._methods = RuleMethods(self, self.operation, self.mode)
        return self._methods

    def method(self, implementation=None, /):
        """Register a rule by the annotations of the operation's arguments; returns it. Raises RegistrationError."""
        return self.generic.method(implementation)

    @property
    def __name__(self):
        return f"{self.operation.name}.{self.mode}"

    def __call__(self, leading, y, *args, **params):
        return RuleTable.run(self, leading, y, args, params)

    def __repr__(self):
        count = 0 if self._methods is None else len(self._methods.methods)
        return f"<rules {self.__name__} with {count} methods>"
