"""Python functions called from inside: each effect once per executed step and in order, under every transformation."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.programs import check

pytestmark = pytest.mark.quick

FLOAT = pa.Aval((), float)


class Log:
    """Collects what it is called with."""

    def __init__(self):
        self.seen = []

    def __call__(self, *xs):
        self.seen.append([np.asarray(x).tolist() for x in xs])


def logging(log):
    def f(x):
        pa.io_callback(log, None, x)
        return pa.sin(x) * 2.0

    return f


@pytest.mark.parametrize("run, expected", [
    (lambda f: f(1.0), [[1.0]]),
    (lambda f: pa.grad(f)(1.0), [[1.0]]),
    (lambda f: pa.jvp(f, (1.0,), (1.0,)), [[1.0]]),
    (lambda f: pa.grad(pa.grad(f))(1.0), [[1.0]]),
    (lambda f: pa.hessian(f)(np.float64(1.0)), [[1.0]]),
    (lambda f: pa.jacfwd(f)(np.float64(1.0)), [[1.0]]),
    (lambda f: pa.vmap(f)(np.array([1.0, 2.0])), [[1.0], [2.0]]),
    (lambda f: pa.vmap(pa.grad(f))(np.array([1.0, 2.0])), [[1.0], [2.0]]),
    (lambda f: pa.grad(lambda x: pa.sum(pa.vmap(f)(x)))(np.array([1.0, 2.0])), [[1.0], [2.0]]),
    (lambda f: pa.vmap(pa.vmap(f))(np.array([[1.0, 2.0], [3.0, 4.0]])), [[1.0], [2.0], [3.0], [4.0]]),
    (lambda f: pa.vmap(lambda x: f(1.0) + x)(np.zeros(3)), [[1.0]]),
    (lambda f: pa.vmap(f)(np.zeros(0)), []),
    (lambda f: pa.make_ir(f)(1.0), []),
    (lambda f: pa.make_ir(f)(5.0)(1.0), [[1.0]]),
    (lambda f: pa.grad(pa.make_ir(f)(5.0))(1.0), [[1.0]]),
    (lambda f: pa.vmap(pa.make_ir(f)(5.0))(np.array([1.0, 2.0])), [[1.0], [2.0]]),
    (lambda f: pa.make_ir(pa.vmap(f))(np.zeros(2))(np.array([1.0, 2.0])), [[1.0], [2.0]]),
    (lambda f: pa.make_ir(pa.grad(f))(5.0)(1.0), [[1.0]]),
    (lambda f: pa.make_ir(lambda x: pa.make_ir(f)(x)(x))(5.0)(1.0), [[1.0]]),
    (lambda f: pa.make_ir(lambda x: (f(1.0), x)[1])(5.0)(2.0), [[1.0]]),
    (lambda f: pa.grad(pa.checkpoint(f))(1.0), [[1.0]]),
    (lambda f: pa.vmap(pa.grad(pa.checkpoint(f)))(np.array([1.0, 2.0])), [[1.0], [2.0]]),
])  # fmt: skip
def test_once_per_executed_step(run, expected):
    log = Log()
    run(logging(log))
    assert log.seen == expected


def test_effects_and_collectives_in_lanes_that_split():
    log = Log()

    def f(x):
        pa.io_callback(log, None, x)
        y = x * 2 if x > 0 else x
        total = pa.psum(y, "i")
        pa.io_callback(log, None, total)
        return total + x

    assert pa.vmap(f, axis_name="i")(np.array([1.0, -1.0])).tolist() == [2.0, 0.0]
    assert log.seen == [[1.0], [-1.0], [1.0], [1.0]]


def test_control_flow():
    log = Log()

    def body(c, x):
        pa.io_callback(log, None, c)
        return c * x, c

    f = lambda c: pa.scan(body, c, np.array([1.0, 2.0, 3.0]))[0]
    steps = [[1.0], [1.0], [2.0]]
    for run in (f, pa.grad(f), pa.make_ir(f)(1.0), pa.make_ir(pa.grad(f))(1.0), lambda c: pa.jvp(f, (c,), (1.0,))):
        log.seen.clear()
        run(1.0)
        assert log.seen == steps
    g = lambda x: (pa.cond(x > 1, lambda: pa.io_callback(log, None, x), lambda: None), x)[1]
    program = pa.make_ir(g)(1.0)
    for run, seen in ((program, [[2.0]]), (pa.grad(program), [[2.0]])):
        log.seen.clear()
        run(2.0)
        assert log.seen == seen
    log.seen.clear()
    pa.vmap(program)(np.array([0.0, 2.0, 3.0]))
    assert log.seen == [[2.0], [3.0]]


def test_programs_keep_effects_and_drop_pure_calls():
    def f(x):
        pa.callback(np.sin, FLOAT, x)
        pa.debug_print("first {}", x)
        pa.debug_print("second")
        return x

    program = pa.make_ir(f)(1.0)
    check(program)
    assert [e.op.__name__ for e in program.equations] == ["effect_call", "effect_call"]
    assert "Print('first{}')" in str(program) and "effect_call" in str(program)


def test_source_code_of_a_program(capsys):
    def f(x):
        pa.debug_print("x = {:.1f} {n}", x, n=np.ones(2))
        return pa.callback(np.sin, FLOAT, x) * 2.0

    for run, x in ((f, 0.5), (pa.vmap(f), np.array([0.5, 1.5]))):
        program, namespace = pa.make_ir(run)(x), {}
        expected = run(x)
        text = capsys.readouterr().out
        exec(program.code, namespace)
        assert np.allclose(namespace[program.name](x), expected) and capsys.readouterr().out == text
    with pytest.raises(pa.ConcreteValueError, match="top level of a module"):
        pa.make_ir(lambda x: pa.callback(lambda v: v, FLOAT, x))(1.0).code


# ---------------------------------------------------------------------- what functions get and give
def test_trees_in_and_out():
    def f(p, scale):
        return {"sum": p["a"] + p["b"][0], "text": None}, np.float64(scale)

    result = ({"sum": pa.Aval((2,), float), "text": None}, FLOAT)
    run = lambda a: pa.callback(f, result, {"a": a, "b": [a * 2]}, 3)
    y, scale = run(np.ones(2))
    assert y["sum"].tolist() == [3.0, 3.0] and scale == 3.0
    assert pa.vmap(run)(np.ones((3, 2)))[0]["sum"].shape == (3, 2)
    assert pa.make_ir(run)(np.ones(2))(np.zeros(2))[0]["sum"].tolist() == [0.0, 0.0]


def test_static_leaves_reach_the_function():
    assert pa.callback(lambda name, x: x * len(name), FLOAT, "four", 2.0) == 8.0


def test_example_array_as_result():
    x = np.array([4.0, 9.0])
    assert pa.callback(np.sqrt, x, x).tolist() == [2.0, 3.0]


def test_derivative_of_ones_own():
    @pa.custom_jvp
    def f(x):
        return pa.callback(np.sin, FLOAT, x)

    f.defjvp(lambda xs, dxs: (f(xs[0]), pa.cos(xs[0]) * dxs[0]))
    assert np.isclose(pa.grad(f)(1.0), np.cos(1.0))
    assert np.allclose(pa.vmap(pa.grad(f))(np.arange(3.0)), np.cos(np.arange(3.0)))


def test_bad_calls():
    with pytest.raises(pa.DTypeError, match="callback: .* is not a function"):
        pa.callback(3.0, FLOAT, 1.0)
    with pytest.raises(pa.DTypeError, match="give an Aval"):
        pa.callback(np.sin, "float", 1.0)
    with pytest.raises(pa.StructureError, match='lanes is "each" or "all"'):
        pa.callback(np.sin, FLOAT, 1.0, lanes="some")


# ---------------------------------------------------------------------- printing
@pytest.mark.parametrize("text, args, named, line", [
    ("x = {}", (1.5,), {}, "x = 1.5"),
    ("{:.2f} {b:d}", (np.pi,), {"b": 3}, "3.14 3"),
    ("{1} {0}", (1, 2), {}, "2 1"),
    ("{:.1f}", (np.array([1.0, 2.25]),), {}, "[1.0 2.2]"),
    ("{}", (np.array([1.0, 2.0]),), {}, "[1. 2.]"),
    ("{0.shape} {0[1]}", (np.array([1.0, 2.0]),), {}, "(2,) 2.0"),
    ("{} {}", ("name", 1), {}, "name 1"),
    ("{}", ({"a": 1.0},), {}, "{'a': np.float64(1.0)}"),
    ("{{}} only", (), {}, "{} only"),
])  # fmt: skip
def test_print(capsys, text, args, named, line):
    pa.debug_print(text, *args, **named)
    assert capsys.readouterr().out == line + "\n"


@pytest.mark.parametrize("text, args, match", [
    ("{} {}", (1,), "no argument"), ("{}", (1, 2), "no field"), ("{a}", (), "a have no argument"), ("{", (), "no format text"),
])  # fmt: skip
def test_fields_and_arguments_fit(text, args, match):
    with pytest.raises(pa.StructureError, match=match):
        pa.debug_print(text, *args)


def test_print_needs_a_text():
    with pytest.raises(pa.DTypeError, match="the first argument is the text"):
        pa.debug_print(np.ones(2))


def test_print_in_the_walk_back(capsys):
    pa.grad(lambda x: pa.grad_hook(x, lambda ct: pa.debug_print("ct = {}", ct)) ** 2)(3.0)
    assert capsys.readouterr().out == "ct = 6.0\n"


def _step(log, c):
    pa.io_callback(log, None, c)
    return c * 0.5 + pa.psum(c, "i")


LOOPS = {
    "scan": lambda f, v: pa.scan(lambda c, y: (f(c), y), v, np.arange(2.0))[0],
    "scan in scan": lambda f, v: pa.scan(lambda c, y: (LOOPS["scan"](f, c), y), v, np.arange(2.0))[0],
    "fori_loop": lambda f, v: pa.fori_loop(0, 2, lambda i, c: f(c), v),
    "map": lambda f, v: pa.sum(pa.map(lambda y: f(v * y), np.arange(1.0, 3.0))),
    "scan, then if": lambda f, v: (lambda w: f(w) if v > 1.5 else f(-w))(LOOPS["scan"](f, v)),
}


@pytest.mark.filterwarnings("ignore:jit.*runs eagerly from now on")  # effects happen before lanes part, during the trace
@pytest.mark.parametrize("kind", LOOPS)
def test_loops_with_effects_and_collectives_in_lanes_that_have_parted(kind):
    """Each effect of each lane once, and the value, as without jit."""
    log, x = Log(), np.array([1.0, 2.0, -1.0])

    def lane(v):
        pa.io_callback(log, None, v if v > 0 else -v)
        return LOOPS[kind](lambda c: _step(log, c), v)

    f = pa.vmap(lane, axis_name="i")
    total = lambda x: pa.sum(f(x))
    for plain, others in [(f, [pa.jit(f)]), (pa.grad(total), [pa.jit(pa.grad(total)), pa.grad(pa.jit(total))])]:
        log.seen.clear()
        right, happened = plain(x), list(log.seen)
        for other in others:
            for _ in range(2):
                log.seen.clear()
                np.testing.assert_allclose(other(x), right, rtol=1e-12)
                assert list(log.seen) == happened


@pytest.mark.filterwarnings("ignore:jit.*runs eagerly from now on")
def test_a_while_loop_with_effects_and_collectives_under_jit_is_named():
    def lane(v):
        pa.io_callback(log, None, v if v > 0 else -v)
        return pa.while_loop(lambda c: c[1] < 2, lambda c: (_step(log, c[0]), c[1] + 1), (v, 0))[0]

    log = Log()
    with pytest.raises(pa.LaneSplitError, match="under jit no cond or while_loop may have effects and psum"):
        pa.jit(pa.vmap(lane, axis_name="i"))(np.array([1.0, 2.0, -1.0]))
