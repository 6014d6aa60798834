"""Conditions and collectives of loops whose lanes part."""

import numpy as np
import pytest
from ways import eagerly, traced

import polyad as pa

close = np.testing.assert_allclose


def printed(capsys, f, *args):
    capsys.readouterr()
    f(*args)
    return capsys.readouterr().out.split()


def say(text, x, y=None):
    pa.debug_print(text + "{:g}", x)
    return x if y is None else y


def asked(x):
    return pa.while_loop(lambda x: say("t", x, x < 8), lambda x: 2 * x, x)


def test_effects_of_conditions_in_lanes(capsys):
    for form in (eagerly, traced):
        assert sorted(printed(capsys, form(pa.vmap(asked)), np.array([2.0, 9]))) == ["t2", "t4", "t8", "t9"]


def test_collective_over_one_of_two_axes():  # jax-ml/jax#7063
    def f(x):
        z, y = x + pa.axis_index("a"), x + pa.axis_index("b")
        return pa.while_loop(lambda s: s[1] < 5, lambda s: (s[0] + 1, s[1] + pa.psum(y, "b")), (0, z))[1]

    both = lambda x: pa.vmap(lambda _: pa.vmap(lambda _: f(x), axis_name="b")(np.arange(3)), axis_name="a")(np.arange(2))
    right = np.array([[1 + a + 6 * (1 if 1 + a < 5 else 0)] * 3 for a in range(2)])
    close(both(1.0), right)
    close(traced(both)(1.0), right)


def test_collective_where_lanes_part():
    f = lambda x: pa.while_loop(lambda x: x < 3, lambda x: x + pa.psum(x, "i"), x)
    with pytest.raises(pa.LaneSplitError, match="over their axis 'i'|only lanes"):
        pa.vmap(f, axis_name="i")(np.array([1.0, 9.0]))
    with pytest.raises(pa.LaneSplitError, match="a collective over their axis 'i'"):
        traced(pa.vmap(f, axis_name="i"))(np.array([1.0, 9.0]))
