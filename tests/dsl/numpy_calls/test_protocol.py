"""NumPy's functions, operators and methods on followed values mean what they mean on arrays, or say why not."""

import copy
import math
import operator
from contextlib import suppress

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations
from polyad.dsl.card import outside
from polyad.dsl.numpy_calls import protocol

x0 = np.array([[1.2, -0.7, 2.5], [0.4, 3.1, -1.6]])

OLD = np.lib.NumpyVersion(np.__version__) < "2.1.0"
newer = pytest.mark.skipif(OLD, reason="a spelling that NumPy has from 2.1 on")


def modes(f, *xs):
    """f's value under each transformation, on all floating arguments; over lanes, the first lane's."""
    inexact = [i for i, x in enumerate(xs) if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc"]

    def g(*values):
        full = list(xs)
        for i, v in zip(inexact, values, strict=True):
            full[i] = v
        return f(*full)

    args = [xs[i] for i in inexact]
    every = [x for x in xs if isinstance(x, (np.ndarray, np.generic))]
    arrays = [i for i, x in enumerate(xs) if isinstance(x, (np.ndarray, np.generic))]

    def h(*values):
        full = list(xs)
        for i, v in zip(arrays, values, strict=True):
            full[i] = v
        return f(*full)

    if inexact:
        yield "grad", pa.vjp(g, *args)[0]
        yield "jvp", pa.jvp(g, tuple(args), tuple(args))[0]
    yield "vmap", pa.tree.map(lambda y: y[0], pa.vmap(h)(*[np.stack([x, x]) for x in every]))
    yield "ir", pa.make_ir(h)(*every)(*every)


def agree(f, *xs, expected=None):
    expected = f(*xs) if expected is None else expected
    for mode, found in modes(f, *xs):
        for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(expected), strict=True):
            rtol = 1e-6 if np.asarray(b).dtype == np.float32 else 1e-12
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-14, err_msg=mode)
            assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype, mode


def named_cases():
    for name, op in operations.items():
        for numpy_name in op.card.numpy:
            function = np
            for part in numpy_name.split("."):
                function = getattr(function, part, None)
            for i, make in enumerate(op.card.samples):
                # the form that has a static size is polyad's own
                static = "size" in op.generic.params and "size" in make(np.random.default_rng(7))[1]
                if function is not None and not static:
                    yield pytest.param(function, op, make, id=f"{name}-{numpy_name}-{i}")


@pytest.mark.parametrize(("function", "op", "make"), list(named_cases()))
def test_every_card_answers_for_numpy(function, op, make):
    args, params = make(np.random.default_rng(7))
    if function is np.reshape and OLD:
        pytest.skip("np.reshape has no shape= before NumPy 2.1")
    arrays = args[0] if op.generic.sequence else args
    if function is np.astype:  # its dtype is positional
        function = lambda x, dtype: np.astype(x, dtype)
    call = lambda *xs: function(xs, **params) if op.generic.sequence else function(*xs, **params)
    agree(call, *arrays, expected=op(*args, **params))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x, axis=0, keepdims=True),
        lambda x: np.sum(x, 0, None, None, True),
        lambda x: np.sum(a=x, axis=-1, out=None, where=True, dtype=np.float32),
        lambda x: np.mean(x, axis=1, dtype=np.float32),
        lambda x: np.max(x, axis=1, out=None) + np.amax(x) + np.min(a=x) + np.amin(x, 0, keepdims=True).sum(),
        lambda x: np.prod(x, axis=(0, 1), keepdims=True),
        lambda x: np.prod(x, dtype=np.float32),
        lambda x: np.any(x > 1, axis=0) | np.all(x > 1, 0),
        lambda x: np.concatenate([x, x0, x], axis=1),
        lambda x: np.concatenate((x, [[1, 2, 3]]), 0),
        lambda x: np.concatenate((x, x), None, dtype=np.float32),
        lambda x: np.concat([x, x]),
        lambda x: np.stack((x, x0), axis=-1, out=None),
        lambda x: np.stack(arrays=[x, x]),
        pytest.param(
            lambda x: np.reshape(x, (3, 2)) @ np.reshape(x, shape=(2, -1), order="C", copy=True),
            marks=newer,
        ),
        lambda x: np.reshape(x, -1) * np.ravel(x, "C"),
        lambda x: np.transpose(a=x, axes=[1, 0]) + np.permute_dims(x) + np.swapaxes(x, 0, 1) + np.moveaxis(x, 0, 1),
        lambda x: np.where(x > 1, x, 0) + np.where(x0 > 1, x, [1, 2, 3]),
        pytest.param(
            lambda x: np.clip(x, 0, 1) + np.clip(x, a_min=0, a_max=None) + np.clip(a=x, min=0, max=2),
            marks=newer,
        ),
        lambda x: np.take(x, [0, -1], axis=1, mode="raise"),
        lambda x: np.take(x, 1) + np.take(a=x, indices=2),
        lambda x: np.expand_dims(x, (0, -1)) * np.squeeze(x[None], axis=0)[None, :, :, None],
        lambda x: np.broadcast_to(x, shape=(2, 2, 3), subok=False) + np.broadcast_to(array=x, shape=(2, 3)),
        lambda x: np.dot(x, x0.T) + np.dot(a=x0, b=x.T) + np.outer(x[:, 0], x[:, 1]),
        lambda x: np.vecdot(x, x0) + np.vecdot(x, x0, axis=-1),
        lambda x: np.vecdot(x, x0, axis=0),
        lambda x: np.real(x) + np.imag(val=x) + np.angle(z=x) + np.conj(x) + np.absolute(x),
        lambda x: np.add(x, 1, out=None, where=True, casting="same_kind"),
        lambda x: np.sin(x, dtype=np.float32),
        lambda x: np.add((x * 100).astype(np.int8), np.int8(100), dtype=np.int64),
        lambda x: np.greater(x, 0, dtype=bool),
        lambda x: np.add(x, [1, 2, 3]) * np.multiply([[2.0], [3.0]], x),
        lambda x: np.divmod(x, 0.3)[1] + divmod(x, 0.3)[0] + divmod(2, x)[1],
        lambda x: np.add.reduce(x) + np.multiply.reduce(x, axis=0, keepdims=False),
        lambda x: np.maximum.reduce(x, axis=1, keepdims=True) - np.minimum.reduce(x, axis=None),
        lambda x: np.logical_and.reduce(x > 0, axis=None) | np.logical_or.reduce(x > 0),
        lambda x: np.multiply.reduce(x, dtype=np.float32, axis=(0, 1)),
        lambda x: np.round(x) + np.around(x, 1) + np.rint(x) + x.round(1) + np.round(a=x, decimals=2),
        lambda x: np.zeros_like(x) + np.ones_like(x) * np.full_like(x, 3) + np.zeros_like(x, dtype=np.float32),
        lambda x: np.copy(x) + x.copy() + copy.copy(x) + copy.deepcopy({"x": x})["x"],
        lambda x: (x > 1).copy() & np.copy(x > 0),
        lambda x: np.linspace(0, x[0], 4) + pa.linspace(x[1], 1.0, 4, endpoint=False),
        lambda x: x * np.ndim(x) + np.shape(x)[1] + np.size(x) * np.size(x, 1),
        lambda x: x.astype(np.result_type(x, np.complex64)) if not np.iscomplexobj(x) and np.isrealobj(x) else x,
    ],
)
def test_spellings_of_numpy(f):
    agree(f, x0)


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
          operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]  # fmt: skip


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize("other", [np.array([0.5, 2.0, 1.5]), 2, 2.5, np.float64(2), np.float32(0.5), np.int64(3), True])
def test_operators_with_arrays_on_either_side(op, other):
    if op in (operator.sub, operator.pow) and other is True:
        return  # NumPy has no such operation of booleans
    x = np.abs(x0)
    agree(lambda v: op(v, other), x)
    agree(lambda v: op(other, v), x)
    agree(lambda v, w: op(v, w), x, x + 1)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: -x + +x + abs(x), lambda x: x**2 + 2**x, lambda x: x @ x0.T + x0 @ x.T,
        lambda x: x.sum(axis=0) + x.sum(0) + x.mean() + x.mean(axis=0), lambda x: x.T @ x.mT.T,
        lambda x: x.reshape(3, -1) + x.reshape((3, 2)) + x.reshape([3, 2]) + x.reshape(np.int64(3), 2),
        lambda x: x.reshape(-1) + x.reshape(np.int64(6)) + x.ravel() + x.flatten(),
        lambda x: x.transpose() + x.transpose(1, 0) + x.transpose((1, 0)) + x.transpose(-1, 0) + x.swapaxes(0, 1),
        lambda x: x.astype(np.float32), lambda x: x.astype("float32") + x.astype(int), lambda x: x.astype(complex),
        lambda x: x.max() + x.min(axis=1).prod() + x.dot(x0.T).sum(),
        lambda x: x.real + x.imag + x.conj() + x.conjugate(),
        lambda x: (x > 1).any(axis=0) & (x > 1).all(0), lambda x: x[None].squeeze() + x[None].squeeze(0),
        lambda x: x.take(np.array([0, 2]), axis=1), lambda x: x.clip(0, 1) + x.clip(min=0) + x.clip(max=1),
        lambda x: x.max(axis=0, keepdims=True) + x.mean(1, keepdims=True), lambda x: round(x[0, 0]) + round(x[0, 1], 1),
        lambda x: x.transpose(0, 1)[::-1, 1], lambda x: x.T.T.reshape(6)[x.ndim + x.size - x.shape[0] - 3],
    ],
)  # fmt: skip
def test_methods(f):
    agree(f, x0)


a, b = np.array([6, 3, 12, 5]), np.array([3, 5, 1, 5])
m, n = np.array([True, True, False, False]), np.array([True, False, True, False])


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor], ids=lambda op: op.__name__)
@pytest.mark.parametrize(("left", "right"), [(a, b), (m, n), (a, 6), (m, True), (a, m), (a.astype(np.int8), np.uint8(5))])
def test_bits(op, left, right):
    agree(lambda u, v: op(u, v), left, right)
    agree(lambda u: op(u, right), left)
    agree(lambda u: op(right, u), left)


def test_more_bits():
    agree(lambda u, v: u << (v & 3), a, b)
    agree(lambda u, v: u >> v, a, b)
    agree(lambda u: (1 << (u & 3)) + (100 >> u), a)
    agree(operator.invert, a)
    agree(operator.invert, m)
    agree(lambda u: np.bitwise_count(u) if type(u) is np.ndarray else u, a, expected=a)
    np.testing.assert_array_equal(pa.bitwise_and(a, b), a & b)


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor, operator.lshift])
def test_no_bits_of_floats(op):
    for under in (lambda f: pa.vjp(f, x0), lambda f: pa.vmap(f)(x0), lambda f: pa.make_ir(f)(x0)):
        with pytest.raises(pa.DTypeError, match="bitwise_.*float64"):
            under(lambda v: op(v, 1))
        with pytest.raises(pa.DTypeError, match="bitwise_.*float64"):
            under(lambda v: ~v)


# --- what is refused -------------------------------------------------------------------------------------------

follow = pytest.mark.parametrize(
    "under",
    [
        lambda f: pa.vjp(f, x0),
        lambda f: pa.jvp(f, (x0,), (x0,)),
        lambda f: pa.vmap(f)(x0[None]),
        lambda f: pa.make_ir(f)(x0),
    ],
    ids=["grad", "jvp", "vmap", "ir"],
)


@follow
@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda x: np.histogram2d(x[0], x[1]), pa.MissingRuleError, "np.histogram2d on "),
        (lambda x: np.add.at(np.zeros(3), [0], x[0, 0]), pa.MutationError, "np.add.at"),
        (lambda x: np.add(x, 1, where=x0 > 0), pa.MissingRuleError, "np.add: the parameter where="),
        (lambda x: np.reshape(x, (3, 2), order="A"), pa.MissingRuleError, "order='A'"),
        (lambda x: np.less(x, 1, dtype=int), pa.DTypeError, "np.less: the result is bool, not int64"),
        (lambda x: np.add(x, 1, out=np.zeros((2, 3))), pa.MissingRuleError, "np.add: out= would write"),
        (lambda x: np.sum(x, out=np.zeros(())), pa.MissingRuleError, "np.sum: out= would write"),
        (lambda x: np.add.reduce(x, out=np.zeros(3)), pa.MissingRuleError, "out= would write"),
        (lambda x: operator.iadd(np.zeros((2, 3)), x), pa.MissingRuleError, r"`x = x \+ y` instead of `x \+= y`"),
        (lambda x: operator.imul(np.ones((2, 3)), x), pa.MissingRuleError, "out= would write"),
        (lambda x: np.array([x, x]), pa.ConcreteValueError, "polyad.stack"),
        (lambda x: np.array([x[0, 0], 1.0]), pa.ConcreteValueError, "polyad.stack"),
        (lambda x: np.array([[x[0, 0]], [1.0]], dtype=object), pa.ConcreteValueError, "polyad.stack"),
        (lambda x: np.asarray(x), pa.ConcreteValueError, "polyad.asarray"),
        (lambda x: np.full(3, x[0, 0]), pa.ConcreteValueError, "polyad"),
        (lambda x: np.float64(x[0, 0]), pa.ConcreteValueError, "stop_gradient|polyad"),
        (lambda x: np.random.default_rng(0).normal(x), pa.ConcreteValueError, "polyad"),
        (lambda x: np.random.normal(x), pa.ConcreteValueError, "polyad"),
        (lambda x: np.zeros((2, 3)).__setitem__(slice(None), x), pa.ConcreteValueError, "polyad.at"),
        (lambda x: np.testing.assert_allclose(x, x0), pa.ConcreteValueError, "stop_gradient|polyad"),
        (lambda x: x0.T.dot(x), pa.ConcreteValueError, "polyad"),
        (lambda x: np.vectorize(lambda u: u + 1)(x), pa.ConcreteValueError, "polyad"),
        (lambda x: math.sin(x[0, 0]), pa.ConcreteValueError, r"float\(\) of a .*stop_gradient"),
        (lambda x: complex(x[0, 0]), pa.ConcreteValueError, r"complex\(\) of a "),
        (lambda x: x.tolist(), pa.ConcreteValueError, r".tolist\(\) of a "),
        (lambda x: np.from_dlpack(x), (pa.ConcreteValueError, TypeError, AttributeError), "dlpack|DLPack"),
    ],
)  # fmt: skip
def test_refused(under, f, error, text):
    with pytest.raises(error, match=text):
        under(f)


@follow
def test_a_number_put_into_an_array(under):
    """The advice, not NumPy's own text."""
    with pytest.raises(pa.ConcreteValueError, match="polyad.zeros"):
        under(lambda x: np.zeros(3).__setitem__(0, x[0, 0]))


@follow
def test_nothing_becomes_an_array_of_objects(under):
    def f(x):
        for attempt in (
            lambda: np.array([x, None], dtype=object), lambda: np.array(x, dtype=object),
            lambda: np.stack([x, [None] * 3]), lambda: np.append([], x), lambda: np.asarray([x[0], x[1]]),
            lambda: np.atleast_1d([x[0, 0]]), lambda: np.sin([x, x]),
        ):  # fmt: skip
            with suppress(pa.PolyadError):
                assert type(attempt()) is not np.ndarray
        return x

    under(f)


@follow
def test_other_libraries_may_answer(under):
    class Theirs:
        def __array_function__(self, function, types, args, kwargs):
            return f"theirs: {function.__name__}"

        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return f"theirs: {ufunc.__name__}"

    def f(x):
        assert np.concatenate([x, Theirs()]) == "theirs: concatenate"
        assert np.add(x, Theirs()) == "theirs: add"
        return x

    under(f)


def test_in_place_on_followed_values_rebinds():
    def f(x):
        y = x
        y += x * 2
        y *= 3
        y -= 1
        assert y is x
        return np.sum(y + x)

    np.testing.assert_array_equal(pa.grad(f)(x0), np.full((2, 3), 18.0))
    np.testing.assert_allclose(pa.vmap(f)(x0[None]), [np.sum(18 * x0 - 2)])


def test_formatting():
    seen = []
    pa.grad(lambda x: seen.append(f"{x:.2f} {x}") or x * x)(1.5)
    assert seen == ["1.50 1.5"]
    with pytest.raises(pa.ConcreteValueError):
        pa.make_ir(lambda x: f"{x:.2f}" and x)(1.5)
    with pytest.raises(pa.ConcreteValueError):
        pa.vmap(lambda x: f"{x:.2f}" and x)(x0[0])


TEXTS = {
    "str": lambda x: x * len(str(x)),
    "f-string": lambda x: x * len(f"{x}"),
    "format": lambda x: x * len(format(x, "")),
    "number": lambda x: x * complex(f"{x}"),
    "join": lambda x: x * len("|".join(map(str, [x, x * 2]))),
    "repr": lambda x: x * len(repr(x)),
    "in a list": lambda x: x * len(str([x])),
    "!r": lambda x: x * len(f"{x!r}"),
}


@pytest.mark.filterwarnings("ignore:jit.*runs eagerly")
@pytest.mark.parametrize("name", TEXTS)
def test_what_is_computed_from_text(name):
    """The text is that of the number: under jit at each call, and under derivatives, whose repr says that they follow it."""
    f, tangent = TEXTS[name], lambda f: lambda x: pa.jvp(f, (x,), (np.ones_like(x),))[0]
    for a, b in ((1.25, 11.5), (np.float64(1.25), np.float64(11.5)), (np.float32(0.1), np.float32(2.5)), (3, 12345), (2j, 1j)):
        g = pa.jit(f)
        for x in (a, a, b, b, a):
            assert repr(g(x)) == repr(f(x))
            if type(x) is not int and name not in ("repr", "in a list", "!r"):
                number = np.asarray(x)[()]
                assert tangent(f)(x) == f(number)
                assert pa.jit(tangent(f))(x) == f(number)
    if name != "number":
        v = np.array([1.0, 2.5])
        assert repr(pa.jit(f)(v)) == repr(f(v))


def test_text_inside_a_choice_under_jit():
    f = lambda x: pa.cond(x > 0, lambda x: x * len(str(x)), lambda x: -x, x)
    with pytest.warns(pa.PerformanceWarning, match="runs eagerly"):
        assert pa.jit(f)(12.5) == 50.0


def test_a_new_card_answers_for_numpy_at_once():
    @pa.composite(numpy=("spacing",), kernel=None, samples=[])
    def spacing_of_the_test(x, /):
        """A function that polyad does not have otherwise."""
        return x * x

    try:
        np.testing.assert_allclose(pa.grad(np.spacing)(0.5), 1.0)
    finally:
        outside.pop((__name__, "spacing_of_the_test"))
        protocol._functions.pop(np.spacing)


MASKED = {
    "log": lambda x, m, out: np.log(x, where=m, out=out),
    "divide": lambda x, m, out: np.divide(1.0, x, where=m, out=out),
    "fixed mask": lambda x, m, out: np.log(abs(x) + 1, where=np.array([True, False, True]), out=out),
    "followed mask alone": lambda x, m, out: np.multiply(np.arange(3.0), 2.0, where=m, out=out),
    "broadcast": lambda x, m, out: np.add(x, np.ones((2, 3)), where=m, out=out),
    "sum": lambda x, m, out: np.add.reduce(np.ones((2, 3)) * x, axis=0, where=m, out=out),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MASKED)
def test_where_and_out_together(name):
    """What the mask leaves out keeps its value: in an array of NumPy's under jit, in a value that is followed everywhere."""
    x, f = np.array([1.0, -2.0, 3.0]), MASKED[name]
    shape = (2, 3) if name == "broadcast" else (3,)
    right = f(x, x > 0, np.full(shape, 7.0))
    run = pa.jit(lambda x: f(x, x > 0, np.full(shape, 7.0)))
    for _ in range(3):
        np.testing.assert_allclose(run(x), right)
    followed = lambda x: f(x, x > 0, np.zeros(shape) * x + 7.0)
    np.testing.assert_allclose(pa.vmap(followed)(np.stack([x, x]))[1], right)
    np.testing.assert_allclose(pa.jvp(followed, (x,), (x,))[0], right)
    steps = 1e-6 * np.eye(3)
    rows = [(followed(x + h) - followed(x - h)).sum() / 2e-6 for h in steps]
    for transform in (pa.grad, lambda g: pa.jit(pa.grad(g))):
        np.testing.assert_allclose(transform(lambda x: np.sum(followed(x)))(x), rows, rtol=1e-6, atol=1e-8)
