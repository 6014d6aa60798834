"""Named axes are found from inside: the innermost of equal names, outer ones, unbound and ended ones."""

import numpy as np
import pytest

import polyad as pa
from polyad import psum

x = np.array([0.5, 2.0, 3.0, -1.0])


def over(f, *args, **options):
    return pa.vmap(f, axis_name="i", **options)(*args)


def equal(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_the_innermost_of_two_equal_names():
    y = np.arange(3.0)
    inner = pa.vmap(lambda a: pa.vmap(lambda b: psum(a * b, "i"), axis_name="i")(y), axis_name="i")(x)
    equal(inner, np.repeat(x[:, None] * y.sum(), 3, axis=1))


def test_an_outer_name_inside_another_map():
    y = np.arange(3.0)
    outer = pa.vmap(lambda a: pa.vmap(lambda b: psum(a * b, "i") * b)(y), axis_name="i")(x)
    equal(outer, np.repeat((x.sum() * y * y)[None], 4, axis=0))


def test_unbound_names():
    with pytest.raises(pa.AxisNameError, match=r"psum: no axis named 'j' here \(bound: 'i'\)"):
        over(lambda x: psum(x, "j"), x)
    with pytest.raises(pa.AxisNameError, match="bound: none"):
        psum(1.0, "i")


def numerical(f, v, eps=1e-6):
    steps = np.eye(v.size) * eps
    return np.array([(f(v + h) - f(v - h)) / (2 * eps) for h in steps])


def test_nested_names_and_derivatives():
    y = np.arange(1.0, 4.0)

    def f(a):
        g = lambda b: psum(a * b * b, "j") * psum(a * a * b, "i") + psum(a * b, ("i", "j"))
        return pa.vmap(g, axis_name="j")(y)

    loss = lambda x: pa.sum(over(f, x) ** 2)
    closed = lambda x: sum((a * (y * y).sum() * (x * x).sum() * b + x.sum() * y.sum()) ** 2 for a in x for b in y)
    equal(loss(x), closed(x))
    np.testing.assert_allclose(pa.grad(loss)(x), numerical(closed, x), rtol=1e-6)


def test_an_axis_whose_map_has_ended():
    from polyad.dsl.ops.named import psum_over

    kept = []
    over(lambda x: (kept.append(pa.dsl.axes.find_axis("i", "test")), x)[1], x)
    for outside in (lambda: psum_over(1.0, kept[0]), lambda: over(lambda x: psum_over(x, kept[0]), x)):
        with pytest.raises(pa.AxisNameError, match="psum: the map with the axis 'i' has ended"):
            outside()
