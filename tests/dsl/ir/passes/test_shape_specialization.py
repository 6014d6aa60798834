"""Moves of elements that shapes make unnecessary."""

import numpy as np
import pytest
from optimizing import after

import polyad as pa

x = np.array([1.5, -0.0, np.inf, np.nan])


@pytest.mark.parametrize(
    ("f", "left"),
    [
        (lambda x: pa.transpose(x[:, None]), ["reshape"]), (lambda x: pa.max(x[None], axis=0), []),
        (lambda x: pa.prod(x[:, None], axis=1, keepdims=True), ["reshape"]),
        (lambda x: pa.sum(x[None], axis=0), ["reshape", "sum"]),  # -0.0 becomes 0.0
        (lambda x: pa.sum(pa.isnan(x)[None], axis=0), ["isnan", "reshape", "sum"]),
            (lambda x: x[::-1], ["index"]), (lambda x: x[:, None][:, ::-1], ["reshape", "index"]),
            (lambda x: x[None, ..., None][0, :, 0], []),
        (lambda x: pa.concatenate([x[:0], x, x[4:]]), []), (lambda x: pa.concatenate([x, x[:0], x]), ["concatenate"]),
        (lambda x: pa.transpose(pa.reshape(x, (2, 2))), ["reshape", "transpose"]),
    ],
)  # fmt: skip
def test_shapes(f, left):
    assert after(f, x) == left
