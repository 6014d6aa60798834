"""NumPy's functions that are no operations of ours but follow from them: creation, questions, text, indices."""

import numpy as np
import pytest
from numpy_agreement import agree

import polyad as pa
from polyad.dispatch import Layer

pytestmark = pytest.mark.quick

X = np.array([[1.2, 0.7, 2.5], [0.4, 3.1, 1.6]])
MADE = {
    "logspace": lambda x: np.logspace(x[0, 0], 2.0, 4, base=2.0),
    "logspace along": lambda x: np.logspace(x[0], x[1], 4, axis=-1),
    "geomspace": lambda x: np.geomspace(x[0], 9.0, 5),
    "geomspace open": lambda x: np.geomspace(x[0], x[1], 4, endpoint=False, axis=1),
    "linspace": lambda x: np.linspace(x[0], 2.0, 4, axis=1),
    "step": lambda x: np.linspace(x[0], 2.0, 4, retstep=True),
    "step open": lambda x: np.linspace(x[0, 0], 2.0, 4, endpoint=False, retstep=True)[1],
    "meshgrid": lambda x: np.meshgrid(x[0], x[1]),
    "grid": lambda x: np.meshgrid(x[0], x[1], indexing="ij", sparse=True),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, X),
    "einsum of lists": lambda x: np.einsum(x, [0, 1], X, [2, 1], [0, 2]),
    "einsum implied": lambda x: np.einsum("ij,jk", x, X.T, optimize=True),
    "where": lambda x: np.where(X > 1, x, [1, 2, 3]),
    "choose": lambda x: np.choose([0, 1, 0], [x, 2 * x]),
    "array": lambda x: np.array(x, like=x),
    "ndmin": lambda x: np.array(x, ndmin=4, like=x),
    "asarray": lambda x: np.asarray([x, 2 * x], like=x),
    "eye": lambda x: np.eye(3, like=x) @ x[0],
    "zeros": lambda x: np.zeros((2, 3), like=x) + x,
    "full": lambda x: np.full(3, x[0, 0], like=x),
    "identity": lambda x: x @ np.identity(3, like=x),
    "zeros_like": lambda x: np.zeros_like(x, dtype=np.float32),
    "shaped": lambda x: np.ones_like(x, shape=4),
    "full_like": lambda x: np.full_like(x, 3.0, shape=(1, 2)),
    "fix": lambda x: np.fix(x) + np.require(x, like=x),
    "contiguous": lambda x: np.ascontiguousarray(x.T, like=x) + np.asfortranarray(x, like=x).T,
    "unravel": lambda x: np.unravel_index(np.argmax(x), (2, 3)),
    "ravel": lambda x: np.ravel_multi_index((np.argmax(x, axis=0), np.argmin(x, axis=0)), (2, 3)),
    "broadcast": lambda x: np.broadcast_arrays(x, x[0], 2.0),
    "size": lambda x: x * (np.size(x) + np.size(x, 1) + np.ndim(x) + np.shape(x)[0]),
    "diag indices": lambda x: x[:, :2][np.diag_indices_from(x[:, :2])],
    "tril": lambda x: x[np.tril_indices_from(x, -1)],
    "block": lambda x: np.block([[x], [x]]),
    "atleast": lambda x: np.atleast_3d(x),
    "take nothing": lambda x: np.take(x, [], axis=1),
    "take nothing around": lambda x: x.take((), mode="wrap"),
    "gradient": lambda x: np.gradient(x, axis=1),
}


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")
@pytest.mark.parametrize("name", MADE)
def test_as_numpy(name):
    agree(MADE[name], X)


@pytest.mark.parametrize("name", ["logspace along", "geomspace open", "step", "grid", "einsum of lists", "full", "choose"])
def test_derivatives(name):
    pa.check_grads(MADE[name], (X,), order=1)


def test_questions_are_answered_as_of_plain_arrays():
    def f(x):
        asked = [
            lambda x: np.iscomplexobj(x),
            lambda x: np.isrealobj(x * 1j),
            lambda x: np.result_type(x, np.float32),
            lambda x: np.common_type(x, np.ones(2, np.complex64)),
            lambda x: np.can_cast(x.dtype, np.float32),
            lambda x: np.shape(x),
            lambda x: np.ndim(x),
            lambda x: np.array_equal(x, X),
            lambda x: np.array_equiv(x, X[:1]),
            lambda x: np.allclose(x, X + 1e-12),
        ]
        for ask in asked:
            assert ask(x) == ask(X)
        assert [v.tolist() for v in np.where(x > 1)] == [v.tolist() for v in np.where(X > 1)]
        assert np.can_cast(x, np.float32, casting="same_kind") and not np.can_cast(x, int)
        assert np.min_scalar_type(x[0, 0]) == np.min_scalar_type(X[0, 0]) and np.min_scalar_type(x) == X.dtype
        return x

    pa.vjp(f, X)
    pa.jvp(f, (X,), (X,))


def test_copies_are_apart_and_others_are_not():
    def f(x):
        for copy in (np.copy(x), np.array(x, like=x), np.array(x, copy=True, like=x), *np.meshgrid(x[0], x[1])):
            copy[0] = 9.0
        y = x * 1.0
        for same in (np.asarray(y, like=x), np.array(y, copy=False, like=x), np.asanyarray(y, like=x), np.require(y, like=x)):
            same[0, 0] += 1.0
        assert y[0, 0] == x[0, 0] + 4.0
        y[0, 0] = np.nan
        assert np.nan_to_num(y, copy=False, nan=5.0) is y and y[0, 0] == 5.0
        y[0, 0] = np.nan
        assert np.nan_to_num(y)[0, 0] == 0.0 and np.isnan(y[0, 0])
        return x * 1

    np.testing.assert_array_equal(pa.vjp(f, X)[0], X)


def test_what_is_made_like_a_followed_value_takes_others():
    def f(x):
        for make in (lambda: np.zeros(2, like=x), lambda: np.empty_like(x, shape=2), lambda: np.full(2, 3.0, like=x)):
            y = make()
            assert isinstance(y, Layer)
            y[:] = x[0, :2]
        return pa.sum(y * y)

    np.testing.assert_allclose(pa.grad(f)(X), [[2.4, 1.4, 0], [0, 0, 0]])


@pytest.mark.parametrize("split", [np.split, np.array_split, np.hsplit, np.vsplit])
def test_parts_are_a_list_as_numpys(split):
    f = lambda x: split(x, 2)
    y, _ = pa.vjp(f, np.ones((2, 2)))
    assert type(y) is type(f(np.ones((2, 2)))) is list
    pa.check_grads(f, (np.ones((2, 2)),))
    along = lambda x: np.split(x, [1], 1) + np.split(x, indices_or_sections=[1], axis=-1)
    assert pa.tree.structure(pa.vjp(along, np.ones((2, 2)))[0]) == pa.tree.structure(along(np.ones((2, 2))))
