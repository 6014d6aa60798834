"""Operations along a named axis of `vmap`: their values, derivatives, and what they do when lanes take different
branches."""

import gc
import weakref

import numpy as np
import pytest

import polyad as pa
from polyad import psum

x = np.array([0.5, 2.0, 3.0, -1.0])


def over(f, *args, **options):
    return pa.vmap(f, axis_name="i", **options)(*args)


def equal(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------------- values
def test_reductions():
    equal(over(lambda x: x / psum(x, "i"), x), x / x.sum())
    equal(over(lambda x: pa.pmean(x, "i"), x), np.full(4, x.mean()))
    equal(over(lambda x: pa.pmax(x, "i") - pa.pmin(x, "i"), x), np.full(4, 4.0))
    equal(over(lambda x: pa.all_gather(x, "i") * x, x), np.outer(x, x))
    equal(over(lambda x: pa.axis_index("i") + 0 * x, x), np.arange(4))
    assert over(lambda x: pa.axis_size("i") + 0 * x, x)[0] == 4


def test_trees_and_several_names():
    found = over(lambda t: psum(t, "i"), {"a": x, "b": (x * 2,)}, out_axes=None)
    equal(found["a"], x.sum())
    equal(found["b"][0], 2 * x.sum())
    y = np.arange(3.0)
    both = pa.vmap(lambda a: pa.vmap(lambda b: psum(a * b, ("i", "j")), axis_name="j")(y), axis_name="i")(x)
    equal(both, np.full((4, 3), x.sum() * y.sum()))


def test_values_that_no_lane_owns_count_once_per_lane():
    w = np.array([1.0, 2.0])
    equal(over(lambda x: psum(1.0, "i") + 0 * x, x), np.full(4, 4.0))
    equal(over(lambda x: psum(w, "i"), x, out_axes=None), 4 * w)
    equal(over(lambda x: psum(psum(x, "i"), "i"), x, out_axes=None), 4 * x.sum())
    equal(over(lambda x: pa.all_gather(w, "i"), x, out_axes=None), np.stack([w] * 4))


def test_dtypes_are_those_of_a_sum():
    assert over(lambda x: psum(x, "i"), np.full(4, 100, np.int8))[0] == 400
    assert over(lambda x: psum(np.int8(100), "i"), x)[0] == 400
    equal(over(lambda x: psum(x > 1, "i"), x), np.full(4, 2))
    single = x.astype(np.float32)
    assert over(lambda x: x * psum(1.0, "i"), single).dtype == np.float32
    assert over(lambda x: psum(x if x > 1 else 0.0, "i"), single).dtype == np.float32


def test_sums_in_the_order_of_the_lanes():
    t = {"a": x, "b": np.outer(x, np.arange(3.0))}
    found = over(lambda t: psum(t, "i", deterministic=True), t, out_axes=None)
    equal(found["a"], x.sum())
    equal(found["b"], np.outer(x, np.arange(3.0)).sum(axis=0))
    y = np.arange(12.0).reshape(4, 3)
    for reduction, right in ((pa.psum, y.sum()), (pa.pmean, y.mean())):
        both = pa.vmap(lambda row: pa.vmap(lambda v: reduction(v, ("i", "j"), deterministic=True), axis_name="j")(row),
                       axis_name="i")  # fmt: skip
        equal(both(y), np.full((4, 3), right))
        pa.check_grads(both, (y,), order=2)


def test_no_lanes():
    assert over(lambda x: psum(x, "i") + x, x[:0]).shape == (0,)
    equal(over(lambda x: psum(x, "i"), x[:0], out_axes=None), 0.0)


# ---------------------------------------------------------------------- lanes that take different branches
def test_collectives_over_lanes_that_have_split():
    """A part never sums its own lanes only."""

    def before(x):
        s = psum(x, "i")
        return x / s if x > 1 else s

    equal(over(before, x), np.where(x > 1, x / x.sum(), x.sum()))

    def after(x):
        y = x * x if x > 1 else -x
        return y / psum(y, "i")

    y = np.where(x > 1, x * x, -x)
    equal(over(after, x), y / y.sum())
    equal(over(lambda x: x / psum(x, "i") if x > 1 else 0.0 * psum(x, "i"), x), np.where(x > 1, x / x.sum(), 0.0))


def test_two_collectives_with_splits_in_between():
    def f(x):
        s = psum(x if x > 1 else 1.0, "i")
        y = x * s if x > 2.5 else s - x
        t = pa.pmax(y, "i")
        return y / t if x > 0 else t

    s = np.where(x > 1, x, 1.0).sum()
    y = np.where(x > 2.5, x * s, s - x)
    equal(over(f, x), np.where(x > 0, y / y.max(), y.max()))


def test_constants_in_one_branch_are_collectives_too():
    equal(over(lambda x: psum(x if x > 1 else 0.0, "i"), x), np.full(4, 5.0))
    equal(over(lambda x: psum(x, "i") if x > 1 else psum(1.0, "i"), x), np.full(4, 7.0))
    shared = np.array([1.0, 2.0])
    equal(over(lambda x: psum(x * shared if x > 1 else shared, "i"), x), np.full((4, 2), 7.0) * shared)

    def both(x):
        n = psum(1.0, "i")  # before any lane has split: still the first collective of every part
        return psum(x, "i") * n if x > 1 else psum(x, "i")

    equal(over(both, x), np.where(x > 1, 4 * x.sum(), x.sum()))


def test_numbering_survives_splits():
    equal(over(lambda x: pa.axis_index("i") if x > 1 else -pa.axis_index("i"), x), [0, 1, 2, -3])
    equal(over(lambda x: pa.all_gather(x if x > 1 else 0.0, "i")[pa.axis_index("i")], x), np.where(x > 1, x, 0.0))


@pytest.mark.parametrize("f", [lambda x: x / psum(x, "i") if x > 1 else 0.0, lambda x: 0.0 if x <= 1 else psum(x, "i")])
def test_a_collective_that_only_some_lanes_take(f):
    with pytest.raises(pa.LaneSplitError, match=r"psum of float64\[\] over the axis 'i' .* only lanes \[1, 2\] take"):
        over(f, x)


def test_different_collectives_in_two_branches():
    with pytest.raises(pa.LaneSplitError, match=r"different collectives: all_gather of .* and psum of float64"):
        over(lambda x: psum(x, "i") if x > 1 else pa.sum(pa.all_gather(x, "i")), x)
    with pytest.raises(pa.LaneSplitError, match="different collectives"):
        over(lambda x: psum(np.ones(2) * x, "i")[0] if x > 1 else psum(x, "i"), x)


def test_user_code_cannot_swallow_a_split():
    def f(x):
        try:
            return psum(x, "i") if x > 1 else psum(2 * x, "i")
        except Exception:
            return -1.0

    equal(over(f, x), np.full(4, 4.0))


# ---------------------------------------------------------------------- derivatives
def numerical(f, v, eps=1e-6):
    steps = np.eye(v.size) * eps
    return np.array([(f(v + h) - f(v - h)) / (2 * eps) for h in steps])


FUNCTIONS = {
    "normalised": lambda x: x / psum(x * x, "i"),
    "split before": lambda x: psum(x * x if x > 1 else 3 * x, "i") * x,
    "split after": lambda x: (lambda s: s * x if x > 1 else x - s * s)(psum(pa.sin(x), "i")),
    "two": lambda x: (lambda s: psum(s * x if x > 2.5 else s * s, "i"))(psum(x * x if x > 1 else 2.0, "i")),
    "gather": lambda x: pa.sum(pa.all_gather(pa.exp(x), "i") * x),
    "max": lambda x: pa.pmax(x * x, "i") * x + pa.pmin(x, "i"),
    "mean": lambda x: pa.pmean(x, "i") ** 2 * x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_outside(name):
    f = FUNCTIONS[name]
    loss = lambda x: pa.sum(over(f, x) ** 2)
    np.testing.assert_allclose(pa.grad(loss)(x), numerical(loss, x), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(pa.hvp(loss, x, x), numerical(pa.grad(loss), x).T @ x, rtol=1e-6, atol=1e-6)
    equal(pa.jacfwd(lambda x: over(f, x))(x), pa.jacrev(lambda x: over(f, x))(x))


@pytest.mark.parametrize("name", ["normalised", "split before", "gather", "max", "mean"])
def test_derivatives_inside_are_those_of_the_sum_of_all_results(name):
    """Each lane differentiates its own result by its own x; where lanes meet, cotangents of all lanes are added.

    So `vmap(grad(f))` is the gradient of the sum over the lanes of f, for every f whose result belongs to its lane.
    """
    f = FUNCTIONS[name]
    equal(over(pa.grad(f), x), pa.grad(lambda x: pa.sum(over(f, x)))(x))


def test_a_summed_loss_is_counted_once():
    """The loss of all lanes is one number: its derivative is not as many times too large as there are lanes."""
    equal(over(pa.grad(lambda x: psum(x * x, "i")), x), 2 * x)
    equal(over(pa.grad(lambda x: pa.pmean(x * x, "i")), x), 2 * x / 4)
    equal(over(lambda x: pa.grad(lambda w: psum(w * x, "i"))(2.0), x), x)
    value, slope = over(pa.value_and_grad(lambda x: psum(x, "i") ** 2), x)
    equal(value, np.full(4, x.sum() ** 2))
    equal(slope, np.full(4, 2 * x.sum()))


def test_forward_mode_inside():
    y, dy = over(lambda x: pa.jvp(lambda x: psum(x * x, "i") * x, (x,), (1.0,)), x)
    equal(dy, 2 * x.sum() * x + (x * x).sum())
    equal(y, (x * x).sum() * x)


def test_derivatives_by_a_shared_parameter():
    loss = lambda w: pa.sum(over(lambda x: w * x / psum(w * w * x, "i") if x > 0 else psum(w * w * x, "i") * w, x))
    w = np.array(1.3)
    np.testing.assert_allclose(pa.grad(loss)(w), (loss(w + 1e-6) - loss(w - 1e-6)) / 2e-6, rtol=1e-6)


def test_traced():
    f = lambda x: over(lambda x: x / psum(x, "i") + pa.all_gather(x, "i")[0], x)
    equal(pa.make_ir(f)(x)(x), f(x))
    equal(pa.make_ir(pa.grad(lambda x: pa.sum(f(x) ** 2)))(x)(x), pa.grad(lambda x: pa.sum(f(x) ** 2))(x))


# ---------------------------------------------------------------------- derivatives inside, with lanes that go different ways
DIVERGING = {
    "another factor": lambda x: psum(x, "i") ** 2 * (1.0 if x > 1 else 3.0),
    "by the lane's number": lambda x: psum(x, "i") ** 2 * [3.0, 1.0, 1.0, 2.0][int(pa.axis_index("i"))],
    "mixed in one branch": lambda x: (lambda s: x * s if x > 1 else s * s)(psum(x, "i")),
    "unused in one branch": lambda x: (lambda s: x * s if x > 1 else x * x)(psum(x, "i")),
    "a constant in one branch": lambda x: psum(x * x if x > 1 else 2.0, "i") * x,
    "a second sum": lambda x: (lambda s: psum(s * x if x > 2.5 else s * s * x, "i") * x)(psum(x * x, "i")),
    "mean": lambda x: pa.pmean(x * x, "i") ** 2 * (x if x > 2.5 else 1.0),
    "gathered": lambda x: pa.all_gather(x * x, "i")[0] * (2 if x > 1 else x) + pa.pmax(x, "i") * x,
    "answers about the derivative": lambda x: (lambda g: g * x if x > 1 else g)(pa.grad(lambda v: psum(v, "i") * v)(x * x)),
}


@pytest.mark.parametrize("name", DIVERGING)
def test_derivatives_inside_of_lanes_that_go_different_ways(name):
    """What a lane makes of a sum is its own, so the cotangents of all lanes come together at the sum."""
    f = DIVERGING[name]
    expected = pa.grad(lambda x: pa.sum(over(f, x)))(x)
    equal(over(pa.grad(f), x), expected)
    equal(over(lambda x: pa.value_and_grad(f)(x), x)[1], expected)
    np.testing.assert_allclose(expected, numerical(lambda x: over(f, x).sum(), x), rtol=1e-6, atol=1e-6)
    squares = lambda x: pa.sum(over(pa.grad(f), x) ** 2)
    np.testing.assert_allclose(pa.grad(squares)(x), numerical(squares, x), rtol=1e-6, atol=1e-5)
    inside = over(pa.grad(lambda x: pa.grad(f)(x) ** 2), x)
    equal(inside, pa.grad(squares)(x))


@pytest.mark.parametrize("name", DIVERGING)
def test_forward_mode_inside_of_lanes_that_go_different_ways(name):
    f = DIVERGING[name]
    equal(over(lambda x: pa.jvp(f, (x,), (1.0,))[1], x), pa.jvp(lambda x: over(f, x), (x,), (np.ones(4),))[1])
    slopes = pa.jvp(lambda x: over(pa.grad(f), x), (x,), (np.ones(4),))[1]
    equal(over(lambda x: pa.hvp(f, x, 1.0), x), slopes)
    equal(over(lambda x: pa.jacfwd(pa.grad(f))(x), x), slopes)


def test_numbers_in_one_branch_follow_the_dtype_of_the_lanes():
    single = x.astype(np.float32)
    slope = over(pa.grad(lambda x: psum(x if x > 1 else 0.0, "i") * x), single)
    assert slope.dtype == np.float32
    np.testing.assert_allclose(slope, 5 + np.where(x > 1, x.sum(), 0), rtol=1e-6)


def test_a_branch_is_as_good_as_where():
    three = np.array([1.0, 2.0, 3.0])
    branch = over(pa.grad(lambda x: psum(x, "i") ** 2 * (1.0 if x > 1 else 3.0)), three)
    equal(branch, over(pa.grad(lambda x: psum(x, "i") ** 2 * pa.where(x > 1, 1.0, 3.0)), three))
    equal(branch, [60.0, 60.0, 60.0])


def test_the_unused_sum_of_lanes_that_agree_has_no_slope():
    with np.errstate(all="ignore"):
        equal(over(pa.grad(lambda x: (psum(pa.log(x), "i"), x * x)[1]), np.arange(3.0)), 2 * np.arange(3.0))


def test_lanes_that_agree_count_a_summed_loss_once():
    equal(over(pa.grad(lambda x: psum(x * x, "i") if x > -2 else x), x), 2 * x)


# ---------------------------------------------------------------------- programs
def traced_inside(f):
    programs = []
    over(lambda x: (programs.append(pa.make_ir(f)(x)), x)[1], np.ones(3))
    return programs[0]


@pytest.mark.parametrize(
    "f",
    [
        lambda y: psum(y, "i") * y,
        lambda y: pa.pmean(y, "i"),
        lambda y: pa.grad(lambda y: psum(y * y, "i"))(y) * y,
        lambda y: psum(pa.grad(lambda y: psum(y, "i") * y)(y), "i"),
    ],
)
def test_programs_find_their_axis_where_they_run(f):
    program = traced_inside(f)
    five = np.arange(1.0, 6.0)
    equal(over(program, five), over(f, five))
    equal(over(pa.grad(program), five), over(pa.grad(f), five))
    equal(over(lambda y: pa.make_ir(program)(y)(y), five), over(f, five))
    with pytest.raises(pa.AxisNameError, match=r"no axis named 'i' here \(bound: 'k'\)"):
        pa.vmap(program, axis_name="k")(five)
    with pytest.raises(pa.AxisNameError, match="bound: none"):
        program(1.0)


def test_the_code_of_a_program_with_a_named_axis():
    f = lambda y: psum(y, "i") / pa.pmean(y, "i") + pa.sum(pa.all_gather(y, "i"))
    program = traced_inside(f)
    space = {}
    exec(program.code, space)
    three = np.array([1.0, 2.0, 4.0])
    equal(over(space[program.name if program.name in space else "program"], three), over(f, three))
    with pytest.raises(pa.StructureError, match=r"all_gather: .* traced for 3 lanes along the axis 'i', not for 4"):
        over(program, x)


# ---------------------------------------------------------------------- memory
@pytest.mark.parametrize("f", [*DIVERGING.values(), FUNCTIONS["normalised"]])
def test_no_tape_waits_for_the_cyclic_collector(f):
    kept = []

    def loss(x):
        kept.append(weakref.ref(x))
        return f(x)

    gc.disable()
    try:
        over(pa.grad(loss), x)
        assert kept
        assert not any(ref() is not None for ref in kept)
    finally:
        gc.enable()


@pytest.mark.parametrize("mapped", [pa.vmap, pa.pmap])
def test_lanes_that_part_after_a_sum_has_run_under_jit(mapped):
    """What ran before the parting is not run again with what only some lanes have."""

    def f(x):
        psum(x * x, "i")
        return psum(2 * x if x > 0 else x, "i")

    g = mapped(pa.jit(f), axis_name="i")
    for _ in range(2):
        equal(g(np.array([1.0, -2.0, 3.0])), np.array([6.0, 6.0, 6.0]))
