"""`aot` against the function itself: how often compilers are called, what they get, and every transformation."""

import threading

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.partitioning import always, cheap, never
from polyad.dsl.ir.programs import check

close = np.testing.assert_allclose


class Compiler:
    """Returns the program as it is, and keeps what it was given."""

    def __init__(self):
        self.calls, self.runs = [], 0

    def __call__(self, program, leaves):
        check(program)
        for v, x in zip(program.inputs, leaves, strict=True):
            assert np.shape(x) == v.aval.shape and np.asarray(x).dtype == v.aval.dtype
        self.calls.append(program)

        def function(*xs):
            self.runs += 1
            return program(*xs)

        return function


def network(params, x):
    for w, b in params:
        x = pa.tanh(x @ w + b)
    return pa.mean(x**2)


@pytest.fixture
def example(rng):
    widths = [5, 8, 8, 2]
    params = [(rng.normal(size=(m, n)), rng.normal(size=n)) for m, n in zip(widths, widths[1:], strict=False)]
    return params, rng.normal(size=(16, 5))


def assert_trees_close(found, right, rtol=1e-12):
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(right), strict=True):
        close(a, b, rtol=rtol, atol=1e-14)


def test_compilers_are_called_once_each(example):
    forward, backward = Compiler(), Compiler()
    g = pa.aot(network, forward, backward)
    close(g(*example), network(*example))
    assert (len(forward.calls), len(backward.calls)) == (1, 0)
    for _ in range(3):
        assert_trees_close(pa.grad(g)(*example), pa.grad(network)(*example))
    assert (len(forward.calls), len(backward.calls)) == (1, 1)
    assert (forward.runs, backward.runs) == (4, 3)
    assert forward.calls[0].name == "network" and backward.calls[0].name == "network_later"


def test_one_compiler_for_both_prints_source():
    sources = []

    def compiler(program, leaves):
        sources.append(program.code)
        return program

    dot = pa.aot(lambda x, y: pa.sum(x * y), compiler)
    close(pa.grad(dot)(np.array([2.0]), np.array([3.0])), [3])
    assert len(sources) == 2 and all("import polyad as pa" in s for s in sources)


def test_compiled_source(example):
    """A compiler that really makes another function: of the program's source."""

    def compiler(program, leaves):
        namespace = {}
        exec(program.code, namespace)
        function = namespace[program.name]
        several = len(program.outputs) > 1
        return function if several else lambda *xs: (function(*xs),)

    g = pa.aot(network, compiler)
    assert_trees_close(pa.value_and_grad(g, (0, 1))(*example), pa.value_and_grad(network, (0, 1))(*example))


def test_one_program_per_shape_dtype_and_integer(rng):
    compiler = Compiler()
    g = pa.aot(lambda x, n=2: x**n, compiler)
    g(np.ones(3)), g(np.zeros(3)), g(2.0), g(3.0)
    assert len(compiler.calls) == 2
    g(np.ones(3, np.float32)), g(np.ones((3, 1))), g(np.ones(3), 2), g(np.ones(3), n=3)
    assert len(compiler.calls) == 6
    assert g(np.ones(3, np.float32)).dtype == np.float32
    close(g(np.full(3, 2.0), n=3), [8, 8, 8])


def test_trees_and_integer_results():
    g = pa.aot(lambda d: {"double": d["x"] * 2, "count": 3, "total": pa.sum(d["i"])}, Compiler())
    found = g({"x": np.ones(2), "i": np.arange(3)})
    close(found["double"], [2, 2])
    assert found["count"] == 3 and found["total"] == 3
    y, pull = pa.vjp(g, {"x": np.ones(2), "i": np.arange(3)})
    (back,) = pull({"double": np.array([1.0, 5.0]), "count": pa.NoTangent, "total": pa.NoTangent})
    close(back["x"], [2, 10])
    assert back["i"] is pa.NoTangent


def test_containers():
    g = pa.aot(lambda d, x: pa.sum(d @ x), Compiler())
    found = pa.grad(g)(pa.Diagonal(np.array([1.0, 2.0])), np.array([3.0, 4.0]))
    assert isinstance(found, pa.Diagonal)
    close(found.dense(), np.diag([3, 4]))


@pytest.mark.parametrize("recompute", [never, cheap, always])
def test_transformations(example, recompute):
    params, x = example
    w = params[0][0]
    f = lambda w, x: network([(w, params[0][1]), *params[1:]], x)
    g = pa.aot(f, Compiler(), recompute=recompute)
    close(pa.grad(g)(w, x), pa.grad(f)(w, x), rtol=1e-12)
    tangent = np.cos(w)
    close(pa.jvp(lambda w: g(w, x), (w,), (tangent,))[1], pa.jvp(lambda w: f(w, x), (w,), (tangent,))[1])
    close(pa.hvp(lambda w: g(w, x), w, tangent), pa.hvp(lambda w: f(w, x), w, tangent), atol=1e-14)
    close(pa.grad(lambda w: pa.sum(pa.grad(g)(w, x) * tangent))(w), pa.hvp(lambda w: f(w, x), w, tangent), atol=1e-14)
    each = lambda f: pa.vmap(pa.grad(f), in_axes=(None, 0))(w, x[:, None])
    close(each(g), each(f), atol=1e-14)
    close(pa.make_ir(pa.grad(g))(w, x)(w, x), pa.grad(f)(w, x))
    pa.check_grads(lambda w: g(w, x), (w,), order=1)


def test_traces_contain_the_operations():
    g = pa.aot(lambda x: pa.sin(x) * 2, Compiler())
    assert [e.op.__name__ for e in pa.make_ir(g)(np.float64(1.0)).equations] == ["sin", "multiply"]


def test_tapes_and_variables(example):
    params, x = example
    g = pa.aot(network, Compiler())
    with pa.Tape() as tape:
        p = tape.watch(params)
        y = g(p, x)
    assert_trees_close(tape.gradient(y, p), pa.grad(network)(params, x))
    p = pa.variable(params)
    g(p, x).backward()
    assert_trees_close(pa.tree.map(lambda v: v.grad, p), pa.grad(network)(params, x))


def test_two_results_of_which_one_has_a_cotangent():
    f = lambda x: (pa.sin(x), pa.exp(x))
    g = pa.aot(f, Compiler())
    assert pa.grad(lambda x: g(x)[1])(0.5) == np.exp(0.5)
    close(pa.grad(lambda x: g(x)[0] * g(x)[1])(0.5), np.exp(0.5) * (np.sin(0.5) + np.cos(0.5)))


def test_result_without_derivative_and_identity():
    g = pa.aot(lambda x, y: (x, pa.floor(y)), Compiler())
    y, pull = pa.vjp(g, np.ones(2), np.ones(2))
    close(pull((np.array([1.0, 2.0]), np.ones(2))), [[1, 2], [0, 0]])


def test_conditions_at_singular_points():
    g = pa.aot(lambda x: pa.sum(pa.where(x > 0, pa.sqrt(x), 0.0)), Compiler())
    close(pa.grad(g)(np.array([0.0, 4.0])), [0, 0.25])


def test_errors():
    with pytest.raises(pa.ConcreteValueError, match="polyad.where"):
        pa.aot(lambda x: x if x > 0 else -x, Compiler())(1.0)
    outer = lambda z: pa.aot(lambda y: y * z, Compiler())(2.0)
    with pytest.raises(pa.StructureError, match=r"reads a Reverse\[1\] of grad.*make it an argument"):
        pa.grad(outer)(3.0)
    with pytest.raises(pa.ShapeError, match="must return its 1 result"):
        pa.aot(lambda x: x * 2, lambda program, leaves: lambda x: x * 2)(np.ones(3))
    with pytest.raises(pa.StructureError, match="returns a function"):
        pa.aot(lambda x: lambda y: x, Compiler())(1.0)
    with pytest.raises(pa.DTypeError, match="str"):
        pa.aot(lambda x, s: x, Compiler())(1.0, "text")


def test_many_programs_warn():
    g = pa.aot(lambda x, n: x * n, Compiler())
    with pytest.warns(pa.PerformanceWarning, match="32 programs.*np.asarray"):
        for n in range(40):
            g(1.0, n)


def test_threads_share_the_programs():
    compiler = Compiler()
    g = pa.aot(lambda x: pa.sum(pa.sin(x)), compiler)
    found = []
    threads = [threading.Thread(target=lambda: found.append(pa.grad(g)(np.zeros(3)))) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(found) == 4 and len(compiler.calls) == 2


def test_what_is_saved(example):
    """Bytes for an MLP: what a layer needs is its input and its activation; weights are there already."""
    save = {r: pa.aot(network, Compiler(), recompute=r).partition(*example).nbytes for r in (never, cheap, always)}
    assert save[cheap] <= 0.7 * save[never] and save[always] < save[cheap]
