"""Operation cards: everything mathematics says about one operation, said once, where the operation is declared.

Layers read cards; they know no operation by name. Regular operations are a decorator and a docstring, irregular ones add
named rules (`@sum.rule("transpose")`) and nothing else.

Conventions of every rule: arrays positional, parameters by keyword; `y` is the operation's value at `*xs`; a missing
(symbolic zero) tangent is None.
    shape      (*avals, **params) -> Aval                    shape and dtype of the result
    jvp        (dxs, y, *xs, **params) -> dy or None          dxs: tuple of tangents
    vjp        list, one (ct, y, *xs, **params) -> ct of that argument per array, or None where there is none
    transpose  like vjp, for the arguments in which the operation is linear
    vjp_all    (ct, y, *xs, **params) -> tuple of cotangents   instead of vjp, all at once: for sequences of many arrays
    accumulate (total, ct, y, *xs, **params)                  beside vjp, where that is zero but for a few elements: adds
               the first array's cotangent to `total` in place; called for plain NumPy arrays only
    add_to     (total, ct, y, *xs, **params) -> total         the same for programs: `total` and that cotangent, as one step
    batch      (size, xs, batched, **params) -> y             lanes are axis 0 of batched arguments and of y
    lift       (lift, args, **params) -> results              of an operation on programs, by what the layer gives it:
               control/lifting.py
    steps      like the operation: a loop of known length step by step, where code around keeps each effect by itself
    enter      (*xs, **params) -> (program, its arguments)    which program a call runs, None if that is not decided
    prune      (used, **params) -> params                    of a call whose results are not all used: what gives those alone
    inline     (*avals or numbers, **params) -> Program       what a call stands for, for source code and pictures
    code       (writer, inputs, outputs, **params) -> text    of an operation on programs: its statement in source code, from
               the expressions of its inputs and the names of its outputs; writer.function(…) defines a program's function
    lanes      (**params) -> dicts                            of an operation on programs: for each result, Var.lanes
    layered    (layer class, types) -> target or None         what a layer does with an operation that runs the user's code:
               a function of the call's arguments, or None for the layer's own way
    root       (*xs, **params) -> Root or None               of what the result is the root (dsl/roots.py)
    of_root    (roots, *xs, **params)                        the same where an argument is a root (None: it is none);
               or an array from which the result has its slopes: what it is as a function of the square
    taylor     (k, y, *xs, **params) -> y_k or None           coefficient k of y along a curve, from y(j), j < k, and x(j),
               functions of j: coefficient j of the Taylor series, None for zero; NotImplemented for the way by the jvp
               rule, which every operation has: where that rule calls the operation itself, this is cheaper
    depends    which elements of the result read which elements of the arguments, for sparsity: letters of the last axes as
               in "ij,jk->ik" (result [i, k] reads x[i, j] and y[j, k] for all j; axes before them broadcast; "I->i" reads all
               up to i), or a function (*xs, **params) that returns such letters, or a value that depends in the same way,
               or None where the kind says it. Without it, an element of an opaque operation may read every element
Cotangents pair with tangents by Re(sum(ct * t)), without conjugation; layers bring a cotangent to its argument's shape and
dtype, so rules need not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack, overload

from ..dispatch import RegistrationError, RuleTable
from ..dispatch.generic import Generic
from ..dispatch.prototypes import check_empty
from ..dispatch.replaced_methods import announce
from .declaration_checks import check_c, check_facts, check_known, check_partials, check_rule
from .families import FAMILIES

if TYPE_CHECKING:
    from typing import Concatenate, Literal, TypeAlias

    from ..dispatch.annotations import AnyArray, GenericFunction, Operand, P, R_co, T

    Partials: TypeAlias = Sequence[Callable[..., Any] | int | None] | None

    class Operation(GenericFunction[P, R_co], Protocol[P, R_co]):
        """A function as a declaration makes it of its prototype."""

        card: Card
        jvp: RuleTable
        vjp: RuleTable

        def rule(self, which: str, /) -> Callable[[T], T]: ...

    class Declare(Protocol):
        """The decorator: it keeps the parameters of the prototype, whose body may be its docstring."""

        def __call__(self, prototype: Callable[P, Any], /) -> Operation[P, AnyArray]: ...

    OnArray: TypeAlias = Callable[Concatenate[Any, P], Any]

    class DeclareOnArray(Protocol):
        """The same for a prototype whose first parameter is an array or a number."""

        def __call__(self, prototype: OnArray[P], /) -> Operation[Concatenate[Operand, P], AnyArray]: ...


KINDS = ("elementwise", "linear", "bilinear", "reduction", "composite", "opaque")


@dataclass
class Card:
    """The facts about one operation.

    kind: one of KINDS. partials: per array argument a function (y, *xs) -> derivative, 1, -1, or None for an argument
    without derivative; `differentiable=False` says it of all. singular: a partial can be infinite, so that a zero (co)tangent
    must stay zero (the branch of `where` that was not taken). linear: positions of the arguments in which the operation is
    linear (jointly for kind linear, separately for bilinear; None: all). body: definition in other operations.
    kernel: the operation's name in NumPy-like libraries, None if they have none; numpy: names of the NumPy functions it
    answers for. c: C expression of {0}, {1}, … in the dtype the operation computes in, where words such as `sin(…)` stand for
    functions of any dtype (`devices/codegen/text/math_functions.py`), and {name} of a parameter that is a number; a dict says
    it by kinds of dtypes, {"b": …, "iuf": …}. It is the kernel, too, where there is none: then text without kinds is for
    floating and complex numbers, into which NumPy's rules turn whole ones.
    samples: functions rng -> args, or (args, params), used by generated tests.
    no_rule: name of rule -> reason why there is none. home: the namespace of polyad that exports it (`fft` for
    `polyad.fft.fft`; NumPy has it under that name too), None for polyad itself. collective: it or its transpose talks to
    other processes, so it is not dropped where its result is unused, nor its reverse rule where the cotangent is zero.
    A function of the parameters (a dict) says of the reverse rule whether that is so.
    effect: it does something beside its result (prints, keeps a state), so that it runs once per executed step and in order,
    is not dropped where its result is unused, and never merged with another; or a function of the parameters that says so.
    spelled: the public function's name, where that is not the operation itself (`psum` calls `lane_sum` for an axis).
    per_lane: shapes depend on the number of lanes of a named axis; own_lanes: its result is each lane's own. raises: it may
    fail for some numbers (a singular matrix).
    view: how its result shares elements with its argument, as NumPy's does; `dsl/numpy_calls/views.py` fills it in.
    lowering: what code generators know of it beside `c`; `polyad.lowering` fills it in.
    """

    name: str
    kind: str
    partials: tuple | None = None
    singular: bool = False
    differentiable: bool = True
    linear: tuple | None = None
    body: object = None
    kernel: str | None = None
    numpy: tuple = ()
    c: str | dict | None = None
    samples: tuple = ()
    rules: dict = field(default_factory=dict)
    no_rule: dict = field(default_factory=dict)
    collective: object = False
    effect: object = False
    home: str | None = None
    spelled: str | None = None
    per_lane: bool = False
    own_lanes: bool = False
    raises: bool = False
    view: object = None
    lowering: object = None

    def acts(self, params):
        """Return whether a call with these parameters has an effect: its own, or that of a program among the parameters."""
        own = self.effect(params) if callable(self.effect) else self.effect
        if own or not params:
            return own
        return any([p.acts for value in params.values() for p in programs_in(value)])

    @property
    def public(self):
        """The operation's name within polyad: `sin`, `fft.fft`."""
        if self.spelled:
            return self.spelled
        return f"{self.home}.{self.name}" if self.home else self.name


class Facts(TypedDict, total=False):
    """Name what a declaration may say beside `partials`: facts of a `Card`."""

    singular: bool
    differentiable: bool
    linear: Sequence[int] | None
    kernel: str | None
    numpy: Sequence[str] | None
    c: str | dict[str, str] | None
    samples: Sequence[Callable[..., Any]]
    no_rule: dict[str, str] | None
    collective: bool | Callable[..., Any]
    effect: bool | Callable[..., Any]
    home: str | None
    spelled: str | None
    per_lane: bool
    own_lanes: bool
    raises: bool
    view: Any


class FactsAndPartials(Facts, total=False):
    """The same with the partial derivatives."""

    partials: Partials


class FactsOfAny(FactsAndPartials, total=False):
    """And whether its argument is a sequence of arrays."""

    sequence: bool


FACTS = [f.name for f in fields(Card) if f.name not in ("body", "kind", "lowering", "name", "rules")]


def programs_in(value):
    """The programs that a parameter holds: one, or a tuple of them."""
    values = value if isinstance(value, (tuple, list)) else (value,)
    return [v for v in values if hasattr(v, "equations")]


operations = {}  # name -> generic function, for every card of the library
outside = {}  # module and name -> generic function, for cards that others declare


def library_name(op):
    """The name of an operation of the library; None for one of somebody else's, which may be called the same."""
    return op.__name__ if operations.get(op.__name__) is op else None


# what a docstring need not repeat: said of every operation of a kind whose docstring names no errors itself
COMMON = {
    "elementwise": "Shapes broadcast; the dtype is NumPy's for those of the arguments. Raises ShapeError, DTypeError.",
    "linear": "Keeps the dtype. Raises ShapeError for shapes and axes that do not fit, DTypeError for arrays of objects.",
    "bilinear": "Returns the promoted dtype. Raises ShapeError, DTypeError.",
    "reduction": "axis: None for all, an int or a tuple; keepdims: keep those axes with length 1 in the shape. "
    "Raises ShapeError, DTypeError.",
    "composite": "Returns NumPy's shape and dtype. Raises ShapeError, DTypeError.",
    "opaque": "Raises ShapeError, DTypeError for shapes and dtypes that it does not take.",
}


def _declare(
    prototype: Any,
    kind,
    *,
    body=None,
    sequence=False,
    kernel: str | None = "",
    numpy=None,
    linear=None,
    no_rule=None,
    **facts: Any,
):
    name = prototype.__name__
    if "Raises" not in (prototype.__doc__ or "Raises"):
        prototype.__doc__ = f"{prototype.__doc__.rstrip()}\n\n    {COMMON[kind]}\n    "
    function: Any = Generic(prototype, sequence).function
    home, ours = facts.get("home"), _is_ours(function)
    if not ours:
        if body is None:
            check_empty(prototype, ", or declare it with polyad.composite if the body is what it computes")
        check_known(name, facts, FACTS)
        check_facts(name, {**facts, "kernel": kernel, "numpy": numpy})
        if facts.get("c") is not None:
            check_c(name, function.generic, kind, facts["c"])
        if facts.get("partials") is not None:
            check_partials(name, function.generic, facts["partials"])
    if kernel == "":
        kernel = None if not ours else f"{home}.{name}" if home else name
    if numpy is None:
        numpy = (kernel,) if kernel else ()
    for key in ("partials", "samples"):
        if facts.get(key) is not None:
            facts[key] = tuple(facts[key])
    card = Card(name, kind, body=body, kernel=kernel, numpy=tuple(numpy), linear=linear, no_rule=no_rule or {}, **facts)
    function.generic.card = card
    if kind in FAMILIES and not sequence:
        function.generic.join(FAMILIES[kind])
    function.card = card
    function.rule = lambda which: _rule_setter(function, which)
    function.jvp, function.vjp = RuleTable(function.generic, "jvp"), RuleTable(function.generic, "vjp")
    if ours:
        operations[name] = function
    else:  # a name of its own: it neither replaces an operation of ours nor answers for NumPy's unless it says so
        outside[function.__module__, name] = function
    return function


RULES = (
    "shape",
    "jvp",
    "vjp",
    "vjp_all",
    "transpose",
    "accumulate",
    "add_to",
    "batch",
    "neutral",
    "trace",
    "taylor",
    "depends",
    "lift",
    "pull",
    "root",
    "of_root",
    "lost_back",
    "lost_ahead",
    "enter",
    "prune",
    "layered",
    "inline",
    "code",
    "lanes",
    "steps",
    "elsewhere",
)


def _is_ours(prototype):
    return prototype.__module__.partition(".")[0] == __name__.partition(".")[0]


def _rule_setter(function, which):
    if which not in RULES:
        raise RegistrationError(f"{function.card.name}: there is no rule {which!r}; rules are {', '.join(RULES)}")

    def register(rule):
        if not _is_ours(function):
            check_rule(function, which, rule)
        old = function.card.rules.get(which)
        if callable(old) and callable(rule):
            announce(f"rule {which!r} of {function.card.name}", old, rule)
        function.card.rules[which] = rule
        function.generic.clear()
        return rule

    return register


def _decorator(kind: str, facts: dict[str, Any]) -> Any:
    return lambda prototype: _declare(prototype, kind, **facts)


def elementwise(*, partials: Partials = None, **facts: Unpack[Facts]) -> DeclareOnArray:
    """Card of an operation that acts on each element: `partials` give both modes, broadcasting gives shape and batch.

    partials: for each array a function (y, *xs, **params) -> derivative, written in operations; 1, -1, or None where there is
    none. facts: what else the card says, such as `c` and `differentiable=False`; `Card` explains each. The declaration is
    parameters and a docstring: arrays before the `/`, plain values after it.

    c: an expression in C. With it the operation needs no kernel, and is compiled like the library's own, alone and in programs.
    `{0}`, `{1}` are its arrays' elements, `{name}` a parameter that is a number, one library for all its values; where braces
    belong to C, write them twice. Functions of C's math library and of SciPy (`exp`, `log1p`, `hypot`, `erfinv`) go without a
    suffix, for any dtype. The elements have the dtype that the operation computes in: text is for floating and complex
    numbers, into which NumPy's rules turn whole numbers; a dict says it by kinds of dtypes, `{"iu": "{0} % 2", "f": "fmod({0},
    2)"}`, so that whole numbers stay whole. A parameter counts in these rules as a Python number of its kind, whatever its
    dtype: 2.5 leaves single precision alone and makes float64 of whole numbers, whose dtype must hold an int (DTypeError, as
    of `add`). All else is C's: `1/2` is 0, `0.1` is a double, so that single precision computes `{0} * 0.1` in double and is
    rounded in the end; write `1.0/2`, and a parameter where a number is to have the arrays' dtype.
    Division of whole numbers by zero, with `/` or `%`, ends the process, as in C (SIGFPE), and so does the least number divided
    by -1: write `({1} == 0 ? 0 : {1} == -1 ? -{0} : {0} / {1})`. Floating-point flags are never raised: where a result is
    infinite or NaN, NumPy warns of nothing, not even under `np.errstate(all="raise")`.

    Raises RegistrationError for facts in another form, and at the first call for what is no C.

    >>> import numpy as np, polyad as pa
    >>> @pa.elementwise(partials=[lambda y, x, rate: rate * pa.sin(rate * x)], c="(1 - cos({rate} * {0}))")
    ... def versine(x, /, rate=1.0): "1 - cos(rate x)."
    >>> versine(np.zeros(2)), pa.jit(pa.grad(versine))(0.0)
    (array([0., 0.]), np.float64(0.0))
    >>> @pa.elementwise(differentiable=False, c={"iu": "({1} == 0 ? 0 : {0} % {1})", "f": "fmod({0}, {1})"})
    ... def rest(a, b, /): "What is left of a after division by b, of a's sign."
    >>> rest(np.array([7, -7]), 2), rest(7, 0), rest(7.5, 2.0)
    (array([ 1, -1]), np.int64(0), np.float64(1.5))
    """
    return _decorator("elementwise", {**facts} if partials is None else {"partials": partials, **facts})


@overload
def linear(*, sequence: Literal[True], **facts: Unpack[FactsAndPartials]) -> Declare: ...
@overload
def linear(*, sequence: Literal[False] = False, **facts: Unpack[FactsAndPartials]) -> DeclareOnArray: ...
def linear(**facts: Any) -> Any:
    """Card of an operation linear in its arguments `linear` (None: all): forward by itself, reverse by rule transpose.

    Rules below the declaration: `shape` (avals -> Aval), so that it can be traced; `transpose`, a list with a function (ct, y,
    *xs, **params) for each array in which it is linear, without which it has no reverse derivative; `batch` (size, xs, batched)
    for lanes along axis 0, without which `vmap` runs it lane by lane. sequence: the one argument is a list of arrays. Raises
    RegistrationError for facts and rules in another form.

    >>> import numpy as np, polyad as pa
    >>> @pa.linear()
    ... def backwards(x, /): "The last axis backwards."
    >>> @backwards.method
    ... def backwards_kernel(x: pa.HostArray, /):
    ...     return x[..., ::-1]
    >>> rules = [
    ...     backwards.rule("shape")(lambda x: x),
    ...     backwards.rule("transpose")([lambda ct, y, x: backwards(ct)]),
    ...     backwards.rule("batch")(lambda size, xs, batched: backwards(xs[0])),
    ... ]
    >>> pa.jit(pa.grad(lambda x: pa.sum(backwards(x) * np.array([1.0, 2.0, 3.0]))))(np.ones(3))
    array([3., 2., 1.])
    """
    return _decorator("linear", facts)


def bilinear(**facts: Unpack[FactsAndPartials]) -> DeclareOnArray:
    """Card of an operation linear in each of two arguments separately: rule transpose gives both modes."""
    return _decorator("bilinear", {"linear": (0, 1), **facts})


def reduction(**facts: Unpack[FactsAndPartials]) -> DeclareOnArray:
    """Card of an operation that reduces over `axis` (None, an int or a tuple) with `keepdims`."""
    return _decorator("reduction", {**facts})


def opaque(**facts: Unpack[FactsOfAny]) -> Declare:
    """Card of an operation with rules of its own for everything.

    Rules below the declaration, each needed only by what uses it; xs are the arrays, parameters come by name:
    `shape` (*avals) -> Aval, a tuple of them for several results: to be traced, by `jit` and in loops;
    `jvp` (dxs, y, *xs) -> dy, linear in the tangents dxs, of which None is zero: forward mode, and reverse by its transpose;
    `vjp` a list with (ct, y, *xs) -> cotangent for each array, or `vjp_all` (ct, y, *xs) -> all of them: reverse mode, and
    forward by its transpose; needed where the jvp calls the operation itself;
    `batch` (size, xs, batched) -> y with lanes along axis 0, without which `vmap` runs it lane by lane.
    `Card` and the text above it list the rarer ones. Raises RegistrationError for facts and rules in another form.

    >>> import numpy as np, polyad as pa
    >>> @pa.opaque()
    ... def cube(x, /): "x cubed."
    >>> @cube.method
    ... def cube_kernel(x: pa.HostArray, /):
    ...     return x**3
    >>> rules = [
    ...     cube.rule("shape")(lambda x: pa.Aval(x.shape, x.dtype)),
    ...     cube.rule("jvp")(lambda dxs, y, x: 3 * x**2 * dxs[0]),
    ...     cube.rule("vjp")([lambda ct, y, x: 3 * x**2 * ct]),
    ...     cube.rule("batch")(lambda size, xs, batched: cube(xs[0])),
    ... ]
    >>> x = np.array([1.0, 2.0])
    >>> pa.grad(lambda x: pa.sum(cube(x)))(x), pa.vmap(pa.derivative(cube))(x)
    (array([ 3., 12.]), array([ 3., 12.]))
    """
    return _decorator("opaque", {**facts})


def composite(**facts: Unpack[FactsOfAny]) -> Declare:
    """Card of an operation defined by its body in other operations; layers follow the body."""

    def declare(body: Any) -> Any:
        return _declare(body, "composite", body=body, **facts)

    return declare
