"""Every operation by its card: kernel, shape, both derivatives, second order, lanes and tracing, against references that
know nothing of the rules (NumPy itself, finite differences, a Python loop, eager execution)."""

import numpy as np
import pytest

import polyad as pa
from polyad.ad.check import inner, numerical_jvp
from polyad.ad.derived import inexact
from polyad.dsl import operations
from polyad.dsl.avals import aval_of, infer, is_number


def all_cases():
    for name, op in operations.items():
        for i, make in enumerate(op.card.samples):
            yield pytest.param(op, make, id=f"{name}-{i}")


def smooth_cases():
    for name, op in operations.items():
        for i, make in enumerate(op.card.samples):
            if op.card.differentiable:
                yield pytest.param(op, make, id=f"{name}-{i}")


cases, differentiable_cases = list(all_cases()), list(smooth_cases())


def draw(make):
    """Arguments and parameters of a sample; the arrays of a sequence operation come as one list."""
    return make(np.random.default_rng(7))


def flat(op, args):
    return list(args[0]) if op.generic.sequence else list(args)


def call(op, xs, params):
    return op(xs, **params) if op.generic.sequence else op(*xs, **params)


def active(xs):
    return [i for i, x in enumerate(xs) if isinstance(x, (np.ndarray, np.generic)) and inexact(x)]


def as_function(op, xs, params):
    """The operation as a function of its floating arrays alone, and those arrays."""
    where = active(xs)

    def f(*values):
        full = list(xs)
        for i, v in zip(where, values, strict=True):
            full[i] = v
        return call(op, full, params)

    return f, tuple(xs[i] for i in where)


def random_like(rng, x):
    x = np.asarray(x)
    drawn = rng.standard_normal(x.shape)
    if x.dtype.kind == "c":
        drawn = drawn + 1j * rng.standard_normal(x.shape)
    return drawn.astype(x.dtype)[()]


@pytest.mark.parametrize(("op", "make"), cases)
def test_kernel_is_numpys(op, make):
    args, params = draw(make)
    for name in op.card.numpy:
        function = getattr(np, name, None)
        if function is not None and name not in ("fabs", "astype"):
            np.testing.assert_allclose(op(*args, **params), function(*args, **params), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(("op", "make"), cases)
def test_shape_rule_is_the_results(op, make):
    args, params = draw(make)
    if op.card.body is not None:
        arrays = [x for x in flat(op, args) if isinstance(x, np.ndarray)]
        rest = flat(op, args)[len(arrays) :]
        found = pa.make_ir(lambda *xs: call(op, [*xs, *rest], params))(*arrays).outputs[0].aval
    else:
        found = infer(op, [x if is_number(x) else aval_of(x) for x in flat(op, args)], params)
    assert found == aval_of(op(*args, **params))


@pytest.mark.parametrize(("op", "make"), differentiable_cases)
def test_forward_against_finite_differences(op, make):
    args, params = draw(make)
    f, xs = as_function(op, flat(op, args), params)
    if not xs:
        pytest.skip("no floating argument in this sample")
    rng = np.random.default_rng(1)
    dxs = tuple(random_like(rng, x) for x in xs)
    y, dy = pa.jvp(f, xs, dxs)
    np.testing.assert_allclose(y, f(*xs), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(dy, numerical_jvp(f, xs, dxs), rtol=2e-6, atol=1e-8)
    assert aval_of(dy) == aval_of(y)
    for k in range(len(xs)):  # one at a time: symbolic zeros
        one = tuple(dx if i == k else np.zeros_like(dx) for i, dx in enumerate(dxs))
        g = lambda v, k=k: f(*xs[:k], v, *xs[k + 1 :])
        np.testing.assert_allclose(pa.jvp(g, (xs[k],), (dxs[k],))[1], numerical_jvp(f, xs, one), rtol=2e-6, atol=1e-8)


@pytest.mark.parametrize(("op", "make"), differentiable_cases)
def test_reverse_is_the_transpose_of_forward(op, make):
    args, params = draw(make)
    f, xs = as_function(op, flat(op, args), params)
    if not xs:
        pytest.skip("no floating argument in this sample")
    rng = np.random.default_rng(2)
    dxs = tuple(random_like(rng, x) for x in xs)
    y, pullback = pa.vjp(f, *xs)
    ct = random_like(rng, y)
    cts = pullback(ct)
    for c, x in zip(cts, xs, strict=True):
        assert aval_of(c) == aval_of(x)
    np.testing.assert_allclose(inner(ct, numerical_jvp(f, xs, dxs)), inner(cts, dxs), rtol=2e-6, atol=1e-8)
    for k in range(len(xs)):
        g = lambda v, k=k: f(*xs[:k], v, *xs[k + 1 :])
        np.testing.assert_allclose(pa.vjp(g, xs[k])[1](ct)[0], cts[k], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("op", "make"), differentiable_cases)
def test_second_order(op, make):
    args, params = draw(make)
    f, xs = as_function(op, flat(op, args), params)
    if not xs:
        pytest.skip("no floating argument in this sample")
    pa.check_grads(f, xs, order=2, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("size", [3, 0])
@pytest.mark.parametrize(("op", "make"), cases)
def test_lanes_against_a_loop(op, make, size):
    rngs = [np.random.default_rng(s) for s in (7, 8, 9)]
    drawn = [make(rng) for rng in rngs]
    params = drawn[0][1]
    rows = [flat(op, args) for args, _ in drawn]
    arrays = [i for i, x in enumerate(rows[0]) if isinstance(x, (np.ndarray, np.generic))]
    subsets = {tuple(arrays), *[(i,) for i in arrays]}
    for mapped in subsets:
        lanes = [[row[i] if i in mapped else rows[0][i] for i in range(len(rows[0]))] for row in rows]
        loop = np.stack([call(op, lane, params) for lane in lanes])[:size]
        batch = [np.stack([row[i] for row in rows])[:size] if i in mapped else rows[0][i] for i in range(len(rows[0]))]
        in_axes = tuple(0 if i in mapped else None for i in range(len(batch)))
        found = pa.vmap(lambda *xs: call(op, list(xs), params), in_axes=in_axes)(*batch)
        np.testing.assert_allclose(found, loop, rtol=1e-12, atol=1e-14)
        assert aval_of(found) == aval_of(loop)


@pytest.mark.parametrize(("op", "make"), cases)
def test_traced_program_runs_like_eager(op, make):
    args, params = draw(make)
    xs = flat(op, args)
    arrays = [i for i, x in enumerate(xs) if isinstance(x, (np.ndarray, np.generic))]

    def f(*values):
        full = list(xs)
        for i, v in zip(arrays, values, strict=True):
            full[i] = v
        return call(op, full, params)

    values = [xs[i] for i in arrays]
    program = pa.make_ir(f)(*values)
    np.testing.assert_array_equal(program(*values), f(*values))
    assert str(program)
    namespace = {}
    exec(program.code, namespace)
    np.testing.assert_array_equal(namespace["f"](*values), f(*values))
