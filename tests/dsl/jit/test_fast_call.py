"""The shortest way into compiled code: taken for arguments like the last ones, and left for whatever differs."""

import functools
import threading

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.jit.fast_call import MAX_TESTED_LEAVES

x3 = np.array([1.0, -2.0, 3.0])


class Scale:
    def __init__(self, by):
        self.by = by

    def times(self, x):
        return x * self.by


one, two = Scale(1.0), Scale(2.0)


def total(t, scale=1.0, name="a"):
    """A number of what a tree of arguments holds."""
    factor = scale.by if isinstance(scale, Scale) else 0.0 if scale is None else scale
    leaves = [v for v in pa.tree.leaves(t) if not isinstance(v, str)]
    return sum([pa.sum(v) * (i + 1) for i, v in enumerate(leaves)], 0.0) * factor * len(name)


# the first is called until the short way is there; each of the others must be seen as another one, in any order
VARIANTS = {
    "shapes": [(x3,), (x3[:2],), (x3[None],), (np.float64(2.0),)],
    "dtypes": [(x3,), (x3.astype("f4"),), (x3.astype(int),), (x3 + 1j,)],
    "layouts": [(np.ones((3, 2)),), (np.ones((2, 3)).T,), (np.arange(12.0).reshape(3, 4)[:, ::2],)],
    "numbers": [(2.0,), (2,), (True,), (2j,), (np.float32(2.0),), (np.int64(2),)],
    "large whole numbers": [(3,), (2**63 - 1,), (-(2**63),), (2**63,), (2**70,)],
    "containers": [
        ([x3, x3],),
        ((x3, x3),),
        ([x3],),
        ({"a": x3, "b": x3},),
        ({"a": x3, "c": x3},),
        ([x3, [x3]],),
        ([x3, None],),
    ],
    "texts": [(x3, 1.0, "a"), (x3, 1.0, "bb"), (x3, 1.0, "ccc"), (x3,)],
    "none": [(x3, None), (x3, 1.0), (x3, 0.0)],
    "objects": [(x3, one), (x3, two), (x3, Scale(5.0))],
    "empty": [([],), ((),), ({},), (None,)],
}


@pytest.mark.parametrize("name", VARIANTS)
def test_what_differs_is_seen(name):
    variants, f = VARIANTS[name], pa.jit(total)
    for first in range(min(2, len(variants))):
        for _ in range(3):
            f(*variants[first])
        for args in [*variants, *variants[::-1]]:
            found, right = f(*args), total(*args)
            assert found == right and type(found) is type(right), args
    assert f.jitted.quick is not None


def test_keywords_by_their_names_and_not_their_order():
    f = pa.jit(total)
    for _ in range(2):
        for call in (lambda g: g(x3, scale=2.0, name="bb"), lambda g: g(x3, name="bb", scale=2.0), lambda g: g(x3, name="bb"),
                     lambda g: g(t=x3, scale=3.0), lambda g: g(x3, 3.0)):  # fmt: skip
            for _ in range(3):
                assert call(f) == call(total)
    with pytest.raises(TypeError, match="other"):
        f(x3, other=2.0)


@pytest.mark.parametrize("static", [0, 1])
def test_static_arguments_count_by_what_they_are(static):
    f = lambda n, x: x * n if static == 0 else n * x
    g = pa.jit(f, static_argnums=static)
    for n in (2, 2.0, True, 1, 2, np.float64(2.0), -0.0, 0.0):
        args = (n, x3) if static == 0 else (x3, n)
        for _ in range(3):
            found, right = g(*args), f(*args)
            np.testing.assert_array_equal(found, right)
            assert found.dtype == right.dtype
            np.testing.assert_array_equal(np.signbit(found), np.signbit(right))


@pytest.mark.parametrize(("count", "short"), [(MAX_TESTED_LEAVES, True), (MAX_TESTED_LEAVES + 1, False)])
def test_many_leaves_are_looked_up(count, short):
    f = pa.jit(lambda xs: sum(xs[1:], xs[0]))
    for _ in range(3):
        assert f([1.0] * count) == count
    assert (f.jitted.quick is not None) == short


def test_what_is_read_from_outside():
    space = {"w": x3, "n": 2.0, "o": one}
    f = lambda x: x * space["w"] * space["n"] * space["o"].by
    exec("def read(x): return x * w * n * o.by", space)
    f = pa.jit(space["read"])
    edits = [
        ("w", x3),
        ("w", x3 * 2),
        ("w", x3[::-1]),
        ("n", 3.0),
        ("n", 2),
        ("o", two),
        ("w", x3.astype("f4")),
        ("w", np.ones(3)),
    ]
    for name, value in edits:
        space[name] = value
        for _ in range(3):
            found, right = f(x3), space["read"](x3)
            np.testing.assert_array_equal(found, right)
            assert found.dtype == right.dtype
    assert f.jitted.quick is not None


def test_methods_are_those_of_their_object():
    f = pa.jit(lambda x, m: m(x))
    for m in (one.times, two.times, Scale(7.0).times, one.times, functools.partial(np.multiply, 3.0)):
        for _ in range(3):
            np.testing.assert_array_equal(f(x3, m), m(x3))


def test_a_method_in_a_global_is_that_of_its_object():
    space = {"m": one.times}
    exec("def f(x): return m(x)", space)
    f = pa.jit(space["f"])
    for m in (one.times, two.times, one.times, Scale(7.0).times, np.negative):
        space["m"] = m
        for _ in range(3):
            np.testing.assert_array_equal(f(x3), m(x3))


def test_switches_and_watchers_are_asked_at_each_call():
    ran = []
    f = pa.jit(lambda x: (pa.log(x), ran.append(0) if type(x) is np.ndarray else None)[0])
    f(x3**2)
    f(x3**2)
    assert f.jitted.quick is not None and ran == []
    with pa.disable_jit():
        f(x3**2)
    assert ran == [0]
    with pa.debug_nans(), pytest.raises(pa.NaNError), np.errstate(invalid="ignore"):
        f(-(x3**2))
    found = pa.vmap(f)(np.stack([x3**2, x3**4]))
    np.testing.assert_allclose(found, [np.log(x3**2), np.log(x3**4)])
    slope = pa.grad(lambda x: pa.sum(f(x)))(x3**2)
    np.testing.assert_allclose(slope, 1 / x3**2)


def test_an_object_that_is_gone_is_not_taken_for_the_next_at_its_place():
    f = pa.jit(lambda x, s: x * s.by)
    for by in range(5):
        for s in [Scale(float(by))]:
            np.testing.assert_array_equal(f(x3, s), x3 * by)
        del s


def test_other_threads_have_other_kinds_of_arguments():
    f, found = pa.jit(lambda x: pa.sum(x * 2)), []

    def work(n):
        found.append(all(f(np.full(n, 1.0)) == 2.0 * n for _ in range(50)))

    threads = [threading.Thread(target=work, args=(n,)) for n in (2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 3
