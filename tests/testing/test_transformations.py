"""`check_transformation` takes a right transformation and finds planted faults; what a transformation is made of is public."""

import numpy as np
import pytest

import polyad as pa
from polyad.testing import check_transformation
from polyad.testing.transformations import SAMPLES


class Counted(pa.Layer):
    """A value of which the operations are counted."""

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
            r.counts[generic.name] = r.counts.get(generic.name, 0) + 1
            y = generic.spread(*[a.value if m else a for a, m in zip(args, mine, strict=True)], **params)
            return pa.tree.map(lambda v: cls(v, r), y)

        return run

    lift = pa.step_into


class Count(pa.Run):
    kind = Counted

    def __init__(self):
        super().__init__("count")
        self.counts = {}

    def constant(self, value):
        return self.kind[self.depth](pa.snapshot(value), self)

    def below(self, x):
        return x.value if type(x) is self.kind[self.depth] and x.run is self else x


def count(f, make=Count):
    """f with the numbers of its operations beside its result."""

    def counted(*args):
        with make() as run:
            result = f(*pa.tree.map(run.constant, args))
            return pa.tree.map(run.below, result), run.counts

    return counted


def valued(make=Count):
    return lambda f: lambda *args: count(f, make)(*args)[0]


def test_a_right_one_passes():
    check_transformation(valued(), functions=[lambda x: pa.sum(x) * x, lambda x: pa.linalg.inv(pa.outer(x, x) + np.eye(4))])


@pytest.mark.parametrize("f, counts", [
    (lambda x: pa.sum(pa.sin(x) * x), {"sin": 1, "multiply": 1, "sum": 1}),
    (lambda x: np.sum(np.sin(x) * x), {"sin": 1, "multiply": 1, "sum": 1}),
    (pa.jit(lambda x: np.sin(x) + 1.0), {"sin": 1, "add": 1}),
    (lambda x: pa.cond(True, lambda x: -x, lambda x: x * x * x, x), {"negative": 1}),
    (lambda x: pa.fori_loop(0, 5, lambda i, y: pa.cos(y), x), {"cos": 5}),
    (lambda x: pa.Diagonal(x) @ np.ones(3), {"multiply": 1}),
    (pa.vmap(lambda v: v * v if v > 0.0 else pa.sin(v)), {"greater": 1, "multiply": 1}),
    (lambda x: 2.0, {}),
])  # fmt: skip
def test_counts(f, counts):
    x = np.array([0.1, 0.2, 0.3])
    value, found = count(f)(x)
    np.testing.assert_allclose(value, f(x))
    assert found == counts


def test_outer_counts_include_derivatives_and_inner_ones_do_not():
    f = lambda x: pa.sum(pa.sin(x))
    x = np.ones(3)
    assert count(pa.grad(f))(x)[1]["cos"] == 1
    inner = []
    pa.grad(lambda x: inner.append(count(f)(x)) or inner[0][0])(x)
    assert inner[0][1] == {"sin": 1, "sum": 1}


def test_programs_without_lift():
    """Without `lift` an operation on programs is one operation."""

    class Whole(Counted):
        lift = None

    class Wholes(Count):
        kind = Whole

    f = lambda x: pa.cond(x[0] > 0.0, lambda x: pa.sin(x) * x, lambda x: x, x)
    for g, name in ((pa.jit(f), "call"), (pa.make_ir(f)(np.ones(3)), "choice")):
        whole, inside = count(g, Wholes)(np.ones(3))[1], count(g)(np.ones(3))[1]
        assert whole[name] == 1 and "sin" not in whole
        assert name not in inside and (inside["sin"], inside["multiply"]) == (1, 1)


# --- planted faults -------------------------------------------------------------------------------------------


class Unchecked(Counted):
    @classmethod
    def target(cls, generic, types):
        mine = [t is cls for t in types]

        def run(*args, **params):
            r = args[mine.index(True)].run
            y = generic.spread(*[a.value if m else a for a, m in zip(args, mine, strict=True)], **params)
            return pa.tree.map(lambda v: cls(v, r), y)

        return run


class Uncheckeds(Count):
    kind = Unchecked


class Dropped(Counted):
    """Values above a half are lost."""

    @classmethod
    def target(cls, generic, types):
        right = Counted.target.__func__(cls, generic, types)
        return lambda *args, **params: right(*args, **params) if generic.name != "sin" else right(*args, **params) * 1.5


class Droppeds(Count):
    kind = Dropped


def without_with(f):
    def g(*args):
        run = Count()
        run.__enter__()
        result = pa.tree.map(run.below, f(*pa.tree.map(run.constant, args)))
        run.__exit__(None, None, None)
        return result

    return g


def with_values_left(f):
    def g(*args):
        with Count() as run:
            return f(*pa.tree.map(run.constant, args))

    return g


def frozen(f):
    """It computes with NumPy's numbers in the place of what is followed."""
    return lambda x: f(np.asarray(pa.concrete(x)))


def as_lists(f):
    return lambda x: pa.tree.map(lambda leaf: leaf, [f(x)])


FAULTS = {
    "unchecked": (valued(Uncheckeds), "values that were taken out.*they can be used: call check_runs in the target"),
    "another value": (valued(Droppeds), r"NumPy code.*Mismatched elements"),
    "no end after errors": (without_with, "values that were taken out.*its run does not end: enter it in a with statement"),
    "values in the result": (with_values_left, r"operations: the result holds a Counted\[1\]: take the values of the run out"),
    "no derivative": (frozen, "inside (jit|vmap|grad|checkpoint)"),
    "another structure": (as_lists, "instead of"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault):
    transform, said = FAULTS[fault]
    with pytest.raises(AssertionError, match=f"(?s){said}"):
        check_transformation(transform)
    assert pa.dispatch.current_depth() == (1 if fault == "no end after errors" else 0)
    if fault == "no end after errors":
        pa.dispatch.innermost_run().__exit__(None, None, None)


def test_a_function_of_ones_own_is_named():
    calls = []

    def wrong(f):
        return lambda x: f(x) + (0.0 if f in known else 1.0)

    from polyad.testing.transformations import SAMPLES

    known = set(SAMPLES.values())
    with pytest.raises(AssertionError, match=r"(?s)functions\[0\]|twice"):
        check_transformation(lambda f: wrong(f) if f is own else f, functions=[own := lambda x: calls.append(x) or x * 2.0])


@pytest.mark.parametrize(
    "x, dtype", [(2.0, "float64"), (3, "int64"), (True, "bool"), (1j, "complex128"), (np.float32(2), "float32")]
)
def test_python_numbers_stay_what_they_are(x, dtype):
    """A number below has no dtype of its own, and goes with the dtype of what it meets."""
    seen = []
    f = lambda x: seen.append((x.shape, str(x.dtype))) or x * np.ones(2, np.float32)
    y = count(f)(x)[0]
    assert seen == [((), dtype)] and y.dtype == (x * np.ones(2, np.float32)).dtype
    with pytest.raises(pa.ConcreteValueError, match=rf"of a Counted\[1\] of {dtype}\[\]"):
        count(float)(x)


def test_a_gradient_of_a_number_inside():
    assert count(pa.grad(lambda x: x * x))(3.0)[0] == 6.0


def test_kinds():
    """Only the kinds that are named, and the functions given beside them."""
    tried = []

    def transform(f):
        tried.append(f)
        return f

    mine = lambda x: x * 2.0
    check_transformation(transform, kinds=(), functions=[mine])
    assert mine in tried and SAMPLES["if"] not in tried
    check_transformation(transform, kinds=["if"])
    assert SAMPLES["if"] in tried and SAMPLES["scan"] not in tried
    with pytest.raises(ValueError, match="no kinds .'iff'.; there are .*'if'"):
        check_transformation(transform, kinds=["iff"])
