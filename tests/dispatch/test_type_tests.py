"""Python's type tests answer in transformed functions what they answer without; dispatch and the package see layers."""

import copy
import dataclasses
import functools
import inspect
import io
import json
import numbers
import pickle
from collections.abc import Collection, Iterable, Sequence, Sized

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import Array, HostArray, Layer, isa
from polyad.dsl.array_libraries import Scalar


def by_match(x):
    match x:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case complex():
            return "complex"
        case np.ndarray():
            return "array"
        case _:
            return "other"


@functools.singledispatch
def dispatched(x):
    return "other"


for kind in (float, int, complex, np.ndarray, np.float32):
    dispatched.register(kind, lambda x, kind=kind: kind.__name__)

CLASSES = (np.ndarray, np.generic, np.number, np.floating, np.integer, np.complexfloating, np.float64, np.bool_, float, int,
           bool, complex, (int, float), (list, tuple), str, dict, numbers.Number, numbers.Complex, numbers.Real,
           numbers.Integral, Iterable, Sequence, Sized, Collection)  # fmt: skip
QUESTIONS = {
    **{f"isinstance {kind}": lambda x, kind=kind: isinstance(x, kind) for kind in CLASSES},
    **{f.__name__: f for f in (np.isscalar, np.iscomplexobj, np.isrealobj, np.ndim, np.iterable, callable)},
    "match": by_match,
    "singledispatch": dispatched,
    "hasattr shape": lambda x: hasattr(x, "shape"),
    "hasattr __len__": lambda x: hasattr(x, "__len__"),
    "try iter": lambda x: outcome(iter, x),
    "try len": lambda x: outcome(len, x),
    "the class": lambda x: x.__class__,
}


def outcome(f, x):
    try:
        f(x)
    except TypeError:
        return "TypeError"
    return "works"


def asked(x):
    return {name: question(x) for name, question in QUESTIONS.items()}


FLOATS = {
    "vector": np.arange(3.0), "matrix of float32": np.ones((2, 2), np.float32), "0-d array": np.array(2.0),
    "float64": np.float64(2.0), "float32": np.float32(2.0), "float": 2.0,
}  # fmt: skip
COMPLEX = {"complex vector": np.ones(2, complex), "complex128": np.complex128(1j), "complex": 1j, "complex64": np.complex64(1j)}
WHOLE = {
    "int": 3, "bool": True, "int64": np.int64(3), "uint8": np.uint8(3), "bool_": np.bool_(True), "integers": np.arange(3),
    "flags": np.array([True, False]), "0-d integer": np.array(3),
}  # fmt: skip
number = lambda x: pa.sum(pa.real(x * 1.0))
ones = lambda x: np.ones_like(x)[()] if isinstance(x, np.ndarray) else type(x)(1)
stacked = lambda x: np.stack([x] * 3)


def on_tape(f, x):
    with pa.Tape() as tape:
        f(tape.watch(x))


@pa.custom_jvp
def custom(x):
    return x * 1.0


DERIVATIVES = {  # of f(x) at x
    "grad": lambda f, x: pa.grad(lambda v: number(f(v)))(x),
    "jvp": lambda f, x: pa.jvp(f, (x,), (ones(x),)),
    "linearize": lambda f, x: pa.linearize(f, x),
    "checkpoint": lambda f, x: pa.grad(pa.checkpoint(lambda v: number(f(v))))(x),
    "grad of jvp": lambda f, x: pa.grad(lambda u: number(pa.jvp(f, (u,), (ones(x),))[1] + u))(x),
    "jit of grad": lambda f, x: pa.jit(pa.grad(lambda v: number(f(v))))(x),
    "grad of jit": lambda f, x: pa.grad(pa.jit(lambda v: number(f(v))))(x),
    "tape": on_tape,
}
REAL = {
    "hessian": lambda f, x: pa.hessian(lambda v: number(f(v)))(x),
    "jet": lambda f, x: pa.jet(f, (x,), ((ones(x),),)),
    "jacobian": lambda f, x: pa.jacrev(f)(x),
}
PROGRAMS = {
    "jit": lambda f, x: pa.jit(f)(x),
    "make_ir": lambda f, x: pa.make_ir(f)(x),
}
MAPS = {  # of three times x; as in a loop over the rows
    "vmap": lambda f, x: pa.vmap(f)(stacked(x)),
    "jit of vmap": lambda f, x: pa.jit(pa.vmap(f))(stacked(x)),
    "vmap of jit": lambda f, x: pa.vmap(pa.jit(f))(stacked(x)),
    "make_ir of vmap": lambda f, x: pa.make_ir(pa.vmap(f))(stacked(x)),
}
SLOPES_OF_MAPS = {
    "grad of vmap": lambda f, x: pa.grad(lambda u: pa.sum(pa.vmap(lambda v: number(f(v)))(u)))(stacked(x)),
    "vmap of grad": lambda f, x: pa.vmap(pa.grad(lambda v: number(f(v))))(stacked(x)),
}
CASES = [
    *[(how, x) for how in (DERIVATIVES, SLOPES_OF_MAPS) for x in FLOATS | COMPLEX],
    *[(REAL, x) for x in FLOATS],
    *[(how, x) for how in (PROGRAMS, MAPS) for x in FLOATS | COMPLEX | WHOLE],
]
VALUES = FLOATS | COMPLEX | WHOLE


@pytest.mark.parametrize("how, name", [(how, x) for table, x in CASES for how in table])
def test_answers(how, name):
    table = next(t for t in (DERIVATIVES, REAL, PROGRAMS, MAPS, SLOPES_OF_MAPS) if how in t)
    x, found = VALUES[name], []

    def f(v):
        found.append((type(v), asked(v)))
        return v * 1

    table[how](f, x)
    assert found and issubclass(found[0][0], Layer)
    if table in (MAPS, SLOPES_OF_MAPS):
        x = stacked(x)[0]
    elif table is not PROGRAMS and name in ("float", "complex"):
        x = np.asarray(x)[()]  # derivatives follow NumPy's floats, which are Python's too
    right = asked(x)
    if table is PROGRAMS and isinstance(x, (int, float, complex)) and not isinstance(x, np.generic):
        right["hasattr shape"] = True  # a limit: a followed number has the attributes of NumPy's
    for _, answers in found:
        assert answers == right


def test_results_are_numbers():
    """What operations give: NumPy's scalars where they lose all axes, elements as a loop has them."""
    seen = []
    note = lambda x: seen.append((isinstance(x, float), isinstance(x, np.ndarray), np.isscalar(x))) or x
    f = lambda x: note(x[0]) * note(pa.sum(x)) + note(np.sum(x) ** 2) * note(x @ x)
    for transform in (pa.grad, pa.jit, lambda f: pa.vmap(pa.grad(f)), pa.hessian):
        transform(f)(np.ones((2, 3)) if transform not in (pa.grad, pa.jit, pa.hessian) else np.ones(3))
    assert set(seen) == {(True, False, True)}


def test_python_numbers_under_jit():
    seen = []
    pa.jit(lambda n, x: seen.append([type_of(v) for v in (n, n + 1, n / 2, n > 1, n * x, pa.sin(x), x + 1)]) or x)(3, 2.0)
    assert seen == [["int", "int", "float", "bool", "float", "float64", "float"]]


def type_of(x):
    return x.__class__.__name__


@pytest.mark.parametrize("x", [np.arange(3.0), 2.0, np.float64(2.0), np.float32(2.0)], ids=repr)
def test_variables(x):
    kept = np.asarray(x)[()]
    assert asked(pa.variable(x)) == asked(kept) and asked(pa.variable(x) * 2) == asked(kept * 2)
    with pa.no_grad():
        assert asked(pa.variable(x) * 2) == asked(kept * 2)


def test_after_the_tape():
    with pa.Tape() as tape:
        x = tape.watch(np.arange(3.0))
        y = pa.sum(x * x)
    assert asked(x) == asked(np.arange(3.0)) and asked(y) == asked(np.float64(5.0))


def test_custom_rules():
    seen = []

    @custom.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        seen.append((isinstance(x, np.ndarray), isinstance(dx, np.ndarray)))
        return x * 1.0, dx * 1.0

    pa.jvp(custom, (np.arange(3.0),), (np.ones(3),))
    pa.vmap(lambda v: pa.jvp(custom, (v,), (v,)))(np.ones((2, 3)))
    assert seen and set(seen) == {(True, True)}


@pa.array_type(leaves=("a",), linear=True)
class Pair(pa.Container):
    def __init__(self, a):
        self.a = a

    shape = property(lambda self: self.a.shape)
    dtype = property(lambda self: self.a.dtype)

    def dense(self):
        return self.a


def test_containers_stay_their_own():
    seen = []
    asks = lambda q: (isinstance(q, Pair), isinstance(q, np.ndarray), isinstance(q.a, np.ndarray), q.__class__)
    note = lambda q: seen.append(asks(q)) or q
    pa.grad(lambda q: pa.sum(note(q).a ** 2))(Pair(np.ones(3)))
    pa.jit(lambda q: pa.sum(note(q).a ** 2))(Pair(np.ones(3)))
    pa.vmap(lambda q: pa.sum(note(q).a ** 2))(Pair(np.ones((2, 3))))
    assert set(seen) == {(True, False, True, Pair)}


def test_dispatch_sees_layers():
    """No answer given to Python reaches dispatch: types decide, and abstract classes of ours ask for them."""
    seen = []

    def f(x):
        seen.append(
            (isa(x, np.ndarray), isinstance(x, Layer), isinstance(x, Array), isinstance(x, (HostArray, Scalar, pa.Container)))
        )
        assert pa.which(pa.sin, x) is not None and not issubclass(type(x), (np.ndarray, float))
        return pa.sum(x)

    for transform in (pa.grad, pa.jit, pa.make_ir):
        transform(f)(np.ones(3))
        transform(f)(np.float64(1.0))
    pa.vmap(f)(np.ones((2, 3)))
    assert set(seen) == {(False, True, True, False)}
    with pytest.raises(pa.MethodError):
        pa.grad(lambda x: area(x) or pa.sum(x))(np.ones(3))


@pa.generic
def area(x, /):
    """A generic of arrays that are plain."""


@area.method
def area_of_plain(x: np.ndarray, /):
    return 1.0


def test_nobody_else_may_set_it():
    def f(x):
        with pytest.raises(AttributeError):
            x.__class__ = float
        return pa.sum(x)

    pa.grad(f)(np.ones(3))
    y = pa.vmap(lambda x: into(np.zeros_like(x), x), in_axes=0)(np.ones((2, 3)))  # the package may: a write in some lanes
    assert y.shape == (2, 3)


def into(b, x):
    b[0] = x[0]
    return b


REFUSED = {  # what takes the class for the thing itself
    "np.matrix": np.matrix, "np.ma": lambda x: np.ma.masked_greater(x, 1), "np.asarray": np.asarray,
    "view": lambda x: x.view(), "np.rec": np.rec.array, "tobytes": lambda x: x.tobytes(),
    "np.save": lambda x: np.save(io.BytesIO(), x), "pickle": pickle.dumps,
    "pickle in Python": lambda x: pickle._dumps(x), "testing": lambda x: np.testing.assert_allclose(x, x),
    "partition": lambda x: x.partition(1),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("how", ["grad", "vmap", "make_ir"])
def test_what_needs_the_array_itself_is_refused_by_name(how, name):
    def f(x):
        REFUSED[name](x)
        return pa.sum(x)

    with pytest.raises((pa.ConcreteValueError, pa.MissingRuleError)) as found:
        {**DERIVATIVES, **MAPS, **PROGRAMS}[how](f, np.arange(3.0))
    assert "float64[3]" in str(found.value) or "cannot be pickled" in str(found.value) or "polyad" in str(found.value)


def test_what_goes_by_the_class_works():
    @dataclasses.dataclass
    class Held:
        x: object

    def f(x):
        for other in (copy.copy(x), copy.deepcopy(x), dataclasses.replace(Held(x)).x, dataclasses.asdict(Held(x))["x"]):
            assert type(other) is type(x)
        assert inspect.isclass(x) is False and dispatched(x) == "ndarray" and dispatched(x[0]) == "float"
        for refused in (json.dumps, lambda x: json.dumps(x, indent=1)):
            with pytest.raises(TypeError):
                refused(x)
            with pytest.raises(TypeError):
                refused(x[0])
        assert pa.tree.leaves({"a": [x]})[0] is x
        return pa.sum(copy.copy(x) ** 2)

    np.testing.assert_array_equal(pa.grad(f)(np.arange(3.0)), [0.0, 2.0, 4.0])
    assert pa.vmap(f)(np.ones((2, 3))).tolist() == [3.0, 3.0]


def test_sparse_matrices_take_it_for_an_array():
    sparse = pytest.importorskip("scipy.sparse")
    linalg = pytest.importorskip("scipy.sparse.linalg")
    A = sparse.csr_array(np.eye(3))
    for f in (lambda x: A @ x, lambda x: A * x, lambda x: A + x, linalg.aslinearoperator(A).matvec, linalg.aslinearoperator):
        with pytest.raises(pa.ConcreteValueError, match="polyad.asarray"):
            pa.grad(lambda x, f=f: f(x) is None or pa.sum(x))(np.ones(3))


def test_branches_are_those_of_plain_python():
    """The question of the fault: a function that looks at its argument takes the same way with and without."""

    def f(x):
        if isinstance(x, np.ndarray):
            return pa.sum(x**2)
        if isinstance(x, (int, float)):
            return 3.0 * x
        raise AssertionError(x)

    assert pa.grad(f)(2.0) == 3.0 and pa.jit(f)(2.0) == 6.0 and pa.jit(f)(2) == 6.0 and pa.hessian(f)(2.0) == 0.0
    np.testing.assert_array_equal(pa.grad(f)(np.ones(2)), [2.0, 2.0])
    np.testing.assert_array_equal(pa.vmap(f)(np.arange(3.0)), [0.0, 3.0, 6.0])
    np.testing.assert_array_equal(pa.vmap(pa.grad(f))(np.ones((2, 2))), np.full((2, 2), 2.0))
    np.testing.assert_array_equal(pa.jvp(f, (np.ones(2),), (np.ones(2),)), [2.0, 4.0])


def test_each_kind_has_its_own_program():
    """jit looks again where only the type differs."""
    f = pa.jit(lambda x: 1.0 if isinstance(x, np.ndarray) else 2.0)
    assert [f(x) for x in (np.array(2.0), np.float64(2.0), 2.0, np.array(2.0), np.ones(1))] == [1.0, 2.0, 2.0, 1.0, 1.0]
    found = []
    g = pa.jit(lambda x: found.append(isinstance(x, np.ndarray)) or x * 2)
    pa.grad(g)(np.float64(1.0)), pa.grad(g)(np.array(1.0)), pa.vmap(g)(np.ones(2))
    assert found[0] is False and True in found
