"""Explicit graphs against formulas, finite differences and `grad`."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.programs import check

pytestmark = pytest.mark.quick

close = np.testing.assert_allclose


def run(f, *args):
    """The function's result, its program checked and its source run."""
    check(f.program)
    y = f(*args)
    namespace = {}
    exec(f.code, namespace)
    leaves = pa.tree.leaves(args)
    flat = namespace["graph"](*[np.asarray(x, v.aval.dtype)[()] for x, v in zip(leaves, f.program.inputs, strict=True)])
    flat = flat if isinstance(flat, tuple) else (flat,)
    for a, b in zip(flat, pa.tree.leaves(y), strict=True):
        close(a, b)
    return y


def test_theano_example():
    a, b = pa.placeholder(), pa.placeholder()
    c = a * b
    f = pa.function([a, b], pa.gradients(c, a))
    assert run(f, 1.5, 2.5) == 2.5


def test_first_example():
    x = pa.placeholder((3,), float)
    y = pa.sum(pa.sin(x))
    (gx,) = pa.gradients(y, [x])
    f = pa.function([x], [y, gx])
    value, slope = run(f, np.arange(3.0))
    close(value, np.sin(np.arange(3.0)).sum())
    close(slope, np.cos(np.arange(3.0)))
    assert str(f).startswith("graph(a: float64[3]):") and [e.op.__name__ for e in f.program.equations].count("sin") == 1


def test_operations_of_all_kinds_and_numpy_code(rng):
    x, w = pa.placeholder((4, 3)), pa.placeholder((3, 2))
    h = np.tanh(x @ w)
    s = pa.softmax(h) + h.T.reshape(4, 2)
    y = np.mean(s**2) + pa.linalg.slogdet(w.T @ w)[1]
    gw = pa.gradients(y, w)
    f = pa.function([x, w], (y, gw))

    def plain(x, w):
        h = np.tanh(x @ w)
        return np.mean((pa.softmax(h) + h.T.reshape(4, 2)) ** 2) + pa.linalg.slogdet(w.T @ w)[1]

    a, b = rng.normal(size=(4, 3)), rng.normal(size=(3, 2))
    value, slope = run(f, a, b)
    close(value, plain(a, b))
    close(slope, pa.grad(plain, 1)(a, b))


# ---------------------------------------------------------------------- gradients


def test_higher_derivatives():
    x = pa.placeholder()
    (first,) = pa.gradients(2 * x**3 + 8, [x])
    (second,) = pa.gradients(first, [x])
    (third,) = pa.gradients(second, [x])
    assert run(pa.function([x], [first, second, third]), 1.0) == [6, 12, 12]


def test_intermediate_arrays_count_all_ways():
    a, b = pa.placeholder(), pa.placeholder()
    c = a * b
    e = pa.sin(c) * a
    ga, gc_, gb = run(pa.function([a, b], pa.gradients(e, [a, c, b])), 2.0, 3.0)
    close([ga, gc_, gb], [np.sin(6) + 2 * np.cos(6) * 3, 2 * np.cos(6), 4 * np.cos(6)])


def test_stop_gradients():
    a, b = pa.placeholder(), pa.placeholder()
    c = a * b + a
    assert run(pa.function([a, b], pa.gradients(c * a, [a], stop_gradients=[c])), 2.0, 3.0) == [8]
    (found,) = pa.gradients(c, [a], stop_gradients=[a, b])  # of independent values, as TensorFlow's documentation has it
    assert run(pa.function([a, b], found), 2.0, 3.0) == 4


def test_cotangent_trees_and_unconnected():
    x, z = pa.placeholder((3,)), pa.placeholder((2,))
    y = {"a": x**2, "b": pa.sum(x)}
    found = pa.gradients(y, x, ct={"a": np.array([1.0, 10, 100]), "b": 1.0})
    close(run(pa.function([x], found), np.arange(3.0)), [1, 21, 401])
    (zero,) = pa.gradients(y["b"], [z])
    close(pa.function([], zero)(), [0, 0])
    assert pa.gradients(y["b"], {"z": z}, unconnected="none") == {"z": None}
    ct = pa.placeholder((3,))
    close(run(pa.function([x, ct], pa.gradients(y["a"], x, ct=ct)), np.ones(3), np.arange(3.0)), [0, 2, 4])


def test_complex():
    z = pa.placeholder((), complex)
    found = run(pa.function([z], pa.gradients(pa.abs(z), z)), 3 + 4j)
    close(found, (3 - 4j) / 5)


# ---------------------------------------------------------------------- function
def test_arguments():
    x = pa.placeholder((2,), np.float32, name="x")
    k = pa.placeholder((), int)
    f = pa.function([{"x": x}, k], x * k)
    assert f({"x": np.ones(2, np.float32)}, 3).dtype == np.result_type(np.float32, np.int64)
    y = pa.placeholder()
    g = pa.function(y, y * 2)
    assert g(3) == 6 and g(np.float32(1.5)) == 3 and g(np.int32(4)) == 8
    with pytest.raises(pa.ShapeError, match=r"float64\[3\].* for the placeholder 'x' of float32\[2\]"):
        f({"x": np.ones(3)}, 3)
    with pytest.raises(pa.ShapeError, match="complex"):
        g(1j)
    with pytest.raises(pa.StructureError, match="structures of two trees differ"):
        f(np.ones(2), 3)


def test_results_keep_their_structure():
    x = pa.placeholder()
    assert pa.function([x], {"a": x, "b": [x + 1, 3.0]})(1.0) == {"a": 1, "b": [2, 3.0]}
    assert pa.function([x], x)(1.0) == 1 and pa.function([x], [x])(1.0) == [1] and pa.function([x], ())(1.0) == ()


def test_given_intermediate():
    x = pa.placeholder()
    h = pa.exp(x)
    f = pa.function([h], h * 2)  # what is given is not computed
    assert f(3.0) == 6 and not [e for e in f.program.equations if e.op is pa.exp]


def test_givens():
    a, b = pa.placeholder(), pa.placeholder()
    c = a * b
    assert run(pa.function([a], c, givens={b: a + 1}), 3.0) == 12
    assert run(pa.function([a], [c], givens=[(b, 4)]), 3.0) == [12]
    with pytest.raises(pa.ShapeError, match="givens"):
        pa.function([a], c, givens={b: np.ones(3)})


def test_functions_can_be_transformed():
    a, b = pa.placeholder(), pa.placeholder()
    f = pa.function([a, b], pa.sin(a) * b)
    assert pa.grad(f, (0, 1))(1.0, 3.0) == (3 * np.cos(1), np.sin(1))
    close(pa.vmap(f)(np.arange(3.0), np.ones(3)), np.sin(np.arange(3.0)))
    close(pa.jvp(f, (1.0, 3.0), (1.0, 0.0))[1], 3 * np.cos(1))
    assert str(pa.make_ir(f)(1.0, 2.0)).count("sin") == 1


def test_control_flow():
    a, b = pa.placeholder(), pa.placeholder()
    z = pa.cond(a < b, lambda: a * 17, lambda: b + 23)
    f = pa.function([a, b], z)
    assert f(1.0, 2.0) == 17 and f(3.0, 2.0) == 25
    g = pa.function([a, b], pa.gradients(z, [a, b]))
    assert g(1.0, 2.0) == [17, 0] and g(3.0, 2.0) == [0, 1]


def doubled_until_ten(x, step):
    """Never ends for steps below 1."""
    return pa.while_loop(lambda v: v < 10, lambda v: v * (1 + step), x)


def guarded_loop(x):
    return pa.cond(x > 0, lambda: doubled_until_ten(x * 1.0, x), lambda: x * 5)


def of_three(k, x):
    sum_of_squares = lambda: pa.sum(x * x)
    scanned = lambda: pa.scan(lambda c, v: (c * pa.sin(x[0]) + v, c), 1.0, x)[0]
    power = lambda: pa.fori_loop(0, 3, lambda i, c: c * x[1], x[2])
    nested = lambda: pa.cond(x[0] > 0, power, lambda: pa.cond(x[1] > 0, lambda: pa.sum(x), scanned))
    return pa.switch(k, [sum_of_squares, scanned, nested])


def test_only_the_branch_that_is_taken_runs():
    """What a branch does with values from outside of it is a step of the branch, not of the graph."""
    x, k, v = pa.placeholder(), pa.placeholder((), int), pa.placeholder((3,))
    y = guarded_loop(x)
    f = pa.function([x], [y, *pa.gradients(y, [x])])
    for at in (-3.0, 1.0, 2.0):  # a loop that ran for the first would not end
        close(f(at), [guarded_loop(at), pa.grad(guarded_loop)(at)])
    assert {e.op.card.name for e in pa.function([x], y).program.equations} <= {"greater", "astype", "choice"}
    z = of_three(k, v)
    f, slopes = pa.function([k, v], z), pa.function([k, v], pa.gradients(z, [v])[0])
    (first,) = pa.gradients(z, [v])
    second = pa.function([k, v], pa.gradients(pa.sum(first**2), [v])[0])
    for at in (np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, 3.0]), np.array([-1.0, -2.0, 3.0])):
        for which in range(3):
            close(f(which, at), of_three(which, at))
            close(slopes(which, at), pa.grad(of_three, 1)(which, at))
            squared = lambda v, which=which: pa.sum(pa.grad(of_three, 1)(which, v) ** 2)
            close(second(which, at), pa.grad(squared)(at))


# ---------------------------------------------------------------------- errors
def test_errors():
    a, b = pa.placeholder(name="a"), pa.placeholder(name="b")
    c = a * b
    with pytest.raises(pa.StructureError, match=r"the placeholder 'b' of float64\[\], not among the inputs.*givens"):
        pa.function([a], c)
    with pytest.raises(pa.StructureError, match="named twice"):
        pa.function([a, a], a)
    with pytest.raises(pa.StructureError, match="start from polyad.placeholder"):
        pa.function([1.0], a)
    with pytest.raises(pa.StructureError, match=r"xs\[0\].*start from polyad.placeholder"):
        pa.gradients(c, [1.0])
    with pytest.raises(pa.ShapeError, match="reduce it with sum or mean, or give its cotangent ct"):
        pa.gradients(pa.ones(3) * a, [a])
    with pytest.raises(pa.ConcreteValueError, match=r"explicit graph.*polyad.where or polyad.cond"):
        if a > 0:
            pass
    with pytest.raises(pa.ConcreteValueError):
        float(a)
    with pytest.raises(pa.LeakedLayerError, match="do not mix placeholders with variables"):
        a * pa.variable(1.0)
    with pytest.raises(pa.StructureError, match=r"Traced\[1\].*of make_ir"):
        pa.make_ir(lambda x: pa.function([x], x)(x))(1.0)
    for shape in ((None, 3), "ab", (-1,), 2.5, (True,)):
        with pytest.raises(pa.ShapeError, match="lengths, all known"):
            pa.placeholder(shape)
    with pytest.raises(pa.DTypeError):
        pa.placeholder((), "U3")
    with pytest.raises(pa.DTypeError, match="array of numbers"):
        a + np.array(["x"])
