"""Where features meet: checkpoints under Taylor mode and traces, linear parts of loops, threads, memory, wrong use."""

import gc
import threading
import weakref

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.layers.tracing import Traced

close = np.testing.assert_allclose
X, V = np.array([0.4, 0.9, -0.6]), np.array([0.3, -0.7, 1.1])
along = lambda f, x, v: pa.jvp(f, (x,), (v,))[1]


# ---------------------------------------------------------------------- linear parts
def halving(x):
    s = pa.while_loop(lambda t: t < 2.0, lambda t: t * 2.0 + x[1], x[0])
    return pa.sum(x * s) if s > 2.5 else s


LINEAR_PARTS = {
    "scan": lambda x: pa.scan(lambda c, y: (c * y + y, None), x[0], x)[0],
    "fori_loop": lambda x: pa.fori_loop(0, 3, lambda i, t: t * x[1] + i, x[0]),
    "while_loop, and a branch by its value": halving,
    "jit": pa.jit(lambda x: pa.sum(pa.sin(x) * x)),
    "cond": lambda x: pa.cond(x[0] > 0, lambda y: pa.sum(y * y), lambda y: pa.sum(y), x),
    "checkpoint": lambda x: pa.sum(pa.checkpoint(lambda y: pa.sin(y) * x[1])(x)),
    "buffers": lambda x: buffered(x),
}


def buffered(x):
    out = np.zeros_like(x)
    out[1:] += x[:-1] * x[0]
    return np.sum(out * out)


@pytest.mark.parametrize("name", LINEAR_PARTS)
def test_linear_part_and_its_transpose(name):
    f = LINEAR_PARTS[name]
    right = pa.grad(f)(X)
    y, linear = pa.linearize(f, X)
    assert not isinstance(y, Traced) and y == f(X)
    close(linear(V), right @ V)
    close(pa.linear_transpose(linear, X)(1.0)[0], right)
    close(pa.grad(lambda x: pa.linearize(f, x)[1](V))(X), pa.hvp(f, X, V), atol=1e-14)
    close(pa.vmap(lambda x: pa.linearize(f, x)[1](V))(np.stack([X, 2 * X])), [along(f, X, V), along(f, 2 * X, V)])


def test_values_of_a_loop_are_computed_once_for_its_linear_part():
    steps = []

    def body(c, y):
        steps.append(c)
        return pa.sin(c) * y, None

    _, linear = pa.linearize(lambda x: pa.scan(body, x[0], x)[0], X)
    assert len(steps) == 3
    assert not {"sin", "cos"} & {e.op.__name__ for e in linear.program.equations}


@pytest.mark.parametrize("name", ["scan", "fori_loop", "while"])
def test_transposed_in_a_program(name):
    loops = {"while": lambda x: pa.while_loop(lambda t: t < 2.0, lambda t: t * 2.0 + x[1], x[0])}
    f = {**LINEAR_PARTS, **loops}[name]
    back = lambda x: pa.linear_transpose(pa.linearize(f, x)[1], x)(1.0)[0]
    close(pa.make_ir(back)(X)(2 * X), pa.grad(pa.make_ir(f)(X))(2 * X))


REFUSED = {
    "a carry that is squared": lambda x: pa.scan(lambda c, y: (c + y * c, None), x[0], x)[0],
    "a jitted product": lambda x: pa.jit(lambda y: y * y)(x),
    "a choice by its argument": lambda x: pa.cond(x[0] > 0, lambda: x, lambda: 2 * x),
    "a loop as long as its argument says": lambda x: pa.while_loop(lambda t: t < 1, lambda t: t + 1, x[0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_linear_is_refused_inside_programs_too(name):
    with pytest.raises(pa.StructureError, match="not linear"):
        pa.linear_transpose(REFUSED[name], X)
    with pytest.raises(pa.StructureError, match="not linear"):
        pa.make_ir(lambda k: pa.linear_transpose(lambda x: REFUSED[name](x) * k, X)(k))(2.0)


def test_effects_of_a_function_that_is_transposed_happen_once():
    seen = []
    f = lambda x: 2.0 * x + 0.0 * pa.sum(pa.io_callback(lambda: seen.append(1) or np.zeros(3), np.zeros(3)))
    pa.linear_transpose(f, X)
    assert seen == [1]


# ---------------------------------------------------------------------- Taylor mode
def test_series_are_written_into_buffers():
    f = lambda t: buffered(X + t * V)
    close(pa.derivatives(f, 2)(0.5), [f(0.5), pa.derivative(f)(0.5), pa.derivative(pa.derivative(f))(0.5)])


def by_rule(f):
    g = pa.custom_jvp(lambda x: f(x))
    g.defjvp(lambda xs, dxs: pa.jvp(f, xs, dxs))
    return g


IN_RULES = {
    "cond": lambda x: pa.cond(x > 0, lambda y: pa.sin(y) * x, lambda y: y**3, x),
    "scan": lambda x: pa.scan(lambda c, y: (c * x + y, None), x, np.arange(3.0))[0],
    "while_loop": lambda x: pa.while_loop(lambda t: t < 3, lambda t: t * 2 + x**2, x * x),
    "checkpoint": pa.checkpoint(lambda x: pa.sin(x) * x),
}


@pytest.mark.parametrize("x", [0.7, -0.7])
@pytest.mark.parametrize("name", IN_RULES)
def test_taylor_series_of_rules_that_hold_programs(name, x):
    f = IN_RULES[name]
    right = pa.derivatives(f, 4)(x)
    taylor = pa.derivatives(by_rule(f), 4)
    close(taylor(x), right, atol=1e-14)
    close(pa.make_ir(taylor)(x)(x), right, atol=1e-14)
    close(np.transpose(pa.vmap(taylor)(np.array([x, -x])))[0], right, atol=1e-14)
    close(pa.grad(lambda x: taylor(x)[2])(x), right[3], atol=1e-14)


@pytest.mark.parametrize("policy", [None, pa.policies.dots, pa.policies.names("none")])
@pytest.mark.parametrize("transform", [pa.grad, pa.derivative, lambda f: pa.grad(pa.make_ir(f)(0.5))])
def test_taylor_series_through_a_checkpoint(transform, policy):
    inner = lambda t: pa.sum(pa.checkpoint(lambda y: pa.sin(y) * y, policy=policy)(X * t) * (X * t))
    plain = lambda t: pa.sum(pa.sin(X * t) * (X * t) ** 2)
    for k in (1, 2):
        close(transform(lambda t, k=k: pa.derivatives(inner, k)(t)[k])(0.5), pa.derivatives(plain, 3)(0.5)[k + 1])
        around = lambda t, k=k: pa.checkpoint(lambda u: pa.derivatives(plain, k)(u)[k], policy=policy)(t)
        close(transform(around)(0.5), pa.derivatives(plain, 3)(0.5)[k + 1])


# ---------------------------------------------------------------------- checkpoints
def test_checkpoint_under_a_linear_part():
    f = lambda x: pa.sum(pa.checkpoint(lambda y: pa.sin(y) * x[1])(x))
    second = lambda x: pa.linearize(f, x)[1](V)
    close(pa.grad(second)(X), pa.hvp(f, X, V))
    close(pa.make_ir(second)(X)(X), along(f, X, V))
    v = pa.variable(X)
    second(v).backward()
    close(v.grad, pa.hvp(f, X, V))


def test_checkpoint_of_a_gradient_that_is_walked_twice():
    """The walk that keeps zero cotangents zero makes other products; the function inside does the same as before."""
    entropy = lambda x: pa.sum(pa.where(x > 0, x * pa.log(x), x**2))
    x = np.array([0.0, 0.5, -1.0])
    inner = lambda x: V @ pa.grad(entropy)(x)
    for policy in (None, pa.policies.dots, pa.policies.operations("multiply"), lambda op, params: True):
        kept = pa.checkpoint(lambda x: pa.where(x[0] > 0, pa.log(x[0]) * inner(x), 2.0 * inner(x)), policy=policy)
        with np.errstate(all="ignore"):
            close(pa.grad(kept)(x), 2 * pa.grad(inner)(x))


def test_policy_around_a_rule_of_ones_own():
    f = lambda x: pa.sum(pa.jit(pa.grad(lambda y: pa.sum(by_rule(pa.sin)(y) * y)))(x) * V)
    kept = pa.checkpoint(lambda x: f(x), policy=pa.policies.dots)
    close(pa.grad(kept)(X), pa.grad(f)(X))
    g = pa.checkpoint(by_rule(lambda x: pa.sum(pa.sin(x) * x)), policy=pa.policies.dots)
    close(pa.grad(g)(X), np.cos(X) * X + np.sin(X))
    close(pa.hessian(g)(X), np.diag(2 * np.cos(X) - np.sin(X) * X))


def test_policy_around_jit_and_inside_of_it():
    fast = pa.jit(lambda x: pa.sin(x) * x)
    kept = pa.checkpoint(lambda x: pa.sum(fast(x) * fast(x * 2.0)), policy=pa.policies.operations("sin"))
    plain = lambda x: pa.sum(pa.sin(x) * x * pa.sin(2 * x) * 2 * x)
    for _ in range(3):  # jit runs its program in another way at each of its first calls
        close(pa.grad(kept)(X), pa.grad(plain)(X))
    loop = pa.checkpoint(lambda x: pa.fori_loop(0, 3, lambda i, t: t * 0.5 + x[1] * i, x[1]), policy=pa.policies.dots)
    ruled = pa.custom_vjp(lambda x: loop(x))
    ruled.defvjp(lambda x: (loop(x), x), lambda x, ct: pa.vjp(loop, x)[1](ct))
    close(pa.grad(pa.jit(lambda x: ruled(x)))(X), [0, 2.625, 0])


def test_checkpoint_in_which_jit_asks_python():
    def f(x):
        y = pa.sin(x)
        return pa.sum(y * y) if y[0] > 0 else pa.sum(y)

    inside = pa.jit(lambda x: pa.checkpoint(f)(x * 2.0) * x[1])
    for x in (X, -X):
        close(pa.grad(inside)(x), pa.grad(lambda x: f(x * 2.0) * x[1])(x))
        close(pa.jit(pa.grad(lambda x: pa.checkpoint(f)(x)))(x), pa.grad(f)(x))


def test_question_to_an_explicit_graph_within_jit_is_an_error():
    def f(x):
        p = pa.placeholder((3,))
        return pa.function([p], p * 2 if p[0] > 0 else p)(x)

    with pytest.raises(pa.ConcreteValueError, match="an explicit graph: Python asked"):
        pa.jit(f)(X)


def test_pullback_through_checkpoints_in_several_threads():
    f = pa.checkpoint(lambda x: pa.sin(x) * pa.exp(x))
    g = pa.checkpoint(lambda x: pa.tanh(f(x) * x))
    with pa.Tape(persistent=True) as tape:
        x = tape.watch(X)
        z = g(f(g(x)))
    _, pullback = pa.vjp(lambda x: g(f(g(x))), X)
    cts = [np.cos(k * X) for k in range(4)]
    right, wrong = [pullback(ct)[0] for ct in cts], []

    def work(k):
        try:
            for _ in range(10):
                close(pullback(cts[k])[0], right[k])
                close(tape.gradient(z, x, ct=cts[k]), right[k])
        except BaseException as error:  # noqa: BLE001  shown below
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# ---------------------------------------------------------------------- memory
def on_tape(f):
    with pa.Tape(persistent=True) as tape:
        x = tape.watch(X)
        y = f(x)
    return tape.gradient(y, x)


AFTER = {
    "checkpoint": lambda f: pa.grad(pa.checkpoint(f))(X),
    "checkpoint with a policy": lambda f: pa.grad(pa.checkpoint(f, policy=pa.policies.dots))(X),
    "checkpoint, second order": lambda f: pa.hessian(pa.checkpoint(f))(X),
    "checkpoint on a tape": lambda f: on_tape(pa.checkpoint(f)),
    "jet": lambda f: pa.jet(f, (X,), ([V, V, V],)),
    "jet of a rule": lambda f: pa.jet(by_rule(f), (X,), ([V, V],)),
    "aot": lambda f: pa.grad(pa.aot(f, lambda program, leaves: program))(X),
    "linearize": lambda f: pa.linear_transpose(pa.linearize(f, X)[1], X)(1.0),
}


@pytest.mark.parametrize("name", AFTER)
def test_no_array_waits_for_the_garbage_collector(name):
    large, seen = np.ones(3), []

    def f(x):
        own = large * 2.0  # an array that only the record keeps
        seen.append(weakref.ref(own))
        return pa.sum(pa.sin(x * own) * x)

    gc.collect()
    gc.disable()
    try:
        AFTER[name](f)
        assert seen and all(ref() is None for ref in seen)
    finally:
        gc.enable()


# ---------------------------------------------------------------------- programs and lanes
def test_buffers_made_in_a_loop_like_values_from_outside():
    loop = lambda x: pa.fori_loop(0, 2, lambda i, s: s + buffered(x), x[0] * 0.0)
    close(pa.make_ir(pa.grad(loop))(X)(X), 2 * pa.grad(buffered)(X))
    close(pa.make_ir(pa.vmap(loop))(np.stack([X, V]))(np.stack([X, V])), [2 * buffered(X), 2 * buffered(V)])


def test_second_derivatives_of_compiled_loops():
    def loop(x, k):
        return pa.sum(pa.while_loop(lambda s: s[0] < k, lambda s: (s[0] + 1, pa.sin(s[1]) * x), (0, x))[1])

    twice = lambda x, k: pa.grad(lambda y: V @ pa.grad(loop)(y, k))(x)
    fast = pa.jit(twice)
    for k in (0, 1, 3, 20):
        close(fast(X, np.asarray(k)), twice(X, k), atol=1e-14)
    nested = lambda x: pa.sum(pa.scan(lambda c, s: (c, pa.scan(lambda t, y: (t / 2 + y, t * y), s, x * s)[1]), 0.0, X)[1])
    close(pa.jit(pa.grad(nested))(X), pa.grad(nested)(X))
    ahead = pa.aot(lambda x: V @ pa.grad(loop)(x, 2), lambda program, leaves: program)
    close(pa.grad(ahead)(X), twice(X, 2))


def test_value_of_an_ended_transformation_is_no_constant_of_a_trace():
    kept = []
    pa.grad(lambda x: kept.append(x) or pa.sum(x))(X)
    with pytest.raises(pa.LeakedLayerError, match="after that transformation ended"):
        pa.make_ir(lambda x: kept[0])(X)


def test_backward_rule_in_forward_mode_keeps_zeros():
    f = lambda x: pa.sum(pa.where(x > 0, x * pa.log(x), 3 * x))
    g = pa.custom_vjp(lambda x: f(x))
    g.defvjp(lambda x: (f(x), x), lambda x, ct: pa.vjp(f, x)[1](ct))
    with np.errstate(all="ignore"):
        close(along(g, np.array([0.0, 0.5, -1.0]), V), 3 * V[0] + (np.log(0.5) + 1) * V[1] + 3 * V[2])


# ---------------------------------------------------------------------- wrong use
f, p = (lambda x: pa.sum(x * x)), pa.placeholder((3,))
WRONG = {
    "grad(None)": (lambda: pa.grad(None)(X), pa.MethodError, "grad: its argument is NoneType, no function"),
    "jvp": (lambda: pa.jvp("text", (X,), (X,)), pa.MethodError, "jvp: its argument is str"),
    "hook": (lambda: pa.grad(lambda x: pa.sum(pa.grad_hook(x, 3)))(X), pa.MethodError, "grad_hook: the hook is int"),
    "defjvp": (lambda: pa.custom_jvp(f).defjvp(1), pa.MethodError, r"custom_jvp\(<lambda>\): the rule of defjvp is int"),
    "defvjp": (lambda: pa.custom_vjp(f).defvjp(f, 1), pa.MethodError, "backward of defvjp is int"),
    "defjvps": (lambda: pa.custom_jvp(f).defjvps("x"), pa.MethodError, "rule 0 of defjvps is str"),
    "nondiff": (lambda: pa.custom_vjp(f, nondiff_argnums="x"), pa.StructureError, "nondiff_argnums is a position"),
    "either": (lambda: pa.policies.either(3), pa.MethodError, "policies.either: a policy is int"),
    "names": (lambda: pa.policies.names(3), pa.RegistrationError, "policies.names: names are text"),
    "compiler": (lambda: pa.aot(f, 3), pa.MethodError, "aot: compiler is int"),
    "compiled": (lambda: pa.aot(f, lambda p, xs: 3)(X), pa.MethodError, "what the compiler returned"),
    "placeholder": (lambda: pa.placeholder((3,), "text"), pa.DTypeError, "placeholder: 'text' is no dtype of numbers"),
    "givens": (lambda: pa.function([p], p, givens=[1]), pa.StructureError, "givens is a dict or a list of pairs"),
    "coloring": (lambda: pa.column_coloring(X), pa.MethodError, "column_coloring: the pattern is ndarray"),
    "order": (lambda: pa.check_grads(f, (X,), order=X), ValueError, "order is a number of derivatives"),
    "modes": (lambda: pa.check_grads(f, (X,), modes=3), ValueError, "modes are"),
    "finite": (lambda: pa.check_grads(f, (np.nan,)), ValueError, "result is NaN or infinite everywhere"),
    "gvp": (lambda: pa.gvp(f, lambda x: len, X, X), pa.StructureError, "returns a function"),
    "unconnected": (lambda: pa.gradients(f(p), [p], unconnected=X), ValueError, "unconnected is"),
    "mode": (lambda: pa.sparse_jacobian(f, mode=X), ValueError, "mode is"),
    "in_axes": (lambda: pa.vmap(f, in_axes=X)(X), pa.ShapeError, "an axis must be an integer"),
    "axis_size": (lambda: pa.vmap(f, axis_size="3")(X), pa.ShapeError, "axis_size is a number of lanes"),
    "lanes of text": (lambda: pa.vmap(lambda x: x)(np.array(["a"])), pa.DTypeError, "argument 0 .* holds no numbers"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_is_named(name):
    call, kind, text = WRONG[name]
    with pytest.raises(kind, match=text):
        call()
