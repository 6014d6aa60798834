"""`variable`, `backward`, `.grad` against formulas and `grad`."""

import copy
import pickle
import threading

import numpy as np
import pytest

import polyad as pa
from polyad.ad.styles.variables import Variable

pytestmark = pytest.mark.quick

close = np.testing.assert_allclose


# ---------------------------------------------------------------------- gradients
def test_backward():
    x = pa.variable(np.array([0.3, 1.2]))
    assert x.grad is None
    pa.sum(pa.sin(x) * x).backward()
    a = np.array([0.3, 1.2])
    close(x.grad, np.sin(a) + a * np.cos(a))
    assert type(x.grad) is np.ndarray and x.grad.flags.writeable


def test_operators_methods_and_numpy_functions():
    x = pa.variable(np.array([0.5, 2.0]))
    y = (np.exp(x) @ np.ones(2) + (x**2).sum()) / 2
    y.backward()
    close(x.grad, (np.exp([0.5, 2.0]) + [1, 4]) / 2)


def test_accumulation_and_zero_grad():
    x, z = pa.variable((2.0, 5.0))
    (x * z).backward()
    (x * x).backward()
    assert x.grad == 5 + 4 and z.grad == 2
    x.zero_grad()
    assert x.grad is None
    pa.zero_grad({"all": [x, z, 3.0]})
    assert z.grad is None
    (3 * x).backward()
    x.grad *= 2  # a gradient may be changed, or set
    assert x.grad == 6
    x.grad = np.array(1.0)
    with pytest.raises(pa.ShapeError, match="needs the shape"):
        x.grad = np.ones(2)


def test_gradients_share_no_memory():
    x, z = pa.variable((np.ones(2), np.ones(2)))
    ct = np.ones(2)
    (x + z).backward(ct)
    x.grad[0] = 7
    assert ct[0] == 1 and z.grad[0] == 1


def test_cotangent():
    x = pa.variable(np.arange(3.0))
    y = x**2
    with pytest.raises(pa.ShapeError, match=r"backward: ndarray\(float64\[3\]\).*give its cotangent ct"):
        y.backward()
    with pytest.raises(pa.ShapeError, match=r"needs the shape \[3\]"):
        y.backward(np.ones(2))
    y.backward(np.array([1.0, 10.0, 100.0]))
    close(x.grad, [0, 20, 400])


def test_a_variable_is_its_own_result():
    x = pa.variable(2.0)
    x.backward()
    x.backward()
    assert x.grad == 2


def test_dtypes_and_complex():
    x = pa.variable(np.ones(2, np.float32))
    pa.sum(x * np.array([1.0, 2.0])).backward()
    assert x.grad.dtype == np.float32
    z = pa.variable(np.array(3 + 4j))
    pa.abs(z).backward()
    close(z.grad, (3 - 4j) / 5)
    with pytest.raises(pa.DTypeError, match="take .real or abs"):
        (z * z).backward()


def test_trees_and_containers():
    model = pa.variable({"d": pa.Diagonal(np.array([1.0, 2.0])), "b": np.zeros(2)})
    pa.sum(model["d"] @ np.ones(2) * 3 + model["b"]).backward()
    assert isinstance(model["d"], pa.Diagonal)
    close([leaf.grad for leaf in pa.tree.leaves(model)], [[1, 1], [3, 3]])


def test_several_results_of_one_operation():
    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    x = pa.variable(a)
    sign, logarithm = pa.linalg.slogdet(x)
    logarithm.backward()
    close(x.grad, np.linalg.inv(a).T)
    y = pa.variable(np.arange(4.0))
    first, _, third, _ = pa.split(y, 4)
    (2 * first + 3 * third).backward(np.ones(1))
    close(y.grad, [2, 0, 3, 0])


def test_agrees_with_grad(rng):
    def f(w, v):
        h = v
        for k in range(5):
            h = pa.tanh(w @ h + 0.1 * k)
        return pa.mean(h**2) + pa.max(h)

    w, v = rng.normal(size=(6, 6)), rng.normal(size=6)
    x, y = pa.variable((w, v))
    f(x, y).backward()
    for found, right in zip((x.grad, y.grad), pa.grad(f, (0, 1))(w, v), strict=True):
        close(found, right, rtol=1e-12)


# ---------------------------------------------------------------------- changing variables
def test_writes():
    given = np.array([1.0, 2.0])
    x = pa.variable(given)
    y = pa.sum(x * x)
    with pa.no_grad():
        same = x
        x -= np.array([0.5, 0.5])
        x[0] = 9
        np.copyto(x, [9.0, 3.0])
    assert x is same and x.is_leaf
    close(x.detach(), [9, 3])
    close(given, [1, 2])
    y.backward()  # with the values that y was computed from
    close(x.grad, [2, 4])
    assert x.assign(np.zeros(2)) is x
    x.assign(x + 1)
    close(x.detach(), [1, 1])


def test_scalar_variables_stay_variables():
    x = pa.variable(3.0)
    (x * x).backward()
    with pa.no_grad():
        x -= 0.5 * x.grad
    assert isinstance(x, Variable) and x.item() == 0


def test_writes_that_are_refused():
    x = pa.variable(np.ones(3))
    for write in (lambda: x.__setitem__(0, 1.0), lambda: x.__iadd__(1.0), lambda: x.fill(2.0), lambda: np.add(x, 1, out=x)):
        with pytest.raises(pa.MutationError, match=r"variable of float64\[3\].*no_grad.*assign"):
            write()
    view = x[:2]
    with pytest.raises(pa.MutationError, match="through a view"):
        view[0] = 1.0
    with pa.no_grad(), pytest.raises(pa.MutationError, match="through a view"):
        view[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        x.detach()[0] = 1.0
    with pytest.raises(pa.ShapeError, match=r"needs the shape \[3\]"):
        x.assign(np.ones(2))
    with pytest.raises(pa.DTypeError, match="complex128"):
        x.assign(np.ones(3) * 1j)
    close(x.detach(), [1, 1, 1])


def test_results_may_be_written_to():
    x = pa.variable(np.ones(3))
    y = x * 2
    y[0] = 0.0
    y *= 3
    pa.sum(y).backward()
    close(x.grad, [0, 6, 6])


# ---------------------------------------------------------------------- no_grad
def test_no_grad():
    x = pa.variable(np.array([1.0, 2.0]))
    with pa.no_grad():
        y = pa.sum(x * x)
        assert type(np.asarray(x)) is np.ndarray and float(y) == 5 and type(pa.softmax(x)) is np.ndarray
        close(pa.grad(lambda a: pa.sum(a * x))(x), [1, 2])
    assert not isinstance(y, Variable) and isinstance(x + 1, Variable)

    @pa.no_grad()
    def evaluate(depth):
        return x * 2 if depth == 0 else evaluate(depth - 1)

    assert not isinstance(evaluate(2), Variable) and isinstance(x * 2, Variable)
    with pytest.raises(ZeroDivisionError), pa.no_grad():
        raise ZeroDivisionError
    assert isinstance(x * 2, Variable)


# ---------------------------------------------------------------------- what Python asks
def test_conversions():
    x = pa.variable(np.array([1.0, 2.0]))
    y = pa.sum(x)
    assert repr(x) == "variable(array([1., 2.]))" and str(x) == "[1. 2.]" and "3.0" in repr(y)
    assert y.item() == 3 and x.tolist() == [1, 2] and f"{y:.2f}" == "3.00" and bool(y > 0) and bool(y)
    assert float(y) == 3 and type(float(y)) is float and int(y) == 3 and complex(y) == 3 and type(complex(y)) is complex
    assert "%.1f" % y == "3.0" and format(y, "6.2f") == "  3.00" and float(pa.variable(2.0)) == 2 and int(pa.variable(2.5)) == 2  # noqa: UP031
    assert complex(pa.variable(1 + 2j)) == 1 + 2j and float(y * 2 + 1) == 7 and float(x[1]) == 2
    with pytest.raises(TypeError, match="0-dimensional|length-1"):
        float(x)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    float(y), y.backward()  # what was asked of it changes nothing
    assert x.grad.tolist() == [1, 1]
    assert x.is_leaf and not y.is_leaf
    for lost in (lambda: np.asarray(x), lambda: np.array([y, y])):
        with pytest.raises(pa.ConcreteValueError, match=r"derivative would be lost.*x.item\(\).*x.detach\(\)"):
            lost()
    for missing in ("grad", "assign", "zero_grad"):
        with pytest.raises(AttributeError, match="variables alone have gradients"):
            value = getattr(y, missing)
            value(1.0) if missing == "assign" else value()


def test_copies_and_pickles():
    x = pa.variable(np.array([1.0, 2.0]))
    model = copy.deepcopy({"a": x, "b": x})
    assert model["a"] is model["b"] and model["a"] is not x and model["a"].is_leaf
    back = pickle.loads(pickle.dumps(x))
    assert back.is_leaf and not back.detach().flags.writeable
    close(back.detach(), [1, 2])
    with pytest.raises(pa.StructureError, match="detach"):
        pickle.dumps(x * 2)


def test_what_is_no_variable():
    with pytest.raises(pa.DTypeError, match="int64"):
        pa.variable(np.arange(3))
    with pytest.raises(pa.DTypeError):
        pa.variable("text")
    x = pa.variable(2.0)
    assert pa.variable(x) is not x and pa.variable(x).item() == 2


# ---------------------------------------------------------------------- beside the transformations
def test_transformations_of_functions_that_read_variables():
    w = pa.variable(np.array([2.0, 3.0]))
    x = np.array([1.0, 5.0])
    slope = pa.grad(lambda a: pa.sum(a**2 * w))(x)  # 2 a w, followed by w
    pa.sum(slope**2).backward()
    close(w.grad, 8 * x**2 * w.detach())
    w.zero_grad()
    pa.sum(pa.vmap(lambda a: a * w)(np.stack([x, x]))).backward()
    close(w.grad, 2 * x)
    w.zero_grad()
    y, dy = pa.jvp(lambda a: pa.sum(a * w), (x,), (np.ones(2),))
    dy.backward()
    close(w.grad, [1, 1])
    program = pa.make_ir(lambda a: pa.sum(a * w))(x)
    w.zero_grad()
    program(x).backward()
    close(w.grad, x)


def test_variables_as_arguments():
    w = pa.variable(np.array([2.0, 3.0]))
    slope = pa.grad(lambda a: pa.sum(a**3))(w)
    pa.sum(slope).backward()
    close(w.grad, 6 * w.detach())
    with pa.Tape() as tape:
        a = tape.watch(w)
        y = pa.sum(a**3)
    w.zero_grad()
    pa.sum(tape.gradient(y, a)).backward()
    close(w.grad, 6 * w.detach())


def test_refused_inside_transformations():
    x = pa.variable(2.0)
    y = x * x
    inside = {
        "variable": (pa.StructureError, lambda a: pa.variable(np.ones(2)).sum() + a),
        "backward": (pa.MutationError, lambda a: y.backward() or a),
        "a write to a variable": (pa.MutationError, lambda a: x.assign(np.array(1.0)) * a),
    }
    for what, (kind, f) in inside.items():
        for transform in (pa.grad(f), lambda a, f=f: pa.vmap(f)(np.ones(2)), pa.make_ir(f)):
            with pytest.raises(kind, match=f"{what} inside a transformation, .* \\(entered at"):
                transform(1.0)
    y.backward()
    assert x.grad == 4


def test_threads():
    x, found = pa.variable(np.ones(3)), []

    def work(k):
        for _ in range(50):
            z = pa.variable(float(k))
            y = z
            for _ in range(20):
                y = pa.sin(y) + z
            y.backward()
            found.append((k, z.grad))
            pa.sum(x * k).backward()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]

    def alone(z):
        y = z
        for _ in range(20):
            y = pa.sin(y) + z
        return y

    right = [pa.grad(alone)(float(k)) for k in range(4)]
    assert len(found) == 200 and all(g == right[k] for k, g in found)
    close(x.grad, np.full(3, 50.0 * (0 + 1 + 2 + 3)))
