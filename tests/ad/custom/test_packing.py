"""What rules of the user take and give: trees, zeros, integers, containers, and results in a wrong form."""

from functools import partial

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


x = np.array([0.3, 0.7, 1.1])


y = np.array([2.0, 3.0, 4.0])


ones = np.ones(3)


close = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-14)


def test_trees_keywords_integers_and_several_results():
    @pa.custom_vjp
    def h(p, *, scale=2.0):
        return {"a": scale * p["x"] * p["y"][0], "n": p["n"] + 1, "b": p["x"]}, "label"

    def forward(p, *, scale):
        return h(p, scale=scale), p

    def backward(p, ct):
        (ct, _) = ct
        assert ct["n"] is pa.NoTangent
        return ({"x": 5 * ct["a"] + ct["b"], "y": (ct["a"] * p["x"],), "n": None},)

    h.defvjp(forward, backward)
    p = {"x": 2.0, "y": (3.0,), "n": 4}
    value, pull = pa.vjp(lambda p: h(p, scale=3.0)[0], p)
    assert value == {"a": 18.0, "n": 5, "b": 2.0}
    (ct,) = pull({"a": 1.0, "n": pa.NoTangent, "b": 100.0})
    assert ct == {"x": 105.0, "y": (2.0,), "n": pa.NoTangent}
    assert pa.grad(lambda v: h(p, scale=v)[0]["a"])(3.0) == 6.0  # keyword-only: through the function
    assert pa.grad(lambda v: h(p={**p, "x": v})[0]["a"])(2.0) == 5.0  # by keyword, in the rule's place


def test_results_without_cotangent_are_zeros():
    seen = []
    h = pa.custom_vjp(lambda x: (x, 2 * x))
    h.defvjp(lambda x: (h(x), None), lambda s, ct: (seen.append(ct) or ct[0] + ct[1],))
    close(pa.grad(lambda x: pa.sum(h(x)[0]))(x), ones)
    close(seen[0][1], np.zeros(3))
    h.defvjp(lambda x: (h(x), None), lambda s, ct: (seen.append(ct) or ct[0] + ct[1],), symbolic_zeros=True)
    close(pa.grad(lambda x: pa.sum(h(x)[0]))(x), ones)
    assert isinstance(seen[1][1], pa.Zeros) and seen[1][1].shape == (3,)


def test_arguments_without_tangent():
    seen = []
    h = pa.custom_jvp(lambda x, y, n: x * y**n)

    def rule(primals, tangents):
        seen.append(tangents)
        return h(*primals), tangents[0] * 10

    h.defjvp(rule)
    assert pa.grad(lambda x: h(x, 3.0, 2))(2.0) == 10
    assert seen[0][1] == 0.0 and seen[0][2] is pa.NoTangent
    h.defjvp(rule, symbolic_zeros=True)
    assert pa.derivative(lambda x: h(x, 3.0, 2))(2.0) == 10
    assert isinstance(seen[1][1], pa.Zeros)


@pytest.mark.parametrize("zero", [None, pa.NoTangent, pa.Zeros(3), np.zeros(3), (None, None)])
def test_zeros_that_rules_return(zero):
    structured = isinstance(zero, tuple)
    value = (lambda x: (x, x)) if structured else (lambda x: 2 * x)
    h = pa.custom_jvp(value)
    h.defjvp(lambda p, t: (value(*p), zero))
    k = pa.custom_vjp(lambda a, b: pa.sum(a) * b)
    k.defvjp(lambda a, b: (pa.sum(a) * b, None), lambda s, ct: (None if structured else zero, ct))
    dy = pa.jvp(h, (x,), (ones,))[1]
    close(dy[0] if structured else dy, np.zeros(3))
    da, db = pa.grad(k, (0, 1))(x, 2.0)
    close(da, np.zeros(3))
    close(db, 1.0)


def test_containers():
    d = pa.Diagonal(np.array([1.0, 2.0, 3.0]))
    h = pa.custom_vjp(lambda d: d @ ones)
    h.defvjp(lambda d: (h(d), None), lambda s, ct: (pa.Diagonal(7 * ct),))
    gradient = pa.grad(lambda d: pa.sum(h(d)))(d)
    assert isinstance(gradient, pa.Diagonal)
    close(gradient.diag, [7, 7, 7])
    close(pa.jvp(h, (d,), (d,))[1], [7, 14, 21])
    k = pa.custom_jvp(lambda d: d @ d)
    k.defjvps(lambda t, y, d: t)
    assert isinstance(pa.jvp(k, (d,), (d,))[1], pa.Diagonal)
    close(pa.grad(lambda d: pa.sum(k(d) @ ones))(d).diag, ones)


def reverse_of(forward, backward):
    h = pa.custom_vjp(lambda x, y: x * y)
    h.defvjp(forward, backward)
    return lambda: pa.grad(lambda x, y: pa.sum(h(x, y)), (0, 1))(x, y)


def forward_of(rule):
    h = pa.custom_jvp(lambda x: 2 * x)
    h.defjvp(rule)
    return lambda: pa.grad(lambda x: pa.sum(h(x)))(x)


saves = lambda x, y: (x * y, None)


WRONG = [
    (pa.StructureError, "forward returned .* a pair", reverse_of(lambda x, y: x * y, lambda s, ct: (ct, ct))),
    (pa.StructureError, "backward returned ndarray.* for 2 differentiated", reverse_of(saves, lambda s, ct: ct)),
    (pa.StructureError, "returned a tuple of 1 for 2 .* None where it is zero", reverse_of(saves, lambda s, ct: (ct,))),
    (pa.ShapeError, r"\[1\] has the shape \[\]; it needs the shape \[3\]", reverse_of(saves, lambda s, ct: (ct, pa.sum(ct)))),
    (pa.StructureError, "it must have the structure", reverse_of(saves, lambda s, ct: (ct, {"a": ct}))),
    (pa.DTypeError, r"argument\[0\] has the dtype complex128.*real part", reverse_of(saves, lambda s, ct: (1j * ct, ct))),
    (pa.DTypeError, r"argument\[0\] is str; it must be an array", reverse_of(saves, lambda s, ct: ("ct", ct))),
    (pa.StructureError, "jvp rule returned .* a pair", forward_of(lambda p, t: p[0])),
    (pa.StructureError, "tangent that its rule returned is .* it must have the structure", forward_of(lambda p, t: (p[0], t))),
    (pa.ShapeError, r"tangent that its rule returned has the shape \[\]", forward_of(lambda p, t: (p[0], pa.sum(t[0])))),
    (pa.StructureError, "depends on the tangents", forward_of(lambda p, t: (p[0] + t[0], t[0]))),
    (pa.MissingRuleError, r"custom_jvp\(sin\) is differentiated but has no rule", lambda: pa.grad(pa.custom_jvp(pa.sin))(1.0)),
    (pa.MissingRuleError, "has no rule", lambda: pa.derivative(pa.custom_vjp(pa.sin))(1.0)),
]


@pytest.mark.parametrize(("kind", "text", "run"), WRONG)
def test_wrong_rules(kind, text, run):
    with pytest.raises(kind, match=r"custom_[jv]*p\((<lambda>|sin)\).*" + text.replace("custom_jvp\\(sin\\) ", "")):
        run()


def test_cotangents_of_integers():
    h = pa.custom_vjp(lambda x, n: x * n)
    h.defvjp(lambda x, n: (x * n, n), lambda n, ct: (ct * n, 5.0))
    with pytest.raises(pa.DTypeError, match=r"argument\[1\] is float for int64\[\], which has no tangent space"):
        pa.grad(lambda x: h(x, 3))(2.0)
