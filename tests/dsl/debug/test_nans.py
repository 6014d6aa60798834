"""`debug_nans`: the operation, the line, the lanes and the equation that made the first NaN, and no false alarms."""

import gc
import inspect
import threading
import warnings

import numpy as np
import pytest
from nan_reports import caught

import polyad as pa
from polyad import testing
from polyad.dispatch import watchers
from polyad.dsl import operations

x = np.array([1.0, -1.0, 4.0])
nan = np.array([np.nan, 1.0])


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    assert not watchers


def line_of(text):
    """file:line of the line of this file that ends with the mark."""
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    return f"{__file__}:{next(i for i, line in enumerate(lines, 1) if line.endswith('# ' + text))}"


def test_forward_names_operation_inputs_and_line():
    def f(x):
        return pa.log(x)  # the log

    text = caught(f, x)
    assert text.startswith("log made a NaN of numbers that were none, in the forward computation")
    assert "inputs: ndarray(float64[3])" in text and "1 of 3 elements" in text and line_of("the log") in text
    assert "-1.0" not in text
    assert issubclass(pa.NaNError, FloatingPointError)


@pytest.mark.parametrize("f", [
    lambda: pa.log(nan), lambda: pa.sum(nan), lambda: pa.where(np.array([True, False]), np.nan, 1.0),
    lambda: pa.full_like(x, np.nan), lambda: pa.grad(lambda v: pa.sum(pa.exp(v)))(nan),
    lambda: pa.vmap(lambda v: pa.sqrt(v))(nan), lambda: pa.make_ir(pa.log)(nan)(nan),
    lambda: pa.jvp(pa.sin, (1.0,), (np.nan,)),
])  # fmt: skip
def test_nans_that_were_there_do_not_raise(f):
    with pa.debug_nans():
        f()


def test_forward_under_derivatives():
    for run in (pa.grad(lambda v: pa.log(v)), lambda v: pa.jvp(pa.log, (v,), (1.0,)), pa.hessian(pa.log)):
        assert caught(run, np.float64(-1.0)).startswith("log made a NaN of numbers that were none, in the forward computation")


def test_nan_of_a_forward_rule():
    f = lambda x: (1.0 + pa.relu(x)) * pa.log(pa.relu(x))  # 0 times an infinite value
    text = caught(lambda x: pa.jvp(f, (x,), (1.0,)), np.float64(-1.0))
    assert "in the tangent, of jvp(<lambda>), entered at" in text


def test_sum_of_cotangents():
    def f(t):
        u = 1e-200 * t
        return 1.0 / u - 1.0 / u

    text = caught(pa.grad(f), np.float64(1.0))
    assert text.startswith("add made a NaN of numbers that were none, in the derivative: where grad(f) adds cotangents")


def test_lanes():
    f = lambda v: pa.log(v)
    text = caught(pa.vmap(f), x)
    assert "in 1 of 3 lanes of vmap(<lambda>), entered at" in text and text.splitlines()[3].endswith(": 1")
    text = caught(pa.vmap(pa.vmap(f)), np.stack([x, x * x, -x]))
    assert "in 2 of 3 lanes" in text and "in 3 of 3 lanes" in text


def test_lanes_count_one_by_one():
    """A lane that makes a NaN is found though another has brought one; a lane that has brought one is no news."""
    text = caught(pa.vmap(pa.log), np.array([np.nan, -1.0, 1.0]))
    assert "in 1 of 3 lanes" in text and ": 1" in text


def test_numbers_of_lanes_that_split():
    f = lambda v: pa.sqrt(v) if v < 3 else v
    assert ": 1, 3" in caught(pa.vmap(f), np.array([4.0, -1.0, 5.0, -2.0, 1.0]))


def test_programs_name_the_equation():
    program = pa.make_ir(lambda x: pa.sum(2.0 * pa.log(x)))(x)
    again, lanes = pa.make_ir(lambda x: program(x))(x), lambda x: pa.vmap(program)(np.stack([x, x * x]))
    for run in (program, pa.grad(program), lanes, again):
        text = caught(run, x)
        assert "the equation `b: float64[3] = log a` of the program lambda made a NaN" in text and "reaches a result" in text


def test_masked_nans_of_programs_are_none():
    program = pa.make_ir(lambda x: pa.sum(pa.where(x > 0, pa.log(x), 0.0)))(x)
    with pa.debug_nans():
        assert program(x) == np.log(4.0)
        pa.grad(program)(x)


def test_programs_within_operations():
    body = lambda c, _: (pa.log(c), None)
    text = caught(pa.make_ir(lambda x: pa.scan(body, x, length=3)[0])(1.0), 0.5)
    assert "log" in text and "NaN" in text


def test_containers():
    text = caught(lambda v: pa.Diagonal(v) @ np.array([1.0, np.inf, 0.0]), np.array([1.0, 0.0, 1.0]))
    assert text.startswith("matmul made a NaN") and "Diagonal" in text


def test_users_code_in_operations_is_the_users():
    def hook(ct):
        return pa.log(ct)  # in the hook

    text = caught(pa.grad(lambda v: pa.grad_hook(v, hook) * -1.0), np.float64(1.0))
    assert text.startswith("log made") and line_of("in the hook") in text


def test_users_composites_are_looked_into():
    @pa.composite()
    def mine(x, /):
        """log of x - 1, in two steps, of arrays of any shape."""
        return pa.log(x - 1.0)  # in the composite

    assert line_of("in the composite") in caught(lambda v: mine(v), np.float64(0.0) + np.zeros(1))


def test_infinities():
    assert "exp made an infinity of finite numbers" in caught(pa.exp, np.float64(1000.0), inf=True)
    with pa.debug_nans(inf=True):
        pa.exp(np.inf)
        pa.add(np.array([np.inf, 1.0]), 1.0)
    with pa.debug_nans():
        pa.exp(1000.0)


# ---------------------------------------------------------------------- no false alarms
hard = {
    "norm": (lambda v: pa.sqrt(pa.sum(v**2)), np.zeros(2)), "hypot": (lambda v: pa.hypot(v[0], v[1]), np.zeros(2)),
    "prod": (pa.prod, np.array([0.0, 2.0, 0.0])), "power": (lambda v: pa.sum(v**0.5), np.zeros(2)),
    "xlogy": (lambda v: pa.xlogy(v[0], v[1]), np.zeros(2)), "logsumexp": (pa.logsumexp, np.array([-np.inf, 0.0])),
    "softmax": (lambda v: pa.softmax(v)[0], np.array([1000.0, -1000.0])), "entr": (lambda v: pa.sum(pa.entr(v)), np.zeros(2)),
}  # fmt: skip


@pytest.mark.parametrize("name", hard)
def test_conventions_at_hard_points_raise_nothing(name):
    f, v = hard[name]
    with pa.debug_nans():
        assert np.isfinite(pa.grad(f)(v)).all()
        assert np.isfinite(pa.vmap(pa.grad(f))(np.stack([v, v]))).all()
        pa.jvp(f, (v,), (np.ones_like(v),))


def some_samples():
    for name, op in operations.items():
        if op.card.samples and op.card.differentiable:
            yield pytest.param(op, op.card.samples[0], id=name)


@pytest.mark.parametrize(("op", "make"), list(some_samples()))
def test_samples_raise_nothing(op, make):
    args, params = make(np.random.default_rng(7))
    with pa.debug_nans():
        testing.check_reverse(op, args, params)


# ---------------------------------------------------------------------- the switch
def test_off_there_is_nothing():
    table = dict(pa.log.generic.table)
    with pa.debug_nans():
        assert watchers
        pa.log(2.0)
    assert not watchers
    pa.log(x)
    gc.collect()
    assert all("watched" not in getattr(t, "__qualname__", "") for t in pa.log.generic.table.values())
    del table


def test_as_a_function_and_nested():
    switch = pa.debug_nans()
    try:
        with pytest.raises(pa.NaNError):
            pa.log(x)
        with pa.debug_nans(False):
            pa.log(x)
        with pytest.raises(pa.NaNError):
            pa.log(x)
        with pa.debug_nans(inf=True), pytest.raises(pa.NaNError):
            pa.exp(1000.0)
        pa.exp(1000.0)
    finally:
        off = pa.debug_nans(False)
    pa.log(x)
    assert not watchers
    off.__exit__()
    switch.__exit__()


def test_other_threads_are_left_alone():
    found = []
    with pa.debug_nans():
        thread = threading.Thread(target=lambda: found.append(pa.log(x)))
        thread.start()
        thread.join()
    assert len(found) == 1


def test_errors_of_operations_come_through():
    with pa.debug_nans(), pytest.raises(pa.ShapeError):
        pa.add(np.ones(2), np.ones(3))
    assert np.isnan(pa.log(-1.0))
