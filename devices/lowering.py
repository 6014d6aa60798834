"""Lowerings: what code generators know of one operation, in one record that lies on its card.

An elementwise operation with a C expression on its card (`c=…`) needs none, nor does a composite one. Others say here how
their loops are made, the library's in `codegen/lowerings/`, those of others in their own module, in the same way.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, get_args

from ..dispatch import RegistrationError, describe
from ..dispatch.replaced_methods import announce
from ..dsl.declaration_checks import place_text

Sign: TypeAlias = Literal["+", "*", "max", "min", "&", "|"]
SIGNS = get_args(Sign)


@dataclass
class Lowering:
    """The facts that code generators know of one operation; `lowering` says what each of them means."""

    nests: Any = None
    index_map: Any = None
    reduce: str | None = None
    memory: Any = None
    strided: bool = False
    alias: Any = None
    in_place: bool = False
    dtypes: Any = None
    leader: int | None = None
    template: Any = None
    passes: Any = None
    stepwise: Any = None

    @property
    def of_programs(self):
        """Return whether it is an operation on programs, such as a loop."""
        return self.passes is not None


class LoweringFacts(TypedDict, total=False):
    """Keywords that `lowering` takes."""

    nests: Callable[..., Any]
    index_map: Callable[..., Any]
    reduce: Sign
    memory: Callable[..., Any] | bool
    strided: bool
    alias: Callable[..., Any]
    in_place: bool
    dtypes: Callable[..., Any]
    leader: int
    template: Callable[..., Any]
    passes: Callable[..., Any]
    stepwise: Callable[..., Any] | None


NOTHING = Lowering()  # of operations without a record
FACTS = tuple(f.name for f in fields(Lowering))
# what each function is called with; a fact that is none of these is no function
PARAMETERS = {
    "nests": ("e", "graph"), "index_map": ("body", "e", "idx"), "memory": ("e",), "alias": ("e",), "dtypes": ("given", "out"),
    "template": ("e", "dtype"), "passes": ("e", "graph"),
}  # fmt: skip
_listeners = []  # functions that forget what they know of an operation whose record changes


def record(e):
    """The `Lowering` of an equation's operation."""
    return e.op.card.lowering or NOTHING


def fault(e, fact, complaint):
    """The error for what a function of an equation's lowering gives, with where that is written."""
    function = getattr(record(e), fact)
    return RegistrationError(f"lowering of {e.op.card.name}: {fact}{place_text(function)} {complaint}")


def forgets(function):
    """Decorator: `function()` is called when a record changes, to forget what was made of it."""
    _listeners.append(function)
    return function


def lowering(op: Any, /, **facts: Unpack[LoweringFacts]) -> Callable[[Callable[..., list]], Callable[..., list]]:
    """Tell the code generators of an operation: what `jit` needs to write C (or CUDA C++) of it.

    op: an operation with a card, ours or your own. Without a record an elementwise operation is written by its card's `c`, and
    any other runs by its kernel between the compiled parts. facts: those below; what was said before of others stays. Returns a
    decorator for `nests`, so that the function that makes the loops can stand below.

    e is an equation (`e.op`, `e.inputs`, `e.outputs`, `e.params`), whose inputs are variables with an `aval` or numbers; graph
    says where variables lie; body takes the statements of one iteration; idx is a tuple with an index for each axis. C is no
    text yet: expressions are made by `c("{} + {}", x, y)`, statements are records such as `Assign`. A function raises
    `Unsupported` for dtypes, shapes or parameters that it has no C of: these run by the kernel. All this, and blocks to build
    upon (`Scan`), lie in `polyad.devices.codegen`: `text.scalars`, `text.expressions`, `text.statements`, `loops`, `lowerings`.
    They may change.

    nests       (e, graph) -> list of loop nests, or of blocks whose `emit` gives statements, that fill the results in memory
    index_map   (body, e, idx) -> C of the element at idx, which is one of an argument's: nothing is computed or stored
    reduce      "+", "*", "max", "min", "&" or "|": it reduces over its parameters `axis` and `keepdims` by this
    memory      (e) -> those of e.inputs that are read as blocks of memory, or True for all: they are stored before
    strided     the blocks may be parts or transposes of arrays as they lie
    alias       (e) -> whether the result is its argument's memory in another shape
    in_place    `nests` fills the first argument's memory where e is in graph.in_place
    dtypes      (given, out) -> (dtypes to which arguments of these are brought, dtype that the expression then has)
    leader      which argument's dtype the words of the expression are for, if its arguments are of several
    template    (e, dtype) -> C expression for this call, None for the card's
    passes      of an operation on programs: (e, graph) -> its statements
    stepwise    of an operation on programs: (compile, *arrays, **params) -> results, by Python and compiled programs

    Raises RegistrationError for what is no operation, unknown facts, and functions that cannot be called so.

    >>> import numpy as np, polyad as pa
    >>> @pa.reduction()
    ... def largest(x, /, axis=None, keepdims=False): "The largest element."
    >>> @largest.method
    ... def largest_kernel(x: pa.HostArray, /, axis=None, keepdims=False):
    ...     return np.max(x, axis=axis, keepdims=keepdims)
    >>> lowered = pa.lowering(largest, reduce="max")
    >>> pa.jit(lambda x: largest(2 * x))(np.array([1.0, 3.0, 2.0]))
    np.float64(6.0)
    """
    card = getattr(op, "card", None)
    if card is None:
        name = getattr(op, "__name__", None) or describe(op)
        raise RegistrationError(
            f"lowering: {name} is no operation; give one that has a card, such as polyad.cumsum, "
            "or declare your own with polyad.elementwise, reduction, linear, bilinear or opaque"
        )
    for name, fact in facts.items():
        _check(card.name, name, fact)
    if card.body is not None:
        raise RegistrationError(
            f"lowering of {card.name}: it is composite, so that code is made of the operations in its body; declare it as "
            "another kind for code of its own"
        )
    if "reduce" in facts and not (op.generic.arity == 1 and {"axis", "keepdims"} <= set(op.generic.params)):
        raise RegistrationError(
            f"lowering of {card.name}: reduce is of operations on one array with parameters axis and keepdims, such as those "
            f"that polyad.reduction declares, not of {card.name}{op.generic.signature}"
        )

    def add(**facts):
        old = card.lowering or NOTHING
        for name, fact in facts.items():
            if callable(fact) and callable(getattr(old, name)):
                announce(f"{name!r} of the lowering of {card.name}", getattr(old, name), fact)
        card.lowering = Lowering(**{**{name: getattr(old, name) for name in FACTS}, **facts})
        for forget in _listeners:
            forget()
        op.generic.clear()

    def nests(function):
        _check(card.name, "nests", function)
        add(nests=function)
        return function

    add(**facts)
    return nests


def _check(name, fact, value):
    """One fact. Raises RegistrationError."""
    if fact not in FACTS:
        raise RegistrationError(f"lowering of {name}: it has no {fact!r}; it may say {', '.join(FACTS)}")
    if fact == "reduce" and value not in SIGNS:
        raise RegistrationError(f"lowering of {name}: reduce is one of {', '.join(map(repr, SIGNS))}, not {value!r}")
    if fact not in PARAMETERS or value is True and fact == "memory":
        return
    parameters = PARAMETERS[fact]
    written = f"({', '.join(parameters)})"
    if not callable(value):
        raise RegistrationError(f"lowering of {name}: {fact} is {describe(value)}; it must be a function {written}")
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # of a builtin
        return
    try:
        signature.bind(*parameters)
    except TypeError:
        raise RegistrationError(f"lowering of {name}: {fact} takes {signature}, but is called with {written}") from None
