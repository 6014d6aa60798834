"""Nodes that hand their cotangent on by themselves: picked elements, several results, and rules for all arrays at once."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick

close = np.testing.assert_allclose


def random(*shape, seed=0, kind="f"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if kind == "c" else x


def test_cotangents_of_picked_elements_take_no_full_array_each():
    """Many reads of single elements: the walk owns one array of x's size, and not one for each read."""
    x = random(50)
    made = []

    def zeros(*args, **params):
        made.append(args)
        return numpy_zeros(*args, **params)

    f = lambda x: sum([x[i] * x[i] for i in range(50)])
    numpy_zeros = np.zeros
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "zeros", zeros)
        close(pa.grad(f)(x), 2 * x)
    assert len([shape for (shape, *_) in made if shape == x.shape]) == 1


def test_picked_elements_of_other_dtypes_and_without_axes():
    x = random(3).astype(np.float32)
    g = pa.grad(lambda x: pa.sum(pa.astype(x[1:], dtype=np.float64) * 2.0) + x[0])(x)
    assert g.dtype == np.float32
    close(g, [1.0, 2.0, 2.0])
    z = random(3, kind="c")
    close(pa.grad(lambda z: pa.real(z[0] * z[1]) + pa.imag(z[0]))(z), [z[1] - 1j, z[0], 0.0])
    close(pa.grad(lambda x: x[()] * x[()])(np.array(3.0)), 6.0)
    close(pa.grad(lambda x: pa.sum(x[None] * x[None]))(np.float64(3.0)), 6.0)
    close(pa.grad(lambda x: pa.sum(x[:0]))(random(3)), np.zeros(3))


def test_picked_elements_beside_a_full_cotangent_that_is_anothers():
    """What the walk did not make itself is added to, not written to."""
    x, ct = random(4), random(4, seed=1)
    right = ct.copy()
    right[2] += 3.0
    for order in (lambda x: (x * 1.0, x[2]), lambda x: (x, x[2])):
        close(pa.vjp(order, x)[1]((ct, 3.0))[0], right)
    assert ct[2] != right[2]


def test_picked_elements_in_forward_mode_and_in_programs():
    f = lambda x: sum([x[i] ** 3 * (i + 1) for i in range(4)]) + x[1] * x[2]
    x, dx = random(4), random(4, seed=1)
    k = np.arange(1, 5)
    hessian = np.diag(6 * k * x)
    hessian[1, 2] = hessian[2, 1] = 1
    close(pa.hvp(f, x, dx), hessian @ dx)
    close(pa.jvp(pa.grad(f), (x,), (dx,))[1], hessian @ dx)
    gradient = 3 * k * x**2 + np.array([0, x[2], x[1], 0])
    program = pa.make_ir(pa.grad(f))(x)
    close(program(x), gradient)
    assert "index_add" in str(program)
    mixed = pa.grad(lambda x: pa.sum(x) * x[0] + x[3])  # a broadcast cotangent first, then picked ones
    close(pa.make_ir(mixed)(x)(x), x[0] + np.array([np.sum(x), 0, 0, 1.0]))


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1), (0, 0)])
def test_each_of_several_results_hands_on_what_it_has(used, forget_declared):
    """A result that nobody used has None, one that was used twice the sum."""
    given = []

    @pa.opaque(kernel=None, numpy=())
    def split_in_two(x, /):
        """x and -2 x."""

    split_in_two.method(lambda x: (x * 1.0, -2.0 * x))
    split_in_two.rule("vjp")(
        [lambda ct, y, x: given.append(ct) or sum([f * c for f, c in zip((1.0, -2.0), ct) if c is not None])]
    )

    def f(x):
        y = split_in_two(x)
        return sum([3.0 * y[j] for j in used])

    assert pa.grad(f)(5.0) == sum([(3.0, -6.0)[j] for j in used])
    assert [tuple([None if c is None else float(c) for c in ct]) for ct in given] == [
        tuple([3.0 * used.count(j) if j in used else None for j in range(2)])
    ]
