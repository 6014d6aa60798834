"""Changes of shape against NumPy: arrays without elements, of length 1, by names from the end; and what does not fit."""

import numpy as np
import pytest

import polyad as pa

SHAPES = [(2, 3, 4), (1, 3, 1), (0, 2, 1), (2, 0, 3)]
CALLS = {
    "reversed": (lambda xp, x: xp.transpose(x)), "turned": lambda xp, x: xp.transpose(x, (1, -1, 0)),
    "moved": lambda xp, x: xp.moveaxis(x, 0, -1), "several moved": lambda xp, x: xp.moveaxis(x, (0, -1), (1, 0)),
    "exchanged": lambda xp, x: xp.swapaxes(x, 0, -1), "matrices": lambda xp, x: xp.matrix_transpose(x),
    "flat": lambda xp, x: xp.ravel(x), "longer": lambda xp, x: xp.expand_dims(x, (0, -1)),
    "between": lambda xp, x: xp.expand_dims(x, 2), "shorter": lambda xp, x: xp.squeeze(x),
    "wide": lambda xp, x: xp.broadcast_to(x, (2, *x.shape)), "joined": lambda xp, x: xp.concatenate([x, x[:1], x], axis=0),
    "joined flat": lambda xp, x: xp.concatenate([x, x], axis=None),
    "joined last": lambda xp, x: xp.concatenate([x, x], axis=-1),
    "stacked": lambda xp, x: xp.stack([x, x, x], axis=-1),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shape", SHAPES)
def test_as_numpy(name, shape):
    f, x = CALLS[name], np.arange(np.prod(shape), dtype=float).reshape(shape)
    wanted = f(np, x)
    lanes = np.stack([x, -x])
    traced = pa.make_ir(lambda x: f(pa, x))(x)
    assert traced.outputs[0].aval.shape == wanted.shape
    for found in (f(pa, x), traced(x), pa.vmap(lambda x: f(pa, x))(lanes)[0], pa.jvp(lambda x: f(pa, x), (x,), (x,))[1]):
        np.testing.assert_array_equal(found, wanted, strict=True)
    ct = np.random.default_rng(0).normal(size=wanted.shape)
    (back,) = pa.vjp(lambda x: f(pa, x), x)[1](ct)
    matrix = np.stack([f(np, e.reshape(shape)).ravel() for e in np.eye(x.size)]) if x.size else np.zeros((0, wanted.size))
    np.testing.assert_allclose(back.ravel(), matrix @ ct.ravel(), rtol=1e-13)


@pytest.mark.parametrize("axis", [0, -1, (0, 2)])
def test_axes_of_length_one_are_dropped_by_name(axis):
    x = np.ones((1, 3, 1))
    np.testing.assert_array_equal(pa.squeeze(x, axis), np.squeeze(x, axis), strict=True)


def test_lengths_that_are_filled_in():
    x = np.arange(12)
    for shape in ((3, -1), (-1,), -1, (2, -1, 3), (12, 1)):
        np.testing.assert_array_equal(pa.reshape(x, shape), np.reshape(x, shape), strict=True)
    with pytest.raises(pa.ShapeError):
        pa.reshape(np.zeros((0, 3)), (0, -1))  # any length would do


def test_joined_dtypes_are_promoted():
    for a, b in ((np.int8, np.float32), (np.float32, complex), (bool, np.uint8)):
        for f in (pa.concatenate, pa.stack):
            assert f([np.ones(2, a), np.ones(2, b)]).dtype == np.concatenate([np.ones(2, a), np.ones(2, b)]).dtype


@pytest.mark.parametrize(("call", "text"), [
    (lambda x: pa.reshape(x, (4, 2)), "an array of 6 elements cannot take the shape .4, 2."),
    (lambda x: pa.reshape(x, (-1, -1)), "cannot take the shape .-1, -1."),
    (lambda x: pa.transpose(x, (0, 0)), "axes .0, 0. are no permutation of 2 axes"),
    (lambda x: pa.broadcast_to(x, (3, 3)), "cannot be broadcast to the shape .3, 3."),
    (lambda x: pa.squeeze(x, 0), "squeeze: axis 0 of .* is not of length 1"),
    (lambda x: pa.expand_dims(x, (0, -4)), "expand_dims: axis .0, -4. names a place twice"),
    (lambda x: pa.moveaxis(x, (0, 1), 0), "must name equally many axes, once"),
    (lambda x: pa.matrix_transpose(x[0]), "matrix_transpose: .* has fewer than two axes"),
    (lambda x: pa.concatenate([x, x[:, :1]]), "concatenate: shapes differ besides axis 0"),
    (lambda x: pa.stack([x, x[0]]), "stack: shapes differ"),
])  # fmt: skip
def test_refusals(call, text):
    with pytest.raises(pa.ShapeError, match=text):
        pa.make_ir(call)(np.ones((2, 3)))
