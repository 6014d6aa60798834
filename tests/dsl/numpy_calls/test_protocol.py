"""NumPy's functions, operators and methods on followed values mean what they mean on arrays, or say why not."""

import copy
import math
import operator
from contextlib import suppress

import numpy as np
import pytest
from numpy_agreement import agree

import polyad as pa
from polyad.dsl import operations
from polyad.dsl.card import outside
from polyad.dsl.numpy_calls import protocol

x0 = np.array([[1.2, -0.7, 2.5], [0.4, 3.1, -1.6]])

OLD = np.lib.NumpyVersion(np.__version__) < "2.1.0"
newer = pytest.mark.skipif(OLD, reason="a spelling that NumPy has from 2.1 on")


def cases_of(op):
    """Name -> (NumPy's function, operation, sample) for each name that NumPy has for the operation, and each sample."""
    found = {}
    for numpy_name in op.card.numpy:
        function = np
        for part in numpy_name.split("."):
            function = getattr(function, part, None)
        for i, make in enumerate(op.card.samples):
            # the form that has a static size is polyad's own
            static = "size" in op.generic.params and "size" in make(np.random.default_rng(7))[1]
            if function is not None and not static:
                found[f"{numpy_name} at sample {i}"] = function, op, make
    return found


@pytest.mark.parametrize("op", [pytest.param(op, id=name) for name, op in operations.items() if cases_of(op)])
def test_every_card_answers_for_numpy(op, each):
    each(cases_of(op), answers_for_numpy)


def answers_for_numpy(function, op, make):
    args, params = make(np.random.default_rng(7))
    if function is np.reshape and OLD:
        return  # np.reshape has no shape= before NumPy 2.1
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
