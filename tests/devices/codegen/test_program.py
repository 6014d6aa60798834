"""Random programs, compiled, against the operations one by one; and single programs that are hard."""

import importlib.util
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polyad as pa
from polyad.devices.codegen.program import compiled, stretches
from polyad.dsl.ir.passes import TABLE, optimized
from polyad.dsl.ir.programs import check, evaluate

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).with_name("comparing.py"))
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
run = comparing.run

UNARY = ("sin", "tanh", "exp", "negative", "square", "abs", "sqrt", "floor", "isnan", "sign")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "less", "hypot", "logaddexp")
REDUCTIONS = ("sum", "max", "min", "mean", "prod", "any")


def calm(x):
    """Values in [-1, 1], so that nothing overflows and rounding errors stay small."""
    return pa.tanh(x) if x.dtype.kind == "f" else x


@st.composite
def functions(draw):
    """(function of arrays, arrays): some operations on some arrays, several of whose values are results."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from(["d", "d", "f"]))
    n, m = draw(st.sampled_from([(3, 4), (1, 5), (0, 3), (2, 17), (7, 1)]))
    shapes = [(n, m), (m,), (n, 1), ()]
    arrays = [rng.uniform(-1, 1, s).astype(dtype) for s in shapes]
    if draw(st.booleans()):
        arrays[0][rng.uniform(size=(n, m)) < 0.2] = np.nan
    if draw(st.booleans()):
        arrays[0] = np.asfortranarray(arrays[0])
    steps = [(draw(st.integers(0, 9)), draw(st.integers(0, 10**6)), draw(st.integers(0, 10**6)), draw(st.integers(0, 10**6)))
             for _ in range(draw(st.integers(2, 12)))]  # fmt: skip

    def f(*xs):
        known = list(xs)
        for step in steps:
            y = apply(step, known)
            if y is not None:
                known.append(y)
        return known[len(xs) :: 2] + known[-1:]

    return f, arrays


def apply(step, known):
    """One more value, or None where the chosen operation does not fit the chosen values."""
    kind, a, b, c = step
    number = lambda v: pa.astype(v, dtype=known[0].dtype) if v.dtype.kind == "b" else v
    x, y = number(known[a % len(known)]), number(known[b % len(known)])
    ndim = len(x.shape)
    axis = c % ndim if ndim else None
    if kind <= 1:
        return calm(getattr(pa, UNARY[c % len(UNARY)])(pa.abs(x) if UNARY[c % len(UNARY)] == "sqrt" else calm(x)))
    if kind <= 4:
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            return None
        name = BINARY[c % len(BINARY)]
        if kind == 4:
            return pa.where(known[0] > 0.0, x, y) if compatible(known[0], x, y) else None
        return calm(getattr(pa, name)(x, y))
    if kind == 5:
        name = REDUCTIONS[c % len(REDUCTIONS)]
        if 0 in x.shape and name in ("max", "min", "mean"):
            return None
        return calm(getattr(pa, name)(x, axis=axis if b % 3 else None, keepdims=bool(b % 2)))
    if kind == 6:
        return pa.transpose(x) if b % 2 else pa.reshape(x, shape=(-1,)) if 0 not in x.shape else None
    if kind == 7 and ndim:
        return x[tuple([slice(None)] * axis + [slice(b % 2, None, 1 + c % 2) if b % 3 else slice(None, None, -1)])]
    if kind == 8 and ndim and x.shape == y.shape:
        return pa.concatenate([x, calm(pa.sin(y))], axis=axis)
    if kind == 9 and ndim:
        if len(y.shape) and x.dtype == y.dtype and x.shape[-1] == y.shape[-2 if len(y.shape) > 1 else -1]:
            return calm(pa.matmul(x, y))
        return pa.cumsum(x, axis=axis)
    return None


def compatible(*xs):
    try:
        np.broadcast_shapes(*[x.shape for x in xs])
    except ValueError:
        return False
    return True


def agree(found, wanted, dtype):
    tolerance = 1e-12 if dtype == np.float64 else 2e-5
    for a, b in zip(found, wanted, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(functions())
def test_random_programs(case):
    f, arrays = case
    with np.errstate(all="ignore"):
        program = pa.make_ir(f)(*arrays)
        wanted = evaluate(program, arrays)
        better = program
        for each in TABLE.values():
            better = each(better)
            check(better)
            agree(evaluate(better, arrays), wanted, arrays[0].dtype)
    if arrays[0].size % 2:  # with and without passes
        agree(compiled(program)(*arrays), wanted, arrays[0].dtype)
    agree(compiled(better)(*arrays), wanted, arrays[0].dtype)


rng = np.random.default_rng(3)


# ---------------------------------------------------------------------- what comes in and goes out


def test_a_program_without_equations_or_inputs():
    assert run(lambda x: x, np.ones(2))[0].tolist() == [1.0, 1.0]
    assert run(lambda x: 3.0, np.ones(2)) == [3.0]
    program = pa.make_ir(lambda: pa.ones(3) * 2.0)()
    assert pa.compile_program(program, pa.devices.Device("cpu"))()[0].tolist() == [2.0] * 3


# ---------------------------------------------------------------------- operations
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1, 1), ()])
def test_empty_and_small(shape):
    x = rng.normal(size=shape)
    run(lambda x: [pa.sum(x), pa.prod(x, axis=0 if x.shape else None), pa.exp(x), pa.all(x > 0), pa.transpose(x)], x)


def test_what_has_no_c_runs_between(cpu):
    x = rng.normal(size=(4, 4)) + 4 * np.eye(4)
    f = lambda x: pa.sum(pa.sin(pa.linalg.inv(pa.exp(x * 0.1))) + pa.fft.fft(x).real)
    steps = stretches(optimized(pa.make_ir(f)(x)).equations)
    assert [in_c for in_c, _ in steps] == [True, False, True]
    run(f, x)
    run(lambda x: pa.sort(x + 0.5j, axis=0) * 2.0, x)


def test_long_programs_do_not_recurse():
    def f(x):
        for _ in range(600):
            x = pa.sin(x)[::-1] + 0.1
        return x

    run(f, np.linspace(0, 1, 7), rtol=1e-12)


def test_threads_may_call_at_once():
    x = rng.normal(size=(50, 60))
    call = pa.compile_program(pa.make_ir(lambda x: pa.softmax(x @ pa.transpose(x)))(x), pa.devices.Device("cpu"))
    wanted, wrong = call(x)[0], []

    def work():
        for _ in range(50):
            if not np.array_equal(call(x)[0], wanted):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_large_arrays_are_shared_among_threads():
    x = rng.normal(size=(700, 900))
    run(lambda x: [pa.sin(x) * pa.cos(x), pa.sum(pa.exp(pa.tanh(x)))], x, rtol=1e-12)
    run(lambda x: [pa.sum(pa.sin(pa.exp(pa.tanh(x))), axis=0), pa.max(x, axis=1)], x, rtol=1e-12)


def test_a_forked_process_does_without_threads():
    import os

    x = rng.normal(size=(700, 900))
    call = pa.compile_program(pa.make_ir(lambda x: pa.sum(pa.exp(pa.tanh(pa.sin(x)))))(x), pa.devices.Device("cpu"))
    wanted = call(x)[0]
    child = os.fork()
    if not child:
        os._exit(0 if call(x)[0] == wanted else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_effects_keep_their_order_and_happen_once(capsys):
    x, i = rng.normal(size=4), np.array([1, 2])

    def f(x, i):
        y = pa.sin(x)
        pa.debug_print("first {}", pa.sum(pa.sort(y)) > -9)
        pa.debug_print("second")
        return y[i] * 2.0

    call = pa.compile_program(pa.make_ir(f)(x, i), pa.devices.Device("cpu"))
    call(x, i)
    assert capsys.readouterr().out.split("\n") == ["first True", "second", ""]
    with pytest.raises(IndexError):
        call(x, i + 9)
    assert capsys.readouterr().out.count("first") <= 1


CLANG = "clang" if shutil.which("clang") else f"{sys.executable} -m ziglang cc" if importlib.util.find_spec("ziglang") else None
BY_CLANG = """
import warnings
import numpy as np
import polyad as pa
warnings.simplefilter("error")
x = np.random.default_rng(0).normal(size=(70, 50))
for f in (
    lambda x: pa.sin(x) * 2 + pa.exp(-x * x), lambda x: pa.softmax(x, axis=1), lambda x: pa.tanh(x[:20, :20] @ x[:20, :20]),
    pa.grad(lambda x: pa.sum(pa.tanh(x) ** 2)), lambda x: pa.abs(x * 1j + 1), lambda x: pa.linalg.solve(x[:4, :4], x[:4, 4]),
    lambda x: pa.fori_loop(0, 50, lambda i, v: pa.sin(v) + 0.1, x[0]), lambda x: pa.cumsum(pa.at(x, 3).add(x[1]), axis=0),
):
    jitted = pa.jit(f)
    np.testing.assert_allclose(jitted(x), f(x), rtol=1e-11, atol=1e-12)
    assert len(pa.jit.source(jitted)) == 1
"""


@pytest.mark.skipif(CLANG is None, reason="there is no clang, nor ziglang, which brings one")
def test_clang_compiles_it_too(tmp_path):
    environment = {**os.environ, "CC": CLANG, "POLYAD_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-P", "-c", BY_CLANG]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr
