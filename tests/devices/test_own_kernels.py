"""Operations of others whose C expression is their kernel: eagerly, compiled, and under every transformation."""

import os
import re
import subprocess
import sys
import threading
import types
import warnings

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.program import stretches
from polyad.dsl import operations
from polyad.testing import check_rule


@pa.elementwise(partials=[lambda y, x: pa.sin(x)], c="(1 - cos({0}))", samples=[lambda rng: rng.standard_normal(3)])
def versine(x, /):
    """1 - cos(x)."""


@pa.elementwise(partials=[lambda y, a, b: pa.exp(-b), lambda y, a, b: -a * pa.exp(-b)], c="{0} * exp(-{1})")
def damped(a, b, /):
    """a · exp(-b)."""


@pa.elementwise(partials=[None, lambda y, c, x, z: pa.where(c, 1.0, 0.0), None], c={"fc": "{0} != 0 ? {1} : {2} * {2}"})
def chosen(c, x, z, /):
    """x where c is not 0, else z²."""


@pa.elementwise(partials=[lambda y, x, rate: rate * y], c="exp({rate} * {0})")
def grown(x, /, rate=1.0):
    """exp(rate · x)."""


@pa.elementwise(differentiable=False, c={"iu": "{0} % 2 == 0", "f": "fmod({0}, 2) == 0"})
def even(x, /):
    """Whether each whole number is even."""


even.rule("shape")(lambda x: pa.Aval(x.shape, np.dtype(bool)))


@pa.elementwise(differentiable=False, c={"iu": "{0} + 1", "f": "{0} + 1"})
def after(x, /):
    """The next number, of the same dtype."""


def numpy_versine(x):
    return 1 - np.cos(x)


WHOLE = [np.dtype(c) for c in "?bBhHiIlLqQ"]
FLOATING = [np.dtype(c) for c in ("f2", "f4", "f8", "c8", "c16", ">f4", ">f8", ">c16", ">i4")]


def tolerance(dtype):
    return {"rtol": 8 * np.finfo(dtype).eps, "atol": 8 * np.finfo(dtype).eps}


@pytest.mark.parametrize("dtype", [*WHOLE, *FLOATING], ids=str)
@pytest.mark.parametrize("n", [0, 1, 3, 8, 17, 1000])
def test_dtypes(dtype, n):
    """As NumPy's functions of floating numbers promote, eagerly and compiled."""
    x = (np.random.default_rng(0).standard_normal(n) * 3).astype(dtype)
    for f in (versine, pa.jit(versine)):
        y = f(x)
        assert y.dtype == np.cos(x).dtype and y.shape == x.shape and y.dtype.isnative
        np.testing.assert_allclose(y, numpy_versine(x), **tolerance(y.dtype))


def test_functions_that_are_called_by_pointer():
    """SciPy's special functions are words, too."""
    scipy = pytest.importorskip("scipy.special")
    op, x = declared("erfinv({0}) + i0({0})"), np.linspace(-0.9, 0.9, 7)
    for f in (op, pa.jit(op)):
        np.testing.assert_allclose(f(x), scipy.erfinv(x) + scipy.i0(x), rtol=1e-14)


@pytest.mark.parametrize("c, formula", [
    ("logaddexp({0}, 0) - maximum({0}, 0)", lambda x: np.logaddexp(x, 0) - np.maximum(x, 0)),
    ("pow(fabs({0}), 1.5) / (1 + {0} * {0})", lambda x: np.abs(x) ** 1.5 / (1 + x * x)),
    ("isnan({0}) ? -1 : tanh({0}) - floor({0})", lambda x: np.where(np.isnan(x), -1, np.tanh(x) - np.floor(x))),
    ("1 / {0}", lambda x: 1 / x),
])  # fmt: skip
def test_expressions_at_special_numbers(c, formula):
    """As NumPy, at both infinities, NaN, zeros of both signs and tiny numbers, without a warning."""
    op = declared(c)
    x = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 700.0, 1e300, 3])
    with np.errstate(all="ignore"):
        wanted = formula(x)
    with np.errstate(all="raise"):
        found = op(x)
    for y in (found, pa.jit(op)(x)):
        np.testing.assert_allclose(y, wanted, rtol=1e-14, atol=1e-300)


class TestLayouts:
    x = np.random.default_rng(3).standard_normal((6, 8))

    @pytest.mark.parametrize("view", [
        lambda x: x[::2], lambda x: x[:, ::-3], lambda x: x.T, lambda x: x[1:, 2:5], lambda x: np.broadcast_to(x[0], (4, 8)),
        lambda x: x[:0], lambda x: np.asfortranarray(x), lambda x: x.reshape(-1)[3], lambda x: np.array(x[0, 0]),
    ])  # fmt: skip
    def test_one_array(self, view):
        before = self.x.copy()
        np.testing.assert_allclose(versine(view(self.x)), numpy_versine(view(self.x)), rtol=1e-14, atol=1e-15)
        np.testing.assert_array_equal(self.x, before)

    @pytest.mark.parametrize(
        "a, b", [((3, 1), (1, 4)), ((), (5,)), ((5,), ()), ((2, 0), (1, 1)), ((7,), (7,)), ((4, 1, 3), (2, 1))]
    )
    def test_broadcasting(self, a, b):
        rng = np.random.default_rng(0)
        x, y = rng.standard_normal(a), rng.standard_normal(b)
        for f in (damped, pa.jit(damped)):
            np.testing.assert_allclose(f(x, y), x * np.exp(-y), rtol=1e-14)

    def test_shapes_that_do_not_fit(self):
        with pytest.raises(pa.ShapeError, match=r"damped\(ndarray\(float64\[3\]\), ndarray\(float64\[4\]\)\)"):
            damped(np.ones(3), np.ones(4))

    def test_aliases(self):
        x = np.linspace(0, 1, 9)
        np.testing.assert_allclose(damped(x, x), x * np.exp(-x), rtol=1e-14)


class TestNumbers:
    def test_python_numbers(self):
        assert versine(0.5) == pytest.approx(1 - np.cos(0.5)) and type(versine(0.5)) is np.float64
        assert versine(1) == pytest.approx(1 - np.cos(1)) and versine(1j) == pytest.approx(1 - np.cos(1j))

    def test_they_take_the_arrays_dtype(self):
        x = np.ones(3, np.float32)
        for f in (damped, pa.jit(damped)):
            assert f(x, 0.5).dtype == f(2, x).dtype == np.float32
            assert f(x, np.ones(3)).dtype == np.float64
        assert damped(x, 1j).dtype == np.complex64

    @pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
    def test_whole_numbers_where_the_expression_says_so(self, dtype):
        x = np.arange(5, dtype=dtype)
        for f in (after, pa.jit(after)):
            np.testing.assert_array_equal(f(x), x + dtype(1), strict=True)
        for f in (even, pa.jit(even)):
            np.testing.assert_array_equal(f(x), x % 2 == 0, strict=True)

    def test_three_arrays(self):
        c, x, z = np.array([0.0, 1, 2]), np.array([1.0, 2, 3]), np.array([4.0, 5, 6])
        for f in (chosen, pa.jit(chosen)):
            np.testing.assert_array_equal(f(c, x, z), np.where(c != 0, x, z * z))
        np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(chosen(c, x, z)))(x), [0, 1, 1])

    def test_parameters(self):
        x = np.linspace(-1, 1, 5)
        for f in (lambda x, r: grown(x, rate=r), lambda x, r: pa.jit(lambda x: grown(x, rate=r))(x)):
            for rate in (0.5, -2.0, 3):
                np.testing.assert_allclose(f(x, rate), np.exp(rate * x), rtol=1e-14)
        np.testing.assert_allclose(grown(x), np.exp(x), rtol=1e-14)
        np.testing.assert_allclose(pa.grad(lambda x: pa.sum(grown(x, rate=2.0)))(x), 2 * np.exp(2 * x), rtol=1e-13)

    def test_parameters_that_are_no_plain_numbers(self):
        """A parameter stands in the C: what a transformation follows cannot, and says so; nothing of it is kept."""
        x = np.ones(2)
        f = lambda r: pa.sum(grown(x, rate=r))
        with pytest.raises(pa.PolyadError, match="lose|derivative|followed|follows"):
            pa.grad(f)(0.5)
        with pytest.raises(pa.ConcreteValueError):
            pa.vmap(f)(np.array([0.5, 1.5]))
        with pytest.raises(pa.ConcreteValueError):
            pa.make_ir(lambda x, r: grown(x, rate=r))(x, 0.5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pa.PerformanceWarning)
            for g in (pa.jit(f), pa.jit(lambda r: pa.sum(grown(x * r, rate=r) * 1.0 / 1.0))):
                for r in (0.5, np.float64(0.25), 0.5):
                    assert g(r) > 0
        assert pa.jit(f)(np.float64(2.0)) == pytest.approx(2 * np.exp(2.0))
        assert grown(x, rate=np.array(2.0))[0] == pytest.approx(np.exp(2.0))
        for wrong in (np.array([1.0, 2.0]), "a", None):
            with pytest.raises(
                pa.DTypeError, match=r"grown: its parameter rate is .*, but it stands in the C expression as a number"
            ):
                grown(x, rate=wrong)


# ---------------------------------------------------------------------- transformations
@pytest.mark.parametrize("x", [np.linspace(-1, 1, 5), np.linspace(-1, 1, 4) + 0.5j, np.array(0.3)], ids=str)
def test_rules(x):
    check_rule(versine, x)


@pa.elementwise(differentiable=False, c={"biufc": "{0} * {k}"})
def times(x, /, k=2):
    """x · k."""


class TestValuesOfParameters:
    """All values of a parameter have one library, with the numbers as the C of each dtype would have them."""

    def declared(self, c, rule=None):
        @pa.elementwise(differentiable=False, c=c)
        def op(x, /, k=2.0, shift=0):
            """An expression of x, k and shift."""

        if rule:
            op.rule("shape")(rule)
        return op

    @pytest.mark.parametrize("rule", [None, lambda x, k, shift: pa.Aval(x.shape, np.dtype(bool))])
    def test_one_library_for_all_values(self, monkeypatch, rule):
        from polyad.devices import own_kernels
        from polyad.devices.codegen import ufuncs

        made, load = [], ufuncs.load
        monkeypatch.setattr(ufuncs, "load", lambda *args: made.append(args) or load(*args))
        monkeypatch.setattr(own_kernels, "MOST_VALUES", 4)
        op, x = self.declared("{0} * {k} > {shift}" if rule else "{0} * {k} + {shift}", rule), np.linspace(-1, 1, 5)
        for k in [*np.linspace(-3, 3, 13), 3, True, np.float32(0.1), np.inf, np.nan] * 2:
            for xs in (x, x.astype("f4"), x.astype("f2"), (10 * x).astype("i2")):
                dtype = np.hypot(xs[:1], np.asarray(k).item()).dtype
                inside = np.float32 if dtype == np.float16 else dtype.type
                with np.errstate(all="ignore"):
                    wanted = xs.astype(inside) * inside(k)
                wanted = wanted > 1 if rule else (wanted + inside(1)).astype(dtype)
                np.testing.assert_array_equal(op(xs, k=k, shift=1), wanted)
        assert len(made) == (2 if rule else 1)  # comparisons are not C of complex numbers, as the first attempt shows

    def test_signs_of_zero(self):
        op = self.declared("{0} * {k} - 0 * {shift}")
        for k in (0.0, -0.0, 0.0, -0.0):
            assert np.signbit(op(1.0, k=k)) == np.signbit(k) == np.signbit(pa.jit(lambda x, k=k: op(x, k=k))(1.0))

    def ways(self, op, x, **params):
        """The results of an operation eagerly, compiled and mapped, of the dtype that a trace says."""
        f = lambda x: op(x, **params)
        said = pa.eval_shape(f, x).dtype
        for g in (f, pa.jit(lambda x: f(x) + pa.zeros_like(f(x))), pa.vmap(f) if np.ndim(x) else f):
            y = g(x)
            assert y.dtype == said
            yield y

    @pytest.mark.parametrize("k", [2, -2.5, True, 1j, 1e300, np.nan], ids=repr)
    @pytest.mark.parametrize("x", [
        *[np.arange(3).astype(c) for c in ("?", "i1", "u8", "i8", "f2", "f4", "c8", ">i4")],
        np.arange(1000), np.arange(0), np.int8(3), 3, 2.0,
    ], ids=lambda x: f"{x.dtype}[{x.size}]" if hasattr(x, "dtype") else repr(x))  # fmt: skip
    def test_they_promote_as_in_numpy(self, x, k):
        """A fraction beside whole numbers is not cut off; no number warns."""
        if getattr(x, "dtype", np.dtype(int)).kind == "c" and not np.isfinite(k):
            k = 1.5  # C and NumPy multiply infinities otherwise
        with np.errstate(all="ignore"):
            wanted = np.multiply(x, k)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for y in self.ways(times, x, k=k):
                np.testing.assert_allclose(y, wanted, rtol=4 * np.finfo(y.dtype).eps if y.dtype.kind in "fc" else 0)
                assert y.dtype == wanted.dtype

    def test_they_count_as_python_numbers(self):
        """Whatever dtype they come in: single precision stays; and whole numbers without axes stay whole."""
        f4, i1 = np.ones(2, "f4"), np.ones(2, "i1")
        for x, k, wanted in [
            (f4, np.float64(0.1), "f4"), (i1, np.int64(3), "i1"), (i1, np.array(3), "i1"), (i1, np.array(2.5), "f8"),
            (i1, np.float32(2.5), "f8"), (i1, np.bool_(True), "i1"), (f4, np.complex128(2 + 1j), "c8"),
        ]:  # fmt: skip
            for y in self.ways(times, x, k=k):
                assert y.dtype == wanted
                np.testing.assert_array_equal(y, x * np.asarray(k).astype(wanted))

    @pytest.mark.parametrize("dtype, wanted", [("i2", "f8"), ("?", "f8"), ("f4", "f4"), ("f2", "f2"), ("c8", "c8")])
    def test_where_the_expression_says_no_kinds(self, dtype, wanted):
        op, x = self.declared("{0} + {k} * {shift}"), np.array([1, 0, 1], dtype)
        for y in self.ways(op, x, k=0.5, shift=1):
            np.testing.assert_array_equal(y, np.array([1.5, 0.5, 1.5], wanted), strict=True)
        whole = np.hypot(x.real, 2).dtype if dtype != "c8" else x.dtype
        assert [y.dtype for y in self.ways(op, x, k=2, shift=1)] == [whole] * 3

    def test_a_shape_rule_says_the_dtype_of_the_result(self):
        """And the expression is computed in that of the arguments and the parameters together."""
        x = np.arange(-4, 5)
        above = self.declared({"iuf": "{0} > {k} + {shift}"}, lambda x, k, shift: pa.Aval(x.shape, np.dtype(bool)))
        floor = self.declared({"iu": "{0} * {k}", "f": "floor({0} * {k}) + {shift}"}, lambda x, k, shift: x)
        for k in (-2.5, 2, 2.5):
            for y in self.ways(above, x, k=k):
                np.testing.assert_array_equal(y, x > k, strict=True)
            for y in self.ways(floor, x, k=k):
                np.testing.assert_array_equal(y, np.floor(x * k).astype(x.dtype), strict=True)

    def test_values_that_a_dtype_does_not_hold(self):
        """Errors as the library's own operations have them: no dtype depends on the value of an int."""
        op = self.declared({"iuf": "{0} + {k} + {shift}"})
        for dtype, good, wrong in (("i1", (127, -128), (128, -129, 300)), ("u1", (0, 255), (-1, 256)), ("i8", (), (2**70,))):
            x = np.zeros(2, dtype)
            for k in good:
                assert all([y.dtype == dtype and (y == k).all() for y in self.ways(op, x, k=k)])
            for k in wrong:
                f, says = lambda x, k=k: op(x, k=k), "Python int.* (out of bounds|too large).*; convert with .astype"
                with pytest.raises(pa.DTypeError, match=says):
                    pa.add(x, k)
                for g in (f, pa.jit(f), pa.vmap(f), lambda x, f=f: pa.eval_shape(f, x)):
                    given = rf"op\(ndarray\({x.dtype}\[\d?\]\), k={k}, shift=0\): "
                    with pytest.raises(pa.DTypeError, match=given + says):
                        g(x)
        for y in self.ways(op, np.array([False, True]), k=300):
            np.testing.assert_array_equal(y, [300, 301], strict=True)
        with pytest.raises(pa.DTypeError, match="int too large to convert to float"):
            op(np.ones(2), k=2**2000)
        with pytest.raises(pa.RegistrationError, match="no C can be made of"):
            op(x, k=1j)
        both = self.declared("{0} * {k} + {shift}")
        np.testing.assert_array_equal(both(np.ones(2), k=1j), [1j, 1j])

    def test_text_that_is_no_number_in_c(self):
        op = self.declared("{0} * 1{k} + {shift}")
        for k in (2, 3, 2):
            assert op(1.0, k=k) == 10 + k

    def test_beside_a_template(self):
        op = self.declared("{0} * {k} + {shift}")
        pa.lowering(op, template=lambda e, dtype: "{0} * {0}" if e.params["k"] == 2 else "{0}")
        x = np.array([3.0])
        assert [op(x, k=k)[0] for k in (2, 3.0, 2)] == [9, 3, 9]

    def test_threads(self):
        op, wrong = self.declared("{0} * {k} + {shift}"), []

        def work(n):
            for k in range(200):
                if op(2.0, k=float(n + k), shift=n) != 2 * (n + k) + n:
                    wrong.append((n, k))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong

    @pytest.mark.parametrize("kernel", [False, True])
    def test_jit_names_the_parameter_that_it_cannot_follow(self, kernel):
        op = self.declared(None if kernel else "{0} * {k} + {shift}")
        if kernel:

            @op.method
            def op_kernel(x: pa.HostArray, /, k=2.0, shift=0):
                return x * k + shift

        f, x = pa.jit(lambda x, k: op(x, k=k) * 2), np.ones(2)
        with pytest.warns(
            pa.PerformanceWarning, match=r"op: its parameter k is Traced.* declare k as an array, .*static_argnums"
        ):
            np.testing.assert_array_equal(f(x, 3.0), [6, 6])
        np.testing.assert_array_equal(f(x, 4.0), [8, 8])
        np.testing.assert_array_equal(pa.jit(lambda x, k: op(x, k=k), static_argnums=1)(x, 4.0), [4, 4])
        with pytest.raises(pa.ConcreteValueError, match="op: its parameter k is Traced.* declare k as an array"):
            pa.make_ir(lambda x, k: op(x, k=k))(x, 0.5)

    def test_a_program_holds_no_followed_parameter(self):
        """Not where a shape rule says the dtype without looking at it, either."""
        op = self.declared("{0} > {k} + {shift}", lambda x, k, shift: pa.Aval(x.shape, np.dtype(bool)))
        with pytest.raises(pa.ConcreteValueError, match="op: its parameter k is Traced"):
            pa.make_ir(lambda x, k: op(x, k=k))(np.ones(2), 0.5)
        counted = lambda x: pa.fori_loop(0, 3, lambda i, s: s + op(x, k=i), pa.zeros_like(x))
        np.testing.assert_array_equal(pa.jit(counted)(np.array([0.5, 1.5, 9.0])), [1, 2, 3])


def test_rules_of_two_arrays():
    check_rule(damped, np.array([[1.0, 2.0]]), np.array([[0.5], [0.25]]))


def test_it_is_compiled():
    x = np.ones(4)
    f = lambda x: pa.sum(versine(x * 2))
    assert [is_c for is_c, _ in stretches(pa.make_ir(f)(x).equations)] == [True]
    assert "cos(" in "".join(pa.compile_program(pa.make_ir(f)(x), pa.devices.Device("cpu")).sources)
    assert "sin(" in "".join(pa.compile_program(pa.make_ir(pa.grad(f))(x), pa.devices.Device("cpu")).sources)


def test_nested_transformations():
    x = np.random.default_rng(0).standard_normal((3, 4))
    f = lambda row: pa.sum(versine(row) * row)
    wanted = np.stack([np.sin(r) * r + 1 - np.cos(r) for r in x])
    for transformed in (pa.vmap(pa.grad(f)), pa.jit(pa.vmap(pa.grad(f))), pa.vmap(pa.jit(pa.grad(f)))):
        np.testing.assert_allclose(transformed(x), wanted, rtol=1e-13)
    second = np.diag(np.cos(x[0]) * x[0] + 2 * np.sin(x[0]))
    np.testing.assert_allclose(pa.hessian(f)(x[0]), second, rtol=1e-12)
    loop = pa.jit(lambda x: pa.fori_loop(0, 3, lambda i, s: versine(s), x))
    np.testing.assert_allclose(loop(x), numpy_versine(numpy_versine(numpy_versine(x))), rtol=1e-12)
    np.testing.assert_allclose(loop(x[0, 0]), numpy_versine(numpy_versine(numpy_versine(x[0, 0]))), rtol=1e-12)


def test_programs_in_files(tmp_path):
    program = pa.make_ir(lambda x: versine(x) + damped(x, 1.0))(np.ones(3))
    program.save(tmp_path / "program")
    loaded = type(program).load(tmp_path / "program")
    np.testing.assert_array_equal(loaded(np.ones(3)), program(np.ones(3)))


def test_source_code_calls_it_under_a_name_of_its_own(monkeypatch):
    """The program is called as the operation, and two operations have one name."""
    module = types.ModuleType("another_versine")
    exec(SAME_NAME.format(c="(2 - cos({0}))"), module.__dict__)
    monkeypatch.setitem(sys.modules, "another_versine", module)
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or types.SimpleNamespace(versine=versine))
    for f in (versine, lambda x: versine(x) + module.versine(x)):
        program, namespace = pa.make_ir(f)(0.5), {}
        exec(program.code, namespace)
        assert namespace["versine" if f is versine else "program"](0.5) == f(0.5)


def test_source_code_of_an_operation_that_was_declared_again(monkeypatch):
    """As in a notebook: the name stands for the new one. The old one is taken from where it is, or refused, as by `save`."""
    module = types.ModuleType("a_notebook")
    monkeypatch.setitem(sys.modules, "a_notebook", module)
    first = SAME_NAME.format(c="(2 - cos({0}))")
    exec(first, module.__dict__)
    old = module.versine
    exec(first.replace("2", "3"), module.__dict__)
    for f in (old, lambda x: old(x) - module.versine(x), lambda x: pa.fori_loop(0, 2, lambda i, s: old(s), x)):
        program = pa.make_ir(f)(0.5)
        with pytest.raises(pa.ConcreteValueError, match="versine of a_notebook is not known .* is another object by now"):
            program.code
    module.kept = old
    for f in (old, lambda x: old(x) - module.versine(x)):
        program, namespace = pa.make_ir(f)(0.5), {}
        exec(program.code, namespace)
        assert namespace[program.name if f is old else "program"](0.5) == f(0.5) == program(0.5)
    del module.versine, module.kept
    with pytest.raises(pa.ConcreteValueError, match="not known by a name there, so that source code does not find it"):
        pa.make_ir(old)(0.5).code


# ---------------------------------------------------------------------- who is who
SAME_NAME = """
import polyad as pa

@pa.elementwise(partials=[lambda y, x: pa.sin(x)], c="{c}")
def versine(x, /):
    "Another one."
"""


def declared(c, name="versine"):
    space = {"__name__": "somewhere"}
    exec(SAME_NAME.replace("{c}", c).replace("def versine", f"def {name}"), space)
    return space[name]


def test_operations_of_one_name():
    """Declared again with another expression, as in a notebook, or by two modules: each keeps its own."""
    x = np.linspace(0, 1, 4)
    first, second = declared("(1 - cos({0}))"), declared("(3 - cos({0}))")
    for f, shift in ((first, 1), (second, 3), (first, 1)):
        for g in (f, pa.jit(f), pa.jit(lambda x, f=f: f(x) * 1.0)):
            np.testing.assert_allclose(g(x), shift - np.cos(x), rtol=1e-14)
    both = pa.jit(lambda x: first(x) * 10 + second(x))
    np.testing.assert_allclose(both(x), 10 * (1 - np.cos(x)) + 3 - np.cos(x), rtol=1e-14)


def test_a_function_that_reads_it_sees_the_new_one():
    space = {"pa": pa, "op": declared("(1 - cos({0}))")}
    exec("f = pa.jit(lambda x: op(x) + 1)", space)
    x = np.linspace(0, 1, 4)
    np.testing.assert_allclose(space["f"](x), 2 - np.cos(x), rtol=1e-14)
    space["op"] = declared("(5 - cos({0}))")
    np.testing.assert_allclose(space["f"](x), 6 - np.cos(x), rtol=1e-14)


@pytest.mark.parametrize("name", ["multiply", "cos", "sum", "where", "power", "real", "hypot"])
def test_names_that_are_taken(name):
    """An operation that is called as one of the library's, or of NumPy's, is none of these: passes leave it alone."""
    op = declared("({0} + 7)", name)
    x = np.array([1.0, 2.0])
    for f in (op, pa.jit(op), pa.jit(lambda x: op(x[:1]) * 1.0)):
        np.testing.assert_array_equal(f(x), x[: len(f(x))] + 7)
    assert operations[name] is not op


def test_what_runs_is_said():
    """`which` and `methods` name the expression, and where the operation is declared, not some function."""
    place = r"\(?.*test_own_kernels.py:\d+\)?"
    for op, c in ((versine, "(1 - cos({0}))"), (grown, "exp({rate} * {0})"), (damped, "{0} * exp(-{1})")):
        target, given = pa.which(op, *[np.ndarray] * op.generic.arity), ", ".join(["ndarray"] * op.generic.arity)
        assert re.fullmatch(rf"{op.__name__}\({given}\): compiled from c='{re.escape(c)}' {place}", str(target))
        (only,) = pa.methods(op)
        hosts = ", ".join(["HostArray"] * op.generic.arity)
        assert re.fullmatch(rf"{op.__name__}\({hosts}\): compiled from c='{re.escape(c)}' at {place}", str(only))
    np.testing.assert_array_equal(pa.which(versine, np.ndarray)(np.ones(2)), versine(np.ones(2)))


# ---------------------------------------------------------------------- kernels beside it
def test_a_kernel_goes_first():
    @pa.elementwise(partials=[lambda y, x: 2 * x], c="{0} * {0}")
    def squared(x, /):
        """x²."""

    calls = []

    @squared.method
    def squared_kernel(x: pa.HostArray, /):
        calls.append(x)
        return np.multiply(x, x)

    check_rule(squared, np.linspace(-1, 1, 3))
    calls.clear()
    squared(np.ones(2))
    assert len(calls) == 1
    f = pa.jit(lambda x: squared(x))
    f(np.ones(2))
    calls.clear()
    np.testing.assert_array_equal(f(np.full(2, 3.0)), [9, 9])
    assert not calls


def test_a_kernel_that_disagrees_is_told():
    @pa.elementwise(partials=[lambda y, x: 2 * x], c="{0} * {0} * 1.001")
    def wrong(x, /):
        """x², but for its C."""

    @wrong.method
    def wrong_kernel(x: pa.HostArray, /):
        return np.multiply(x, x)

    with pytest.raises(AssertionError, match="wrong: C expression"):
        check_rule(wrong, np.linspace(0.5, 1, 3))


# ---------------------------------------------------------------------- errors
class TestErrors:
    def test_nothing_to_run(self):
        @pa.elementwise(partials=[1])
        def bare(x, /):
            """Nothing is known of it."""

        with pytest.raises(pa.MethodError) as error:
            bare(np.ones(2))
        for part in (
            "no method bare(ndarray(float64[2]))",
            "write @bare.method above `def bare_kernel(x: polyad.HostArray, /)`",
            "c='…'",
        ):
            assert part in str(error.value)

    def test_unknown_word(self):
        with pytest.raises(
            pa.RegistrationError, match=r"versine \(.*:4\): no C can be made of c='fancy\(\{0\}\)': no fancy for float64; what"
        ):
            declared("fancy({0})")(np.ones(2))

    def test_no_expression(self):
        with pytest.raises(
            pa.RegistrationError,
            match=r"versine \(.*:4\): c='\{0\} \+\+ 1 x' is no expression in C of its arrays: .*compile: \w+",
        ):
            declared("{0} ++ 1 x")(np.ones(2))

    def test_comparisons_are_for_real_numbers(self):
        op = declared("({0} > 0 ? {0} : 0)")
        np.testing.assert_array_equal(op(np.array([-1.0, 2.0])), [0, 2])
        with pytest.raises(pa.DTypeError, match=r"versine\(ndarray\(complex128\[2\]\)\)"):
            op(np.ones(2, complex))

    @pytest.mark.parametrize("c, text", [
        ("{1} + 1", r"c='\{1\} \+ 1' names \{1\}; its arrays and parameters are \{0\}"),
        ("{x} + 1", r"names \{x\}; its arrays and parameters are \{0\}"),
        ("{0} + {", "is no template"),
        ({"x": "{0}"}, "keys are letters of b, i, u, f and c, kinds of dtypes, not 'x'"),
        ({"f": 3}, "c is int for the kinds 'f'; write"),
        ("{0!r} + 1", r"formats \{0!r\}; values are C, not text: write \{0\}"),
        ("{0:d} + 1", r"formats \{0:d\}; values are C, not text: write \{0\}"),
        ("sin({0}), cos({0})", "has a comma outside of parentheses, but it is one expression"),
        ({"f": "{0}", "i": "{0}; 1"}, "has a semicolon outside of parentheses"),
        ("exp({0}", "has parentheses that do not match"),
        ("{0}) + (1", "has parentheses that do not match"),
    ])  # fmt: skip
    def test_forms(self, c, text):
        with pytest.raises(pa.RegistrationError, match=text):

            @pa.elementwise(partials=[None], c=c)
            def odd(x, /):
                """Its C is wrong."""

    def test_a_parameter_that_the_expression_forgets(self):
        for c in ("exp({0})", {"f": "exp({0})", "i": "{0}"}):
            with pytest.raises(pa.RegistrationError, match=r"does not name its parameter rate; write \{rate\} where its value"):

                @pa.elementwise(partials=[None], c=c)
                def forgetful(x, /, rate=1.0):
                    """Its C forgets the rate."""

        @pa.elementwise(differentiable=False, c={"f": "exp({rate} * {0})", "i": "{0}"})
        def forgets_at_times(x, /, rate=1.0):
            """Its C of whole numbers forgets the rate, and is left alone for another one."""

        x = np.arange(2)
        np.testing.assert_array_equal(forgets_at_times(x), x)
        for f in (forgets_at_times, lambda x, rate: pa.jit(lambda x: forgets_at_times(x, rate=rate))(x)):
            np.testing.assert_allclose(f(x, rate=2.0), np.exp(2.0 * x))

    def test_commas_and_statements_within(self):
        op = declared("pow({0}, 2) + ({{ double t = {0}; t * t; }})")
        np.testing.assert_allclose(op(np.array([1.0, 3.0])), [2, 18])

    def test_an_operation_of_another_kind(self):
        with pytest.raises(
            pa.RegistrationError, match=r"total: c is the expression of an elementwise .* polyad.lowering\(total, …\)"
        ):

            @pa.reduction(c="{0}")
            def total(x, /, axis=None, keepdims=False):
                """Reductions have no expression."""

    def test_objects(self):
        with pytest.raises(pa.DTypeError, match="versine.*arrays of objects are not supported"):
            versine(np.array([1, None]))


WITHOUT = """
import numpy as np, polyad as pa
@pa.elementwise(partials=[None], c="(1 - cos({0}))")
def versine(x, /): "1 - cos(x)."
try: versine(np.ones(2))
except pa.MethodError as error: print(error)
try: pa.jit(versine)(np.ones(2))
except pa.MethodError as error: print(error)
"""


def test_without_a_compiler(tmp_path):
    environment = {**os.environ, "PATH": str(tmp_path), "POLYAD_CACHE_DIR": str(tmp_path), "CC": ""}
    blind = "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n, *a: None if n == 'ziglang' else f(n, *a)\n"
    run = subprocess.run([sys.executable, "-c", blind + WITHOUT], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert run.returncode == 0, run.stderr
    for part in ("no method versine(ndarray(float64[", "there is no C compiler; install gcc or clang", "@versine.method"):
        assert run.stdout.count(part) == 2, run.stdout
