# %% [markdown]
# # A transformation of your own
#
# `grad`, `vmap` and `jit` are layers: values that stand for arrays, and a rule that says what an operation does with them.
# Dispatch sends each call to the deepest layer among its arguments, whatever the others are. So a new transformation is one
# class and one run, and nests with those that are there, in both orders, without knowing of them.
#
# | what you need | where it is |
# |---|---|
# | the class of your values | `polyad.Layer`: a subclass with `target` |
# | one execution of the transformation | `polyad.Run`: a context manager |
# | values that cannot leave it unnoticed | `polyad.check_runs`, the first line of a rule |
# | what is kept stays what it is when user code writes `x[i] = v` | `polyad.snapshot` |
# | Python's `if` and indices | `polyad.concrete` |
# | operations on programs: `cond`, `scan`, loops, compiled functions | `polyad.step_into` |
# | arguments and results in trees and array types | `polyad.tree.map` |
# | whether it is right | `polyad.testing.check_transformation` |
#
# We write two: one that counts operations, and one that encloses each result between bounds.

# %%
from collections import Counter
from functools import reduce
from pathlib import Path

import matplotlib
import numpy as np

import polyad as pa
from polyad.testing import check_transformation

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  after the choice of the drawing engine

rng = np.random.default_rng(0)
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5))


# %% [markdown]
# ## 1. Counting operations
#
# A counted value holds the value below it and the run it belongs to. `holds` names that slot: shape, dtype and what Python's
# `isinstance` answers come from there. `target` is asked once for each operation and combination of types, and returns the
# function that carries it out: note the name, call the same operation on the values below, wrap what comes out.


# %%
class Counted(pa.Layer):
    """A value whose operations are counted."""

    __slots__ = ("run", "value")
    holds = "value"

    def __init__(self, value, run):
        self.value, self.run = value, run

    def concrete(self):
        return pa.concrete(self.value)

    @classmethod
    def target(cls, generic, types):
        mine = [t is cls for t in types]

        def run(*args, **params):
            r = args[mine.index(True)].run
            pa.check_runs(r, args, cls)
            r.counts[generic.name] += 1
            y = generic.spread(*[a.value if m else a for a, m in zip(args, mine, strict=True)], **params)
            return pa.tree.map(lambda v: cls(v, r), y)

        return run

    lift = pa.step_into


# %% [markdown]
# The run keeps the counts. `constant` makes a value of this transformation of any other; polyad asks for it where user code
# writes counted values into an array that was not. Arguments go in by it, and results come out by `below`.


# %%
class Count(pa.Run):
    def __init__(self):
        super().__init__("count")
        self.counts = Counter()

    def constant(self, value):
        return Counted[self.depth](pa.snapshot(value), self)

    def below(self, x):
        return x.value if type(x) is Counted[self.depth] and x.run is self else x


def count(f):
    """f, with the numbers of its operations beside its result."""

    def counted(*args):
        with Count() as run:
            result = f(*pa.tree.map(run.constant, args))
            return pa.tree.map(run.below, result), run.counts

    return counted


def loss(x):
    return pa.sum(pa.sin(x) * x)


x = np.array([0.3, 0.5, 0.7])
value, counts = count(loss)(x)
assert value == loss(x) and counts == {"sin": 1, "multiply": 1, "sum": 1}
assert count(lambda x: np.sum(np.sin(x) * x))(x)[1] == counts  # NumPy's own functions go the same way

# %% [markdown]
# ## 2. Inside and around the others
#
# Nothing was said of derivatives, lanes or programs. Counting a gradient counts what the gradient does; differentiating a
# counted function leaves the count what it is; `vmap` runs an operation once for all lanes.

# %%
assert count(pa.grad(loss))(x)[1] == {"sin": 1, "multiply": 4, "sum": 1, "cos": 1, "add": 1}
assert np.array_equal(pa.grad(lambda x: count(loss)(x)[0])(x), pa.grad(loss)(x))
assert count(pa.vmap(loss))(np.stack([x, 2 * x]))[1] == counts
assert count(pa.jit(loss))(x)[1] == counts
assert pa.jit(lambda x: count(loss)(x)[0])(x) == loss(x)
assert count(lambda x: pa.fori_loop(0, 10, lambda i, y: pa.cos(y), x))(x)[1] == {"cos": 10}
assert count(lambda d: d @ np.ones(3))(pa.Diagonal(x))[1] == {"multiply": 1}  # an array type's own method


def in_place(x):
    y = pa.zeros_like(x)
    y[0] = x[1]
    y[1:] += x[:-1]
    return y


assert np.array_equal(count(in_place)(x)[0], in_place(x))
print("one gradient:", dict(count(pa.grad(loss))(x)[1]))

# %% [markdown]
# `check_transformation` tries all of this, for functions of each kind, and reports the first that differs. It also takes values
# out of the transformation and uses them afterwards, which must be an error.

# %%
check_transformation(lambda f: lambda *args: count(f)(*args)[0])

stolen = []
count(lambda x: stolen.append(x) or x)(x)
try:
    stolen[0] + 1.0
except pa.LeakedLayerError as error:
    print(error)
else:
    raise AssertionError("a value was used after the end of its transformation")

# %% [markdown]
# What is it good for? The reverse mode's promise: a gradient costs a small multiple of the function, whatever the number of
# arguments. Forward mode pays for each of them. In numbers of elements that operations go through:


# %%
class Worked(Counted):
    """The same, with the number of elements of each result."""

    __slots__ = ()

    @classmethod
    def target(cls, generic, types):
        counted = super().target(generic, types)

        def run(*args, **params):
            y = counted(*args, **params)
            args[types.index(cls)].run.counts["elements"] += sum(part.size for part in pa.tree.leaves(y))
            return y

        return run


class Work(Count):
    def constant(self, value):
        return Worked[self.depth](pa.snapshot(value), self)


def work(f, x):
    with Work() as run:
        f(run.constant(x))
    return run.counts["elements"]


def network(x):
    for _ in range(4):
        x = pa.tanh(0.5 * x + 0.1 * x[::-1])
    return pa.sum(x * x)


sizes = [2, 4, 8, 16, 32]
points = [rng.normal(size=n) for n in sizes]
plain = np.array([work(network, p) for p in points])
for name, derivative in (("grad", pa.grad(network)), ("jacfwd", pa.jacfwd(network)), ("hessian", pa.hessian(network))):
    cost = np.array([work(derivative, p) for p in points]) / plain
    left.loglog(sizes, cost, "o-", label=name)
    if name == "grad":
        assert cost.max() < 6.0
    else:
        assert cost[-1] > 3.0 * cost[0]
left.set(title="work of a derivative", xlabel="arguments", ylabel="elements, times the function's")
left.legend()

# %% [markdown]
# ## 3. Bounds
#
# The second one changes what is computed: a value and an interval that is sure to hold the result for every argument between
# bounds. Now each operation needs a rule. Rules are written in polyad's operations, so that the bounds themselves can be
# differentiated and compiled. An operation without a rule is refused rather than guessed: that is one line.
#
# What a rule is called with is what the operation is: its arrays in order, here each as its two bounds, and its parameters by
# keyword. `x[i]` is the operation `index`; arrays of positions in i are arrays of the operation, and all else of i is its
# parameter `spec`, in a form of polyad's own that only `index` and its kin read (`help(pa.index)`): a rule hands it on.
# The derivative of `index` is `index_add`, that of `sum` is `broadcast_to`, and lanes are indexed as one array: with these
# rules the bounds nest in both orders.


# %%
def monotone(op):
    return lambda a: (op(a[0]), op(a[1]))


def at_both(op):
    return lambda *args, **params: (op(*[a[0] for a in args], **params), op(*[a[1] for a in args], **params))


def product(a, b):
    ends = [a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]]
    return reduce(pa.minimum, ends), reduce(pa.maximum, ends)


def square(a):
    nearest = pa.maximum(0.0, pa.maximum(a[0], -a[1]))  # to 0
    return nearest * nearest, pa.maximum(a[0] * a[0], a[1] * a[1])


BOUNDS = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "multiply": product,
    "masked_product": product,  # a product in derivatives, in which 0 times infinity is 0
    "negative": lambda a: (-a[1], -a[0]),
    "square": square,
    "minimum": at_both(pa.minimum),
    "maximum": at_both(pa.maximum),
    "exp": monotone(pa.exp),
    "tanh": monotone(pa.tanh),
    "greater": lambda a, b: (a[0] > b[1], a[1] > b[0]),
    "index": at_both(pa.index),
    "index_add": at_both(pa.index_add),
    "sum": at_both(pa.sum),
    "broadcast_to": at_both(pa.broadcast_to),
    "expand_dims": at_both(pa.expand_dims),
    "reshape": at_both(pa.reshape),
    "transpose": at_both(pa.transpose),
}


class Bounded(pa.Layer):
    """A value and bounds of what it may be."""

    __slots__ = ("high", "low", "run", "value")
    holds = "value"

    def __init__(self, value, low, high, run):
        self.value, self.low, self.high, self.run = value, low, high, run

    @classmethod
    def target(cls, generic, types):
        mine, rule = [t is cls for t in types], BOUNDS.get(generic.name)
        if rule is None:
            raise pa.MissingRuleError(f"bounds: no rule for {generic.name}; add one to BOUNDS")

        def run(*args, **params):
            r = args[mine.index(True)].run
            pa.check_runs(r, args, cls)
            y = generic.spread(*[a.value if m else a for a, m in zip(args, mine, strict=True)], **params)
            low, high = rule(*[(a.low, a.high) if m else (a, a) for a, m in zip(args, mine, strict=True)], **params)
            return cls(y, low, high, r)

        return run

    lift = pa.step_into


class Bounds(pa.Run):
    def constant(self, value):
        return Bounded[self.depth](value, value, value, self)


def bounds(f):
    """Function (low, high) -> bounds of f(x) for every x between, elementwise."""

    def bounded(low, high):
        with Bounds("bounds") as run:
            middle = Bounded[run.depth](pa.snapshot(0.5 * (low + high)), pa.snapshot(low), pa.snapshot(high), run)
            y = f(middle)
            mine = lambda v: type(v) is Bounded[run.depth]
            return pa.tree.map(lambda v: v.low if mine(v) else v, y), pa.tree.map(lambda v: v.high if mine(v) else v, y)

    return bounded


# %% [markdown]
# `concrete` was left out: a value that may be several numbers answers no `if`. `x > 0` is an operation like all others, with
# a rule in the table; that Python asks for its truth is then an error, which names the class and what it lacks. The bounds
# hold for any point we try, and for all of them at once under `vmap`.


# %%
def valley(x):
    return pa.tanh(x[0]) * pa.exp(-(x[1] ** 2)) + 0.1 * x[0]


low, high = np.array([-0.5, 0.2]), np.array([0.3, 0.8])
least, most = bounds(valley)(low, high)
samples = pa.vmap(valley)(rng.uniform(low, high, size=(1000, 2)))
assert least <= samples.min() and samples.max() <= most
try:
    bounds(lambda x: x if x > 0.0 else -x)(-1.0, 1.0)
except pa.ConcreteValueError as error:
    print(error)
else:
    raise AssertionError("a branch on bounds was taken")
print(f"between {least:.3f} and {most:.3f}; sampled {samples.min():.3f} to {samples.max():.3f}")

# %% [markdown]
# Where both bounds are one point, the function with bounds is the function itself. That is what `check_transformation` wants to
# see. Of the functions that it brings along most have operations without a rule here: `kinds=()` leaves it with ours.

# %%
check_transformation(
    lambda f: lambda x: bounds(f)(x, x)[0],
    kinds=(),
    functions=[
        lambda x: pa.exp(x[0]) * pa.exp(-(x[1] ** 2)) + 0.1 * x[0],
        lambda x: pa.sum(x[1:] * pa.exp(x[::-1][:-1])),
        lambda x: pa.square(x[np.array([2, 0, 2])]) - x[1:],
        lambda x: pa.fori_loop(0, 3, lambda i, y: pa.exp(-y) + x, x),
    ],
)

cells = np.linspace(-2.0, 2.0, 41)
wave = lambda x: pa.tanh(3.0 * x) * pa.exp(-(x**2))
under, over = pa.jit(pa.vmap(bounds(wave)))(cells[:-1], cells[1:])
inside = np.linspace(cells[:-1], cells[1:], 9)
assert np.all(under <= wave(inside)) and np.all(wave(inside) <= over)
right.fill_between(cells, np.append(under, under[-1]), np.append(over, over[-1]), step="post", alpha=0.3, label="bounds")
right.plot(np.linspace(-2, 2, 400), wave(np.linspace(-2, 2, 400)), label="function")
right.set(title="a function between its bounds, in 40 cells", xlabel="x")
right.legend()

# %% [markdown]
# Bounds of a derivative are those of the function that computes it: `bounds(grad(f))`. Where they leave 0 out, f is monotone.
# And since rules are operations, the width of the bounds has a gradient: here it says which argument to narrow first.

# %%
slope = bounds(pa.grad(lambda x: pa.exp(x) - 0.25 * pa.square(x)))(0.0, 1.0)
assert slope[0] > 0.0
width = lambda high: pa.subtract(*bounds(valley)(low, high)[::-1])
print("d width / d high:", pa.grad(width)(high))
pa.check_grads(width, (high,))

try:
    bounds(pa.cos)(0.0, 1.0)
except pa.MissingRuleError as error:
    print(error)
else:
    raise AssertionError("an operation without a rule was not refused")

# %%
figure.tight_layout()
figure.savefig(Path(__file__).with_name("07_a_transformation_of_your_own.png"), dpi=120)
print("counted, bounded")
