"""Reverse rules: the card's, or forward rules transposed; one for all arrays of a sequence; and what implies none."""

import numpy as np
import pytest
from declaring import kernel

import polyad as pa
from polyad.dsl.mutation_checks import debug_mutation
from polyad.testing import check_rule

pytestmark = [pytest.mark.usefixtures("forget_declared"), pytest.mark.quick]

close = np.testing.assert_allclose
X, Y = np.array([0.3, 1.2, 2.0]), np.array([1.5, 0.4, 0.7])


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def backwards(declare, jvp=None):
    """An operation that is linear and knows of its tangents that it is itself applied to them."""

    @declare(kernel=None)
    def backwards(x, /):
        """The last axis backwards."""

    op = kernel(backwards, lambda x: x[..., ::-1])
    op.rule("shape")(lambda x: x)
    if jvp:
        op.rule("jvp")(lambda dxs, y, x: jvp(op, dxs[0]))
    return op


TRANSPOSING = {
    "grad": lambda f, x: pa.grad(lambda x: pa.sum(f(x) ** 2))(x),
    "grad of jit": lambda f, x: pa.grad(lambda x: pa.sum(pa.jit(f)(x) ** 2))(x),
    "jit of grad": lambda f, x: pa.jit(pa.grad(lambda x: pa.sum(f(x) ** 2)))(x),
    "grad of a program": lambda f, x: pa.grad(pa.make_ir(lambda x: pa.sum(f(x) ** 2))(x))(x),
    "hessian": lambda f, x: pa.hessian(lambda x: pa.sum(f(x) ** 2))(x),
    "over forward": lambda f, x: pa.grad(lambda x: pa.sum(pa.jvp(f, (x,), (x,))[1]))(x),
    "lanes": lambda f, x: pa.vmap(pa.grad(lambda x: pa.sum(f(x))))(np.stack([x, x])),
    "transpose": lambda f, x: pa.linear_transpose(f, x)(x),
    "twice": lambda f, x: pa.linear_transpose(lambda c: pa.linear_transpose(f, x)(c)[0], x)(x),
    "of the linear part": lambda f, x: pa.linear_transpose(pa.linearize(f, x)[1], x)(x),
    "checkpoint": lambda f, x: pa.grad(lambda x: pa.sum(pa.checkpoint(f)(x)))(x),
}


@pytest.mark.filterwarnings("ignore::polyad.PerformanceWarning")
@pytest.mark.parametrize("way", TRANSPOSING)
def test_an_operation_whose_derivative_is_itself_has_no_transpose(way):
    linear = backwards(pa.linear)
    opaque = backwards(pa.opaque, lambda op, dx: op(dx))
    there = backwards(pa.opaque, lambda op, dx: back(dx))
    back = backwards(pa.opaque, lambda op, dx: there(dx))
    for op, rule in ((linear, "transpose"), (opaque, "vjp"), (there, "vjp")):
        close(pa.jvp(op, (X,), (Y,))[1], Y[::-1])
        advice = rf"backwards has no reverse derivative.*add backwards\.rule\('{rule}'\)\(\[…\]\).*\(ct, y, x\)"
        with pytest.raises(pa.MissingRuleError, match=advice):
            TRANSPOSING[way](op, X)
        op.rule(rule)([lambda ct, y, x, op=op: op(ct)])
        TRANSPOSING[way](op, X)
    close(pa.grad(lambda x: pa.sum(linear(x) ** 2))(X), 2 * X)


def test_a_product_without_transposes():
    @pa.bilinear(kernel=None)
    def product(x, y, /):
        """x y"""

    op = kernel(product, np.multiply)
    op.rule("shape")(lambda x, y: x)
    with pytest.raises(pa.MissingRuleError, match=r"product has no reverse derivative.*product\.rule\('transpose'\)"):
        pa.grad(lambda x: pa.sum(op(x, x)))(X)


def test_the_error_of_a_missing_transpose_in_check_rule():
    with pytest.raises(AssertionError, match=r"reverse mode: MissingRuleError: backwards has no reverse derivative"):
        check_rule(backwards(pa.linear), X)


def test_an_operation_may_be_its_own_derivative_for_other_parameters():
    @pa.opaque(kernel=None)
    def doubled(x, /, times=0):
        """x doubled that often"""

    op = kernel(doubled, lambda x, times=0: x * 2.0**times)
    op.rule("shape")(lambda x, times=0: x)
    op.rule("jvp")(lambda dxs, y, x, times=0: 2 * op(dxs[0], times=times - 1) if times else dxs[0])
    close(pa.grad(lambda x: pa.sum(op(x, times=12)))(X), np.full(3, 4096.0))


# ---------------------------------------------------------------------- one rule for all arrays of a sequence
def test_a_card_with_one_rule_for_all_arrays():
    @pa.opaque(sequence=True, kernel=None)
    def weighted(arrays, /):
        """Σ k x[k] + x[0]²"""

    weighted.method(_weighted_kernel)

    @weighted.rule("vjp_all")
    def weighted_vjp(ct, y, *xs):
        return [pa.multiply(ct, k + (2 * xs[0] if k == 0 else 0.0)) for k in range(len(xs))]

    xs = [random(3, seed=k) for k in range(4)]
    f = lambda *xs: weighted(list(xs))
    close(pa.grad(lambda xs: pa.sum(weighted(xs)))(xs), [2 * xs[0], np.ones(3), 2 * np.ones(3), 3 * np.ones(3)])
    pa.check_grads(f, tuple(xs), order=2)
    dxs = tuple(random(3, seed=k + 9) for k in range(4))
    close(pa.jvp(f, tuple(xs), dxs)[1], 2 * xs[0] * dxs[0] + dxs[1] + 2 * dxs[2] + 3 * dxs[3])
    with debug_mutation():
        pull = pa.vjp(f, *xs)[1]
        xs[0][0] += 1.0
        with pytest.raises(pa.MutationError, match="weighted"):
            pull(np.ones(3))
    weighted.rule("vjp_all")(lambda ct, y, *xs: [ct])
    with pytest.raises(pa.MissingRuleError, match=r"weighted: its rule vjp_all returned 1 cotangent\(s\) for 4"):
        pa.grad(lambda xs: pa.sum(weighted(xs)))(xs)


def _weighted_kernel(*xs: pa.HostArray):
    return sum(k * x for k, x in enumerate(xs)) + xs[0] ** 2


def test_a_sequence_with_a_forward_rule_only_is_transposed_once():
    calls = []

    @pa.opaque(sequence=True, kernel=None)
    def chained(arrays, /):
        """Σ k x[k] + x[0]²"""

    chained.method(_weighted_kernel)

    @chained.rule("jvp")
    def chained_jvp(dxs, y, *xs):
        calls.append(len(xs))
        parts = [k * dx for k, dx in enumerate(dxs) if dx is not None and k]
        return sum(parts) + (0.0 if dxs[0] is None else 2 * xs[0] * dxs[0])

    xs = [random(3, seed=k) for k in range(5)]
    close(pa.grad(lambda xs: pa.sum(chained(xs)))(xs), [2 * xs[0], *[np.full(3, float(k)) for k in range(1, 5)]])
    assert calls == [5]
    close(pa.grad(lambda x: pa.sum(chained([xs[0], xs[1], x])))(xs[2]), np.full(3, 2.0))
