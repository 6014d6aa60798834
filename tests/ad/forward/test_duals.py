"""Values of forward mode: what is followed, what results hold, and results of several parts that nobody has read yet."""

import warnings

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import Layer

linalg = pa.linalg
EYE = np.eye(3)
close = np.testing.assert_allclose
pytestmark = pytest.mark.quick


def test_what_is_followed_and_what_is_constant():
    def f(x, n):
        made = pa.zeros(3)
        counts = pa.argmax(x)
        assert isinstance(x, Layer) and isinstance(made, Layer) and isinstance(made + 1, Layer)
        assert not isinstance(n, Layer) and not isinstance(counts, Layer) and not isinstance(x > 0, Layer)
        made[0] = x[1]
        return made, counts, x * n, np.float32(2.0)

    (y, count, scaled, constant), slopes = pa.jvp(f, (np.arange(3.0), 2), (np.ones(3), 0))
    assert y.tolist() == [1, 0, 0] and slopes[0].tolist() == [1, 0, 0]
    assert count == 2 and slopes[1] is pa.NoTangent
    assert scaled.tolist() == [0, 2, 4] and slopes[2].tolist() == [2, 2, 2]
    assert slopes[3] == 0 and slopes[3].dtype == constant.dtype == np.float32


def test_results_are_apart_from_what_was_given():
    x, dx = np.arange(3.0), np.ones(3)
    (y, part), (dy, dpart) = pa.jvp(lambda x: (x, x[:2]), (x,), (dx,))
    for array in (dy, dpart):
        array[0] = 9.0
    assert dx.tolist() == [1, 1, 1] and dy.tolist() == [9, 1, 1] and dpart.tolist() == [9, 1]


def test_values_of_ended_and_of_other_runs():
    kept = []
    pa.jvp(lambda x: kept.append(x) or x, (1.0,), (1.0,))
    for use in (lambda: kept[0] * 2, lambda: pa.jvp(lambda x: kept[0], (1.0,), (1.0,)), lambda: pa.floor(kept[0])):
        with pytest.raises(pa.LeakedLayerError, match="jvp"):
            use()


def test_remarks_of_a_function_that_fails_are_not_made():
    """Said at the end, of slopes at a point without one; an error is the only thing that is heard then."""

    def f(x):
        y = pa.cosh(linalg.norm(x))
        if fails:
            raise ValueError("the user's")
        return y

    for fails in (True, False):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                pa.jacfwd(pa.jacfwd(f))(np.zeros(2))
            except ValueError:
                assert fails
        assert [w.category for w in seen] == [] if fails else [pa.ConventionWarning]


def test_what_is_done_with_unread_results():
    """Values that wait for being read are like others: returned, written to, in control flow, in programs."""
    x = np.diag([1.0, 2.0, 3.0])
    d = np.arange(9.0).reshape(3, 3)
    d += d.T
    w, v = pa.jvp(lambda x: linalg.eigh(x), (x,), (d,))[1]
    np.testing.assert_allclose(w, np.diag(d))

    def written(x):
        w, v = linalg.eigh(x)
        w[0] = 5.0
        v *= 2.0
        return w, v

    dw, dv = pa.jvp(written, (x,), (d,))[1]
    np.testing.assert_allclose(dw, [0, *np.diag(d)[1:]])
    np.testing.assert_allclose(dv, 2 * v)
    branch = lambda x: (lambda w, v: pa.cond(w[0] > 0, lambda w, v: v * w, lambda w, v: v, w, v))(*linalg.eigh(x))
    loop = lambda x: (lambda w, v: pa.fori_loop(0, 2, lambda i, c: (c[0], c[1] * c[0]), (w, v))[1])(*linalg.eigh(x))
    np.testing.assert_allclose(pa.jvp(branch, (x,), (d,))[1], v * np.diag(x) + np.diag(np.diag(d)), atol=1e-12)
    np.testing.assert_allclose(pa.jvp(loop, (x,), (d,))[1], pa.jvp(pa.jit(loop), (x,), (d,))[1], atol=1e-12)
    with pytest.warns(pa.ConventionWarning, match="eigh: a derivative"):
        pa.jvp(lambda x: linalg.eigh(x), (EYE,), (d,))


def test_values_and_vectors_read_in_either_order():
    """It is the second kind that is read, values or vectors, that tells of ties; reading one kind twice tells nothing."""
    reading = {
        "values": (lambda w, v: pa.sum(w) + pa.sum(w * w), False), "both": (lambda w, v: pa.sum(w) + pa.sum(v), True),
        "vectors first": (lambda w, v: pa.sum(v) + pa.sum(w), True), "neither": (lambda w, v: 1.0, False),
        "a comparison": (lambda w, v: pa.where(w > 0, v, 0.0), False),  # it has no derivative by w
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # both are vectors
        pa.jvp(lambda x: (lambda u, s, vh: u @ vh)(*linalg.svd(x)), (EYE,), (np.ones((3, 3)),))
    for name, (f, said) in reading.items():
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            pa.jvp(lambda x, f=f: f(*linalg.eigh(x)), (EYE,), (np.ones((3, 3)),))
        assert bool(seen) == said, name
