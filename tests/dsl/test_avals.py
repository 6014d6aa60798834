"""Shapes and axes that do not fit an operation are named, for arrays and for followed values."""

import numpy as np
import pytest

import polyad as pa

x = np.ones((2, 3))


SHAPES = {  # call on an array of shape (2, 3) -> what the text says besides the operation's name
    "reshape": (lambda v: pa.reshape(v, (4, 2)), "reshape", ["[2, 3]", "(4, 2)"]),
    "reshape with two unknown": (lambda v: pa.reshape(v, (-1, -1)), "reshape", ["(-1, -1)"]),
    "transpose": (lambda v: pa.transpose(v, (0, 0)), "transpose", ["(0, 0)"]),
    "transpose of fewer": (lambda v: pa.transpose(v, (0,)), "transpose", ["(0,)"]),
    "broadcast_to": (lambda v: pa.broadcast_to(v, (2, 4)), "broadcast_to", ["(2, 4)"]),
    "broadcast_to fewer": (lambda v: pa.broadcast_to(v, (3,)), "broadcast_to", ["(3,)"]),
    "expand_dims": (lambda v: pa.expand_dims(v, 5), "expand_dims", ["axis 5 is out of range"]),
    "expand_dims twice": (lambda v: pa.expand_dims(v, (0, 0)), "expand_dims", ["names a place twice"]),
    "squeeze": (lambda v: pa.squeeze(v, 0), "squeeze", ["axis 0", "not of length 1", "[2, 3]"]),
    "squeeze outside": (lambda v: pa.squeeze(v, 2), "squeeze", ["axis 2 is out of range"]),
    "moveaxis": (lambda v: pa.moveaxis(v, 0, 2), "moveaxis", ["axis 2 is out of range"]),
    "moveaxis of unequal many": (lambda v: pa.moveaxis(v, (0, 1), (0,)), "moveaxis", ["equally many"]),
    "moveaxis by name": (lambda v: pa.moveaxis(v, "a", 0), "moveaxis", ["must be an integer, not 'a'"]),
    "swapaxes": (lambda v: pa.swapaxes(v, 0, -3), "swapaxes", ["axis -3 is out of range"]),
    "matrix_transpose": (lambda v: pa.matrix_transpose(v[0]), "matrix_transpose", ["fewer than two axes"]),
    "concatenate": (lambda v: pa.concatenate([v, np.ones((2, 2))]), "concatenate", ["2"]),
    "concatenate ranks": (lambda v: pa.concatenate([v, np.ones(3)]), "concatenate", ["3"]),
    "concatenate axis": (lambda v: pa.concatenate([v, v], axis=2), "concatenate", ["axis 2"]),
    "stack": (lambda v: pa.stack([v, np.ones(3)]), "stack", ["shapes differ"]),
    "sum": (lambda v: pa.sum(v, axis=2), "sum", ["axis"]),
    "sum twice": (lambda v: pa.sum(v, axis=(0, -2)), "sum", ["axis"]),
    "mean": (lambda v: pa.mean(v, axis=2), "mean", ["axis 2 is out of range"]),
    "max": (lambda v: pa.max(v, axis=-3), "max", ["axis"]),
    "prod": (lambda v: pa.prod(v, axis=2), "prod", ["axis 2 is out of"]),
    "take": (lambda v: pa.take(v, np.array([0]), axis=2), "take", ["axis 2 is out of range"]),
    "set": (lambda v: pa.at(v, 0).set(np.ones(2)), "index_set", ["does not fit the selection"]),
}


follow = {
    "eager": lambda f, v: f(v),
    "grad": lambda f, v: pa.grad(lambda u: pa.sum(f(u)))(v),
    "jvp": lambda f, v: pa.jvp(f, (v,), (v,)),
    "vmap": lambda f, v: pa.vmap(f)(np.stack([v] * 5)),
    "ir": lambda f, v: pa.make_ir(f)(v),
}


@pytest.mark.parametrize("how", follow)
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_and_axes(name, how):
    f, operation, said = SHAPES[name]
    with pytest.raises((pa.ShapeError, pa.DTypeError)) as found:
        follow[how](f, x)
    text = str(found.value)
    if how in ("eager", "grad", "jvp"):
        for part in (operation, *said):
            assert part in text, text
    else:  # with the lanes, or before anything runs, the rule says it in its own words
        assert any(word in text for word in (operation, "reshape", "transpose", "expand_dims", "concatenate")), text
