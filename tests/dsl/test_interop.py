"""Results are NumPy arrays that others take, and what followed values answer to the rest of Python."""

import copy
import pickle

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick

x0 = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])
follow = pytest.mark.parametrize(
    "under",
    [lambda f: pa.vjp(f, x0), lambda f: pa.jvp(f, (x0,), (x0,)), lambda f: pa.vmap(f)(x0[None]), lambda f: pa.make_ir(f)(x0)],
    ids=["grad", "jvp", "vmap", "ir"],
)


def results():
    """Arrays as each transformation returns them."""
    f = lambda x: pa.sin(x) * 2
    yield "eager", f(x0)
    yield "grad", pa.grad(lambda x: pa.sum(f(x)))(x0)
    yield "jvp", pa.jvp(f, (x0,), (x0,))[1]
    yield "vmap", pa.vmap(f)(x0)
    yield "program", pa.make_ir(f)(x0)(x0)
    yield "created", pa.zeros((2, 3))
    yield "inside", pa.vmap(lambda x: pa.zeros(3) + x)(x0)


@pytest.mark.parametrize(("name", "y"), list(results()))
def test_results_are_plain_arrays(name, y):
    assert type(y) is np.ndarray and y.dtype == np.float64 and y.flags.writeable
    assert np.asarray(y) is y
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(y)), y)
    np.testing.assert_array_equal(copy.deepcopy(y), y)
    np.testing.assert_array_equal(np.from_dlpack(y), y)
    np.testing.assert_array_equal(pa.from_dlpack(y), y)
    y[0, 0] = 7.0


def test_containers_become_dense_arrays_guarded():
    d = pa.Diagonal(np.array([1.0, 2.0]))
    with pa.densify("allow"):
        np.testing.assert_array_equal(np.asarray(d), np.diag([1.0, 2.0]))
    with pa.densify("error"), pytest.raises(pa.DensifyError):
        np.asarray(d)
    again = pickle.loads(pickle.dumps(d))
    assert type(again) is pa.Diagonal
    np.testing.assert_array_equal(again.diag, d.diag)


# --- followed values -------------------------------------------------------------------------------------------


@follow
def test_copies_are_of_their_own(under):
    def f(x):
        for make in (copy.copy, copy.deepcopy, np.copy, lambda v: v.copy(), lambda v: v.flatten().reshape(2, 3)):
            y = make(x)
            assert type(y) is type(x) and y is not x
            y[0, 0] = 5.0
        assert copy.deepcopy({"a": [x]})["a"][0] is not x
        return x * 1

    under(f)


@follow
def test_iteration_and_length(under):
    def f(x):
        assert len(x) == 2 and len(list(x)) == 2 and [len(row) for row in x] == [3, 3]
        a, b = x
        _, *rest = a
        assert len(rest) == 2 and all(v.shape == () for row in x for v in row)
        assert [i for i, _ in enumerate(x)] == [0, 1] and len(list(zip(x, x0, strict=True))) == 2
        for number in (x[0, 0], np.sum(x)):
            with pytest.raises(TypeError):
                len(number)
            with pytest.raises(TypeError):
                iter(number)
        return a + b + sum(row for row in x) + np.stack(list(reversed(list(x)))).sum(0)

    under(f)


@follow
def test_text(under):
    def f(x):
        assert "float64" in repr(x) or "array" in repr(x)
        assert str(x) and f"{x}" and np.array_repr(x)
        return x

    under(f)


@follow
def test_what_leaves_the_transformation_is_refused(under):
    def f(x):
        for leave in (
            lambda: pickle.dumps(x), lambda: np.asarray(x), lambda: np.from_dlpack(x), lambda: float(x[0, 0]),
            lambda: x.tolist(), lambda: x[0, 0].item(), lambda: np.save("never", x), lambda: memoryview(x), lambda: hash([x]),
            lambda: np.ma.masked_array(x), lambda: np.random.default_rng(0).normal(x),
        ):  # fmt: skip
            with pytest.raises((pa.ConcreteValueError, pa.MissingRuleError, TypeError)):
                leave()
        return x

    under(f)


def test_attributes_of_arrays():
    seen = []

    def f(x):
        seen.append((x.shape, x.dtype, x.ndim, x.size, x.T.shape, x.mT.shape, np.shape(x), np.ndim(x), np.size(x), x.device))
        return np.sum(x)

    pa.grad(f)(x0)
    pa.vmap(f)(x0[None])
    pa.make_ir(f)(x0)
    assert len(set(seen)) == 1 and seen[0][:4] == ((2, 3), np.float64, 2, 6)


# --- other array classes as arguments -----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.ma.masked_array, np.matrix], ids=["masked", "matrix"])
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_subclasses_with_rules_of_their_own_are_refused(make):
    x = make(x0)
    for call in (pa.sin, lambda v: pa.grad(lambda x: pa.sum(pa.sin(x)))(v), lambda v: pa.grad(lambda x: pa.sum(x * v))(x0)):
        with pytest.raises(pa.MethodError, match="rules of (their|its) own"):
            call(x)


@pytest.mark.parametrize("x", [x0[::-1, ::2], x0.T, np.asfortranarray(x0), x0.astype(">f8"), np.zeros((0, 3)), np.array(2.0)])
def test_any_layout(x):
    x.flags.writeable = False
    np.testing.assert_allclose(pa.grad(lambda v: pa.sum(pa.exp(v)))(x), np.exp(x))

    def f(v):
        y = v.copy()
        y *= 2
        y[..., None][...] = 3 * v[..., None]
        return np.sum(y * y)

    np.testing.assert_allclose(pa.grad(f)(x) if x.ndim else pa.grad(f)(np.array(x)), 18 * x)


def test_lists_are_trees_of_numbers():
    g = pa.grad(lambda p: p[0] * p[1])([2.0, 3.0])
    assert g == [3.0, 2.0]
    np.testing.assert_array_equal(pa.grad(lambda p: pa.sum(pa.asarray(p) ** 2))([1.0, 2.0]), [2.0, 4.0])
    with pytest.raises(pa.ConcreteValueError, match="polyad.asarray"):
        pa.grad(lambda p: np.sum(p))([1.0, 2.0])
    with pytest.raises(pa.MethodError, match="convert with polyad.asarray"):
        pa.sin([1.0, 2.0])


class Table:
    """What data frames are to others: something that numpy.asarray takes."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.dtype, self.shape, self.ndim = self.values.dtype, self.values.shape, self.values.ndim

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


def test_what_numpy_converts_is_converted_on_request_only():
    t = Table(x0)
    np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(pa.asarray(t) * x))(x0), x0)
    for call in (
        lambda: pa.sin(t), lambda: pa.grad(lambda x: pa.sum(pa.sin(x)))(t), lambda: pa.grad(lambda x: pa.sum(pa.add(x, t)))(x0)
    ):  # fmt: skip
        with pytest.raises(pa.MethodError, match=r"Table.*\n(.*\n)*.*convert the argument with polyad.asarray"):
            call()


def test_pandas():
    pandas = pytest.importorskip("pandas")
    series, frame = pandas.Series([1.0, 2.0]), pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    assert pandas.Series(pa.grad(lambda x: pa.sum(x**2))(np.ones(2))).tolist() == [2.0, 2.0]
    assert pandas.DataFrame(pa.vmap(pa.sin)(x0)).shape == (2, 3)
    np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(pa.asarray(frame) @ x))(np.ones(2)), [3.0, 7.0])
    for call in (lambda: pa.sin(series), lambda: pa.grad(lambda x: np.sum(x))(series)):
        with pytest.raises(pa.MethodError, match="polyad.asarray"):
            call()
    for f in (lambda x: np.sum(series * x), lambda x: (pandas.Series(x) * 2).sum(), lambda x: (series * x[0]).sum()):
        with pytest.raises(pa.ConcreteValueError, match="polyad.asarray|polyad.zeros"):
            pa.grad(f)(np.ones(2))
    for f, slope in ((lambda x: pandas.Series(x).sum(), [1.0, 1.0]), (lambda x: pandas.Series(x)[1] ** 2, [0.0, 2.0])):
        np.testing.assert_array_equal(pa.grad(f)(np.ones(2)), slope)  # a Series takes it for an array and leaves the rest to it


def test_matplotlib(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    x = np.linspace(0, 1, 5)
    figure, axes = pyplot.subplots()
    axes.plot(x, pa.vmap(pa.grad(pa.sin))(x))
    axes.scatter(pa.sin(x), pa.cos(x), c=pa.exp(x))
    figure.savefig(tmp_path / "figure.png")
    pyplot.close(figure)


def test_scipy():
    optimize = pytest.importorskip("scipy.optimize")
    f = lambda x: pa.sum((x - 2.0) ** 2) + pa.sum(pa.sin(x)) * 0.1
    found = optimize.minimize(f, np.zeros(3), jac=pa.grad(f), hess=pa.hessian(f), method="trust-exact")
    assert found.success and np.max(np.abs(pa.grad(f)(found.x))) < 1e-6
    root = optimize.root(pa.grad(f), np.zeros(3), jac=pa.hessian(f))
    np.testing.assert_allclose(root.x, found.x, atol=1e-5)
    from scipy import integrate, sparse

    solved = integrate.solve_ivp(lambda t, y: -pa.sin(y), (0, 1), [1.0, 0.5])
    assert solved.success
    assert (sparse.csr_matrix(pa.eye(3)) @ pa.ones(3)).sum() == 3
