"""Layers and runs: classes per depth, what layer values are, depths restored whatever happens."""

import contextvars
import inspect
import pickle
import sys
import threading

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import polyad as pa
from polyad.ad import Dual, Reverse
from polyad.dispatch import Array, HostArray, Layer, Run, current_depth, isa, open_runs
from polyad.dsl import Batched, Replicated, Traced

pytestmark = pytest.mark.quick

KINDS = [Dual, Reverse, Batched, Replicated, Traced]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)

TRANSFORMS = {
    "grad": lambda f: pa.grad(f)(2.0),
    "vjp": lambda f: pa.vjp(f, 2.0)[1](1.0),
    "jvp": lambda f: pa.jvp(f, (2.0,), (1.0,)),
    "vmap": lambda f: pa.vmap(f)(np.array([2.0, 3.0])),
    "make_ir": lambda f: pa.make_ir(f)(2.0),
}


# ---------------------------------------------------------------------- classes
@each_kind
def test_one_class_per_depth(kind):
    cls = kind[3]
    assert cls is kind[3] and cls is not kind[4]
    assert (cls.depth, cls.__name__, cls.__module__) == (3, f"{kind.__name__}[3]", kind.__module__)
    assert issubclass(cls, kind) and not issubclass(cls, kind[4])
    assert "__dict__" not in dir(object.__new__(cls))


def test_kinds_do_not_share_classes():
    assert len({kind[1] for kind in KINDS}) == len(KINDS)

    class Mine(Layer):
        __slots__ = ()

    class Derived(Mine):
        __slots__ = ()

    assert Mine[1] is not Derived[1] and not issubclass(Derived[1], Mine[1])


def test_class_of_a_depth_is_made_once_under_racing_threads():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):

            class Mine(Layer):
                __slots__ = ()

            gate, made = threading.Barrier(8), []

            def work(gate=gate, made=made, Mine=Mine):
                gate.wait()
                made.append(Mine[5])

            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(made) == 8 and len(set(made)) == 1
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_values_are_arrays_and_layers_of_their_depth(transform):
    seen = []

    def outer(x):
        transform(lambda y: seen.append(y) or y)
        return x

    transform(lambda x: seen.append(x) or x)
    pa.jvp(outer, (1.0,), (1.0,))
    assert [type(x).depth for x in seen] == [1, 2]
    for x in seen:
        assert isinstance(x, Array) and isinstance(x, Layer) and isinstance(x, type(seen[0]).__mro__[1])
        assert not isinstance(x, (HostArray, pa.Container)) and not isa(x, (np.ndarray, float))
    assert not isinstance(seen[0], type(seen[1]))


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_pickling_a_value_says_what_to_do(transform):
    """[ForwardDiff 320: tags broke through serialisation]"""

    def f(x):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(pa.ConcreteValueError, match="cannot be pickled or sent.*return it from the trans"):
                pickle.dumps({"x": x}, protocol)
        return x

    transform(f)


def test_advice_of_refusals():
    def f(x):
        with pytest.raises(pa.ConcreteValueError, match=r"float\(\) of a Dual\[1\] of float64\[\].*stop_gradient"):
            float(x)
        return x

    pa.jvp(f, (1.0,), (1.0,))


def test_signature_of_concrete_is_kept():
    assert str(inspect.signature(Dual.concrete)) == "(self)"


# ---------------------------------------------------------------------- runs
def test_depths_and_open_runs():
    assert (current_depth(), open_runs()) == (0, [])
    with Run("a") as a:
        assert (a.depth, current_depth(), a.closed) == (1, 1, False)
        with Run("b") as b:
            assert (b.depth, open_runs()) == (2, [b, a])
        assert b.closed and not a.closed and current_depth() == 1
    assert a.closed and (current_depth(), open_runs()) == (0, [])


def test_place_of_entry_is_the_user_s_line():
    line = sys._getframe().f_lineno + 1
    assert Run("here").where == f"{__file__}:{line}"
    places = []

    def f(x):
        places.append(x.run.where)
        return x

    line = sys._getframe().f_lineno + 1
    pa.vmap(pa.grad(f))(np.ones(2))
    assert places == [f"{__file__}:{line}"]


def test_runs_that_end_out_of_order():
    first, second = Run("first"), Run("second")
    first.__enter__()
    second.__enter__()
    with pytest.raises(pa.LeakedLayerError, match=r"first \(entered at .*\) ends while second is the innermost"):
        first.__exit__(None, None, None)
    assert current_depth() == 0
    with pytest.raises(pa.LeakedLayerError, match="second .* ends while nothing is the innermost"):
        second.__exit__(None, None, None)
    assert current_depth() == 0 and first.closed and second.closed


def test_error_in_a_run_is_not_hidden_by_one_about_its_order():
    with pytest.raises(KeyError, match="mine"), Run("outer"):
        Run("left open").__enter__()
        raise KeyError("mine")
    assert current_depth() == 0


def test_copied_context_keeps_its_own_depth():
    with Run("outer"):
        context = contextvars.copy_context()
    assert current_depth() == 0 and context.run(current_depth) == 1


class Stop(BaseException):
    """Like KeyboardInterrupt: no Exception."""


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, Stop, GeneratorExit, SystemExit])
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_depth_is_restored_after_any_exception(transform, error):
    def f(x):
        raise error

    for _ in range(2):
        with pytest.raises(error):
            transform(f)
        assert current_depth() == 0
        with pytest.raises(error):
            transform(lambda x: transform(f))
        assert current_depth() == 0


def nest(names, fail_at, catch_at, depths):
    """Enter transformations within one another; the innermost raises, and one on the way catches."""

    def enter(level):
        def f(x):
            depths.append((level, current_depth()))
            if level == len(names) - 1:
                if fail_at:
                    raise KeyboardInterrupt
                return x * x
            try:
                TRANSFORMS[names[level + 1]](enter(level + 1))
            except KeyboardInterrupt:
                depths.append((level, current_depth()))
                if level != catch_at:
                    raise
            depths.append((level, current_depth()))
            return x * x

        return f

    return TRANSFORMS[names[0]](enter(0))


@given(st.lists(st.sampled_from(sorted(TRANSFORMS)), min_size=1, max_size=5), st.booleans(), st.integers(-1, 4))
def test_depth_at_every_level_of_any_nest(names, fails, catch_at):
    depths = []
    try:
        nest(names, fails, catch_at, depths)
    except KeyboardInterrupt:
        assert fails
    assert current_depth() == 0 and open_runs() == []
    assert all(depth == level + 1 for level, depth in depths)
    assert float(pa.grad(pa.grad(lambda x: x * x * x))(2.0)) == 12.0
