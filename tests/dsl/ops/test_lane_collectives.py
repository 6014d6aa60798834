"""The cards of collectives: each against NumPy on all lanes at once, in every transformation inside and around the map, and
where lanes have gone different ways. The derivatives that lanes take together are those of the whole map."""

import numpy as np
import pytest
from lane_cases import lane_cases

import polyad as pa

N = 3
CASES = lane_cases(N)


def mapped(f):
    return pa.vmap(f, axis_name="i")


def close(found, right):
    np.testing.assert_allclose(found, right, rtol=1e-10, atol=1e-12)


def pullback(f, x, ct):
    return pa.vjp(f, x)[1](ct)[0]


def on_two_ways(body):
    return lambda x: body(x * 2) if pa.ravel(x)[0] > 0 else body(2 * x)


@pytest.fixture
def drawn(rng):
    """name -> (case, values of all lanes, the first of which go different ways)"""

    def draw(case, n=N):
        x = rng.normal(size=(n, *case.shape))
        x.reshape(n, -1)[:, 0] = np.abs(x.reshape(n, -1)[:, 0]) * (-1) ** np.arange(n)
        return x

    return {name: (case, draw(case)) for name, case in CASES.items()}


def test_values(drawn, each):
    def check(case, x):
        f, right = mapped(case.body), case.reference(x)
        close(f(x), right)
        close(pa.jit(f)(x), right)
        close(mapped(pa.jit(case.body))(x), right)
        close(pa.make_ir(f)(x)(2 * x), case.reference(2 * x))
        assert pa.eval_shape(f, x).shape == right.shape
        close(mapped(on_two_ways(case.body))(x), case.reference(2 * x))

    each(drawn, check)


def test_lanes_of_maps_inside_and_around(drawn, each):
    def check(case, x):
        both = np.stack([x, 2 * x])
        right = np.stack([case.reference(rows) for rows in both])
        close(pa.vmap(mapped(case.body))(both), right)
        close(mapped(pa.vmap(case.body))(np.moveaxis(both, 0, 1)), np.moveaxis(right, 0, 1))

    each(drawn, check)


def test_derivatives_of_the_map(drawn, each):
    smooth = {name: case for name, case in drawn.items() if case[0].smooth}
    each(smooth, lambda case, x: pa.check_grads(mapped(case.body), (x,), order=2))
    each(smooth, lambda case, x: pa.check_grads(mapped(on_two_ways(case.body)), (x,), order=1))


def test_derivatives_that_lanes_take_are_those_of_the_map(drawn, each, rng):
    """A cotangent in each lane, or a tangent, is one of the whole map: <f t, w> = <t, f' w>."""

    def check(case, x):
        f, y = mapped(case.body), case.reference(x)
        w, t = rng.normal(size=y.shape), rng.normal(size=x.shape)
        right = pullback(f, x, w)
        gradient = lambda body: lambda x, w: pa.grad(lambda v: pa.sum(body(v) * w))(x)
        close(mapped(gradient(case.body))(x, w), right)
        close(mapped(pa.jit(gradient(case.body)))(x, w), right)
        close(mapped(gradient(on_two_ways(case.body)))(x, w), 2 * pullback(f, 2 * x, w))
        pushed = mapped(lambda x, t: pa.jvp(case.body, (x,), (t,))[1])(x, t)
        close(np.sum(pushed * w), np.sum(t * right))
        close(pushed, pa.jvp(f, (x,), (t,))[1])

    each({name: case for name, case in drawn.items() if case[0].smooth}, check)


def test_a_collective_of_what_is_one_value_of_all_lanes(drawn, each, rng):
    """Each lane gives a copy of it: its cotangents are summed, once."""

    def check(case, x):
        body = lambda v: case.body(pa.psum(v * v, "i"))
        f = mapped(body)
        w = rng.normal(size=f(x).shape)
        right = pullback(f, x, w)
        close(f(x), case.reference(np.broadcast_to((x * x).sum(axis=0), x.shape)))
        gradient = lambda x, w: pa.grad(lambda v: pa.sum(body(v) * w))(x)
        close(mapped(gradient)(x, w), right)
        close(mapped(pa.jit(gradient))(x, w), right)
        pa.check_grads(f, (x,), order=1)

    kept = ("pmax", "pmin", "scan max", "scan min")  # ties everywhere, at which slopes are not those of differences
    each({name: case for name, case in drawn.items() if case[0].smooth and not name.startswith(kept)}, check)


def test_values_that_no_lane_owns_count_once_in_each(each):
    def check(case):
        value = np.arange(1.0, 1 + np.prod(case.shape)).reshape(case.shape)
        right = case.reference(np.stack([value] * N))
        close(mapped(lambda x: case.body(value) + 0 * x.reshape((1,) * (right.ndim - 1)))(np.ones(N)), right)

    each({name: (case,) for name, case in CASES.items()}, check)


def test_one_lane(each, rng):
    def check(case):
        x = rng.normal(size=(1, *case.shape))
        close(mapped(case.body)(x), case.reference(x))
        if case.smooth:
            pa.check_grads(mapped(case.body), (x,), order=1)

    each({name: (case,) for name, case in lane_cases(1).items()}, check)


def test_dtypes(each):
    """Those of NumPy on all lanes; single precision stays."""
    kinds = ("bool", "int8", "float32", "complex64")

    def check(name, case, kind):
        x = (np.arange(N * np.prod(case.shape)).reshape(N, *case.shape) % 2).astype(kind)
        found, right = mapped(case.body)(x), case.reference(x)
        if name.startswith(("psum", "scan sum", "scan prod")):
            right = right.astype(np.sum(x).dtype)
        if name == "pmean":
            right = right.astype(np.mean(x).dtype)
        assert found.dtype == right.dtype == pa.eval_shape(mapped(case.body), x).dtype
        np.testing.assert_allclose(found, right, rtol=1e-6)

    ordered = ("pmax", "pmin", "scan max", "scan min")  # complex numbers are not
    pairs = [(n, k) for n, c in CASES.items() for k in kinds if c.smooth and not (k == "complex64" and n.startswith(ordered))]
    each({f"{name} of {kind}": (name, CASES[name], kind) for name, kind in pairs}, check)


def test_before_the_first_lane():
    """The number that changes nothing, in the dtype of the lanes."""
    for kind in ("int16", "uint8", "float32"):
        limits = np.iinfo(kind) if kind != "float32" else None
        for operation, least in (("max", limits.min if limits else -np.inf), ("min", limits.max if limits else np.inf)):
            f = mapped(lambda v, op=operation: pa.scan_over_axis(v, "i", op, exclusive=True))
            found = f(np.array([5, 7, 6], kind))
            assert found.dtype == kind
            close(found, [least, 5, 7 if operation == "max" else 5])
    np.testing.assert_array_equal(
        mapped(lambda v: pa.scan_over_axis(v, "i", "max", exclusive=True))(np.array([True, False])), [False, True]
    )


def test_lanes_that_hold_the_largest_value_share_its_derivative():
    x = np.array([2.0, 5.0, 5.0])
    for body in (lambda v: pa.grad(lambda v: pa.pmax(v, "i"))(v), lambda v: pa.grad(lambda v: -pa.pmin(-v, "i"))(v)):
        close(mapped(body)(x), [0, 0.5, 0.5])
    close(pa.grad(lambda x: mapped(lambda v: pa.pmax(v, "i"))(x)[0])(x), [0, 0.5, 0.5])


def test_products_with_zeros():
    for x in (np.array([2.0, 0.0, 3.0]), np.array([0.0, 0.0, 3.0])):
        right = np.array([np.prod(np.delete(x, k)) for k in range(N)])
        close(mapped(lambda v: pa.grad(lambda v: pa.pprod(v, "i"))(v))(x), right)
        close(pa.grad(lambda x: mapped(lambda v: pa.pprod(v, "i"))(x)[0])(x), right)


def test_array_types_go_leaf_by_leaf():
    x = np.arange(6.0).reshape(N, 2)
    with pa.densify("error"):
        f = lambda body: mapped(lambda v: body(pa.Diagonal(v)).diag)(x)
        close(f(lambda d: pa.broadcast(d, "i", 1)), np.stack([x[1]] * N))
        close(f(lambda d: pa.pshuffle(d, "i", [2, 0, 1])), x[[2, 0, 1]])
        close(f(lambda d: pa.ppermute(d, "i", [(0, 1)])), np.stack([0 * x[0], x[0], 0 * x[0]]))
        close(f(lambda d: pa.psum(d, "i")), np.stack([x.sum(axis=0)] * N))


def test_in_the_loops_of_programs():
    """A loop whose steps meet, of lanes that go one way."""
    x = np.array([1.0, 2.0, 4.0])
    step = lambda k, v: pa.ppermute(v, "i", [(0, 1), (1, 2), (2, 0)]) * 2
    for transform in (lambda f: f, pa.jit):
        found = mapped(transform(lambda v: pa.fori_loop(0, 3, step, v)))(x)
        close(found, 8 * x)
        ct = mapped(transform(lambda v: pa.grad(lambda v: pa.axis_index("i") * pa.fori_loop(0, 2, step, v))(v)))(x)
        close(ct, [8, 0, 4])  # lane k is sent to k + 2
