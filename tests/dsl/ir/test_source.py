"""Programs with control flow in print and as source code, which runs and can be transformed again."""

import numpy as np
from network import XS, W, loss, reloaded, runs, transforms

import polyad as pa
from polyad.dsl.ir.programs import check

close = np.testing.assert_allclose


def test_print():
    def f(x, n):
        step = lambda s: (pa.cond(s[0] > 1, lambda: s[0] - x, lambda: s[0] + x), s[1] + 1)
        return pa.while_loop(lambda s: s[1] < n, step, (x, 0))[0]

    f.__name__ = "lambda"
    assert (
        str(pa.make_ir(f)(1.0, 3))
        == """\
lambda(a: float64[], b: int64[]):
  const c: int64[]
  d: float64[], e: int64[] = loop test=test body=body constants=2 a b a c
    test(f: float64[], g: int64[], h: float64[], i: int64[]):
      j: bool[] = less i g
      return j
    body(k: float64[], l: int64[], m: float64[], n: int64[]):
      o: bool[] = greater m 1
      p: int64[] = astype dtype='int64' o
      q: float64[] = choice branches=cond_0,cond_1 p m k
        cond_0(s: float64[], t: float64[]):
          u: float64[] = add s t
          return u
        cond_1(v: float64[], w: float64[]):
          x: float64[] = subtract v w
          return x
      r: int64[] = add n 1
      return q, r
  return d"""
    )


def test_source():
    f = lambda x: pa.scan(lambda c, r: (c * pa.cond(r > 0, lambda: r, lambda: x[0]), c), 1.0, x)
    program = pa.make_ir(f)(XS[0])
    assert (
        program.code
        == """\
import numpy as np
import polyad as pa

b = np.array([1.0], np.dtype('<f8')).reshape(())[()]


def program(a):
    def body_1(carry, inputs):
        (e,) = carry
        (f,) = inputs
        g = pa.greater(f, 0)
        h = pa.astype(g, dtype='int64')
        def branch_2():
            k = pa.index(a, spec=(0,))
            return (k,)
        def branch_3():
            return (f,)
        (i,) = pa.switch(h, [branch_2, branch_3])
        j = pa.multiply(e, i)
        return (j,), (e,)
    (c,), (d,) = pa.scan(body_1, (b,), (a,))
    return (c, d)
"""
    )
    for found, right in zip(runs(program, XS[1]), f(XS[1]), strict=True):
        close(found, right)


@transforms
def test_source_runs_and_can_be_transformed_again(transform):
    xs = XS if "vmap" not in transform.__code__.co_names else np.stack([XS, 2 * XS])
    f = transform(loss)
    program = pa.make_ir(f)(W, xs)
    check(program)
    right = pa.tree.leaves(f(W, xs))
    first = lambda y: y[0] if isinstance(y, tuple) else y
    close(first(runs(program, W, xs)), right[0])
    again = pa.make_ir(lambda w, xs: runs(program, w, xs))(W, xs)
    close(first(again(W, xs)), right[0])
    found = pa.grad(lambda w: pa.sum(pa.sin(first(runs(program, w, xs)))))(W)
    close(found, pa.grad(lambda w: pa.sum(pa.sin(pa.tree.leaves(f(w, xs))[0])))(W))


def test_source_of_recursion():
    factorial = pa.jit(lambda r, x: pa.cond(x <= 1, lambda r, x: r, lambda r, x: factorial(r * x, x - 1), r, x))
    program = pa.make_ir(lambda x: factorial(1.0, x))(3.0)
    check(program)
    assert "@pa.jit" in program.code and program(5.0) == 120 and runs(program, 4.0) == 24
    assert str(program).count("def") == 0 and len(str(program)) < 2000
    assert reloaded(program)(5.0) == 120
