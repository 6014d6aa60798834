"""Collectives over lanes that lie on several ranks: each as `vmap` has it, inside and around derivatives, for more and fewer
lanes than ranks, and where lanes have gone different ways."""

from pathlib import Path

SCRIPT = """
import sys
sys.path.insert(0, {helpers!r})
import numpy as np
import polyad as pa
from lane_cases import lane_cases
from polyad.parallel import world

def over(M):
    return lambda f, **options: M(f, axis_name="i", **options)

def close(found, right, what):
    np.testing.assert_allclose(found, right, rtol=1e-10, atol=1e-12, err_msg=what)

pmap, vmap, ranks = over(pa.pmap), over(pa.vmap), world().size
two_ways = lambda body: lambda x: body(x * 2) if pa.ravel(x)[0] > 0 else body(2 * x)
pulled = lambda f, x, w: pa.vjp(f, x)[1](w)[0]

def check(name, case, n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, *case.shape))
    x.reshape(n, -1)[:, 0] = np.abs(x.reshape(n, -1)[:, 0]) * (-1) ** np.arange(n)
    body, y = case.body, case.reference(x)
    f, g = pmap(body), vmap(body)
    close(f(x), y, name)
    close(pmap(two_ways(body))(x), case.reference(2 * x), name + ", two ways")
    close(pa.jit(f)(x), y, name + ", jit")
    if not case.smooth:
        return
    w, t = rng.normal(size=y.shape), rng.normal(size=x.shape)
    right = pulled(g, x, w)
    close(pulled(f, x, w), right, name + ", pulled back")
    close(pa.jvp(f, (x,), (t,))[1], pa.jvp(g, (x,), (t,))[1], name + ", pushed")
    gradient = lambda x, w: pa.grad(lambda v: pa.sum(body(v) * w))(x)
    close(pmap(gradient)(x, w), right, name + ", gradients in the lanes")
    if n > 5 or ranks > 2:
        return
    close(pmap(pa.jit(gradient))(x, w), right, name + ", their programs")
    close(pulled(pmap(two_ways(body)), x, w), 2 * pulled(g, 2 * x, w), name + ", two ways pulled back")
    slope = lambda f: pa.grad(lambda x: pa.sum(pa.sin(f(x)) * w))
    close(pa.jvp(slope(f), (x,), (t,))[1], pa.jvp(slope(g), (x,), (t,))[1], name + ", forwards over backwards")
    twice = lambda f: pa.grad(lambda x: pa.sum(slope(f)(x) * t))(x)
    close(twice(f), twice(g), name + ", twice backwards")
    both = np.stack([x, 2 * x])
    close(pa.vmap(f)(both), pa.vmap(g)(both), name + ", a map around")
    inner = np.moveaxis(both, 0, 1)
    close(pmap(pa.vmap(body))(inner), vmap(pa.vmap(body))(inner), name + ", a map inside")

# sums in the order of the lanes have the same bits, whatever the number of ranks
rng = np.random.default_rng(7)
for n in {lanes}:
    x = rng.normal(size=(n, 5)) * 10.0 ** rng.integers(-8, 8, (n, 5))
    tree = {{"a": x, "b": x[:, 0] * 3, "c": (x[:, 1:] * 1e-3).astype("float32")}}
    for reduction in (pa.psum, pa.pmean):
        body = lambda t: reduction(t, "i", deterministic=True)
        found, right = pmap(body, out_axes=None)(tree), vmap(body, out_axes=None)(tree)
        for name in tree:
            np.testing.assert_array_equal(found[name], right[name])
            assert found[name].dtype == right[name].dtype
        close(found["a"], x.sum(axis=0) / (n if reduction is pa.pmean else 1), "in order")
        slope = lambda M: pa.grad(lambda x: pa.sum(pa.sin(M(lambda v: body(v) * v)(x))))(x)
        close(slope(pmap), slope(vmap), "gradient of sums in order")

for n in {lanes}:
    for name, case in lane_cases(n).items():
        check(f"{{name}} of {{n}} lanes", case, n)
"""
HELPERS = str(Path(__file__).parents[1] / "helpers")


def test_collectives_are_those_of_one_process(mpirun):
    mpirun(SCRIPT.format(helpers=HELPERS, lanes=(1, 3, 8)), 2, timeout=180)
    mpirun(SCRIPT.format(helpers=HELPERS, lanes=(2, 5)), 3, timeout=180)
