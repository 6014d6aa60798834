"""Where C code raises its own error in the place of ours, the transformation ends with ours, which says what to write."""

import contextlib
import datetime
import decimal
import fractions
import logging
import math
import statistics
import struct
import traceback

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick

HOW = {
    "grad": lambda f, x: pa.grad(lambda v: pa.sum(v) + 0.0 * (f(v) is None))(x),
    "jvp": lambda f, x: pa.jvp(lambda v: (f(v), v)[1], (x,), (x,)),
    "vmap": lambda f, x: pa.vmap(lambda v: (f(v), v)[1])(np.stack([x, x + 1])),
    "make_ir": lambda f, x: pa.make_ir(lambda v: (f(v), v)[1])(x),
    "tape": lambda f, x: on_tape(f, x),
    "hessian": lambda f, x: pa.hessian(lambda v: (f(v), pa.sum(v))[1])(x),
    "vmap of grad": lambda f, x: pa.vmap(pa.grad(lambda v: (f(v), pa.sum(v))[1]))(np.stack([x, x + 1])),
    "grad of vmap": lambda f, x: pa.grad(lambda u: pa.sum(pa.vmap(lambda v: (f(v), v)[1])(u)))(np.stack([x, x + 1])),
}


def on_tape(f, x):
    with pa.Tape() as tape:
        f(tape.watch(x))


def put(b, key, v):
    b[key] = v


def add_to(b, v):
    b += v


zeros = lambda: np.zeros(3)
STORES = {  # into an array that is not followed -> what the text says to write
    "b[0] = x[0]": (lambda x: put(zeros(), 0, x[0]), "polyad.zeros"),
    "b[0] = x": (lambda x: put(zeros(), 0, x), "polyad.zeros"),
    "b[1:3] = x[0]": (lambda x: put(zeros(), slice(1, 3), x[0]), "polyad.zeros"),
    "b[:] = x": (lambda x: put(zeros(), slice(None), x), "polyad.zeros"),
    "b[mask] = x[0]": (lambda x: put(zeros(), zeros() == 0, x[0]), "polyad.zeros"),
    "b[[0, 1]] = x[:2]": (lambda x: put(zeros(), [0, 1], x[:2]), "polyad.zeros"),
    "A[0] = x": (lambda x: put(np.zeros((2, 3)), 0, x), "polyad.zeros"),
    "A[0, 1] = x[0]": (lambda x: put(np.zeros((2, 3)), (0, 1), x[0]), "polyad.zeros"),
    "float32": (lambda x: put(np.zeros(3, np.float32), 0, x[0]), "polyad.zeros"),
    "complex": (lambda x: put(np.zeros(3, complex), 0, x[0]), "polyad.zeros"),
    "b[0] += x[0]": (lambda x: put(b := zeros(), 0, b[0] + x[0]), "polyad.zeros"),
    "b.fill": (lambda x: zeros().fill(x[0]), "polyad.zeros"),
    "b.flat[0] = x[0]": (lambda x: put(zeros().flat, 0, x[0]), "polyad.zeros"),
    "b.put": (lambda x: zeros().put(0, x[0]), "polyad.zeros"),
    "b += x": (lambda x: add_to(zeros(), 0.1 * x), "polyad.zeros"),
    "np.put": (lambda x: np.put(zeros(), [0], x[0]), "polyad.zeros"),
    "np.copyto": (lambda x: np.copyto(zeros(), x), "polyad.zeros"),
    "np.add(out=)": (lambda x: np.add(x, x, out=zeros()), "polyad.zeros"),
    "np.full": (lambda x: np.full(3, x[0]), "polyad.full"),
    "np.array([x[0], 1])": (lambda x: np.array([x[0], 1.0]), "polyad.stack"),
    "np.array([x, x])": (lambda x: np.array([x, x]), "polyad.stack"),
    "np.fromiter": (lambda x: np.fromiter((v for v in x), float), "polyad.zeros"),
    "math.sin": (lambda x: math.sin(x[0]), "np.sin, not math.sin"),
    "float": (lambda x: float(x[0]), "polyad.stop_gradient"),
    "float of several": (lambda x: float(x), "polyad.stop_gradient"),
    "complex()": (lambda x: complex(x[0]), "polyad.stop_gradient"),
    "%f": (lambda x: "%f" % x[0], "polyad.stop_gradient"),  # noqa: UP031
    "sum in C": (lambda x: math.fsum([x[0], x[1]]), "polyad.stop_gradient"),
}


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("how", HOW)
def test_the_text_is_the_error_itself(how, name):
    f, advice = STORES[name]
    with pytest.raises((pa.ConcreteValueError, pa.MutationError, pa.MissingRuleError)) as found:
        HOW[how](f, np.array([0.5, 1.5, 2.5]))
    text = str(found.value)
    assert advice in text and "sequence" not in text, text
    shown = "".join(traceback.format_exception(found.value))
    assert "test_error_causes.py" in shown and "setting an array element" not in shown


def test_whole_numbers():
    """`"%d" % x`, which takes the TypeError of ours for one of its own."""
    text = lambda x: "%d" % x[0]  # noqa: UP031
    HOW["jvp"](text, np.array([0.5]))  # the number is known, and no derivative is lost by its whole part
    for how, advice in (("vmap", "astype"), ("make_ir", "without tracing")):
        with pytest.raises(pa.ConcreteValueError, match=advice):
            HOW[how](text, np.array([0.5]))


def test_python_s_own_answers_stay():
    for f in (lambda x: range(x[0]), lambda x: [1, 2][x[0]], lambda x: np.zeros((3, x[0]))):
        with pytest.raises(TypeError, match="integer"):
            pa.grad(lambda x, f=f: f(x) and pa.sum(x))(np.ones(2))
    with pytest.raises(ValueError, match="not in list"):
        pa.grad(lambda x: [1.0, 2.0].index(x[0]) and pa.sum(x))(np.zeros(2))


def test_jit_goes_on_with_numbers():
    def f(x):
        b = np.zeros(3)
        b[0], b[1:] = x[0], x[1]
        return pa.sum(x) + b[0] + b[2] + complex(x[0]).real + np.array(x[0]) + math.sin(x[0])

    with pytest.warns(pa.PerformanceWarning):
        assert pa.jit(f)(np.array([1.0, 2.0])) == f(np.array([1.0, 2.0]))


def test_errors_of_the_user_stay():
    """An error that the user's code raises because of ours, or after it, is the user's."""

    def renamed(x):
        try:
            np.zeros(3)[0] = x[0]
        except ValueError as error:
            raise KeyError("mine") from error

    def caught(x):
        with contextlib.suppress(ValueError):
            np.zeros(3)[0] = x[0]
        raise KeyError("mine")

    def made_of_ours(x):
        try:
            float(x[0])
        except pa.ConcreteValueError as error:
            raise KeyError("mine") from error

    for f in (renamed, caught, made_of_ours):
        for how in ("grad", "jvp", "vmap", "make_ir"):
            with pytest.raises(KeyError, match="mine"):
                HOW[how](f, np.ones(2))


def test_it_comes_from_the_line_of_the_user():
    def f(x):
        b = np.zeros(3)
        b[1] = x  # here
        return b

    with pytest.raises(pa.ConcreteValueError) as found:
        pa.grad(f)(1.0)
    last = traceback.extract_tb(found.value.__traceback__)[-1]
    assert last.line.endswith("# here") and found.value.__suppress_context__


PLAIN = {
    "statistics": (lambda x: statistics.mean([x, x]), "statistics.* takes? plain numbers.*np.mean, np.std"),
    "stdev": (lambda x: statistics.stdev([x, 2 * x]), "statistics.* takes? plain numbers.*np.std"),
    "Decimal": (decimal.Decimal, "a Decimal takes plain numbers"), "Fraction": (fractions.Fraction, "Fraction.* takes? .*"),
    "timedelta": (lambda x: datetime.timedelta(seconds=x), "a timedelta takes.*seconds"),
    "struct": (lambda x: struct.pack("d", x), "(?:struct takes plain numbers.*polyad.stack|float\\(\\) of)"),
    "memoryview": (memoryview, "a memoryview takes.*indices and slices"),
}  # fmt: skip


@pytest.mark.parametrize("how", ["grad", "jvp", "vmap", "make_ir"])
@pytest.mark.parametrize("name", PLAIN)
def test_the_standard_library_takes_plain_numbers(name, how):
    """It raises errors of its own without asking for the number; they get what to write instead."""
    if (name, how) == ("Fraction", "vmap"):
        return  # an error that says nothing of the value
    f, text = PLAIN[name]
    with pytest.raises(pa.ConcreteValueError, match=f"(?s){text}.*stop_gradient") as found:
        HOW[how](f, 2.0 if how != "vmap" else np.ones(2))
    assert "would lose what the transformation follows" in str(found.value)


def test_errors_about_plain_values_stay():
    wrong = [lambda x: decimal.Decimal([]), lambda x: memoryview(2.0), lambda x: b"".join([1])]
    for f in (*wrong, lambda x: x(), lambda x: x.missing):
        with pytest.raises((TypeError, ValueError, AttributeError)) as found:
            pa.grad(f)(2.0)
        assert not isinstance(found.value, pa.ConcreteValueError)


def number_or(x, *errors):
    """A number of a followed value, where it is one; -1 where it is caught to be none."""
    try:
        return float(x)
    except errors:
        return -1.0


def suppressed(x):
    n = -1.0
    with contextlib.suppress(TypeError):
        n = float(x)
    return n


def one_of_two(x):
    """The first is caught, the second meant."""
    n = number_or(x, TypeError)
    try:
        float(x)
    except pa.ConcreteValueError:
        n = 2 * n
    return n


CAUGHT = {
    "TypeError": lambda x: number_or(x, TypeError),
    "two kinds": lambda x: number_or(x, TypeError, ValueError),
    "Exception": lambda x: number_or(x, Exception),
    "suppress": suppressed,
    "the first of two": one_of_two,
}


@pytest.mark.parametrize("name", CAUGHT)
@pytest.mark.parametrize("how", [*HOW, "jit of vmap", "jit of grad"])
def test_a_refusal_that_was_caught(how, name):
    """It is raised again at the end: the function has taken another way than with plain numbers."""
    ways = {
        "jit of vmap": lambda f, x: pa.jit(pa.vmap(f))(x),
        "jit of grad": lambda f, x: pa.jit(pa.grad(lambda v: pa.sum(v) * f(v[0])))(x),
    }
    f = CAUGHT[name]
    g = f if how == "jit of vmap" else lambda v: f(v[0])
    with pytest.raises(pa.ConcreteValueError, match=r"float\(\) of a .* \(caught at .*causes.py:\d+, .*except polyad"):
        (ways.get(how) or HOW[how])(f if how == "jit of grad" else g, np.array([0.5, 1.5, 2.5]))


def stored(x):
    """NumPy's own error, ours behind it, is what is caught."""
    b = np.zeros(3)
    try:
        b[0] = x[0]
    except (TypeError, ValueError):
        b[0] = 7.0
    return b[0]


@pytest.mark.parametrize("how", HOW)
def test_an_error_of_numpy_that_was_caught(how):
    with pytest.raises(pa.ConcreteValueError, match=r"float\(\) of a .* \(asked at .*causes.py:\d+ by C code, .*polyad"):
        HOW[how](stored, np.array([0.5, 1.5, 2.5]))


@pytest.mark.parametrize("f", [np.nonzero, np.flatnonzero, np.unique, lambda x: np.bincount(x > 0), lambda x: x[x > 0]])
def test_a_number_of_places_that_was_caught(f):
    def g(x):
        try:
            return f(x)[0] * 0.0 + 1.0
        except TypeError:
            return 7.0

    with pytest.raises(pa.ConcreteValueError, match=r"make_ir|which a trace does not have"):
        pa.make_ir(g)(np.array([1.0, 0.0]))


@pytest.mark.parametrize("how", HOW)
def test_a_refusal_that_was_meant(how):
    """Who names the class knows what it is about; and an error of Python's own is none of ours."""

    def f(x):
        try:
            return float(x[0])
        except pa.ConcreteValueError:
            return 0.0

    def g(x):
        try:
            return len(x[0])
        except TypeError:
            return 0.0

    for fine in (f, g):
        HOW[how](fine, np.array([0.5, 1.5]))


def test_a_handler_of_logging(capsys):
    """Which shows the refusal and computes nothing."""
    logger = logging.Logger("polyad test")
    logger.addHandler(logging.StreamHandler())
    assert pa.grad(lambda x: (logger.warning("%f", x), x * x)[1])(3.0) == 6.0
    assert "ConcreteValueError" in capsys.readouterr().err


def test_jit_goes_on_eagerly():
    f = pa.jit(lambda x: x * number_or(x, TypeError, ValueError))
    with pytest.warns(pa.PerformanceWarning, match="runs eagerly"):
        assert f(3.0) == 9.0
    assert f(4.0) == 16.0
