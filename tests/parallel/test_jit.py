"""jit around a map over the ranks, and inside of it: the values of one process, whatever the lanes of each rank answer."""

SCRIPT = """
import functools, warnings
import numpy as np
import polyad as pa
from polyad import grad, jit, pmap, psum, vmap
from polyad.parallel import world

x = np.array([1.0, 2.0, -1.0])  # the lanes of the last rank answer differently
total = lambda f: lambda y: pa.sum(f(y))

def same(found, right, what):
    np.testing.assert_allclose(found, right, rtol=1e-12, err_msg=what)

# lanes that answer an `if`, before, after and without a collective; answers that are other ones at a later call
bodies = {"without": lambda v: 2 * v if v > 0 else -v,
          "before": lambda v: v * psum(2 * v if v > 0 else -v, "i"),
          "after": lambda v: v * psum(v, "i") if v > 0 else -v * psum(v, "i"),
          "of the sum": lambda v: v * psum(v * v, "i") if psum(v, "i") > 0 else v}
for name, body in bodies.items():
    if name == "after":
        body = lambda v: (lambda s: v * s if v > 0 else -v)(psum(v, "i"))
    f, right = (M(body, axis_name="i") for M in (pmap, vmap))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        jitted = jit(f)
        for y in (x, -x, np.abs(x), x, -3 * x):
            same(jitted(y), right(y), name)
            same(grad(total(jitted))(y), grad(total(right))(y), name)
            same(jit(grad(total(f)))(y), grad(total(right))(y), name)
            same(vmap(jitted)(np.stack([y, 2 * y])), vmap(right)(np.stack([y, 2 * y])), name)
    texts = {str(w.message) for w in told if w.category is pa.PerformanceWarning}
    eager = any("lanes that lie on several processes" in text and "polyad.where" in text for text in texts)
    assert eager == (name != "of the sum"), (name, texts)  # the sum is the same everywhere

# variables of enclosing functions that a derivative follows
warnings.simplefilter("ignore", pa.PerformanceWarning)
sums = lambda M, c: M(lambda v: v * psum(c * v, "i"), axis_name="i")(x)
closures = {
    "jit inside": lambda M, c: M(jit(lambda v: np.sin(c * v)))(x),
    "jit called": lambda M, c: (lambda g: M(lambda v: g(v) * v)(x))(jit(lambda v: np.sin(c * v))),
    "jit inside with if": lambda M, c: M(jit(lambda v: np.sin(c * v) if v > 0 else c * v))(x),
    "jit inside with a sum": lambda M, c: M(jit(lambda v: np.sin(c * v) * psum(c * v, "i")), axis_name="i")(x),
    "partial": lambda M, c: M(functools.partial(jit(lambda c, v: np.sin(c * v)), c))(x),
    "jit around": lambda M, c: jit(M(lambda v: np.sin(c * v) if v > 0 else c))(x),
    "jit of all": lambda M, c: jit(lambda c: M(lambda v: np.sin(c * v) if v > 0 else c * v)(x))(c),
    "two maps": lambda M, c: jit(lambda c: M(lambda v: c * v if v > 0 else v)(sums(M, c)))(c),
}
for name, case in closures.items():
    for order in (lambda f: f, grad, lambda f: grad(grad(f)), lambda f: pa.derivative(f)):
        found, right = (order(lambda c, M=M: pa.sum(case(M, c)))(1.3) for M in (pmap, vmap))
        same(found, right, name)

# what a function does outside happens once, also where its first steps run before the whole is known
seen = []
noted = lambda v: pa.io_callback(lambda v: seen.append(float(v)), None, v)
def noting(c):
    noted(c)
    return pa.sum(pmap(lambda v: c * v)(x))
for calls in (1, 2):
    same(grad(jit(noting))(2.0), 2.0, "effect")
    assert seen == [2.0] * calls, seen
"""


def test_jit_and_maps(mpirun):
    for ranks in (2, 3):
        mpirun(SCRIPT, ranks)
