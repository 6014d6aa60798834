"""Arrays that are created inside of a transformation can be written into, those outside are plain."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


rng = np.random.default_rng(5)


x0 = rng.uniform(0.5, 1.5, 6)


def test_creation_outside_is_plain():
    for y in (pa.zeros(3), pa.ones_like(x0), pa.empty((2, 3)), pa.full(2, 1.5), pa.eye(2), pa.full_like(x0, 2)):
        assert type(y) is np.ndarray


def created(x):
    out = pa.zeros(3)
    out[0] = x[0] * x[1]
    more = [pa.empty(2), pa.ones((2,)), pa.full(2, 2.5), pa.full(2, x[2]), pa.zeros_like(x)[:2], pa.eye(2)[0],
            pa.empty_like(x, shape=2), pa.full_like(x, 0.5, shape=(2,)), pa.full_like(x, x[3])[:2]]  # fmt: skip
    for i, a in enumerate(more):
        a[0] = x[i % 6]
        if i in (0, 6):
            a[1] = 1.0
    scalar = pa.zeros(())
    scalar[...] = x[5]
    other = scalar
    other += 1
    return np.sum(out) + sum(np.sum(a * a) for a in more) + scalar


def test_creation_inside_is_writable():
    g = pa.grad(created)(x0)
    np.testing.assert_allclose(pa.jacfwd(created)(x0), g)
    np.testing.assert_allclose(pa.hessian(created)(x0)[0, 1], 1.0)
    np.testing.assert_allclose(pa.vmap(created)(np.stack([x0, 2 * x0]))[0], pa.make_ir(created)(x0)(x0))
    h = 1e-6 * np.eye(6)
    value = lambda x: pa.vmap(created)(x[None])[0]
    np.testing.assert_allclose(g, [(value(x0 + s) - value(x0 - s)) / 2e-6 for s in h], rtol=1e-6)


def test_constants_have_no_derivative_and_leak_as_others_do():
    kept = []

    def f(x):
        c = pa.ones(6)
        kept.append(c)
        return np.sum(c * x) + np.sum(c)

    np.testing.assert_array_equal(pa.grad(f)(x0), np.ones(6))
    np.testing.assert_array_equal(pa.grad(lambda x: np.sum(pa.zeros(3)))(x0), np.zeros(6))
    for use in (lambda c: c + 1, lambda c: c.__setitem__(0, 1.0), lambda c: c.__iadd__(1), pa.zeros_like):
        with pytest.raises(pa.LeakedLayerError):
            use(kept[0])


def test_integer_buffers():
    def f(x):
        count = pa.zeros(2, dtype=int)
        count[0] = 3
        count += 1
        return np.sum(x * count[0])

    np.testing.assert_array_equal(pa.grad(f)(x0), np.full(6, 4.0))
    np.testing.assert_array_equal(pa.vmap(f)(x0[None]), [4 * x0.sum()])

    def winners(x):
        out = pa.zeros(2, dtype=int)
        out[0] = np.argmax(x)
        return out

    np.testing.assert_array_equal(pa.vmap(winners)(np.stack([x0, -x0]))[:, 0], [x0.argmax(), x0.argmin()])


def test_creation_in_rules_stays_below():
    """A rule that creates without an example while its transformation is under way is told so."""

    @pa.opaque(samples=[], numpy=(), kernel=None)
    def doubled(x, /):
        """Twice x."""

    @doubled.method
    def doubled_host(x: np.ndarray):
        return 2 * x

    doubled.rule("shape")(lambda x: x)
    doubled.rule("jvp")(lambda dxs, y, x: dxs[0] * 2 + pa.zeros(x.shape))
    with pytest.raises(pa.MutationError, match=r"doubled: its rule .*zeros_like"):
        pa.jvp(doubled, (x0,), (x0,))
