"""Calls of functions with rules of their own: values from outside of the arguments, and programs in the middle."""

from functools import partial

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


x = np.array([0.3, 0.7, 1.1])


y = np.array([2.0, 3.0, 4.0])


ones = np.ones(3)


close = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-14)


slope_x, slope_y = 10 * np.cos(x) * y, 7 * np.sin(x)


def closing(make):
    def loss(x, w):
        return pa.sum(make(w)(x))

    return loss


def with_forward_rule(w):
    h = pa.custom_jvp(lambda x: pa.sin(x) * w)
    h.defjvp(lambda p, t: (pa.sin(p[0]) * w, 10 * pa.cos(p[0]) * w * t[0]))
    return h


def with_reverse_rule(w):
    h = pa.custom_vjp(lambda x: pa.sin(x) * w)
    h.defvjp(lambda x: (pa.sin(x) * w, (x, w)), lambda s, ct: (10 * pa.cos(s[0]) * s[1] * ct,))
    return h


def with_buffer(w):
    h = pa.custom_jvp(lambda x: filled(pa.sin(x) * w))
    h.defjvp(lambda p, t: (filled(pa.sin(p[0]) * w), filled(10 * pa.cos(p[0]) * w * t[0])))
    return h


def filled(values):
    buffer = pa.zeros(values.shape) if values.shape else pa.zeros(1)
    buffer[...] = values
    return buffer


@pytest.mark.parametrize("make", [with_forward_rule, with_reverse_rule, with_buffer])
def test_closures_are_followed_through_the_function(make):
    """What a rule knows nothing of has the function's own derivative; none is dropped."""
    loss = closing(make)
    dx, dw = pa.grad(loss, (0, 1))(x, y)
    close(dx, slope_x)
    close(dw, np.sin(x))
    close(pa.grad(loss, 1)(x, y), np.sin(x))
    close(pa.jvp(loss, (x, y), (ones, ones))[1], np.sum(slope_x + np.sin(x)))
    close(pa.jacfwd(loss, 1)(x, y), np.sin(x))


@pytest.mark.parametrize("make", [with_forward_rule, with_reverse_rule])
def test_closures_over_lanes(make):
    loss = closing(make)
    close(pa.grad(lambda x: pa.sum(pa.vmap(loss)(x, y)))(x), slope_x)
    close(pa.vmap(pa.grad(loss))(x, y), slope_x)
    close(pa.jvp(lambda x: pa.vmap(loss)(x, y), (x,), (ones,))[1], slope_x)
    close(pa.grad(lambda x: pa.sum(pa.vmap(lambda w: loss(x, w))(y)))(0.3), np.sum(10 * np.cos(0.3) * y))


@pytest.mark.parametrize("make", [with_forward_rule, with_reverse_rule])
def test_closures_over_a_deeper_transformation(make):
    """d/dx of the derivative by w, which the function alone knows of."""
    loss = closing(make)
    close(pa.grad(lambda x: pa.jvp(lambda w: loss(x, w), (2.0,), (1.0,))[1])(x), np.cos(x))
    close(pa.grad(lambda x: pa.grad(lambda w: loss(x, w))(2.0))(x), np.cos(x))


def test_a_backward_that_reads_what_is_gone():
    def loss(x):
        w = 2 * x
        h = pa.custom_vjp(lambda x: x * w)
        h.defvjp(lambda x: (x * w, None), lambda saved, ct: (w * ct,))
        return pa.sum(h(x))

    with pytest.raises(pa.LeakedLayerError, match=r"its backward reads a value from outside .* have forward save it"):
        pa.grad(loss)(x)


def test_a_trace_of_a_closure_over_its_values():
    with pytest.raises(pa.LeakedLayerError, match=r"custom_jvp\(<lambda>\) reads a value of make_ir.* make it an argument"):
        pa.make_ir(lambda x: with_forward_rule(2 * x)(x))(x)


def test_a_program_in_the_middle():
    """The program holds a value of the derivative around it."""
    loss = lambda x: pa.sum(pa.make_ir(lambda z: with_forward_rule(2 * x)(z))(x)(x))
    close(pa.grad(loss)(x), 10 * np.cos(x) * 2 * x + 2 * np.sin(x))
