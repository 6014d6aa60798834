"""Functions with derivative rules of their own: `custom_jvp` (forward), `custom_vjp` (reverse).

Both rules serve both modes: a forward rule is transposed for reverse mode, a backward rule for forward mode. The rule holds
under every transformation, and is itself differentiated for higher derivatives.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, overload

import numpy as np

from ...dispatch import Layer, MissingRuleError, RegistrationError, StructureError, describe, isa, tree
from ...dispatch.annotations import F, P, T
from ...dispatch.call_watchers import users_code
from ...dsl.arrays import Zeros
from ...dsl.declaration_checks import misfit, place_text
from ...dsl.ops.create import zeros_like
from ...dsl.ops.ties import sum_or_none
from ..inputs import NoTangent, check_callable, inexact, scalar, title
from .call import bind
from .packing import Packing

PLAIN_TYPES = {np.ndarray, float, int, complex, bool, str, type(None), np.float64, np.float32}  # certainly no followed values


class CustomFunction(Generic[P, T]):
    """A function with derivative rules; what `custom_jvp` and `custom_vjp` return. Call it as the function.

    Values that the rules know nothing of (read from outside of the arguments, in `nondiff_argnums`, given by keyword to a
    keyword-only parameter) are followed through the function itself.
    """

    kind = "custom_derivative"

    __name__: str

    def __init__(self, f: Callable[P, T], nondiff_argnums: int | Sequence[int] = ()) -> None:
        functools.update_wrapper(self, f)
        self.f: Any = f
        self.title = title(self.kind, f)
        self.nondiff = _positions(self.title, nondiff_argnums)
        self.jvp_rule = self.forward_rule = self.backward_rule = None
        self.symbolic = {"jvp": False, "vjp": False}
        self.signature: inspect.Signature | None = None
        self.arity: Any = None
        with suppress(TypeError, ValueError):  # a builtin may have no signature
            self.signature = inspect.signature(f)
            parameters = self.signature.parameters.values()
            if all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters):
                self.arity = len(parameters)
        if self.arity is not None and any([not -self.arity <= n < self.arity for n in self.nondiff]):
            raise StructureError(
                f"{self.title}: nondiff_argnums {nondiff_argnums!r} is out of range: the function takes {self.arity} "
                "argument(s)"
            )

    def __repr__(self):
        return f"<{self.title}>"

    @overload
    def __get__(self, instance: None, owner: Any = None) -> CustomFunction[P, T]: ...
    @overload
    def __get__(self, instance: object, owner: Any = None) -> Callable[..., T]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    # ------------------------------------------------------------------ rules
    def defjvp(self, rule: F, symbolic_zeros: bool = False) -> F:
        """Give the forward rule: `rule(primals, tangents) -> (y, dy)`; returns it, so that it is a decorator.

        primals, tangents: tuples, one entry per differentiated argument; a tangent has the structure of its argument, with
        zeros where nothing changes and `NoTangent` for integers. dy has the structure of y, or None, `NoTangent` or `Zeros`
        where it is zero; it must be linear in the tangents. Arguments of `nondiff_argnums` come first. symbolic_zeros: give
        `polyad.Zeros(shape, dtype)` for tangents that are known to be zero.
        """
        self._check("the rule of defjvp", rule, "(primals, tangents) -> (y, dy)", 2)
        self.jvp_rule, self.symbolic["jvp"] = rule, symbolic_zeros
        return rule

    def defjvps(self, *rules: Callable[..., Any] | None) -> None:
        """Give a forward rule for each differentiated argument: `rule(dx, y, *primals) -> dy`, None for a zero derivative.

        >>> import polyad as pa
        >>> @pa.custom_jvp
        ... def scaled(x, y):
        ...     return x * y
        >>> scaled.defjvps(lambda dx, z, x, y: 10 * dx * y, None)
        >>> float(pa.grad(scaled)(2.0, 3.0))
        30.0
        """

        known = self.arity is not None
        if known and len(rules) != self.arity - len(self.nondiff):
            raise StructureError(
                f"{self.title}: defjvps got {len(rules)} rule(s) for {self.arity - len(self.nondiff)} differentiated "
                "argument(s); give one for each, None where the derivative is zero"
            )
        for n, one in enumerate(rules):
            if one is not None:
                form, count = "(dx, y, *primals) -> dy, or None", 2 + self.arity if known else None
                self._check(f"rule {n} of defjvps", one, form, count, fixed=False)

        def rule(*args, **kwargs):
            *fixed, primals, tangents = args
            if len(rules) != len(primals):
                raise StructureError(
                    f"{self.title}: defjvps got {len(rules)} rule(s) for {len(primals)} differentiated argument(s); give one "
                    "for each, None where the derivative is zero"
                )
            y: Any = self(*self._merged(fixed, primals), **kwargs)  # type: ignore
            packing = Packing(y)
            total = [None] * len(packing.arrays)
            for n, (one, t) in enumerate(zip(rules, tangents, strict=True)):
                if one is not None and not all(leaf is NoTangent or isinstance(leaf, Zeros) for leaf in _leaves(t)):
                    part = one(t, y, *fixed, *primals, **kwargs)
                    part = packing.entries(part, f"{self.title}: the tangent that rule {n} of defjvps returned")
                    total = [sum_or_none(a, b) for a, b in zip(total, part, strict=True)]
            return y, packing.tangents(total, packing.arrays)

        self.jvp_rule, self.symbolic["jvp"] = rule, True

    def defvjp(
        self, forward: Callable[..., tuple[Any, Any]], backward: Callable[..., Any], symbolic_zeros: bool = False
    ) -> None:
        """Give the reverse rule: `forward(*args) -> (y, saved)` and `backward(saved, ct) -> tuple of cotangents`.

        forward takes the function's arguments and returns its value with a tree of what backward needs. ct has the structure
        of y; backward returns one cotangent per differentiated argument, of its structure, or None, `NoTangent` or `Zeros`
        where it is zero. backward gets the arguments of `nondiff_argnums` first. symbolic_zeros: give
        `polyad.Zeros(shape, dtype)` for results without cotangent.
        """
        self._check("forward of defvjp", forward, "(*args) -> (y, saved)", self.arity, fixed=False)
        self._check("backward of defvjp", backward, "(saved, ct) -> tuple of cotangents", 2)
        self.forward_rule, self.backward_rule, self.symbolic["vjp"] = forward, backward, symbolic_zeros

    def _check(self, what, rule, form, count, fixed=True):
        """A rule is a function of `count` arguments (None: any number), after those of nondiff_argnums if these come first."""
        check_callable(f"{self.title}: {what}", rule, form)
        if count is None or self.signature is None:
            return
        count += len(self.nondiff) if fixed else 0
        named = [p.name for p in self.signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
        found = misfit(rule, count)
        if found is not None and misfit(rule, count, named) is not None:
            first = ", after those of nondiff_argnums" if fixed and self.nondiff else ""
            raise RegistrationError(
                f"{self.title}: {what}{place_text(rule)} takes {found}, but is called with {count} argument(s); write it as "
                f"{form}{first}"
            )

    # ------------------------------------------------------------------ the call
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        if not kwargs and all([type(x) in PLAIN_TYPES for x in args]):
            return self.f(*args)
        given, keywords = self._positional(args, kwargs)
        nondiff = [n % len(given) for n in self.nondiff if -len(given) <= n < len(given)]
        packing = Packing(tuple([x for n, x in enumerate(given) if n not in nondiff]))
        if not any(isinstance(x, Layer) for x in packing.arrays):
            return self.f(*given, **keywords)
        call = CustomCall(self, packing, [given[n] for n in sorted(nondiff)], keywords)
        ys = bind(call, packing.arrays)
        packing.detached()
        return call.out.tree(ys)

    def _positional(self, args, kwargs):
        """The arguments by position, defaults included; keyword-only ones stay."""
        if self.signature is None or len(args) == self.arity and not kwargs:
            return args, kwargs
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def _merged(self, fixed, primals):
        """All arguments in order, from those that are not differentiated and those that are."""
        count = len(fixed) + len(primals)
        places = {n % count for n in self.nondiff if -count <= n < count}
        fixed, primals = iter(fixed), iter(primals)
        return [next(fixed) if n in places else next(primals) for n in range(count)]


def _positions(name, numbers) -> tuple[int, ...]:
    found = (numbers,) if isa(numbers, int) else numbers
    whole = lambda n: isa(n, (int, np.integer)) and not isa(n, bool)
    if not isinstance(found, (tuple, list)) or not all(map(whole, found)):
        raise StructureError(f"{name}: nondiff_argnums is a position or a tuple of positions, not {numbers!r}")
    return tuple(found)


def _leaves(t):
    return tree.leaves(t, is_leaf=lambda x: isinstance(x, Zeros))


class custom_jvp(CustomFunction[P, T]):
    """A function with a forward derivative rule of its own, for both modes; use it as a decorator.

    f: function of arrays or trees. nondiff_argnums: positions of arguments that the rule does not differentiate. The rule is
    given by `.defjvp(rule)`, where `rule(primals, tangents)` returns value and tangent, or argument by argument by
    `.defjvps(…)`. For reverse mode the rule is transposed; a `.defvjp` beside it takes precedence there.
    Raises MissingRuleError when differentiated without a rule, RegistrationError for a rule of other parameters,
    StructureError, ShapeError, DTypeError for wrong results of rules.

    >>> import polyad as pa
    >>> @pa.custom_jvp
    ... def log1pexp(x):
    ...     return pa.log(1.0 + pa.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (dx,) = primals, tangents
    ...     return log1pexp(x), (1.0 - 1.0 / (1.0 + pa.exp(x))) * dx
    >>> float(pa.grad(log1pexp)(100.0))
    1.0
    """

    kind = "custom_jvp"


class custom_vjp(CustomFunction[P, T]):
    """A function with a reverse derivative rule of its own, for both modes; use it as a decorator.

    f: function of arrays or trees. nondiff_argnums: positions of arguments that the rule does not differentiate. The rule is
    given by `.defvjp(forward, backward)`: `forward(*args)` returns (value, saved), `backward(saved, ct)` a tuple of
    cotangents. For forward mode backward, linear in ct, is transposed; a `.defjvp` beside it takes precedence there.
    Raises MissingRuleError when differentiated without a rule, RegistrationError for a rule of other parameters,
    StructureError, ShapeError, DTypeError for wrong results of rules.

    >>> import numpy as np, polyad as pa
    >>> @pa.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda saved, ct: (pa.clip(ct, -1.0, 1.0),))
    >>> pa.grad(lambda x: pa.sum(5.0 * clipped(x)))(np.ones(2))
    array([1., 1.])
    """

    kind = "custom_vjp"


class CustomCall:
    """One call of a custom function, as a function of arrays: what `custom_call` runs.

    fixed: arguments that are not differentiated; packing: how the others are made of their arrays. out: after a run, how the
    result is made of its arrays.
    """

    out: Any

    def __init__(self, custom, packing, fixed, kwargs):
        self.custom, self.packing, self.fixed, self.kwargs = custom, packing, fixed, kwargs
        self.name, self.out = custom.title, None
        self.has_push, self.has_pull = custom.jvp_rule is not None, custom.backward_rule is not None

    def __repr__(self):
        return self.name

    def function(self, *xs):
        """The results for the arrays of the arguments."""
        args = self.custom._merged(self.fixed, self.packing.tree(xs))
        with users_code():
            y = self.custom.f(*args, **self.kwargs)
        return self._results(y)

    def _results(self, y):
        out = Packing(y)
        arrays = out.arrays
        self.out = out.detached()
        return arrays

    def push(self, dxs, xs):
        """The results and their tangents, None where zero, from the tangents of the arrays."""
        custom = self.custom
        if custom.jvp_rule is None:
            raise self._missing()
        blank = _symbolic_zero if custom.symbolic["jvp"] else zero_like
        dxs = [blank(x) if dx is None and inexact(x) else dx for dx, x in zip(dxs, xs, strict=True)]
        primals, tangents = self.packing.tree(xs), self.packing.tangents(dxs, xs)
        with users_code():
            result = custom.jvp_rule(*self.fixed, primals, tangents, **self.kwargs)
        y, dy = self._pair(result, "its jvp rule", "(y, dy)")
        return self._results(y), self.out.entries(dy, f"{self.name}: the tangent that its rule returned")

    def forward(self, xs):
        """The results, the arrays that are saved, and backward as a function of these and the results' cotangents."""
        custom = self.custom
        if custom.forward_rule is None:
            raise self._missing()
        args = custom._merged(self.fixed, self.packing.tree(xs))
        with users_code():
            result = custom.forward_rule(*args, **self.kwargs)
        y, saved = self._pair(result, "forward", "(y, saved)")
        ys, out = self._results(y), self.out
        kept = Packing((saved, self.fixed))
        arrays = kept.arrays
        kept.detached()
        packing = self.packing.detached()
        return ys, arrays, lambda saved, cts: _backward(custom, packing, out, kept, saved, cts)

    def _pair(self, result, rule, form):
        if not (isinstance(result, tuple) and len(result) == 2):
            found = f"a tuple of {len(result)}" if isinstance(result, tuple) else describe(result)
            raise StructureError(f"{self.name}: {rule} returned {found}; it must return a pair {form}")
        return result

    def _missing(self):
        return MissingRuleError(
            f"{self.name} is differentiated but has no rule; give it one with .defjvp(rule) or .defvjp(forward, backward)"
        )


def _backward(custom, packing, out, kept, saved, cts):
    """The cotangents of the arrays of the arguments, None where zero."""
    example = next((c for c in cts if c is not None), 0.0)
    blank = _symbolic_zero if custom.symbolic["vjp"] else functools.partial(zero_like, example=example)
    cts = [blank(a) if c is None and inexact(a) else c for c, a in zip(cts, out.avals, strict=True)]
    saved, fixed = kept.tree(saved)
    ct = out.tangents(cts, [NoTangent] * len(cts))
    with users_code():
        found = custom.backward_rule(*fixed, saved, ct)
    count = len(packing.tree(packing.avals))
    if not isinstance(found, (tuple, list)) or len(found) != count:
        got = f"a {type(found).__name__} of {len(found)}" if isinstance(found, (tuple, list)) else describe(found)
        raise StructureError(
            f"{custom.title}: backward returned {got} for {count} differentiated argument(s); return a tuple with one "
            "cotangent for each, None where it is zero"
        )
    return packing.entries(tuple(found), f"{custom.title}: the cotangents that backward returned, at argument")


def zero_like(x, example=None):
    """Zeros of a leaf's shape and dtype, on the device of the example."""
    return scalar(zeros_like(x if example is None else example, dtype=x.dtype, shape=x.shape))


def _symbolic_zero(x):
    return Zeros(x.shape, x.dtype)
