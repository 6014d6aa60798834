"""Every operation in both modes, under the transformations in several orders, and by the arrays beside each array type."""

import warnings

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations
from polyad.testing.comparing import agree, inexact, random_like
from polyad.testing.rules import flat

SEEDS = (7, 8, 9)


def smallest_samples():
    """One sample of each differentiable operation: that of the fewest elements among those with floating arguments."""
    for name, op in operations.items():
        if not op.card.differentiable:
            continue
        drawn = [(make, make(np.random.default_rng(7))) for make in op.card.samples]
        drawn = [(make, flat(op, args), params) for make, (args, params) in drawn]
        drawn = [d for d in drawn if any(inexact(x) for x in d[1]) and all(np.size(x) for x in d[1] if x is not None)]
        if drawn:
            yield pytest.param(op, *min(drawn, key=lambda d: sum(np.size(x) for x in d[1])), id=name)


class Case:
    """One operation as a function of the floating arrays of a sample, with three lanes of them."""

    def __init__(self, op, make, args, params):
        self.op, self.args, self.params = op, args, params
        self.places = [i for i, x in enumerate(args) if inexact(x)]
        rows = [flat(op, make(np.random.default_rng(seed))[0]) for seed in SEEDS]
        self.lanes = [tuple(row[i] for i in self.places) for row in rows]
        rng = np.random.default_rng(3)
        self.tangents = [tuple(random_like(rng, x) for x in lane) for lane in self.lanes]
        self.ct = pa.tree.map(lambda y: random_like(rng, np.asarray(y)[()]), self(*self.lanes[0]))

    def __call__(self, *xs):
        full = list(self.args)
        for i, x in zip(self.places, xs, strict=True):
            full[i] = x
        y = self.op.generic.spread(*full, **self.params)
        return [part for part in y if part.dtype.kind in "fc"] if isinstance(y, tuple) else y

    def pull(self, *xs):
        """The reverse rule."""
        return pa.vjp(self, *xs)[1](self.ct)

    def push(self, *xs):
        """The forward rule, along a fixed direction."""
        return pa.jvp(self, xs, self.tangents[0])[1]


def transposed(f):
    """The pullback of f applied to f's own value."""

    def g(*xs):
        y, pullback = pa.vjp(f, *xs)
        return pullback(y)

    return g


def along(f, n):
    """The tangent of f: of the first n arguments by the others."""
    return lambda *both: pa.jvp(f, both[:n], both[n:])[1]


@pytest.mark.parametrize(("op", "make", "args", "params"), list(smallest_samples()))
def test_orders_of_transformations(op, make, args, params):
    """Lanes inside and outside of both modes, two deep, against loops over the lanes; and all of it in a program."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", pa.PerformanceWarning)
        case = Case(op, make, args, params)
        if not pa.tree.leaves(case.ct):
            return
        n = len(case.places)
        stacked = lambda rows: tuple(np.stack(column) for column in zip(*rows, strict=True))
        X, T = stacked(case.lanes), stacked(case.tangents)
        loop = lambda f, rows: pa.tree.map(lambda *parts: np.stack(parts), *[f(*row) for row in rows])
        both = [x + t for x, t in zip(case.lanes, case.tangents, strict=True)]
        lanes_of = lambda f: lambda *xs: pa.vmap(f)(*xs)

        tangents = loop(along(case.pull, n), both)
        agree(pa.jvp(lanes_of(case.pull), X, T)[1], tangents, rtol=1e-9, atol=1e-11)  # jvp of vmap of vjp
        agree(pa.vmap(along(case.pull, n))(*X, *T), tangents, rtol=1e-9, atol=1e-11)  # vmap of jvp of vjp
        pulled = loop(transposed(case.push), case.lanes)
        agree(transposed(lanes_of(case.push))(*X), pulled, rtol=1e-9, atol=1e-11)  # vjp of vmap of jvp
        agree(pa.vmap(transposed(case.push))(*X), pulled, rtol=1e-9, atol=1e-11)  # vmap of vjp of jvp
        twice = loop(transposed(case.pull), case.lanes)
        agree(pa.vmap(transposed(case.pull))(*X), twice, rtol=1e-9, atol=1e-11)  # vmap of vjp of vjp
        program = pa.make_ir(transposed(lanes_of(case.pull)))(*X)  # vjp of vmap of vjp, traced
        agree(program(*X), twice, rtol=1e-9, atol=1e-11)


# ---------------------------------------------------------------------- beside the array types
INSTANCES = {
    "Diagonal": lambda rng: pa.Diagonal(rng.uniform(0.5, 1.5, 3)),
    "Zeros": lambda rng: pa.Zeros((3, 3)),
    "OneHot": lambda rng: pa.OneHot(np.array([2, 0, 1]), 3),
}
PAIRS = [op for op in operations.values() if op.generic.arity == 2 and op.card.differentiable and not op.card.collective]


@pytest.mark.parametrize("op", PAIRS, ids=lambda op: op.__name__)
def test_by_the_array_beside_an_array_type(op, each):
    """Both modes, second order and lanes by the dense argument, as beside the dense form."""
    each({name: (op, name) for name in INSTANCES}, as_beside_the_dense_form)


def as_beside_the_dense_form(op, name):
    if any(op.generic.signature.parameters[p].default is op.generic.signature.empty for p in op.generic.params):
        return
    rng = np.random.default_rng(5)
    x, w, dw = INSTANCES[name](rng), rng.uniform(0.5, 1.5, (3, 3)), rng.standard_normal((3, 3))
    with pa.densify("allow"), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", pa.PerformanceWarning)
        for order in ((0, 1), (1, 0)):

            def f(w, beside, order=order):
                y = op(*[(beside, w)[i] for i in order])
                return y.dense() if isinstance(y, pa.Container) else y

            try:
                expected = f(w, x.dense())
                if np.shape(expected) == () or not inexact(expected) or not np.all(np.isfinite(expected)):
                    continue
                reference = pa.jvp(lambda w: f(w, x.dense()), (w,), (dw,))[1]
            except (pa.PolyadError, TypeError, ValueError):
                continue
            loss = lambda w, beside: pa.sum(pa.sin(f(w, beside)))
            agree(pa.jvp(lambda w: f(w, x), (w,), (dw,))[1], reference)
            uses = [
                (pa.grad, w),
                (lambda g: lambda w: pa.hvp(g, w, dw), w),
                (lambda g: pa.vmap(pa.grad(g)), np.stack([w, w.T])),
                (lambda g: pa.grad(lambda ws: pa.sum(pa.vmap(g)(ws))), np.stack([w, w.T])),
            ]
            for use, at in uses:
                found, right = [use(lambda w, b=b: loss(w, b))(at) for b in (x, x.dense())]
                agree(found, right, rtol=1e-9, atol=1e-11)
