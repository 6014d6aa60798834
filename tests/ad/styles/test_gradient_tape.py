"""`Tape` against formulas, finite differences and `grad`."""

import gc
import weakref

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick

close = np.testing.assert_allclose


# ---------------------------------------------------------------------- gradients
def test_gradient():
    a = np.array([0.3, 1.2])
    with pa.Tape() as tape:
        x = tape.watch(a)
        y = pa.sum(pa.sin(x) * x)
    found = tape.gradient(y, x)
    close(found, np.sin(a) + a * np.cos(a))
    assert type(found) is np.ndarray


def test_several_sources_and_trees(rng):
    params = {"w": rng.normal(size=(3, 2)), "b": rng.normal(size=2)}
    x = rng.normal(size=(4, 3))
    with pa.Tape() as tape:
        p, z = tape.watch((params, x))
        loss = pa.mean((z @ p["w"] + p["b"]) ** 2)
    (gp, gz) = tape.gradient(loss, (p, z))
    residual = 2 * (x @ params["w"] + params["b"]) / 8
    close(gp["w"], x.T @ residual)
    close(gp["b"], residual.sum(0))
    close(gz, residual @ params["w"].T)


def test_source_that_was_computed_counts_all_ways():
    with pa.Tape(persistent=True) as tape:
        x = tape.watch(2.0)
        c = x * 3
        y = c * c * x
    assert tape.gradient(y, c) == 2 * 6 * 2
    assert tape.gradient(y, [x, c, c]) == [27 * 4, 24, 24]  # y = 9 x³


def test_plain_numpy_and_in_place_code():
    with pa.Tape() as tape:
        x = tape.watch(np.arange(3.0))
        y = np.zeros_like(x)
        y[1:] = np.exp(x[:2])
        y *= 2
        s = np.sum(y)
    close(tape.gradient(s, x), [2, 2 * np.e, 0])


def test_containers_keep_their_type():
    d = pa.Diagonal(np.array([1.0, 2.0]))
    with pa.Tape() as tape:
        d = tape.watch(d)
        y = pa.sum(d @ np.ones((2, 2)))
    found = tape.gradient(y, d)
    assert isinstance(found, pa.Diagonal)
    close(found.dense(), np.diag([2.0, 2.0]))


def test_complex_and_single_precision():
    with pa.Tape(persistent=True) as tape:
        z = tape.watch(np.array([1 + 2j]))
        x = tape.watch(np.array([1.5], np.float32))
        y = pa.sum(pa.abs(z) ** 2)
        v = pa.sum(x * x)
    close(tape.gradient(y, z), [2 - 4j])
    assert tape.gradient(v, x).dtype == np.float32


def test_cotangent_of_arrays_and_trees():
    with pa.Tape(persistent=True) as tape:
        x = tape.watch(np.arange(3.0))
        y = x**2
    close(tape.gradient(y, x, ct=np.array([1.0, 10.0, 100.0])), [0, 20, 400])
    close(tape.gradient({"a": y, "b": x}, x, ct={"a": np.ones(3), "b": np.ones(3)}), [1, 3, 5])
    with pytest.raises(pa.ShapeError, match=r"Tape.gradient: ct.*needs the shape \[3\]"):
        tape.gradient(y, x, ct=np.ones(2))
    with pytest.raises(pa.ShapeError, match="reduce it with sum or mean, or give its cotangent ct"):
        tape.gradient(y, x)
    with pytest.raises(pa.StructureError, match="differ"):
        tape.gradient(y, x, ct=(np.ones(3),))


def test_jacobian():
    a = np.array([0.3, 1.2])
    with pa.Tape() as tape:
        x, s = tape.watch((a, 2.0))
        y = pa.sin(x) * s
    jx, js = tape.jacobian(y, (x, s))
    close(jx, np.diag(2 * np.cos(a)))
    close(js, np.sin(a))


def test_jacobian_of_tree_and_complex():
    with pa.Tape() as tape:
        z = tape.watch(np.array([1 + 1j, 2.0]))
        y = {"square": z**2, "sum": pa.sum(z)}
    found = tape.jacobian(y, z)
    close(found["square"], np.diag([2 + 2j, 4]))
    close(found["sum"], [1, 1])


# ---------------------------------------------------------------------- unconnected
def test_unconnected():
    with pa.Tape(persistent=True) as tape:
        x, z = tape.watch((np.ones(2), {"a": np.ones(3), "b": 1.0}))
        y = pa.sum(x) * z["b"]
    zero = tape.gradient(y, (x, z))
    close(zero[0], [1, 1])
    close(zero[1]["a"], np.zeros(3))
    none = tape.gradient(y, (x, z), unconnected="none")
    assert none[1]["a"] is None and none[1]["b"] == 2
    close(tape.jacobian(y, z)["a"], np.zeros(3))
    with pytest.raises(ValueError, match='"zero" or "none"'):
        tape.gradient(y, x, unconnected="nan")


def test_what_was_never_watched_is_an_error():
    a = np.ones(2)
    with pa.Tape(persistent=True) as tape:
        tape.watch(a)  # the returned value is not used
        y = pa.sum(a * 2)
        x = tape.watch(a)
        z = pa.sum(x)
    with pytest.raises(pa.StructureError, match="target.*not computed from values of this tape"):
        tape.gradient(y, x)
    with pytest.raises(pa.StructureError, match=r"source\[1\].*not on this tape.*x = tape.watch\(x\)"):
        tape.gradient(z, (x, a))
    with pytest.raises(pa.StructureError, match="while it was recording"):
        tape.gradient(pa.sum(x * 2), x)  # computed after the block
    with pytest.raises(pa.DTypeError, match="float"), pa.Tape() as other:
        other.watch(np.arange(3))


# ---------------------------------------------------------------------- after the block
def test_values_are_plain_after_the_block():
    with pa.Tape() as tape:
        x = tape.watch(np.array([1.0, 2.0]))
        y = pa.sum(x * x)
        with pytest.raises(pa.ConcreteValueError):
            float(y)
    assert float(y) == 5 and f"{y:.1f}" == "5.0" and str(x) == "[1. 2.]" and repr(x) == "array([1., 2.])"
    assert type(x + 1) is np.ndarray and type(np.asarray(x)) is np.ndarray and x.tolist() == [1, 2] and bool(y > 3)
    assert type(pa.softmax(x)) is np.ndarray  # an operation with a body
    assert type(pa.zeros_like(x)) is np.ndarray
    w = x
    w -= 0.1 * tape.gradient(y, x)
    assert type(w) is np.ndarray
    close(w, [0.8, 1.6])
    with pytest.raises(pa.MutationError, match="has ended; write to a copy"):
        x[0] = 3.0


def test_ended_values_as_arguments_and_results_of_transformations():
    with pa.Tape() as tape:
        x = tape.watch(np.array([1.0, 2.0]))
        y = x * 2
    f = lambda a: pa.sum(a * y)
    close(pa.grad(f)(x), [2, 4])
    close(pa.jvp(lambda a: a * y, (x,), (x,))[1], [2, 8])
    close(pa.vmap(lambda a: a * 2)(x), [2, 4])
    close(pa.vmap(lambda a: y)(np.ones(3)), [[2, 4]] * 3)
    close(pa.make_ir(lambda a: a * y)(x)(np.ones(2)), [2, 4])
    assert type(pa.make_ir(lambda a: a * y)(x).constants[0][1]) is np.ndarray


def test_training_loop_rebinds():
    w = np.array([3.0, -2.0])
    for _ in range(50):
        with pa.Tape() as tape:
            w = tape.watch(w)
            loss = pa.sum((w - 1) ** 2)
        w = w - 0.2 * tape.gradient(loss, w)
    close(w, [1, 1], atol=1e-8)


# ---------------------------------------------------------------------- nesting
def test_nested_tapes():
    with pa.Tape() as outer:
        x = outer.watch(2.0)
        with pa.Tape() as inner:
            xi = inner.watch(x)
            y = xi**4
        slope = inner.gradient(y, xi)
    assert outer.gradient(slope, x) == 48


def test_nested_tapes_may_share_the_name():
    with pa.Tape() as outer:
        x = outer.watch(2.0)
        with pa.Tape() as inner:
            x = inner.watch(x)
            y = x**4
        slope = inner.gradient(y, x)
        more = slope * x  # the inner value goes on as the outer one
    assert outer.gradient(more, x) == 4 * 4 * 8


def test_hessian_by_jacobian_of_gradient():
    a = np.array([1.0, 2.0])
    with pa.Tape() as outer:
        x = outer.watch(a)
        with pa.Tape() as inner:
            z = inner.watch(x)
            y = pa.sum(z**3) + z[0] * z[1]
        g = inner.gradient(y, z)
    close(outer.jacobian(g, x), [[6, 1], [1, 12]])


def test_tape_inside_and_outside_of_transformations():
    def by_tape(v):
        with pa.Tape() as tape:
            w = tape.watch(v)
            y = pa.sum(w**2 * v)
        return tape.gradient(y, w), y, w

    v = np.array([1.0, 2.0])
    close(pa.grad(lambda v: pa.sum(by_tape(v)[0]))(v), 4 * v)
    close(pa.grad(lambda v: by_tape(v)[1])(v), 3 * v**2)
    close(pa.grad(lambda v: pa.sum(by_tape(v)[2]))(v), [1, 1])
    close(pa.jvp(lambda v: by_tape(v)[2], (v,), (v,))[1], v)
    close(pa.vmap(lambda v: by_tape(v)[0])(np.stack([v, 2 * v])), 2 * np.stack([v, 2 * v]) ** 2)
    close(pa.make_ir(lambda v: by_tape(v)[0])(v)(v), 2 * v**2)
    with pa.Tape() as tape:
        x = tape.watch(v)
        y = pa.sum(pa.grad(lambda a: pa.sum(a**3) * pa.sum(x))(x))
    close(tape.gradient(y, x), 6 * v * 3 + 3 * np.sum(v**2))


def test_lanes_that_split_inside_a_tape():
    def f(v):
        with pa.Tape() as tape:
            w = tape.watch(v)
            y = w**2 if v > 0 else -3 * w
        return tape.gradient(y, w)

    close(pa.vmap(f)(np.array([1.0, -1.0, 2.0])), [2, -3, 4])


# ---------------------------------------------------------------------- use
def test_a_second_use_is_an_error():
    with pa.Tape() as tape:
        x = tape.watch(1.0)
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(pa.LeakedLayerError, match=r"used before \(at .*test_gradient_tape.py:\d+\).*persistent=True"):
        tape.gradient(y, x)
    with pytest.raises(pa.LeakedLayerError, match="persistent=True"):
        tape.jacobian(y, x)


def test_persistent():
    with pa.Tape(persistent=True) as tape:
        x = tape.watch(3.0)
        y = x * x
        z = y * y
        assert tape.gradient(y, x) == 6  # within the block, and recording goes on
        u = z + x
    assert tape.gradient(z, x) == 108 and tape.gradient(y, x) == 6 and tape.gradient(u, x) == 109


def test_the_only_use_within_the_block_ends_recording():
    with pa.Tape() as tape:
        x = tape.watch(3.0)
        y = x * x
        assert tape.gradient(y, x) == 6
        assert float(x + 1) == 4
        assert type(pa.zeros(2)) is np.ndarray
        with pytest.raises(pa.LeakedLayerError, match="has ended"):
            tape.watch(1.0)


def test_a_wrong_request_does_not_use_the_tape_up():
    with pa.Tape() as tape:
        x = tape.watch(np.ones(2))
        y = x * x
    with pytest.raises(pa.StructureError):
        tape.gradient(y, np.ones(2))
    close(tape.gradient(y, x, ct=np.ones(2)), [2, 2])


def test_outside_of_the_block():
    tape = pa.Tape()
    with pytest.raises(pa.LeakedLayerError, match="has not begun"):
        tape.watch(1.0)
    with pytest.raises(pa.LeakedLayerError, match="has not begun"):
        tape.gradient(1.0, 1.0)
    with tape:
        pass
    with pytest.raises(pa.LeakedLayerError, match="has ended"):
        tape.watch(1.0)
    with pytest.raises(pa.LeakedLayerError, match="one block"):
        tape.__enter__()


def test_overlapping_tapes():
    a, b = pa.Tape(), pa.Tape()
    a.__enter__()
    b.__enter__()
    with pytest.raises(pa.LeakedLayerError, match="order opposite"):
        a.__exit__(None, None, None)
    with pytest.raises(pa.LeakedLayerError, match="order opposite"):
        b.__exit__(None, None, None)
    assert pa.grad(lambda x: x * x)(3.0) == 6


def test_an_error_in_the_block_ends_the_tape():
    with pytest.raises(ZeroDivisionError), pa.Tape() as tape:
        x = tape.watch(2.0)
        raise ZeroDivisionError
    assert float(x) == 2


def test_memory_is_given_back():
    with pa.Tape() as tape:
        x = tape.watch(np.ones(1000))
        big = pa.exp(x)
        y = pa.sum(pa.sin(big) * big)
    watched = weakref.ref(big)
    del big
    tape.gradient(y, x)
    gc.collect()
    assert watched() is None and not tape._run.tape


def test_longer_chains_agree_with_grad(rng):
    def f(x):
        for k in range(20):
            x = pa.sin(x) + 0.01 * k * pa.max(x) * pa.tanh(x[::-1])
        return pa.sum(x[1:] * x[:-1])

    a = rng.normal(size=5)
    with pa.Tape() as tape:
        x = tape.watch(a)
        y = f(x)
    close(tape.gradient(y, x), pa.grad(f)(a), rtol=1e-12)
