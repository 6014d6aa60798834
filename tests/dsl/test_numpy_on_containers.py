"""NumPy's functions, ufuncs, their methods and operators in place on array types: the dense form's result, or an error that
says why not; never a RecursionError, an array of objects, or a unit that is lost on the way."""

import importlib.util
import operator
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import polyad as pa


def load(name):
    """The module of a stranger's file, loaded once."""
    known = f"outside_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, Path(__file__).parent.parent / "outside" / f"{name}.py")
        sys.modules[known] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[known])
    return sys.modules[known]


quantity, Masked = load("quantity"), load("masked").Masked
Quantity, metre = quantity.Quantity, quantity.unit(m=1)
A = np.arange(9.0).reshape(3, 3) + 1
MAKE = {
    "Diagonal": lambda: pa.Diagonal(np.array([1.0, 2.0, 3.0])),
    "Zeros": lambda: pa.Zeros((3, 3)),
    "OneHot": lambda: pa.OneHot(np.array([0, 2, 1]), 3),
    "Quantity": lambda: Quantity(A.copy(), metre),
    "Quantity(Masked)": lambda: Quantity(Masked(A.copy(), A > 7), metre),
}
UFUNCS = [f for n in dir(np) if isinstance(f := getattr(np, n), np.ufunc) and n == f.__name__]
FUNCTIONS = [
    f for n in dir(np) if isinstance(f := getattr(np, n), type(np.sum)) and n == f.__name__ and
    n not in ("save", "savez", "savez_compressed", "savetxt", "empty_like", "intersect1d", "setxor1d")
]  # fmt: skip
REFUSED = (pa.PolyadError, TypeError, ValueError, IndexError, np.linalg.LinAlgError, RuntimeError, AttributeError)


def tried(call, x):
    """What a call gives, or the class of the error by which it is refused."""
    with warnings.catch_warnings(), pa.densify("allow"), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call(x)
        except RecursionError:
            raise
        except REFUSED as error:
            return error


def leaves(y):
    parts = y if isinstance(y, (tuple, list)) else [y]
    return [np.asarray(p.dense() if isinstance(p, pa.Container) and p.densifies else p) for p in parts]


@pytest.mark.parametrize("name", MAKE)
def test_functions_give_what_the_dense_form_gives_or_say_why_not(name):
    count = 0
    for f in (*UFUNCS, *FUNCTIONS):
        for call in (lambda x: f(x), lambda x: f(x, x), lambda x: f(A + 0.0, x), lambda x: f(x, A + 0.0), lambda x: f(x, 1)):
            x = MAKE[name]()
            found = tried(call, x)
            if isinstance(found, Exception):
                assert not isinstance(found, NotImplementedError) or isinstance(found, pa.MissingRuleError), (f, found)
                continue
            assert getattr(found, "dtype", None) != np.dtype("O"), f
            if not x.densifies or f.__name__ in ("array_repr", "array_str", "array2string"):
                continue
            expected = tried(call, MAKE[name]().dense())
            if isinstance(expected, Exception):
                continue  # NumPy takes no array in the place of an axis, a dtype, …
            count += 1
            for a, b in zip(leaves(found), leaves(expected), strict=True):
                if b.dtype.kind not in "biufc":
                    continue
                b = np.where(np.isnan(b) & (a == 0), 0, b)  # exact zeros of the structure divided by zero
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=str(f))
    assert count > 250 or not MAKE[name]().densifies


@pytest.mark.parametrize("name", MAKE)
def test_methods_of_ufuncs(name):
    B = A + 0.0
    for f in UFUNCS:
        if f.nin != 2 or f.signature or f.nout > 1:
            continue
        for call in (f.reduce, f.accumulate, lambda x: f.outer(x, x), lambda x: f.reduceat(x, [0, 1]),
                     lambda x: f.at(B, 0, x), lambda x: f.at(x, 0, 1.0)):  # fmt: skip
            x = MAKE[name]()
            found = tried(call, x)
            if isinstance(found, Exception) or found is None or not x.densifies:
                continue
            expected = tried(call, x.dense())
            if not isinstance(expected, Exception):
                for a, b in zip(leaves(found), leaves(expected), strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=str(f))
                    assert a.dtype == b.dtype, f


IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.imatmul, operator.ipow, operator.ifloordiv,
            operator.imod]  # fmt: skip


@pytest.mark.parametrize("op", IN_PLACE, ids=lambda op: op.__name__)
@pytest.mark.parametrize("name", ["Diagonal", "Zeros", "OneHot"])
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_operators_in_place_on_a_plain_array(name, op, dtype):
    """`y += D` is NumPy's `y += D.dense()`, into the same memory."""
    x, y, expected = MAKE[name](), A.astype(dtype), A.astype(dtype)
    same = y
    with pa.densify("allow"), np.errstate(all="ignore"):
        y = op(y, x)
        expected = op(expected, x.dense())
    assert y is same and y.dtype == dtype
    bad = ~np.isfinite(expected)  # 0 / 0 is 0 where the structure has its zeros
    np.testing.assert_allclose(np.where(bad, 0, y), np.where(bad, 0, expected), rtol=1e-6)


def test_in_place_is_guarded_and_named():
    y = np.ones((3, 3))
    with pa.densify("error"):
        y += pa.Diagonal(np.ones(3))  # its own method gives a dense sum
        np.testing.assert_array_equal(y, 1 + np.eye(3))
        with pytest.raises(pa.DensifyError, match="np.multiply: out= has no method for Diagonal"):
            y *= pa.Diagonal(np.ones(3))
    q = Quantity(np.ones((3, 3)), metre)
    with pytest.raises(pa.DensifyError, match=r"np.multiply: out=: \S*Quantity of shape \[3, 3\] has no dense form; take the "
                       r"array that is meant from it \(x.value\), or define dense\(self\)"):  # fmt: skip
        y *= q
    with pytest.raises(pa.PolyadError, match="units differ"):
        y += q
    with pytest.raises(pa.ShapeError, match=r"np.add: out= has the shape \[3\], the result \[3, 3\]"):
        np.add(y, pa.Diagonal(np.ones(3)), out=np.ones(3))
    with pytest.raises(TypeError, match="Cannot cast"):
        np.add(np.ones((3, 3)), pa.Diagonal(np.ones(3)), out=np.ones((3, 3), int))
    with pytest.raises(pa.MutationError, match=r"np.add: out= names Diagonal\(float64\[3, 3\]\), which does not change; use"):
        np.add(y, y, out=pa.Diagonal(np.ones(3)))
    np.testing.assert_array_equal(y, 1 + np.eye(3))
    out = np.zeros(3)
    assert np.sum(pa.Diagonal(np.arange(3.0)), axis=0, out=out) is out and out.tolist() == [0.0, 1.0, 2.0]
    assert pa.linalg.det(np.copyto(y, A) or pa.Diagonal(np.ones(3))) == 1.0


def test_in_place_under_derivatives_says_what_to_do():
    """The array is none that the derivative could follow."""

    def f(d):
        y = np.ones((3, 3))
        y += pa.Diagonal(d)
        return pa.sum(y)

    for transform in (pa.grad, lambda f: lambda d: pa.jvp(f, (d,), (d,)), lambda f: lambda d: pa.vmap(f)(d[None])):
        try:
            transform(f)(np.ones(3))
        except (pa.MissingRuleError, pa.MutationError) as error:
            assert "np.add" in str(error)
    with pytest.warns(pa.PerformanceWarning, match=r"runs eagerly from now on: .* MutationError at .*: np\.add"):
        assert pa.jit(f)(np.ones(3)) == 12.0


def test_operators_in_place_on_a_container_make_another():
    D = E = pa.Diagonal(np.ones(3))
    D *= 2.0
    assert type(D) is pa.Diagonal and D.diag.tolist() == [2.0] * 3 and E.diag.tolist() == [1.0] * 3
    with pytest.raises(pa.MutationError, match="Diagonal does not change"):
        D[0, 0] = 1.0


@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_between_containers(endpoint):
    q, r = Quantity(np.array([1.0, 2.0]), metre), Quantity(np.array([3.0, 6.0]), metre)
    for make in (np.linspace, pa.linspace):
        y = make(q, r, 5, endpoint=endpoint)
        assert y.unit == metre
        np.testing.assert_allclose(y.value, np.linspace(q.value, r.value, 5, endpoint=endpoint))
    D, E = MAKE["Diagonal"](), 3.0 * MAKE["Diagonal"]()
    np.testing.assert_allclose(np.linspace(D, E, 3).dense(), np.linspace(D.dense(), E.dense(), 3))
    slope = pa.grad(lambda v: pa.sum(np.linspace(Quantity(v, metre), r, 3)).value)(q.value)
    np.testing.assert_allclose(slope, [1.5, 1.5])
    with pytest.raises(pa.PolyadError, match="units differ"):
        np.linspace(q, 1.0, 3)


def test_full_of_a_container():
    q = Quantity(np.array([1.0, 2.0]), metre)
    for y in (pa.full((3, 2), q), pa.full_like(np.zeros((3, 2)), q)):
        assert y.unit == metre and y.shape == (3, 2)


# ---------------------------------------------------------------------- dense forms
def test_a_type_without_a_dense_form_says_so():
    q = MAKE["Quantity(Masked)"]()
    text = r"\S*Quantity of shape \[3, 3\] has no dense form; take the array that is meant from it \(x.value\), or define dense"
    for mode in ("allow", "warn", "error"):
        with pa.densify(mode):
            written = lambda x: np.zeros((3, 3)).__setitem__(Ellipsis, x)
            for call in (np.asarray, np.array, written, lambda x: np.asarray(x, float)):
                with pytest.raises(pa.DensifyError, match=f"np.asarray: {text}"):
                    call(q)
            with pytest.raises(pa.DensifyError, match=f"dense: {text}"):
                q.dense()
            with pytest.raises(pa.DensifyError, match=f"dense: {text}"):
                pa.dense(q)
            with pytest.raises(pa.MethodError, match="has no dense form"):
                pa.linalg.inv(q)
    D = pa.Diagonal(Masked(np.ones(3), np.zeros(3, bool)))  # dense is Masked again
    with pa.densify("allow"), pytest.raises(pa.DensifyError, match=r"np.asarray: \S*Masked of shape \[3, 3\] has no dense"):
        np.asarray(D)


def test_truth_of_what_stays_an_array_type():
    with pytest.raises(TypeError, match=r"bool\(\) of a Masked is no plain answer; ask the array that is meant \(x.value"):
        bool(Masked(np.array([1.0])) > 0.0)
    assert Quantity(1.0, metre) > Quantity(0.5, metre)


def test_a_dense_form_of_a_container_within():
    D = pa.Diagonal(pa.Zeros((3,)))
    with pa.densify("allow"):
        np.testing.assert_array_equal(np.asarray(D), np.zeros((3, 3)))
        assert np.asarray(D, np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="np.asarray: Diagonal cannot become an array without a copy"):
        np.asarray(D, copy=False)


@pytest.mark.parametrize(
    "make",
    [
        np.zeros_like,
        np.ones_like,
        np.empty_like,
        lambda x: np.full_like(x, 2.0),
        pa.zeros_like,
        pa.ones_like,
        lambda x: pa.zeros_like(x, dtype=int),
        lambda x: pa.zeros_like(x, shape=(2,)),
    ],
)
@pytest.mark.parametrize("name", ["Quantity", "Quantity(Masked)"])
def test_creation_like_an_array_that_has_no_dense_form(make, name):
    with pytest.raises(pa.DensifyError, match=r"_like: \S*Quantity\(float64\[3, 3\]\) has no dense form, and nothing says "
                       r"which array of its type is meant; make one from its leaves \(x.value\)"):  # fmt: skip
        make(MAKE[name]())


def test_creation_like_a_linear_container_is_of_its_type_throughout():
    z = pa.zeros_like(pa.Diagonal(pa.Diagonal(np.ones((2, 3)))))
    assert type(z) is type(z.diag) is pa.Diagonal and not z.diag.diag.any()
    z = pa.zeros_like(pa.Diagonal(pa.OneHot(np.array([1, 0]), 3)))  # no positions make a OneHot of zeros
    assert type(z) is pa.Diagonal and type(z.diag) is np.ndarray and not z.diag.any()


# ---------------------------------------------------------------------- results of functions that have a gradient
q3 = Quantity(np.ones(3), metre)


@pytest.mark.parametrize(
    "f", [lambda v: Quantity(v, metre) @ q3, lambda v: pa.sum(Quantity(v, metre)), lambda v: pa.sum(Quantity(Masked(v), metre))]
)
@pytest.mark.parametrize(
    "transform",
    [
        pa.grad,
        pa.value_and_grad,
        pa.hessian,
        lambda f: lambda v: pa.hvp(f, v, v),
        lambda f: pa.jit(pa.grad(f)),
        lambda f: lambda v: pa.vmap(pa.grad(f))(v[None]),
    ],
)
def test_a_gradient_needs_a_number_not_an_array_type(f, transform):
    with pytest.raises(pa.DTypeError, match=r"the function returns \S*Quantity\(\S+\[\]\) of shape \[\]; grad needs one real "
                       r"number, not an array type: return the number that is meant \(x.value\)"):  # fmt: skip
        transform(f)(np.ones(3))
