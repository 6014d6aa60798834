"""`checkpoint`: the same derivatives as without, what it meets, and wrong options."""

from functools import partial

import numpy as np
import pytest

import polyad as pa

rng = np.random.default_rng(0)
x, w = rng.standard_normal(3), rng.standard_normal((3, 3))
xs, ws = rng.standard_normal((4, 3)), rng.standard_normal((4, 3, 3))
ones = np.ones(3)
close = partial(np.testing.assert_allclose, rtol=1e-10, atol=1e-13)


def layer(x, w):
    return pa.sin(w @ x) * pa.checkpoint_name(pa.exp(-x), "decay")


def as_argument(wrap):
    """Everything that is read is an argument."""
    block = wrap(layer)
    return lambda x, w: pa.sum(block(block(x, w), w) ** 2)


def as_closure(wrap):
    """w is read from outside, beside x and alone."""

    def loss(x, w):
        block = wrap(lambda v: pa.tanh(w @ v) + pa.sum(w * w))
        return pa.sum(block(block(x)))

    return loss


def nested(wrap):
    inner = wrap(lambda x, w: wrap(layer)(wrap(layer)(x, w), w))
    return lambda x, w: pa.sum(wrap(inner)(x, w) ** 2)


def over_data(wrap):
    """The argument is not followed, only what is read from outside."""
    return lambda x, w: pa.sum(pa.sin(x)) * pa.sum(wrap(lambda data: pa.sin(w @ data))(ones))


def without(f):
    return f


LOSSES = [as_argument, as_closure, nested, over_data]
POLICIES = {
    "nothing": None,
    "dots": pa.policies.dots,
    "exp": pa.policies.operations("exp", pa.tanh),
    "decay": pa.policies.names("decay"),
    "either": pa.policies.either(pa.policies.names("decay"), pa.policies.dots),
    "everything": pa.policies.everything,
}
USES = {
    "grad": lambda f: pa.grad(f, (0, 1))(x, w),
    "jvp": lambda f: pa.jvp(f, (x, w), (ones, w))[1],
    "forward over reverse": lambda f: pa.jacfwd(pa.grad(f, 1))(x, w),
    "reverse over reverse": lambda f: pa.jacrev(pa.grad(f, 1), 1)(x, w),
    "reverse over forward": lambda f: pa.grad(lambda x: pa.jvp(lambda w: f(x, w), (w,), (w,))[1])(x),
    "third": lambda f: pa.grad(lambda x: pa.sum(pa.grad(lambda x: pa.sum(pa.grad(f)(x, w) ** 2))(x) ** 2))(x),
    "grad of vmap": lambda f: pa.grad(lambda x, w: pa.sum(pa.vmap(f, in_axes=(0, None))(x, w)), (0, 1))(xs, w),
    "grad of vmap over closure": lambda f: pa.grad(lambda w: pa.sum(pa.vmap(f)(xs, w)))(ws),
    "grad around vmap": lambda f: pa.grad(lambda x: pa.sum(pa.vmap(lambda w: f(x, w))(ws)))(x),
    "vmap of grad": lambda f: pa.vmap(pa.grad(f, (0, 1)))(xs, ws),
    "hessian of vmap": lambda f: pa.jacrev(pa.grad(lambda w: pa.sum(pa.vmap(f, in_axes=(0, None))(xs, w))))(w),
    "program": lambda f: pa.grad(pa.make_ir(f)(x, w), (0, 1))(x, w),
    "program of grad": lambda f: pa.make_ir(pa.grad(f, (0, 1)))(x, w)(x, w),
    "program of vmap": lambda f: pa.grad(pa.make_ir(lambda x: pa.sum(pa.vmap(lambda x: f(x, w))(x)))(xs))(xs),
    "jit": lambda f: pa.jit(pa.grad(f, (0, 1)))(x, w),
    "grad of jit": lambda f: pa.grad(pa.jit(f), (0, 1))(x, w),
    "vjp twice": lambda f: [pull(2.0) for pull in [pa.vjp(f, x, w)[1]] for _ in range(2)],
    "jet": lambda f: pa.jet(lambda t: f(x * t, w), (1.0,), ([1.0, 0.0, 0.0],)),
}


@pytest.mark.parametrize("make", LOSSES)
@pytest.mark.parametrize("use", USES)
def test_the_same_derivatives(use, make, each):
    expected = USES[use](make(without))

    def check(policy):
        found = USES[use](make(pa.checkpoint(policy=policy)))
        assert pa.tree.structure(found) == pa.tree.structure(expected)
        pa.tree.map(close, found, expected)

    each({name: (policy,) for name, policy in POLICIES.items()}, check)


def test_against_finite_differences():
    pa.check_grads(as_closure(pa.checkpoint), (x, w), order=2)


# ---------------------------------------------------------------------- how often, how much


def test_the_function_runs_twice():
    runs = [0]

    def f(x):
        runs[0] += 1
        return pa.sin(x) * x

    block = pa.checkpoint(f)
    for use, count in ((lambda f: f(x), 1), (lambda f: pa.jvp(f, (x,), (ones,)), 1), (lambda f: pa.vjp(f, x), 1),
                       (pa.grad(lambda v: pa.sum(block(v))), 2)):  # fmt: skip
        runs[0] = 0
        use(x) if count == 2 else use(block)
        assert runs[0] == count
    runs[0] = 0
    pa.grad(lambda x: pa.sum(pa.vmap(block)(x)))(x)
    assert runs[0] == 2
    runs[0] = 0
    pa.grad(lambda v: pa.sum(pa.checkpoint(lambda data: f(data) * v)(x)))(x)  # only the closure is followed
    assert runs[0] == 2
    runs[0] = 0
    pa.jacrev(block)(x)  # once for all rows
    assert runs[0] == 2


# ---------------------------------------------------------------------- what it meets
def test_trees_keywords_integers_containers():
    @pa.checkpoint
    def f(p, *, power=2):
        return {"a": p["x"] ** power, "n": p["n"] + 1, "d": pa.Diagonal(p["x"])}

    g = pa.grad(lambda v: pa.sum(f({"x": v, "n": 3}, power=3)["a"]) + pa.sum(f({"x": v, "n": 3})["d"] @ ones))(x)
    close(g, 3 * x**2 + 1)
    assert f.__name__ == "f" and f({"x": x, "n": 3})["n"] == 4
    d = pa.grad(lambda d: pa.sum(pa.checkpoint(lambda d: d @ d)(d) @ ones))(pa.Diagonal(x))
    close(d.diag, 2 * x)


def test_values_that_pass_through():
    f = pa.checkpoint(lambda x, y: (x, y, pa.sin(x), 3.0))
    close(pa.grad(lambda x: pa.sum(f(x, 2.0)[0] + f(x, 2.0)[2]))(x), 1 + np.cos(x))


def test_random_numbers_by_keys_agree():
    key = pa.random.key(0)
    drop = lambda x: x * pa.random.normal(key, (3,)) + x**2 * pa.random.bernoulli(key, 0.5, (3,))
    close(pa.grad(lambda x: pa.sum(pa.checkpoint(drop)(x)))(x), pa.grad(lambda x: pa.sum(drop(x)))(x))


def test_code_in_place():
    def f(v):
        buffer = pa.zeros(3)
        buffer[0] = v[1]
        buffer[1:] = pa.sin(v[:2])
        buffer *= 2
        return buffer

    close(pa.jacrev(pa.checkpoint(f))(x), pa.jacrev(f)(x))


def test_control_flow():
    f = pa.checkpoint(lambda v: pa.sin(v) * v)
    three = lambda x: pa.sum(pa.scan(lambda c, _: (f(c), None), x, None, length=3)[0])
    expected = pa.grad(lambda x: pa.sum(f(f(f(x)))))(x)
    close(pa.grad(three)(x), expected)
    close(pa.grad(pa.make_ir(three)(x))(x), expected)


def test_programs_show_one_step():
    program = pa.make_ir(lambda v: pa.sum(pa.checkpoint(lambda u: pa.sin(u) * w[0])(v)))(x)
    assert [e.op.__name__ for e in program.equations] == ["checkpointed_call", "sum"]
    scope = {}
    exec(program.code, scope)
    close(scope["program"](x) if "program" in scope else scope["lambda"](x), np.sum(np.sin(x) * w[0]))


def test_effects_happen_once():
    """Operations with an effect do not happen again when the function runs again, as Python's own effects do."""
    seen, python = [], []

    def f(v):
        python.append(1)
        pa.io_callback(lambda a: seen.append(1), None, v)
        return pa.sin(v)

    pa.grad(lambda x: pa.sum(pa.checkpoint(f)(x)))(x)
    assert len(seen) == 1 and len(python) == 2


# ---------------------------------------------------------------------- misuse


def test_wrong_options():
    with pytest.raises(pa.MethodError, match=r"checkpoint: policy is a function, not str"):
        pa.checkpoint(pa.sin, policy="dots")
    with pytest.raises(pa.MethodError, match="checkpoint: f is a function"):
        pa.checkpoint(x)
    with pytest.raises(pa.RegistrationError, match="'nope' is no operation"):
        pa.policies.operations("nope")
    with pytest.raises(pa.RegistrationError, match="made of other operations"):
        pa.policies.operations("std")
