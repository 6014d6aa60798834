"""Python numbers beside arrays of other precision than theirs, for every card of several arrays: dtype and value are those of
NumPy, and the same eagerly, as a constant of a program, and as an argument of one."""

import warnings

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations

NUMBERS = (True, 2, 0.5, 1 + 2j)
DTYPES = (np.float32, np.int32, np.complex64)
STATIC = {"moveaxis", "swapaxes", "roll", "tile", "repeat", "resize", "rollaxis", "array_split", "split", "hsplit", "vsplit",
          "dsplit", "partition", "argpartition", "matrix_power", "sliding_window_view", "index", "index_set", "index_add",
          "quantile", "nanquantile", "percentile", "nanpercentile", "searchsorted", "insertion_places"}  # fmt: skip
# NumPy refuses numbers or has no such parameter; its polymul of booleans is a logical one
OTHERWISE = {"digitize", "gradient", "polyval", "polymul", "union1d", "setdiff1d", "setxor1d"}
is_array = lambda x: isinstance(x, (np.ndarray, np.generic, float, int)) and not isinstance(x, bool)


def cases(name):
    """Functions of one array and one number, that array, that number, and the same function of NumPy or None."""
    card, rng = operations[name].card, np.random.default_rng(0)
    for make in card.samples:
        args, params = make(rng)
        leaves, structure = pa.tree.flatten(list(args))
        arrays = [i for i, x in enumerate(leaves) if is_array(x)]
        if len(arrays) != 2 or not all([np.asarray(leaves[i]).dtype.kind in "fc" for i in arrays]):
            continue
        for i, j in (arrays, arrays[::-1]):
            for dtype in DTYPES:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    x = np.asarray(leaves[i]).astype(dtype)

                def f(x, n, op=operations[name], i=i, j=j, leaves=leaves, structure=structure, params=params):
                    given = list(leaves)
                    given[i], given[j] = x, n
                    return op(*pa.tree.unflatten(structure, given), **params)

                peer = getattr(np, card.numpy[0], None) if len(card.numpy) == 1 and len(leaves) == len(args) else None
                yield from [(f, x, n, peer and (lambda x, n, f=f, peer=peer: f(x, n, op=peer))) for n in NUMBERS]


def numbers(y):
    return [np.asarray(part) for part in pa.tree.leaves(y)]


def same(found, wanted, what):
    for a, b in zip(numbers(found), numbers(wanted), strict=True):
        assert a.dtype == b.dtype, (what, a.dtype, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5 if b.dtype.char in "fF" else 1e-12, atol=1e-6, err_msg=what)


NAMES = [name for name, op in operations.items() if name not in STATIC and not op.card.collective and not op.card.acts({})
         and next(cases(name), None)]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_and_values(name):
    with np.errstate(all="ignore"):
        for f, x, n, peer in cases(name):
            what = f"{name} of {x.dtype}{list(x.shape)} and {n!r}"
            try:
                wanted = f(x, n)
            except Exception:  # noqa: BLE001  what the operation refuses
                continue
            same(pa.make_ir(lambda x, f=f, n=n: f(x, n))(x)(x), wanted, f"{what}, a constant of a program")
            same(pa.make_ir(f)(x, n)(x, n), wanted, f"{what}, an argument of a program")
            if peer is not None and name not in OTHERWISE:
                same(wanted, peer(x, n), f"{what}, by NumPy")


@pytest.mark.parametrize("name", ["inner", "contract", "add", "power", "hypot", "kron", "outer", "where", "xlogy", "jv"])
def test_compiled(name):
    with np.errstate(all="ignore"):
        for f, x, n, _ in list(cases(name))[::5]:
            try:
                wanted = f(x, n)
            except Exception:  # noqa: BLE001
                continue
            same(pa.jit(f)(x, n), wanted, f"{name} of {x.dtype} and {n!r}, compiled")


def test_quantiles_and_gradients_by_a_number_of_an_argument():
    x = np.arange(5, dtype=np.float32)
    for f in (pa.quantile, pa.nanquantile, pa.gradient, lambda x, q: pa.percentile(x, 100 * q)):
        assert pa.jit(f)(x, 0.5).dtype == f(x, 0.5).dtype == np.float32
