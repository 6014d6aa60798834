"""CUDA code without a GPU: NVRTC compiles it, and the same text, compiled for the host with an emulation of blocks and threads,
gives what the operations give."""

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import polyad as pa
from polyad.devices import to_device
from polyad.devices.codegen.toolchain import library
from polyad.devices.cuda_codegen import launch
from polyad.devices.cuda_codegen.dialect import CUDA
from polyad.devices.cuda_codegen.program import Compiled, lowerable
from polyad.devices.gpu_codegen.source import KernelSource
from polyad.dsl import operations
from polyad.dsl.ir.passes import optimized
from polyad.dsl.ir.programs import evaluate


def beside(path):
    """A module next to this one."""
    name = f"polyad_beside_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


here = Path(__file__).parents[1]
host = here / "codegen"
cards, elementwise, programs = (
    beside(host / name) for name in ("test_cards.py", "loops/test_elementwise.py", "test_program.py")
)
nvrtc = beside(here / "nvrtc.py")
needs_nvrtc = pytest.mark.skipif(nvrtc.library() is None, reason="NVRTC is missing: pip install nvidia-cuda-nvrtc-cu12")
SPECIAL = ("erfinv", "erfcinv", "erfcx", "ndtr", "ndtri", "i0", "i1", "j0", "j1", "y0", "y1", "gammaln", "gamma")
rng = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def _stand_in(cupy):
    if cupy.RawModule.compiler() is None:
        pytest.skip("there is no C++ compiler to emulate CUDA with: install g++")
    return cupy


def on(x, ordinal=1):
    return to_device(x, f"cuda:{ordinal}")


def compare(found, wanted, rtol, ordinal=1):
    for a, b in zip(found, wanted, strict=True):
        assert pa.device_of(a) == f"cuda:{ordinal}"
        a, b = to_device(a, "cpu"), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def run(f, *xs, rtol=1e-13):
    """f by kernels on device 1, compared with f on the host. Returns the operations that ran by themselves, and the texts."""
    with np.errstate(all="ignore"):
        program = pa.make_ir(f)(*xs)
        compiled = pa.compile_program(program, pa.devices.Device("cuda:1"))
        compare(compiled(*[on(x) for x in pa.tree.leaves(xs)]), pa.tree.leaves(f(*xs)), rtol)
    return [e.op.__name__ for equations, step in compiled.steps if step is None for e in equations], compiled.sources


def source_of(program):
    """The kernels of a whole program of lowerable equations."""
    program = optimized(program)
    outputs = [v for e in program.equations for v in e.outputs if v in program.outputs]
    return KernelSource(CUDA, program.equations, [*program.inputs, *dict(program.constants)], outputs)


# ---------------------------------------------------------------------- expressions
def known_programs(dtype):
    """Elementwise operations of a dtype, and all of them in one program with its arguments."""
    found = {}
    for name, op in elementwise.elementwise.items():
        xs = elementwise.arguments(op, np.dtype(dtype))
        if name in ("masked_product", "expit", "bell") and np.dtype(dtype).kind in "biu":
            continue
        if name == "where":
            xs[0] = xs[0] != 0
        if name == "ldexp":
            xs[1] = (np.arange(xs[1].size) % 50 - 25).astype(np.int32)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = pa.make_ir(lambda *xs, name=name: elementwise.operation(name, xs))(*xs)
        except (TypeError, ValueError, pa.PolyadError):
            continue  # not defined for this dtype
        if len(program.equations) == 1 and lowerable(program.equations[0]):
            found[name] = xs
    flat, counts = [x for xs in found.values() for x in xs], [len(xs) for xs in found.values()]

    def everything(*flat):
        left = iter(flat)
        return [elementwise.operation(name, [next(left) for _ in range(n)]) for name, n in zip(found, counts)]

    with np.errstate(all="ignore"):
        return found, pa.make_ir(everything)(*flat), flat


@needs_nvrtc
@pytest.mark.parametrize("dtype", elementwise.REALS + "FD")
def test_nvrtc_compiles_every_expression(dtype):
    """In three dtypes as CuPy has it compiled; in the others for debugging, in a quarter of the time."""
    found, program, _ = known_programs(dtype)
    assert len(found) > (25 if np.dtype(dtype).kind in "biuc" else 55)
    made = nvrtc.ptx(source_of(program).text, launch.OPTIONS if dtype in "ldD" else (*launch.OPTIONS, "-G"))
    assert ".entry k0" in made
    if dtype in "dD":  # contraction is off: the compiler's library has its own, which are meant
        products = pa.make_ir(lambda a, b: a * a - b * b)(np.ones(3, dtype), np.ones(3, dtype))
        assert "fma" not in nvrtc.ptx(source_of(products).text, launch.OPTIONS)


@pytest.mark.parametrize("dtype", elementwise.REALS)
def test_special_values(dtype):
    """The expressions on the values at which mistakes show: as exact as on the host."""
    found, program, flat = known_programs(dtype)
    results = Compiled(program, 1)(*map(on, flat))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (name, xs), y in zip(found.items(), results, strict=True):
            if name not in SPECIAL:  # the emulation's are its own
                elementwise.check(name, to_device(y, "cpu"), np.asarray(elementwise.operation(name, xs)), xs)


def test_special_functions_are_the_meant_ones():
    x = np.array([0.02, 0.3, 0.5, 0.9])
    others, _ = run(lambda x: [operations[n](x) for n in SPECIAL], x, rtol=1e-11)
    assert not others


@pytest.mark.parametrize("f", [pa.y1, pa.grad(lambda x: pa.sum(pa.y0(x)))])
def test_functions_that_are_called_like_arrays(f):
    """`y1` is a function here, and the second result elsewhere."""
    others, _ = run(f, np.array([0.3, 0.5, 2.0]), rtol=1e-11)
    assert not others


@pytest.mark.parametrize("dtype", "FD")
def test_complex_numbers(dtype):
    found, program, flat = known_programs(dtype)
    assert len(found) > 25 and {"exp", "log", "sqrt", "tanh", "divide"} <= set(found)
    tolerance = 4e-15 if dtype == "D" else 2e-6
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (name, xs), y in zip(found.items(), Compiled(program, 1)(*map(on, flat)), strict=True):
            y, wanted = to_device(y, "cpu"), np.asarray(elementwise.operation(name, xs))
            defined = np.isfinite(wanted) if wanted.dtype.kind == "c" else np.ones(wanted.shape, bool)
            assert y.dtype == wanted.dtype
            np.testing.assert_allclose(y[defined], wanted[defined], rtol=tolerance, atol=tolerance, err_msg=name)


def test_functions_of_complex_numbers_at_large_and_special_ones():
    parts = [0.0, -0.0, 1.0, -1e-300, 1e300, -710.0, 709.9, 50.0, -90.0, 1.7e308, np.inf, -np.inf, np.nan]
    z = np.array([complex(a, b) for a in parts for b in parts])
    names = ("exp", "log", "sqrt", "sinh", "cosh", "tanh", "sin", "cos", "tan")
    with np.errstate(all="ignore"):
        found = Compiled(pa.make_ir(lambda z: [getattr(pa, n)(z) for n in names])(z), 1)(on(z))
        for name, y in zip(names, found, strict=True):
            wanted, y = getattr(np, name)(z), to_device(y, "cpu")
            sure = np.isfinite(wanted) & np.isfinite(z)
            np.testing.assert_allclose(y[sure], wanted[sure], rtol=1e-12, err_msg=name)


# ---------------------------------------------------------------------- programs
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs.functions())
def test_random_programs(case):
    f, arrays = case
    with np.errstate(all="ignore"):
        program = pa.make_ir(f)(*arrays)
        wanted = evaluate(program, arrays)
        compiled = Compiled(program, 1)
        found = compiled(*map(on, arrays))
    programs.agree([to_device(y, "cpu") if hasattr(y, "device") else y for y in found], wanted, arrays[0].dtype)
    if nvrtc.library() is not None:
        for text in compiled.sources:
            if "__global__" in text:
                nvrtc.ptx(text, launch.OPTIONS)


SIZES = [0, 1, 2, 31, 32, 33, 255, 256, 257, 1000]


@pytest.mark.parametrize("n", SIZES)
def test_sizes_around_blocks(n):
    x = rng.normal(size=n)
    run(lambda x: [pa.sin(x) + 1.0, pa.sum(x * x), pa.prod(1 + x / 100), pa.any(x > 2), pa.all(x < 9), x[::-1]], x)
    if n:
        run(lambda x: [pa.softmax(x), pa.max(x), pa.mean(x), pa.cumsum(pa.exp(x)) * 2.0], x)


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (1, 1), (), (2, 1, 0)])
def test_empty_and_small(shape):
    x = rng.normal(size=shape)
    run(lambda x: [pa.sum(x), pa.prod(x, axis=0 if x.shape else None), pa.exp(x), pa.all(x > 0), pa.transpose(x)], x)


@pytest.mark.parametrize("shape", [(5, 4, 7), (300, 3, 11), (2, 600, 5), (17, 1, 400)])
def test_reductions(shape):
    x = rng.normal(size=shape)
    x.reshape(-1)[7] = np.nan
    axes = [None, 0, 1, 2, (0, 1), (0, 2), (1, 2)]
    for keep in (False, True):
        each = lambda name, x, keep=keep: [getattr(pa, name)(x, axis=a, keepdims=keep) for a in axes]
        run(lambda x, each=each: [each(name, pa.tanh(x)) for name in ("sum", "max", "min", "prod")], x, rtol=1e-12)
        run(lambda x, each=each: [each("any", x > 1), each("all", x < 2), each("mean", x)], x, rtol=1e-12)


@pytest.mark.parametrize("dtype", "?bhilBHILfdFD")
def test_reductions_of_every_dtype(dtype):
    x = (rng.normal(size=(40, 30)) * 3).astype(dtype)
    names = ("sum", "any", "all") if dtype in "FD" else ("sum", "max", "min", "any", "all")
    run(lambda x: [getattr(pa, n)(x, axis=a) for n in names for a in (None, 0, 1)], x, rtol=1e-5 if dtype in "fF" else 1e-12)
    run(lambda x: [pa.prod(x[:2], axis=a) for a in (0, 1)], x, rtol=1e-4 if dtype in "fF" else 1e-12)


@pytest.mark.slow
def test_long_reductions_are_split_and_accurate(cupy):
    x = rng.uniform(0, 1, 10**6).astype(np.float32)
    cupy.RawModule.launched.clear()
    run(lambda x: [pa.sum(x), pa.max(x), pa.any(x > 2)], x, rtol=1e-6)
    assert [grid[1:] for _, grid, _ in cupy.RawModule.launched] == [(244,), ()]
    found = to_device(Compiled(pa.make_ir(lambda x: pa.sum(x))(x))(on(x))[0], "cpu")
    exact = x.astype(np.float64).sum()
    assert abs(found - exact) <= 4 * max(abs(np.sum(x) - exact), np.spacing(np.float32(exact)))
    y = rng.normal(size=(20000, 9))
    y[5, 5] = np.nan
    run(lambda y: [pa.sum(y, axis=0), pa.min(y, axis=0), pa.sum(pa.sin(y) > 0, axis=0)], y, rtol=1e-12)


def test_rows_are_one_kernel():
    x = rng.normal(size=(128, 200))
    x[3, 5], x[7] = -np.inf, -np.inf
    for f in (
        lambda x: pa.softmax(x, axis=-1),
        lambda x: [pa.standardize(pa.tanh(x)), pa.logsumexp(x, axis=1)],
        lambda x: pa.grad(lambda x: pa.sum(pa.softmax(pa.tanh(x), axis=-1) ** 2))(x),
    ):
        others, (text,) = run(f, x, rtol=1e-11)
        assert not others and text.count("__global__") == 1
    run(lambda x: pa.softmax(x, axis=0), x)
    run(lambda x: pa.softmax(pa.reshape(x, shape=(4, 32, 200)), axis=(1, 2)), rng.normal(size=(128, 200)))


def test_a_small_program_is_one_block():
    x, w = rng.normal(size=(16, 8)), rng.normal(size=8)
    f = lambda x, w: pa.grad(lambda w: pa.mean((pa.sum(pa.tanh(x * w), axis=1) - 1.0) ** 2))(w)
    others, (text,) = run(f, x, w)
    assert not others and text.count("__global__") == 1


def test_gather():
    x, i = rng.normal(size=(5, 4)), np.array([[0, -1], [2, 2]])
    others, _ = run(lambda x, i: [x[i], x[:, i], pa.take(x, i, axis=1), x[i, i], x[1], x[..., ::-2], x[i, :, None]], x, i)
    assert not others
    wrapped = Compiled(pa.make_ir(lambda x, i: x[i])(x, i))(on(x), on(np.array([[5, -6], [12, 0]])))
    np.testing.assert_array_equal(to_device(wrapped[0], "cpu"), x[[[0, 4], [2, 0]]])


@pytest.mark.parametrize("dtype", "?bhilBHILfdFD")
def test_scatter(dtype):
    x, i, j = (rng.normal(size=(7, 3)) * 4).astype(dtype), rng.integers(-7, 7, 50), rng.integers(-3, 3, 50)
    v = (rng.normal(size=50) * 9).astype(dtype)
    others, _ = run(lambda x, i, j, v: [pa.at(x, (i, j)).set(v), pa.at(x, (i, j)).add(v), pa.at(x, i).set(x[j]),
                                        pa.at(x, (slice(1, 3),)).add(x[:2]), pa.at(x, (0,)).set(v[:3])], x, i, j, v,
                    rtol=1e-4 if dtype in "fF" else 1e-12)  # fmt: skip
    assert not others


def test_scatter_of_a_program_and_its_gradient():
    x, i = rng.normal(size=(40, 3)), rng.integers(0, 40, 300)
    others, _ = run(lambda x, i: pa.grad(lambda x: pa.sum(pa.sin(x[i]) ** 2))(x), x, i, rtol=1e-12)
    assert not others
    run(lambda x, i: pa.softmax(pa.at(pa.exp(x), i).set(pa.cos(x[i]))) + x[0], x, i, rtol=1e-12)


def test_products_are_cupys_and_read_views():
    x, y = rng.normal(size=(30, 40)), rng.normal(size=(30, 20))
    others, texts = run(lambda x, y: pa.sum(pa.tanh(pa.transpose(x) @ y), axis=0), x, y, rtol=1e-12)
    assert others == ["transpose", "matmul"] and len(texts) == 1
    run(lambda x, y: [pa.transpose(pa.sin(x)) @ y, pa.einsum("ij,ik->jk", x, y), pa.transpose(x)], x, y, rtol=1e-12)
    run(lambda x: pa.sort(x, axis=0) * 2.0 + pa.cumsum(x, axis=1), x)


@pytest.mark.parametrize(("left", "right"), elementwise.mixed)
def test_promotion(left, right):
    x, y = elementwise.special_values(left)[:6], elementwise.special_values(right)[:6]
    n = min(x.size, y.size)
    f = lambda x, y: [x + y, x * y, x == y, pa.where(x != 0, x, y), x + 2, y * 1.5, pa.astype(x, np.dtype("h"))]
    run(f, x[:n], y[:n], rtol=0)


def test_contraction_is_off():
    a = rng.normal(size=1000)
    program = pa.make_ir(lambda a, b: a * a - b * b)(a, a)
    assert not to_device(Compiled(program)(on(a), on(a))[0], "cpu").any()


# ---------------------------------------------------------------------- running them
def network(w, x):
    return pa.mean((pa.tanh(x @ w[:3] + w[3]) - 1.0) ** 2)


branching = pa.jit(lambda w: pa.sum(w) if pa.sum(w) > 1 else pa.prod(pa.sin(w), axis=0))


@pytest.mark.parametrize(
    "transform",
    [
        lambda w, x: pa.jit(network)(w, x),
        lambda w, x: pa.jit(pa.grad(network))(w, x),
        lambda w, x: pa.grad(pa.jit(network))(w, x),
        lambda w, x: pa.vmap(pa.jit(pa.grad(network)), in_axes=(None, 0))(w, x),
        lambda w, x: branching(w),
        lambda w, x: pa.jit(lambda w, s: (w * s + 1) * (s * 2))(w, 2.0),
        lambda w, x: pa.jit(lambda w: pa.fori_loop(0, 3, lambda i, c: pa.sin(c) + i, w))(w),
        lambda w, x: pa.jit(pa.grad(lambda w: pa.sum(pa.scan(lambda c, r: (pa.sin(c) * r, c), w[0], w)[1])))(w),
    ],
)
def test_jit(cupy, transform):
    w, x = rng.normal(size=(4, 5)), rng.normal(size=(6, 3))
    cupy.RawModule.launched.clear()
    with cupy.cuda.Device(1):
        transform(on(w), on(x))  # where Python asks, the first run is recorded only
        found = transform(on(w), on(x))
    compare(pa.tree.leaves(found), pa.tree.leaves(transform(w, x)), 1e-12)
    assert cupy.RawModule.launched


def test_jit_keeps_a_function_for_each_kind_of_device(cupy):
    f = pa.jit(lambda x: pa.sin(x) * 2.0)
    x = rng.normal(size=4)
    for _ in range(2):
        for ordinal in (0, 1):
            compare([f(on(x, ordinal))], [np.sin(x) * 2], 1e-13, ordinal)
        np.testing.assert_allclose(f(x), np.sin(x) * 2)
    assert any("__global__" in text for text in pa.jit.source(f))


def test_arguments_are_checked(cupy):
    call = pa.compile_program(pa.make_ir(lambda x, y: x + y)(np.ones(3), np.ones(3)), pa.devices.Device("cuda:1"))
    x = on(np.arange(3.0))
    for wrong in (np.ones(4), np.ones((1, 3)), np.ones(3, np.complex128), np.ones(3, np.float32)):
        with pytest.raises(TypeError, match=r"float64\[3\] was called with"):
            call(x, on(wrong))
    with pytest.raises(TypeError, match="2 arrays was called with 1"):
        call(x)
    with pytest.raises(pa.DeviceMismatchError, match="on cpu"):
        call(x, np.ones(3))
    with pytest.raises(pa.DeviceMismatchError, match="cuda:0, cuda:1"):
        call(x, on(np.ones(3), 0))
    flipped = x[::-1]
    assert not flipped.flags.c_contiguous
    compare(call(flipped, x), [np.full(3, 2.0)], 0)


def test_numbers_are_arguments(cupy):
    program = pa.make_ir(lambda x, y: (x * y, x + 1, pa.sort(y) * x))(2.0, np.arange(3, dtype=np.float32))
    scaled, number, sorted_ = Compiled(program)(2.0, on(np.arange(3, dtype=np.float32)))
    compare([scaled, sorted_], [np.float32([0, 2, 4])] * 2, 0)
    assert number == 3.0 and not isinstance(number, cupy.ndarray)
    doubled = pa.jit(lambda x, s: (x * s, s * 2))
    for _ in range(2):
        scaled, number = doubled(on(np.ones(3)), 1.5)
        compare([scaled], [np.full(3, 1.5)], 0)
        assert number == 3.0 and not isinstance(number, cupy.ndarray)


def test_results_share_no_memory(cupy):
    constant, x = np.arange(3.0), on(np.ones(3))
    program = pa.make_ir(lambda x: (x, constant, x + 1, pa.reshape(x, shape=(3, 1)), x, 3.0))(np.ones(3))
    call = pa.compile_program(program, pa.devices.Device("cuda:1"))
    *results, number = call(x)
    assert number == 3.0
    values = [y._values for y in results]
    for i, a in enumerate(values):
        assert not np.shares_memory(a, x._values)
        assert not any(np.shares_memory(a, b) for b in values[i + 1 :])
    values[1][:] = 9
    compare(call(x)[1:2], [constant], 0)


def test_code_that_does_not_compile_gives_way_to_the_operations(cupy, monkeypatch):
    def fails(self, cupy):
        raise cupy.cuda.compiler.CompileException("no such thing")

    monkeypatch.setattr(launch.Runner, "compiled", fails)
    monkeypatch.setitem(library._state, "warned", ())
    x = rng.normal(size=5)
    call = Compiled(pa.make_ir(lambda x: pa.sin(pa.sort(x)) + 1.0)(x))
    with pytest.warns(RuntimeWarning, match="operation by operation: CUDA code does not compile: no such thing"):
        compare(call(on(x)), [np.sin(np.sort(x)) + 1], 1e-15)
    compare(call(on(x)), [np.sin(np.sort(x)) + 1], 1e-15)  # without a second one


def test_temporaries_are_given_back(cupy):
    def f(x):
        for _ in range(5):
            x = pa.cos(x - pa.sum(x, axis=0, keepdims=True) * 1e-3) @ pa.ones((40, 40)) * 0.01
        return x

    with cupy.cuda.Device(1):
        run(f, rng.normal(size=(300, 40)), rtol=1e-11)


def test_effects_happen_once_and_in_order(capsys):
    def f(x):
        y = pa.sin(x)
        pa.debug_print("first {}", pa.sum(pa.sort(y)) > -9)
        pa.debug_print("second")
        return y * 2.0

    x = rng.normal(size=4)
    Compiled(pa.make_ir(f)(x))(on(x))
    assert capsys.readouterr().out.split("\n") == ["first True", "second", ""]


def test_the_operation_that_makes_a_nan_is_named(cupy):
    f = pa.jit(lambda x: pa.sqrt(x) + 1.0)
    if hasattr(pa, "debug_nans"):
        with pa.debug_nans(), pytest.raises(FloatingPointError, match="sqrt"):
            f(on(-np.ones(3)))


@needs_nvrtc
def test_counters_of_large_arrays_are_wide(cupy):
    aval = lambda *shape: pa.dsl.avals.Aval(shape, np.dtype("f4"))
    from polyad.dsl.ir.programs import Equation, Var

    x, y, z = Var(aval(2**17, 2**14)), Var(aval(2**17, 2**14)), Var(aval(2**14))
    steps = [Equation(pa.sin, [x], {}, [y]), Equation(pa.sum, [y], {"axis": 0}, [z])]
    source = KernelSource(CUDA, steps, [x], [y, z])
    assert "typedef int64_t I;" in source.text and "atom" not in nvrtc.ptx(source.text, launch.OPTIONS)


@pytest.mark.parametrize("names", cards.groups, ids=lambda names: f"{names[0]}-{names[-1]}")
def test_samples_of_every_card(cupy, names):
    cases = [(f, xs) for name, f, xs in cards.flat_cases(names) if name != "to_device" and cards.traced(f, xs)]
    if not cases:
        return
    f, xs = cards.together(cases)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        program = pa.make_ir(f)(*xs)
        found = pa.compile_program(program, pa.devices.Device("cuda:1"))(*map(on, xs))
        compare(found, evaluate(program, xs), 1e-11)
