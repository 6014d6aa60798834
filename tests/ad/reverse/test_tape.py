"""The record of reverse mode: what is followed, what results stand for, and what is left of it when its run has ended."""

import gc
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import Layer

pytestmark = pytest.mark.quick


def test_floating_arguments_are_followed_and_others_are_not():
    def f(x, n, flag, z, half):
        assert [isinstance(v, Layer) for v in (x, n, flag, z, half)] == [True, False, False, True, True]
        return x * n + pa.real(z) + half

    y, pull = pa.vjp(f, 2.0, 3, True, 1j, np.float16(1.0))
    assert y == 7.0
    x, n, flag, z, half = pull(1.0)
    assert (x, z, half) == (3.0, 1.0, 1.0) and n is flag is pa.NoTangent
    assert np.asarray(half).dtype == np.float16 and np.asarray(z).dtype == complex


def test_what_is_made_inside_takes_followed_values_and_gets_no_cotangent():
    def f(x):
        made, counts = pa.zeros(2), pa.zeros(2, int)
        assert isinstance(made, Layer) and not isinstance(counts, Layer)
        made[1] = x * x
        return made[1] * 3.0

    assert pa.grad(f)(2.0) == 12.0


class Parts(NamedTuple):
    low: object
    rank: object
    high: object


def test_several_results_keep_their_type_and_floating_ones_are_followed(forget_declared):
    @pa.opaque(kernel=None, numpy=())
    def ends(x, /):
        """Least element, number of elements, largest element."""

    ends.method(lambda x: Parts(np.min(x), len(x), np.max(x)))
    ends.rule("jvp")(lambda dxs, y, x: (dxs[0][0], None, dxs[0][-1]))

    def f(x):
        y = ends(x)
        assert type(y) is Parts and isinstance(y.low, Layer) and not isinstance(y.rank, Layer) and isinstance(y.high, Layer)
        return y.low * 10 + y.high * y.rank

    assert pa.grad(f)(np.array([1.0, 2.0, 3.0])).tolist() == [10.0, 0.0, 3.0]


def test_a_result_of_another_run_is_named():
    kept = []
    pa.grad(lambda x: kept.append(x * 2) or x)(1.0)
    with pytest.raises(pa.LeakedLayerError, match="grad"):
        pa.grad(lambda x: kept[0])(1.0)
    with pytest.raises(pa.LeakedLayerError, match=r"grad.*test_tape\.py:\d+"):
        kept[0] + 1.0


def test_what_it_holds_goes_with_the_pullback_though_a_value_is_kept():
    """A value that has leaked refuses to be used, and holds neither the tape nor its arrays by a cycle."""
    seen, kept = [], []

    def f(x):
        y = pa.exp(x)
        seen.append(weakref.ref(y.value))
        kept.append(weakref.ref(y.run))
        return pa.sum(y * y)

    gc.collect()
    gc.disable()
    try:
        y, pull = pa.vjp(f, np.ones(5))
        assert pull(1.0)[0].shape == (5,) and seen[0]() is not None
        del pull
        assert seen[0]() is None and kept[0]() is None
    finally:
        gc.enable()
