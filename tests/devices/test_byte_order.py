"""Arrays whose bytes lie in the other order, by the samples of all cards: eagerly as native ones."""

import warnings

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations
from polyad.dsl.card import KINDS


def turned(x):
    """The array with its bytes in the other order."""
    return x.astype(x.dtype.newbyteorder()) if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize("kind", KINDS)
def test_values(kind):
    names = [name for name, op in operations.items() if op.card.kind == kind and not op.card.collective]
    for name in names:
        for make in operations[name].card.samples if name != "random_bits" else ():  # its key is what random.key made
            args, params = make(np.random.default_rng(7))
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore", pa.PerformanceWarning)
                expected = operations[name](*args, **params)
                found = operations[name](*pa.tree.map(turned, args), **params)
            for x, y in zip(pa.tree.leaves(found), pa.tree.leaves(expected), strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-15, err_msg=name)
