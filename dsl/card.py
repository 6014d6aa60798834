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
    batch      (size, xs, batched, **params) -> y             lanes are axis 0 of batched arguments and of y
Cotangents pair with tangents by Re(sum(ct * t)), without conjugation; layers bring a cotangent to its argument's shape and
dtype, so rules need not.
"""

from dataclasses import dataclass, field

import numpy as np

from ..dispatch import RegistrationError, generic
from .families import FAMILIES

KINDS = ("elementwise", "linear", "bilinear", "reduction", "composite", "opaque")


@dataclass
class Card:
    """What is known about one operation.

    kind: one of KINDS. partials: per array argument a function (y, *xs) -> derivative, 1, -1, or None for an argument
    without derivative; `differentiable=False` says it of all. singular: a partial can be infinite, so that a zero (co)tangent
    must stay zero (the branch of `where` that was not taken). linear: positions of the arguments in which the operation is
    linear (jointly for kind linear, separately for bilinear; None: all). body: definition in other operations.
    kernel: the operation's name in NumPy-like libraries, None if they have none; numpy: names of the NumPy functions it
    answers for. c: C expression in x0, x1. samples: functions rng -> args, or (args, params), used by generated tests.
    no_rule: name of rule -> reason why there is none. home: the namespace of polyad that exports it (`fft` for
    `polyad.fft.fft`; NumPy has it under that name too), None for polyad itself. collective: it or its transpose talks to
    other processes, so it is not dropped where its result is unused, nor its reverse rule where the cotangent is zero.
    A function of the parameters (a dict) says of the reverse rule whether that is so.
    spelled: the public function's name, where that is not the operation itself (`psum` calls `lane_sum` for an axis).
    per_lane: shapes depend on the number of lanes of a named axis.
    view: how its result shares elements with its argument, as NumPy's does; `dsl/views.py` fills it in.
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
    c: str | None = None
    samples: tuple = ()
    rules: dict = field(default_factory=dict)
    no_rule: dict = field(default_factory=dict)
    collective: object = False
    home: str | None = None
    spelled: str | None = None
    per_lane: bool = False
    view: object = None

    @property
    def public(self):
        """The operation's name within polyad: `sin`, `fft.fft`."""
        if self.spelled:
            return self.spelled
        return f"{self.home}.{self.name}" if self.home else self.name


operations = {}  # name -> generic function, for every card of the library
outside = {}  # module and name -> generic function, for cards that others declare


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


def _declare(prototype, kind, *, body=None, sequence=False, kernel="", numpy=None, linear=None, no_rule=None, **facts):
    name = prototype.__name__
    if "Raises" not in (prototype.__doc__ or "Raises"):
        prototype.__doc__ = f"{prototype.__doc__.rstrip()}\n\n    {COMMON[kind]}\n    "
    function = generic(prototype, sequence=sequence)
    home, ours = facts.get("home"), prototype.__module__.partition(".")[0] == __name__.partition(".")[0]
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
    if ours:
        operations[name] = function
    else:  # a name of its own: it neither replaces an operation of ours nor answers for NumPy's unless it says so
        outside[prototype.__module__, name] = function
    return function


RULES = ("shape", "jvp", "vjp", "vjp_all", "transpose", "accumulate", "batch", "neutral", "trace")


def _rule_setter(function, which):
    if which not in RULES:
        raise RegistrationError(f"{function.card.name}: there is no rule {which!r}; rules are {', '.join(RULES)}")

    def register(rule):
        function.card.rules[which] = rule
        function.generic.clear()
        return rule

    return register


def _decorator(kind, facts):
    return lambda prototype: _declare(prototype, kind, **facts)


def elementwise(**facts):
    """Card of an operation that acts on each element: `partials` give both modes, broadcasting gives shape and batch."""
    return _decorator("elementwise", facts)


def linear(**facts):
    """Card of an operation linear in its arguments `linear` (None: all): forward by itself, reverse by rule transpose."""
    return _decorator("linear", facts)


def bilinear(**facts):
    """Card of an operation linear in each of two arguments separately: rule transpose gives both modes."""
    return _decorator("bilinear", {"linear": (0, 1), **facts})


def reduction(**facts):
    """Card of an operation that reduces over `axis` (None, an int or a tuple) with `keepdims`."""
    return _decorator("reduction", facts)


def opaque(**facts):
    """Card of an operation with rules of its own for everything."""
    return _decorator("opaque", facts)


def composite(**facts):
    """Card of an operation defined by its body in other operations; layers follow the body."""

    def declare(body):
        return _declare(body, "composite", body=body, **facts)

    return declare


def positives(*shape):
    """Sample arrays in (0.5, 1.5)."""
    return lambda rng: rng.uniform(0.5, 1.5, shape)


def normal(*shape):
    """Sample arrays, standard normal."""
    return lambda rng: rng.standard_normal(shape)


def unit(*shape):
    """Sample arrays in (-0.9, 0.9)."""
    return lambda rng: rng.uniform(-0.9, 0.9, shape)


def above_one(*shape):
    """Sample arrays in (1.1, 2)."""
    return lambda rng: rng.uniform(1.1, 2.0, shape)


def complex_normal(*shape):
    """Sample arrays, complex normal, away from the branch cut of log and sqrt."""
    return lambda rng: rng.standard_normal(shape) * 0.5 + 1.2 + 0.7j * rng.standard_normal(shape)


def integers(*shape, low=0, high=10):
    """Sample integer arrays in [low, high)."""
    return lambda rng: rng.integers(low, high, shape)


def booleans(*shape):
    """Sample boolean arrays."""
    return lambda rng: rng.integers(0, 2, shape).astype(bool)


def distinct(*shape):
    """Sample arrays whose elements are all different, well apart."""
    return lambda rng: (rng.permutation(int(np.prod(shape))) * 0.7 - 1.0).reshape(shape)


def case(*makers, **params):
    """One sample: array makers (or plain values) for the arguments, and parameters."""
    return lambda rng: (tuple(m(rng) if callable(m) else m for m in makers), params)


def sequence_case(*makers, **params):
    """One sample for an operation on a sequence."""
    return lambda rng: ((tuple(m(rng) for m in makers),), params)
