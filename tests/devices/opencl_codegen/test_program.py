"""Kernels in OpenCL C, compiled and run by PoCL or another implementation, against the operations on the host."""

import importlib.util
import os
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import polyad as pa
from polyad.dsl.ir.programs import evaluate

# what they keep of compiled kernels goes with these tests
kept = tempfile.TemporaryDirectory(prefix="polyad-opencl-")
os.environ.setdefault("POCL_CACHE_DIR", kept.name)
os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
cl = pytest.importorskip("pyopencl", reason="pyopencl is missing: pip install pyopencl[pocl]")


def beside(path):
    """A module of the tests."""
    name = f"polyad_beside_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


here = Path(__file__).parent
running = beside(here / "running.py")
elementwise, programs = (beside(here.parent / "codegen" / name) for name in ("loops/test_elementwise.py", "test_program.py"))
if running.queue() is None:
    pytest.skip("there is no OpenCL device: pip install pyopencl[pocl]", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")
rng = np.random.default_rng(3)


def run(f, *xs, rtol=1e-13, optimize=False):
    """f by kernels, compared with f on the host. Returns what ran."""
    with np.errstate(all="ignore"):
        compiled = running.Compiled(pa.make_ir(f)(*xs), optimize)
        found = compiled(*pa.tree.leaves(xs))
        for a, b in zip(found, pa.tree.leaves(f(*xs)), strict=True):
            a, b = np.asarray(a), np.asarray(b)
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
    return compiled


# ---------------------------------------------------------------------- expressions
def operation_of_others(x, /):
    """√2 x, and 1 at 0."""


LIBRARYS = {"gamma", "gammaln", "logaddexp2", "xlog1py"}  # the last digits, and those of subnormal numbers, are the library's


@pytest.mark.parametrize("dtype", "?bLlfd")
def test_special_values(dtype):
    """All operations of a dtype, on the values at which mistakes show: as exact as on the host."""
    chosen = {}
    for name, (program, xs) in elementwise.programs(np.dtype(dtype)).items():
        if running.lowerable(program.equations[0], running.OPENCL.functions):
            chosen[name] = xs
    assert len(chosen) > (25 if np.dtype(dtype).kind in "biu" else 55)

    def everything(*flat):
        left = iter(flat)
        return [elementwise.operation(name, [next(left) for _ in xs]) for name, xs in chosen.items()]

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flat = [x for xs in chosen.values() for x in xs]
        compiled = running.Compiled(pa.make_ir(everything)(*flat))
        assert not compiled.others
        for (name, xs), y in zip(chosen.items(), compiled(*flat), strict=True):
            wanted = np.asarray(elementwise.operation(name, xs))
            if name in LIBRARYS:
                sure, close = np.isfinite(wanted), 1e-13 if dtype == "d" else 2e-6
                np.testing.assert_allclose(y[sure], wanted[sure], rtol=close, atol=close, err_msg=name)
            else:
                elementwise.check(name, y, wanted, xs)


@pytest.mark.parametrize(("left", "right"), [("i", "d"), ("b", "f"), ("?", "l"), ("L", "f")])
def test_promotion(left, right):
    x, y = elementwise.special_values(left)[:6], elementwise.special_values(right)[:6]
    n = min(x.size, y.size)
    f = lambda x, y: [x + y, x * y, x == y, pa.where(x != 0, x, y), x + 2, y * 1.5, pa.astype(x, np.dtype("h"))]
    run(f, x[:n], y[:n], rtol=0)


def test_an_operation_of_others():
    """Its numbers are converted as in C."""
    scaled = pa.elementwise(partials=[lambda y, x: y / x], c="sqrt(2) * {0} + pow(0, fabs({0}))")(operation_of_others)
    (text,) = running.Compiled(pa.make_ir(lambda x: scaled(x))(np.ones(3))).sources
    assert "sqrt_f8(2)" in text and "pow_f8(0, " in text
    x = np.array([0.0, 0.5, -2.0])
    found = running.Compiled(pa.make_ir(lambda x: scaled(x))(x))(x)[0]
    np.testing.assert_allclose(found, np.sqrt(2) * x + 0.0 ** np.abs(x), rtol=1e-15)


def test_constants_of_64_bits():
    x = np.array([2**63 + 11, 7, 2**64 - 1], np.uint64)
    with np.errstate(over="ignore"):
        run(lambda x: [(x * np.uint64(5)) >> np.uint64(3), (x * np.uint64(2**60 + 1)) // np.uint64(9)], x, rtol=0)
    run(lambda x: pa.astype(x, np.dtype("l")) * (-(2**62)) // 7, x, rtol=0)


# ---------------------------------------------------------------------- programs
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs.functions())
def test_random_programs(case):
    f, arrays = case
    with np.errstate(all="ignore"):
        program = pa.make_ir(f)(*arrays)
        programs.agree(running.Compiled(program)(*arrays), evaluate(program, arrays), arrays[0].dtype)


@pytest.mark.parametrize("n", [0, 1, 33, 257])
def test_sizes_around_blocks(n):
    x = rng.normal(size=n)
    run(lambda x: [pa.sin(x) + 1.0, pa.sum(x * x), pa.prod(1 + x / 100), pa.any(x > 2), x[::-1]], x)


def test_broadcasting_and_index_maps():
    x, y = rng.normal(size=(5, 1, 7)), rng.normal(size=(3, 1)).astype("f")
    done = run(lambda x, y: [x * y + x[0], pa.concatenate([pa.transpose(x), pa.transpose(x)[::-1]], axis=1),
                             pa.reshape(x, shape=(7, 5))[::2, 1:], pa.broadcast_to(y, shape=(2, 3, 4))], x, y)  # fmt: skip
    assert not done.others


@pytest.mark.parametrize("shape", [(5, 4, 7), (300, 3, 11)])
def test_reductions(shape):
    x = rng.normal(size=shape)
    x.reshape(-1)[7] = np.nan
    axes = [None, 0, 2, (0, 1)]
    run(lambda x: [getattr(pa, name)(pa.tanh(x), axis=a) for name in ("sum", "max") for a in axes], x, rtol=1e-12)


@pytest.mark.parametrize("dtype", "?Hlf")
def test_reductions_of_several_dtypes(dtype):
    x = (rng.normal(size=(40, 30)) * 3).astype(dtype)
    run(lambda x: [getattr(pa, n)(x, axis=a) for n in ("sum", "min", "all") for a in (None, 1)], x, rtol=1e-5)


@pytest.mark.parametrize("optimize", [False, True])
def test_long_reductions_are_split(optimize):
    x = rng.uniform(0, 1, 10**6).astype(np.float32)
    done = run(lambda x: [pa.sum(x), pa.max(x), pa.any(x > 2)], x, rtol=1e-6, optimize=optimize)
    assert [blocks[1:] for blocks, _ in done.launched] == [(244,), ()]


def test_rows_share_memory():
    x = rng.normal(size=(128, 200))
    x[3, 5], x[7] = -np.inf, -np.inf
    slopes = pa.grad(lambda x: pa.sum(pa.softmax(pa.tanh(x), axis=-1) ** 2))
    for f in (lambda x: pa.softmax(x, axis=-1), slopes):
        done = run(f, x, rtol=1e-11)
        assert not done.others and [blocks for blocks, _ in done.launched] == [(128,)]
        assert "__local double *" in done.sources[0]
    wide = rng.normal(size=(256, 3000))  # of which what is kept lies in the device's memory
    done = run(lambda x: pa.softmax(x, axis=-1), wide, rtol=1e-11)
    assert [blocks for blocks, _ in done.launched] == [(256,)]


def test_gather():
    x, i = rng.normal(size=(5, 4)), np.array([[0, -1], [2, 2]])
    done = run(lambda x, i: [x[i], x[:, i], pa.take(x, i, axis=1), x[i, i], x[1], x[..., ::-2], x[i, :, None]], x, i)
    assert not done.others


@pytest.mark.parametrize("dtype", "?bHiLfd")
def test_writes_at_places_that_repeat(dtype):
    x, i, j = (rng.normal(size=(7, 3)) * 4).astype(dtype), rng.integers(-7, 7, 3000), np.arange(3000) % 3
    v, close = (rng.normal(size=3000) * 9).astype(dtype), 1e-3 if dtype == "f" else 1e-11
    done = run(lambda x, i, j, v: [pa.at(x, (i, j)).set(v), pa.at(x, (i, j)).add(v)], x, i, j, v, rtol=close)
    assert not done.others and any(blocks[0] > 1 for blocks, _ in done.launched)


def test_products_are_left_to_others():
    x = rng.normal(size=(30, 20))
    done = run(lambda x: pa.sum(pa.tanh(pa.transpose(x) @ x), axis=0), x, rtol=1e-12)
    assert done.others == ["matmul"] and done.launched


def test_complex_numbers_are_left_to_others():
    x = rng.normal(size=9)
    done = run(lambda x: pa.real(pa.exp(1j * x)) * pa.sin(x) + 1, x)
    assert done.others == ["multiply", "exp", "real"] and done.launched


# ---------------------------------------------------------------------- extensions
@pytest.mark.parametrize("name", ["cl_khr_fp64", "cl_khr_int64_base_atomics"])
def test_a_device_without_an_extension(name):
    x, i = np.ones(3), np.array([0, 2, 0])
    (text,) = running.Compiled(pa.make_ir(lambda x, i: pa.at(x, i).add(1.0))(x, i)).sources
    running.built(text)
    with pytest.raises(cl.RuntimeError, match=f"this device has no {name}"):
        running.built(f"#undef {name}\n{text}")


def test_the_last_of_very_many_writers():
    """Whose numbers take 64 bits: too many for a test of the whole."""
    words = running.OPENCL.functions()
    name = words.raised(np.dtype(np.uint64))
    text = f"{words.prelude([])}__kernel void k0(__global ulong *w0) {{ {name}(&w0[0], (ulong)get_global_id(0) << 33); }}"
    found, q = np.zeros(1, np.uint64), running.queue()
    memory = running.memory(1, np.uint64, found)
    cl.Kernel(running.built(text), "k0")(q, (64,), (32,), memory)
    cl.enqueue_copy(q, found, memory)
    assert found[0] == 63 << 33
