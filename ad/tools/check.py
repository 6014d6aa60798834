"""Checking derivatives against finite differences: the reference knows nothing of the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import Layer, LeakedLayerError, ShapeError, StructureError, isa, require_whole, tree
from ..derived import jvp, vjp
from ..inputs import NoTangent, as_inputs, inexact, is_count, title
from .finite_differences import difference_step, numerical_jvp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...dispatch.annotations import P

COARSE = 1e-3  # least tolerance where single precision is involved


def check_grads(
    f: Callable[P, Any],
    args: Sequence[Any],
    order: int = 2,
    modes: str | Sequence[str] = ("forward", "reverse"),
    eps: float | None = None,
    rtol: float = 1e-4,
    atol: float = 1e-6,
    seed: int = 0,
) -> None:
    """Check the derivatives of f at args, up to an order, in both modes and their mixtures.

    f: function of arrays or trees, smooth near args; of a callable tree (`closure(f)`, a dataclass with `__call__`) the
    arrays are varied too. args: tuple; floating and complex leaves are varied, others stay. What a plain function captures is
    a constant.
    order: how many derivatives. modes: "forward", "reverse" or both, which are then also checked against each other. eps:
    step of the central differences, by default 1e-5, larger where f computes in single precision. rtol, atol: tolerances;
    for single precision at least 1e-3. seed: of the directions, which have zeros here and there.

    It is checked first that f can be checked: it gives the same numbers each time and under both modes (no randomness, no
    state that a call leaves behind), does not write to its arguments, keeps no followed value, and closes over none.
    Raises AssertionError that says mode, order, the argument and by how much the numbers differ; StructureError, DTypeError,
    ShapeError for arguments of another kind, or where there is nothing to be differentiated.

    >>> import polyad as pa
    >>> pa.check_grads(lambda x: pa.sin(x) * x, (0.5,))
    """
    name = title("check_grads", f)
    if not isinstance(args, (tuple, list)):
        raise StructureError("check_grads: args is a tuple with one entry per argument, such as (x,)")
    if isinstance(modes, str):
        modes = (modes,)
    known = isinstance(modes, (tuple, list, set, frozenset)) and all([isinstance(m, str) for m in modes])
    if not known or not modes or set(modes) - {"forward", "reverse"}:
        raise ValueError(f'check_grads: modes are "forward" and "reverse", not {modes!r}')
    for what, given in (("eps", 1e-5 if eps is None else eps), ("rtol", rtol), ("atol", atol)):
        if not isa(given, (float, int, np.number)) or not given >= 0 or what == "eps" and not given:
            raise ValueError(f"check_grads: {what} is a positive number, not {given!r}")
    if not is_count(seed, 0):
        raise ValueError(f"check_grads: seed is a whole number from 0, not {seed!r}")
    if not is_count(order, 1):
        raise ValueError(f"check_grads: order is a number of derivatives, a whole number from 1, not {order!r}")
    require_whole(name, args)
    args = tuple([_as_numpy(name, n, a) for n, a in enumerate(args)])
    places = [f"argument {n}{path}" for n, a in enumerate(args) for path in tree.paths(a)]
    if tree.structure(f) is not tree.LEAF:  # a callable tree
        places = [*[f"the function's {path.lstrip('.')}" for path in tree.paths(f)], *places]
        args, f = (_as_numpy(name, "0, the function,", f), *args), _called  # type: ignore[assignment]
    _check_function(name, f, args, places)
    if any([np.finfo(np.asarray(x).dtype).eps > 1e-10 for x in tree.leaves(args) if inexact(x)]):
        rtol, atol = max(rtol, COARSE), max(atol, COARSE)
    _Check(modes, eps, rtol, atol, np.random.default_rng(seed)).run(_on_copies(f), args, places, order, "")


def _as_numpy(name, n, x):
    """An argument with NumPy's numbers and arrays as leaves."""
    leaves, structure = tree.flatten(x)
    for leaf in leaves:
        if isinstance(leaf, Layer):
            raise StructureError(
                f"{name}: argument {n} is a {type(leaf).__name__} of {leaf.run.name}: finite differences need numbers; call "
                "check_grads outside of the transformation"
            )
    leaves = as_inputs(name, n, leaves, x)
    return tree.unflatten(structure, [np.array(v)[()] if inexact(v) else v for v in leaves])


def _on_copies(f):
    """f on copies of plain arrays, so that it cannot change those that the check goes on with."""
    return lambda *xs: f(*tree.map(lambda x: x.copy() if type(x) is np.ndarray else x, xs))


# ---------------------------------------------------------------------- whether f can be checked
def _called(function, *xs):
    return function(*xs)


def _check_function(name, f, args, places):
    if not any([inexact(x) for x in tree.leaves(args)]):
        raise StructureError(f"{name}: no argument holds floating numbers, so there is nothing to check; give 3.0 instead of 3")
    found = jvp(_on_copies(f), args, tree.map(_ones, args))  # first, so that a value kept from here is met below
    if callable(found):
        raise StructureError(f"{name}: the function returns a function, which is no array; check what that returns")
    y, _ = found
    try:
        results = [_result(name, f, args, places) for _ in range(2)]
    except LeakedLayerError as error:
        raise AssertionError(
            f"{name}: the function keeps a value from one call for the next (a cache, a global, a default argument); compute "
            "it anew, or make it an argument"
        ) from error
    numbers = [np.asarray(v) for v in tree.leaves(results[0]) if inexact(v)]
    if not numbers:
        raise ShapeError(f"{name}: the function returns no floating numbers, so there is nothing to check")
    if any([v.size for v in numbers]) and not any([np.any(np.isfinite(v)) for v in numbers]):
        raise ValueError(f"{name}: the function's result is NaN or infinite everywhere; finite differences need finite numbers")
    what = "two calls with the same arguments"
    advice = "it is random or keeps state; fix the seed inside, or make key and state arguments"
    first, second = results
    _check_repeatable(name, first, second, what, advice, lambda eps: 100 * eps)
    advice = "it does something else for followed values (asks for their type, or a rule of its own returns another value)"
    _check_repeatable(name, results[0], y, "the plain call and the one under forward mode", advice, np.sqrt)
    _check_repeatable(
        name, results[0], vjp(_on_copies(f), *args)[0], "the plain call and the one under reverse mode", advice, np.sqrt
    )


def _ones(x):
    return np.ones_like(x)[()] if inexact(x) else NoTangent


def _result(name, f, args, places):
    """Call f; an error if it writes to its arguments or returns a value that a transformation follows."""
    given = tree.map(lambda x: x.copy() if isa(x, np.ndarray) else x, args)
    y = f(*given)
    for place, before, after in zip(places, tree.leaves(args), tree.leaves(given), strict=True):
        if isa(before, np.ndarray) and not np.array_equal(before, after, equal_nan=inexact(before)):
            raise AssertionError(f"{name}: the function writes to its {place}; let it work on a copy (x.copy())")
    for path, v in tree.leaves_with_path(y):
        if isinstance(v, Layer):
            raise StructureError(
                f"{name}: the result{path} is a {type(v).__name__} of {v.run.name}: the function closes over a value that "
                "is followed there; call check_grads outside of the transformation, or make the value an argument"
            )
    return y


def _check_repeatable(name, first, second, what, advice, rounding):
    """Two evaluations agree but for rounding. rounding: eps -> how much of the largest element that may be; between a plain
    call and a followed one, which may compute in another order, as much as an ill-conditioned function makes of it."""
    one, two = tree.structure(first), tree.structure(second)
    if one != two:
        raise AssertionError(f"{name}: {what} give different structures, {tree.show(one)} and {tree.show(two)}: {advice}")
    for (path, a), b in zip(tree.leaves_with_path(first), tree.leaves(second), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            shapes = f"{list(a.shape)} and {list(b.shape)}"
            raise AssertionError(f"{name}: {what} give shapes {shapes} in the result{path}: {advice}")
        eps = np.finfo(a.dtype).eps if a.dtype.kind in "fc" else 0
        near = max(100 * eps, rounding(eps) * np.max(np.abs(a), initial=0.0, where=np.isfinite(a))) if eps else 0
        if not np.allclose(a, b, rtol=0, atol=near, equal_nan=True):
            raise AssertionError(f"{name}: {what} differ by up to {_largest(a, b)[0]:.2g} in the result{path}: {advice}")


# ---------------------------------------------------------------------- the check
class _Check:
    """Modes, step (None: by dtype), tolerances and source of directions of one check."""

    def __init__(self, modes, eps, rtol, atol, rng):
        self.modes, self.eps, self.rtol, self.atol, self.rng = tuple(modes), eps, rtol, atol, rng

    def run(self, f, args, places, order, path):
        """Check f at args, then its derivatives. places: what each leaf of args is called. path: the modes so far."""
        if order == 0:
            return
        eps = difference_step(f, args) if self.eps is None else self.eps
        if eps > 1e-4:
            self.rtol, self.atol = max(self.rtol, COARSE), max(self.atol, COARSE)
        tangents = tree.map(self.direction, args)
        expected = numerical_jvp(f, args, tangents, eps)
        found = None
        for mode in self.modes:
            where = f"check_grads: {path}{mode} mode disagrees"
            if mode == "forward":
                found = jvp(f, args, tangents)[1]
                self.compare_forward(f, args, tangents, places, eps, found, expected, where)
                given, step = tangents, lambda xs, t: jvp(f, xs, _replaced(tangents, t))[1]
            else:
                y, pullback = vjp(f, *args)
                ct = tree.map(self.direction, y)
                cts = pullback(ct)
                self.compare_reverse(f, args, tangents, places, eps, cts, ct, where)
                if found is not None and not np.isclose(inner(cts, tangents), inner(ct, found), self.rtol / 10, self.atol / 10):
                    text = f"{inner(cts, tangents):.10g} instead of {inner(ct, found):.10g}"
                    raise AssertionError(f"{where} with forward mode, whose transpose it is: {text} along one direction")
                given, step = ct, lambda xs, t, ct=ct: vjp(f, *xs)[1](_replaced(ct, t))
            # by what rules are linear in, too, where some of it is zero
            along = [self.with_a_zero(t) for t in tree.leaves(given) if t is not NoTangent]
            deeper = [*places, *[f"{'tangent' if mode == 'forward' else 'cotangent'} {i}" for i in range(len(along))]]
            self.run(step, (args, along), deeper, order - 1, f"{path}{mode}, then ")

    def direction(self, x):
        """A random tangent of a leaf, with zero in none of its parts."""
        if not inexact(x):
            return NoTangent
        x = np.asarray(x)
        draw = lambda: self.rng.uniform(0.5, 1.5, x.shape) * self.rng.choice([-1.0, 1.0], x.shape)
        drawn = draw() + 1j * draw() if x.dtype.kind == "c" else draw()
        return np.asarray(drawn).astype(x.dtype)[()]

    def with_a_zero(self, t):
        """A direction, one element of several zero: rules that keep zeros as they are must be linear there all the same."""
        t = np.array(t)
        if t.size > 1:
            t.reshape(-1)[self.rng.integers(t.size)] = 0
        return t[()]

    def agrees(self, a, b):
        return np.allclose(a, b, rtol=self.rtol, atol=self.atol, equal_nan=True)

    def compare_forward(self, f, args, tangents, places, eps, found, expected, where):
        for (path, a), b in zip(tree.leaves_with_path(found), tree.leaves(expected), strict=True):
            if b is not NoTangent and not self.agrees(a, b):
                guilty = []
                for i, place in enumerate(places):
                    one = _only(tangents, i)
                    if one is not None:
                        mine, right = jvp(f, args, one)[1], numerical_jvp(f, args, one, eps)
                        pairs = zip(tree.leaves(mine), tree.leaves(right), strict=True)
                        guilty += [] if all([y is NoTangent or self.agrees(x, y) for x, y in pairs]) else [place]
                raise AssertionError(f"{where}{self.text(a, b, f'result{path}', guilty)}{self.doubt(f, args, tangents, eps)}")

    def compare_reverse(self, f, args, tangents, places, eps, cts, ct, where):
        """For each leaf of the arguments alone, so that no fault hides behind the numbers of another."""
        for i, (place, c) in enumerate(zip(places, tree.leaves(cts), strict=True)):
            one = _only(tangents, i)
            if one is None:
                continue
            a = float(np.sum(np.asarray(c) * np.asarray(tree.leaves(tangents)[i])).real)
            b = inner(ct, numerical_jvp(f, args, one, eps))
            if not self.agrees(a, b):
                text = self.text(a, b, "cotangent along a random direction", [place])
                raise AssertionError(f"{where}{text}{self.doubt(f, args, one, eps)}")

    def text(self, a, b, what, guilty):
        (by, index), size = _largest(a, b), np.max(np.abs(b), initial=0.0)
        at = f" at {index}" if index else ""
        of = f", by {' and '.join(guilty)}" if guilty else ""
        ratio = f"{by / size:.2g} of the largest element" if size else "where they give 0"
        tolerances = f"(rtol {self.rtol:g}, atol {self.atol:g})"
        return f" with finite differences{of}: {what} is off by {by:.3g}{at}, {ratio} {tolerances}"

    def doubt(self, f, args, tangents, eps):
        """Return the sentence to add where the differences themselves depend on the step."""
        one, two = (numerical_jvp(f, args, tangents, e) for e in (eps, eps / 4))
        pairs = zip(tree.leaves(one), tree.leaves(two), strict=True)
        if all([a is NoTangent or self.agrees(a, b) for a, b in pairs]):
            return ""
        return "; the differences change with their step, so the function may not be smooth here: try another point or eps"


def _largest(a, b):
    """(largest difference, its index) of two arrays; a difference of NaN counts most."""
    apart = np.asarray(np.abs(np.asarray(a) - np.asarray(b)), float)
    apart = np.where(np.isnan(apart), np.where(np.isnan(a) & np.isnan(b), 0, np.inf), apart)
    if not apart.size:
        return 0.0, ()
    index = np.unravel_index(np.argmax(apart), apart.shape)
    return float(apart[index]), tuple(map(int, index))


def _only(tangents, i):
    """The direction in which leaf i alone moves; None if it cannot."""
    leaves, structure = tree.flatten(tangents)
    if leaves[i] is NoTangent:
        return None
    zero = lambda t: t if t is NoTangent else np.zeros_like(t)[()]
    return tree.unflatten(structure, [t if k == i else zero(t) for k, t in enumerate(leaves)])


def _replaced(tangents, given):
    """A tree of (co)tangents with other numbers in place of those that are there."""
    given = iter(given)
    return tree.map(lambda t: t if t is NoTangent else next(given), tangents)


def inner(a, b):
    """The pairing of cotangents and tangents: the real part of sum(a * b) over all leaves that have them."""
    pairs = zip(tree.leaves(a), tree.leaves(b), strict=True)
    pairs = [(x, y) for x, y in pairs if x is not NoTangent and y is not NoTangent]
    return float(sum([np.sum(np.asarray(x) * np.asarray(y)).real for x, y in pairs]))
