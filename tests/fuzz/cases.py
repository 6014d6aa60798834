"""What the net calls: an operation at a size, in a dtype, in a layout, by itself or under a derivative.

Pure functions of a `Case`.
"""

import functools
import zlib
from dataclasses import dataclass, replace

import numpy as np

import polyad as pa
from polyad.dsl import operations

from .layouts import LAYOUTS
from .programs import PROGRAMS, SUMS
from .samples import converted, template

SIZES = (1, 2, 3, 7, 8, 9, 16, 17, 33, 255, 300, 1000, 20000)
DTYPES = ("f8", "c16", "f2", "f4", "c8", ">f8", ">c16", ">f4", "u1", "u8", "i4", "i8", "i1", ">i4", "?")
MODES = ("value", "gradient", "tangent")
SQUARE = 300  # the largest side of a square matrix, and the longest axis of what takes long
STEPS = ("scan", "convolve", "correlate", "polymul")
MOST = 2e5  # elements of a value


class Refused(Exception):
    """The operation does not take such arguments: there is nothing to compare."""


@dataclass(frozen=True)
class Case:
    """name: of an operation, or of one of `PROGRAMS`; sample: which of its samples; size: the new length of an axis; mode:
    one of MODES. seed: of the values, and of which axis has that length."""

    name: str
    sample: int
    size: int
    dtype: str
    layout: str
    mode: str
    seed: int = 0

    def but(self, **changes):
        return replace(self, **changes)


def subjects():
    """(name, number of samples) of all that can be called."""
    found = {name: len(op.card.samples) for name, op in operations.items() if not op.card.collective and not op.card.acts({})}
    found |= {name: len(samples) for name, (_, samples) in PROGRAMS.items()}
    return {name: count for name, count in found.items() if count}


def smooth(name):
    """Whether there are derivatives."""
    return name not in operations or operations[name].card.differentiable


def subject(name):
    """(function, samples)"""
    if name in PROGRAMS:
        return PROGRAMS[name]
    return operations[name], operations[name].card.samples


class Call:
    """A case as it is called: `f(*xs)` gives a list of arrays. `plain(*arrays)` is the operation itself; `arrays` begin
    `xs`, and weights or tangents follow."""

    def __init__(self, case, plain, arrays):
        self.case, self.plain, self.arrays = case, plain, arrays
        self.smooth = tuple([i for i, x in enumerate(arrays) if x.dtype.kind in "fc"])
        value = [y for y in pa.tree.leaves(self.plain(*arrays)) if hasattr(y, "dtype")]
        floating = [y for y in value if y.dtype.kind in "fc"]
        if not all(y.dtype.kind in "biufc" for y in value):
            raise Refused("a result that is no array of numbers")
        if case.mode != "value" and not (self.smooth and floating and smooth(case.name)):
            raise Refused("no derivative")
        rng = np.random.default_rng(case.seed + 1)
        like = {"value": [], "gradient": floating, "tangent": [arrays[i] for i in self.smooth]}[case.mode]
        self.weights = [weight(np.asarray(y), rng) for y in like]
        self.xs = [*arrays, *self.weights]
        self.f = WAYS[case.mode](self.plain, len(arrays), self.smooth)


def filled(function, rest, places, structure, params):
    """The function of the arrays alone, without any array that is remembered."""

    def plain(*arrays):
        given = list(rest)
        for i, x in zip(places, arrays, strict=True):
            given[i] = x
        return function(*pa.tree.unflatten(structure, given), **params)

    return plain


def results(y, kinds="biufc"):
    return [part for part in pa.tree.leaves(y) if hasattr(part, "dtype") and part.dtype.kind in kinds]


def value_of(plain, n, smooth):
    return lambda *xs: results(plain(*xs))


def gradient_of(plain, n, smooth):
    def gradient(*xs):
        weights = xs[n:]
        return list(pa.grad(lambda *arrays: total(results(plain(*arrays), "fc"), weights), argnums=smooth)(*xs[:n]))

    return gradient


def tangent_of(plain, n, smooth):
    def tangent(*xs):
        def g(*some):
            full = list(xs[:n])
            for i, x in zip(smooth, some, strict=True):
                full[i] = x
            return results(plain(*full), "fc")

        y, dy = pa.jvp(g, tuple([xs[i] for i in smooth]), tuple(xs[n:]))
        return [*y, *dy]

    return tangent


WAYS = {"value": value_of, "gradient": gradient_of, "tangent": tangent_of}


def total(ys, weights):
    """The number of which gradients are taken."""
    return sum([pa.sum(pa.real(w * y)) for y, w in zip(ys, weights, strict=True)], 0.0)


def weight(y, rng):
    """Numbers near 1 of an array's shape and dtype."""
    w = rng.uniform(0.5, 1.5, y.shape)
    return (w + 0.5j if y.dtype.kind == "c" else w).astype(y.dtype)[()]


def build(case):
    """The Call of a case. Raises Refused where eager execution raises, or the sample has no such size."""
    made = template(subject(case.name)[1][case.sample])
    rng = np.random.default_rng([case.seed, zlib.crc32(case.name.encode()), case.size])
    reason = "no axis"
    for lengths, numbers in choices(made, case, rng):
        if too_large(made, case, lengths, numbers):
            continue
        try:
            return with_lengths(made, case, lengths, numbers)
        except ERRORS as error:
            reason = f"{type(error).__name__}: {error}"
    raise Refused(reason)


ERRORS = (pa.PolyadError, TypeError, ValueError, IndexError, ZeroDivisionError, OverflowError, AttributeError)


def with_lengths(made, case, lengths, numbers):
    """The Call of a sample with axes of other lengths. Raises one of ERRORS or Refused."""
    leaves, params = made.changed(lengths, numbers, np.random.default_rng(case.seed))
    lay = LAYOUTS[case.layout]
    arrays = [converted(leaves[i], case.dtype) for i in made.places]
    arrays = [lay(x) if isinstance(x, np.ndarray) and (k == 0 or case.seed % 2) else x for k, x in enumerate(arrays)]
    rest = [None if i in made.places else x for i, x in enumerate(leaves)]
    call = Call(case, filled(subject(case.name)[0], rest, made.places, made.structure, params), arrays)
    call.rest, call.places, call.structure, call.params = rest, made.places, made.structure, params  # for the text of it
    return call


def choices(made, case, rng):
    """Ways to change lengths, in the order in which they are tried: one axis gets the size, at times another gets length 1."""
    if not made.lengths:
        if case.size == 1:
            yield {}, False
        return
    primaries = [made.lengths[i] for i in rng.permutation(len(made.lengths))]
    if rng.random() < 0.25:
        yield dict.fromkeys(made.lengths, case.size), False
    one = {n: 1 for n in made.lengths if rng.random() < 0.4}
    for primary in primaries:
        for others in [{k: v for k, v in one.items() if k != primary}, {}] if one else [{}]:
            for numbers in (False, True):
                yield {**others, primary: case.size}, numbers


def too_large(made, case, lengths, numbers):
    """Whether arrays, or what is made of them, would have more than some 10^5 elements."""
    new = [np.prod([lengths.get(n, n) for n in shape], dtype=float) for shape in made.shapes]
    if case.name in SUMS:
        return max(new) > 1e6 or case.mode == "tangent" and case.size > 20000
    if max(new, default=0) > 1e5 or (case.size > SQUARE and (made.square or case.name in STEPS)):
        return True
    changed = tuple([k for k, n in lengths.items() if n == case.size])
    return case.size > 33 and largest(case.name, case.sample, changed, numbers, case.size) > MOST


def largest(name, sample, changed, numbers, size):
    """About how many elements the largest value on the way has, from its growth at small sizes."""
    few, many = elements(name, sample, changed, numbers)
    return many * (size / 32) ** np.log2(many / few)


@functools.cache
def elements(name, sample, changed, numbers):
    """The elements of the largest value on the way, where these lengths are 16 and where they are 32."""
    counts = []
    for n in (16, 32):
        case = Case(name, sample, n, "f8", "plain", "value")
        try:
            call = with_lengths(template(subject(name)[1][sample]), case, dict.fromkeys(changed, n), numbers)
            values = [v for e in pa.make_ir(call.f)(*call.xs).equations for v in e.outputs]
        except (*ERRORS, Refused):
            return 1, 4
        counts.append(max([1, *[int(np.prod(v.aval.shape)) for v in values]]))
    return counts
