"""Arrays in the other order of bytes: compiled code computes in the machine's, results have the dtype that NumPy gives."""

import sys

import numpy as np
import pytest

import polyad as pa

OTHER = ">" if sys.byteorder == "little" else "<"
DTYPES = [OTHER + code for code in ("f2", "f4", "f8", "c8", "c16", "i2", "i4", "i8", "u2", "u4", "u8")]
PROGRAMS = {
    "itself": lambda x: x, "slice": lambda x: x[1:], "element": lambda x: x[2], "backwards": lambda x: x[::-1],
    "copy": lambda x: x.copy(), "reshaped": lambda x: x.reshape(5, 1).T, "repeated": lambda x: np.broadcast_to(x, (2, 5)),
    "gathered": lambda x: np.take(x, [1, 2]), "sorted": lambda x: np.sort(x), "selected": lambda x: np.where(x > 1, x, x + 1),
    "sum": lambda x: np.sum(x), "cumulated": lambda x: np.cumsum(x), "largest": lambda x: np.max(x), "negative": lambda x: -x,
    "joined": lambda x: np.concatenate([x, x]), "stacked": lambda x: np.stack([x, x]), "product": lambda x: x @ x,
    "plus one": lambda x: x + 1, "to foreign": lambda x: x.astype(OTHER + "f8"), "to short": lambda x: x.astype(OTHER + "i2"),
    "to native": lambda x: x.astype("=f4"), "there and back": lambda x: (x.astype("=f8") * 2).astype(OTHER + "f4"),
    "written": lambda x: pa.at(x, slice(1, 3)).set(x[0]),
    "loop": lambda x: pa.fori_loop(0, 3, lambda i, v: (v * 2).astype(v.dtype), x),
    "writing loop": lambda x: pa.fori_loop(0, 3, lambda i, v: pa.at(v, i).set(v[i + 1]), x),
    "choice": lambda x: pa.cond(x[1] > 0, lambda v: v[::-1], lambda v: v, x), "compared": lambda x: x == x[::-1],
    "lanes": lambda x: pa.vmap(lambda v: v[::-1])(np.stack([x, x])),
}  # fmt: skip
REAL = {"sorted", "selected", "largest", "choice"}


def in_place(x):
    x = x.copy()
    x[1:3] = x[0]
    x += 1
    return x


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_and_dtypes(dtype):
    x = np.array([0, 1, 2, 3, 1]).astype(dtype)
    functions = {
        n: f for n, f in PROGRAMS.items() if not (x.dtype.kind == "c" and (n in REAL or n.startswith(("to", "there"))))
    }
    functions["in place"] = in_place
    run = pa.jit(lambda x: {name: f(x) for name, f in functions.items()})
    compiled = pa.compile_program(pa.make_ir(lambda x: [f(x) for f in functions.values()])(x), "cpu")
    with np.errstate(all="ignore"):
        for found in (run(x), run(x), dict(zip(functions, compiled(x), strict=True))):
            for name, f in functions.items():
                right = f(x)
                np.testing.assert_array_equal(found[name], right, err_msg=name)
                assert found[name].dtype.str == right.dtype.str, name


@pytest.mark.parametrize("dtype", [OTHER + "f4", OTHER + "f8", OTHER + "c16"])
def test_gradients(dtype):
    x = np.arange(1, 6).astype(dtype)
    f = lambda x: pa.sum(pa.real(x * x)) + pa.sum(pa.real(x[1:] * x[:-1])) + pa.sum(pa.real(x.astype(dtype)[::2]))
    for _ in range(2):
        slope, right = pa.jit(pa.grad(f))(x), pa.grad(f)(x)
        np.testing.assert_array_equal(slope, right)
        assert slope.dtype == right.dtype
    np.testing.assert_array_equal(pa.grad(pa.jit(f))(x), right)


def test_arguments_given_away():
    x = np.arange(4).astype(OTHER + "f8")
    step = pa.jit(lambda x: (x * 2).astype(OTHER + "f8"), donate_argnums=0)
    for _ in range(3):
        y = step(x.copy())
        assert y.tolist() == [0, 2, 4, 6] and y.dtype == x.dtype
