"""A function gives what NumPy's of its name gives, to the last bit and with all transformations: of what moves elements."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import polyad as pa

shapes = nps.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)

int_arrays = nps.arrays(np.int64, shapes, elements=st.integers(-9, 9))


def same(found, expected):
    """Equal types of elements, shapes and elements."""
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
        return
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(found, expected)


def check(name, x, *args, **params):
    """polyad's function gives what NumPy's gives, plain, followed by a derivative, and traced; and NumPy's is ours there."""
    ours, theirs = getattr(pa, name), getattr(np, name)
    expected = theirs(x, *args, **params)
    same(ours(x, *args, **params), expected)
    same(pa.make_ir(lambda x: ours(x, *args, **params))(x)(x), expected)
    values = x.astype(float)
    for f in (ours, theirs):
        leaves = lambda v, f=f: pa.tree.leaves(f(v, *args, **params))
        same(pa.jvp(leaves, (values,), (values,))[1], pa.tree.leaves(theirs(values, *args, **params)))  # all are linear
        same([part[0] for part in pa.vmap(leaves)(values[None])], leaves(values))
