"""`pmap` on 1, 2 and 3 ranks: equal to `vmap` on one process, with all derivatives, and errors that every rank raises.

Each script runs on every rank and makes all its checks in one start of mpiexec.
"""

import numpy as np
import pytest

import polyad as pa
from polyad.parallel import pmap, world

X = np.array([[0.3, -0.4], [-1.2, 0.8], [0.9, 0.5], [-0.2, -1.1], [1.4, 0.1]])
w = np.array([0.5, 2.0])

COMMON = """
import functools
import numpy as np
import polyad as pa
from polyad.parallel import CollectiveError, pmap, world

rank, ranks = world().rank, world().size
psum = pa.psum
X = np.array([[0.3, -0.4], [-1.2, 0.8], [0.9, 0.5], [-0.2, -1.1], [1.4, 0.1]])
w = np.array([0.5, 2.0])

def same(found, expected, what):
    a, b = pa.tree.leaves(found), pa.tree.leaves(expected)
    assert pa.tree.structure(found) == pa.tree.structure(expected), what
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12, err_msg=what)
        assert np.asarray(x).dtype == np.asarray(y).dtype, what

def check(what, f):
    same(f(pmap), f(pa.vmap), what)

def raises(kind, f, *texts):
    try:
        f()
    except kind as error:
        for text in texts:
            assert text in str(error), str(error)
    else:
        raise AssertionError(f"no {kind.__name__}")
"""

LAW = (
    COMMON
    + """
def derivatives(m, f, w, X):
    closed = lambda w, X: pa.sum(m(lambda x: f(w, x), axis_name="i")(X) ** 2)
    given = lambda w, X: pa.sum(m(f, axis_name="i", in_axes=(None, 0))(w, X) ** 2)
    return {
        "value": m(lambda x: f(w, x), axis_name="i")(X),
        "closure": pa.grad(closed)(w, X),
        "unmapped and mapped": pa.grad(given, (0, 1))(w, X),
        "jvp": pa.jvp(closed, (w, X), (w + 1, X * 2)),
        "hvp closure": pa.hvp(lambda w: closed(w, X), w, w * 3),
        "hvp unmapped": pa.hvp(lambda w: given(w, X), w, w * 3),
        "hvp mapped": pa.hvp(lambda X: closed(w, X), X, X * 3),
        "reverse over reverse": pa.grad(lambda w: pa.sum(pa.grad(closed)(w, X) ** 3))(w),
        "jacrev": pa.jacrev(lambda w: m(lambda x: f(w, x), axis_name="i")(X))(w),
        "vmap of it": pa.vmap(lambda w: m(lambda x: f(w, x), axis_name="i")(X))(np.stack([w, w + 1])),
    }

def chain(w, x):
    s = psum(pa.sum(w * x) ** 2 if x[0] > 0 else 1.0, "i")
    t = psum(pa.sum(s * x * w) if x[1] > 0 else pa.sum(x), "i")
    return t * (x if x[0] > 0.5 else w)

FUNCTIONS = {
    "in the body": lambda w, x: pa.sum(pa.exp(w * 2) * x),
    "in one branch": lambda w, x: pa.sum(pa.exp(w) * x * w) if x[0] > 0 else 0.0,
    "psum": lambda w, x: pa.sum(w * x / psum(pa.exp(w * x), "i")),
    "psum of a branch": lambda w, x: psum(pa.sum(w * x) if x[0] > 0 else 0.0, "i") * x,
    "two psums": chain,
    "all_gather": lambda w, x: pa.sum(pa.all_gather(pa.sin(w * x), "i") * w) * x,
    "pmean pmax pmin": lambda w, x: pa.pmean(w * x, "i") + x * pa.pmax(w * x, "i") + pa.pmin(x, "i"),
    "constant": lambda w, x: w * psum(w, "i") + psum(1.0, "i"),
    "grad inside": lambda w, x: pa.grad(lambda x: pa.sum(psum(pa.sin(x) * w, "i") * x * x * w))(x),
    "vmap inside": lambda w, x: pa.vmap(lambda y: psum(y * w[0], "i") * y)(x),
    "index": lambda w, x: w * x * pa.axis_index("i") + pa.axis_size("i"),
}
for name, f in FUNCTIONS.items():
    for n in LENGTHS:
        found, expected = derivatives(pmap, f, w, X[:n]), derivatives(pa.vmap, f, w, X[:n])
        for what in expected:
            same(found[what], expected[what], f"{name}, {n} lanes on {ranks} ranks: {what}")
"""
)


@pytest.mark.parametrize(("n", "lengths"), [(1, "1, 5"), (2, "1, 5"), (3, "2"), (3, "5")])
def test_law(mpirun, n, lengths):
    """Values and derivatives for lanes that do not divide, and fewer lanes than ranks."""
    mpirun(LAW.replace("LENGTHS", f"({lengths},)"), n)


CASES = (
    COMMON
    + """
check("a loop", lambda m: m(lambda x: x * 2 + 1)(X) if m is pmap else np.stack([x * 2 + 1 for x in X]))
check("no lanes", lambda m: m(lambda x: psum(x, "i") + x, axis_name="i")(X[:0]))
check("no lanes, grad", lambda m: pa.grad(lambda w: pa.sum(m(lambda x: x * w)(X[:0])))(w))
with np.errstate(all="ignore"):  # 0 times infinity on a rank without lanes must not reach the others
    check("infinite slope", lambda m: pa.grad(lambda w: pa.sum(m(lambda x: pa.exp(x + w))(np.zeros(1))))(1e4))
    check("infinite slope, psum", lambda m: pa.grad(
        lambda w: pa.sum(m(lambda x: pa.exp(psum(x + w, "i")), axis_name="i")(np.zeros(1))))(1e4))
check("tree", lambda m: m(lambda t: {"a": t["p"][0] * 2, "b": (t["p"][1], 3)})({"p": (X, X[:, 0])}))
many = lambda x: [x, x[0], x * np.ones((2, 2)), x > 0, x.astype("f4"), np.float32(2) * x[0].astype("f4"), x[:0], x[0] > 0, 2.0]
check("many results", lambda m: m(many)(X))
check("many results, fewer lanes than ranks", lambda m: m(many)(X[:1]))
check("small and large results", lambda m: m(lambda x: (x, x * np.ones((70_000, 2)), x * 2))(X))
check("many results, no lanes", lambda m: m(many)(X[:0]))
check("many results, grad", lambda m: pa.grad(lambda w: pa.sum(m(lambda x: many(x * w)[2])(X)) + pa.sum(m(many)(X * w)[1]))(w))
def owned(m):
    first, *rest = m(lambda x: (x, x * 2, x * 3))(X)
    first[...] = 7.0
    return first, rest
check("many results own their memory", owned)
check("keyword", lambda m: m(lambda x, y=1: x + y)(X, y=X * 2))
check("axes", lambda m: m(lambda x, y: x * y, in_axes=(1, 0), out_axes=-1)(X.T, X))
check("axis_size", lambda m: m(lambda x: x * pa.axis_index("i"), in_axes=None, axis_size=7, axis_name="i")(w))
check("out_axes None", lambda m: m(lambda x: psum(x, "i"), out_axes=None, axis_name="i")(X).copy())
check("out_axes None, grad", lambda m: pa.grad(
    lambda w: pa.sum(m(lambda x: psum(x * w, "i") ** 2 + w, out_axes=None, axis_name="i")(X)))(w))
check("int8", lambda m: m(lambda x: psum(x, "i"), axis_name="i")(np.full(5, 100, np.int8)))
check("int8 constant", lambda m: m(lambda x: psum(np.int8(100), "i"), axis_name="i")(X))
check("bool", lambda m: m(lambda x: psum(x > 0, "i"), axis_name="i")(X))
check("float32", lambda m: m(lambda x: x * psum(1.0, "i"), axis_name="i")(X.astype("f4")))
single = X[:, 0].astype("f4")
check("float32 and a number", lambda m: m(lambda x: psum(x if x > 0 else 0.0, "i"), axis_name="i")(single))
check("number in a branch", lambda m: m(lambda x: x if x > 0 else 0.0)(single))
check("complex", lambda m: m(lambda x: psum(x * 1j, "i") * x, axis_name="i")(X))
check("constants differ", lambda m: m(lambda x: 1.0 if x > 2 else 0.0)(np.arange(5.0)))
check("closures differ", lambda m: pa.grad(lambda w: pa.sum(m(lambda x: w if x > 2 else -w * w)(np.arange(5.0))))(w))
check("float of a sum", lambda m: float(m(lambda x: x)(np.arange(10.0)).sum()))
check("one convention", lambda m: pa.grad(
    lambda w: m(lambda d: psum(w * d, "i"), axis_name="i", out_axes=None)(np.array([1.0, 2.0])))(1.0))
check("mean loss", lambda m: pa.grad(lambda w: pa.mean(m(lambda x: pa.sum(w * x) ** 2)(X)))(w))
check("third order", lambda m: pa.grad(lambda w: pa.sum(pa.grad(lambda w: pa.sum(pa.grad(lambda w: pa.sum(
    m(lambda x: psum(pa.sum(w * x) ** 3, "i") * x if x[0] > 0 else psum(x[0], "i") * w**3, axis_name="i")(X) ** 2
    ))(w) ** 2))(w) ** 2))(w))
check("forward over reverse", lambda m: pa.jacfwd(pa.jacrev(
    lambda w: m(lambda x: psum(pa.sum(w * x) ** 3, "i") * x, axis_name="i")(X)))(w))

# nested
x = X[:, 0]
check("in vmap", lambda m: pa.vmap(lambda y: m(lambda x: x * y if y > 0 else x)(X))(x))
check("in vmap, psum", lambda m: pa.vmap(lambda y: m(lambda x: psum(x * y, "i"), axis_name="i")(X))(np.arange(3.0)))
check("both split", lambda m: pa.vmap(
    lambda y: m(lambda x: psum(x * y if y + x > 0 else x, "i"), axis_name="i")(x))(x * 3))
check("both split, grad", lambda m: pa.grad(lambda w: pa.sum(pa.vmap(
    lambda y: m(lambda x: psum(x * y * w if y + x > 0 else x, "i") * w, axis_name="i")(x))(x * 3)))(w[0]))
check("two names", lambda m: pa.vmap(
    lambda y: m(lambda x: psum(x * y, ("i", "o")), axis_name="i")(x), axis_name="o")(x * 3))
check("outer name", lambda m: pa.vmap(
    lambda y: m(lambda x: psum(x * y if y > 0 else x, "o"), axis_name="i")(x), axis_name="o")(x * 3))
check("pmap in pmap", lambda m: pa.grad(lambda w: pa.sum(
    m(lambda x: m(lambda y: psum(y * x * w, ("i", "o")), axis_name="i")(x * X[:, 0]), axis_name="o")(X[:, 1])))(w))

# where a followed value may stand
class Model:
    def __init__(self, w):
        self.w = w
    def loss(self, x):
        return pa.sum(self.w * x) ** 2

def recursive(w):
    def f(x, k=3):
        return x if k == 0 else f(x * w, k - 1)
    return f

def through(m, make):
    return pa.grad(lambda w: pa.sum(m(make(w))(X)))(w)

def model_in_closure(w):
    model = Model(w)
    return lambda x: model.loss(x) * 2

def in_list(w):
    values = [{"a": w}, w * w]
    return lambda x: values[0]["a"] * x + values[1]

check("bound method", lambda m: through(m, lambda w: Model(w).loss))
check("object", lambda m: through(m, model_in_closure))
check("partial", lambda m: through(m, lambda w: functools.partial(lambda q, x: pa.sum(q * x) ** 2, w)))
check("list", lambda m: through(m, in_list))
check("recursion", lambda m: through(m, recursive))
check("default", lambda m: through(m, lambda w: lambda x, w=w: pa.sum(x**3 * w)))
check("derivative of a closure", lambda m: through(m, lambda w: pa.grad(lambda x: pa.sum(x**3 * w))))

def counting(m):
    count = 0
    def f(w):
        def lane(x):
            nonlocal count
            count += 1
            return pa.sum(w * x)
        return pa.sum(m(lane)(X))
    pa.grad(f)(w)
    return count

check("assignment to a closure", counting)

# traces and array types
body = lambda m: lambda w: m(lambda x: psum(w * x, "i") * pa.exp(w) * x, axis_name="i")(X)
check("trace", lambda m: pa.make_ir(body(m))(w)(w))
check("grad of a trace", lambda m: pa.grad(lambda v: pa.sum(pa.make_ir(body(m))(w)(v)))(w))
check("grad of a trace, one rank's branch", lambda m: pa.grad(lambda v: pa.sum(pa.make_ir(
    lambda w: m(lambda x: w * x if x[0] > 1 else x)(X))(w)(v)))(w))
check("trace of a grad", lambda m: pa.make_ir(pa.grad(lambda w: pa.sum(body(m)(w))))(w)(w))
check("container", lambda m: m(lambda d, x: d @ x)(pa.Diagonal(X), X))
check("container out", lambda m: m(lambda x: pa.Diagonal(x))(X).dense())
check("container unmapped", lambda m: pa.grad(
    lambda w: pa.sum(m(lambda d, x: d @ x, in_axes=(None, 0))(pa.Diagonal(w), X)))(w))
"""
)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_cases(mpirun, n):
    mpirun(CASES, n)


ERRORS = (
    COMMON
    + """
lanes = np.arange(5.0)
branch = lambda x: x / psum(x, "i") if x > 3 else 0.0 * x
raises(pa.LaneSplitError, lambda: pmap(branch, axis_name="i")(lanes), "axis 'i'")
raises(pa.LaneSplitError, lambda: pmap(lambda x: (x,) if x > 3 else x)(lanes), "different structures")
raises(pa.LaneSplitError, lambda: pmap(lambda x: x if x > 3 else np.int64(1))(lanes), "float64[] and int64[]")
shapes = lambda x: np.ones(2) if x > 3 else np.ones(3)
raises(pa.LaneSplitError, lambda: pmap(shapes)(lanes), "float64[2]", "float64[3]")
raises(pa.ShapeError, lambda: pmap(lambda x: x, out_axes=None)(lanes), "out_axes is None", "differs between lanes")
raises(pa.AxisNameError, lambda: pmap(lambda x: psum(x, "j"), axis_name="i")(lanes), "'j'", "bound: 'i'")

holder = {}
def hidden(w):
    globals()["parameter"] = w
    return pa.sum(pmap(lambda x: x * parameter)(X))
if ranks > 1:
    raises(pa.LeakedLayerError, lambda: pa.grad(hidden)(w), "grad(hidden)", "in_axes=None")

def fails(x):
    return 1 // 0 if x > 3 else x
last = world().allreduce(rank if rank < 5 else 0, "max")
kind = ZeroDivisionError if rank == last else CollectiveError
raises(kind, lambda: pmap(fails)(lanes), *([] if rank == last else [f"rank {last} raised ZeroDivisionError"]))
raises(ZeroDivisionError, lambda: pmap(lambda x: 1 // 0)(lanes))
same(pmap(lambda x: psum(x, "i"), axis_name="i")(lanes), np.full(5, 10.0), "after the errors")
"""
)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_errors_are_those_of_every_rank(mpirun, n):
    mpirun(ERRORS, n)


DIVERGING = (
    COMMON
    + """
three = np.array([1.0, 2.0, 3.0])
FUNCTIONS = {
    "another factor": lambda x: psum(x, "i") ** 2 * (1.0 if x > 1 else 3.0),
    "where": lambda x: psum(x, "i") ** 2 * pa.where(x > 1, 1.0, 3.0),
    "index": lambda x: psum(x, "i") ** 2 * [3.0, 1.0, 1.0][int(pa.axis_index("i"))],
    "mixed in one branch": lambda x: (lambda s: x * s if x > 1 else s * s)(psum(x, "i")),
    "unused in one branch": lambda x: (lambda s: x * s if x > 1 else x * x)(psum(x, "i")),
    "a constant in one branch": lambda x: psum(x * x if x > 2 else 2.0, "i") * x,
    "loops of different length": lambda x: functools.reduce(lambda s, k: s * x, range(int(x > 1) + int(x > 2)), psum(x, "i")),
    "two": lambda x: (lambda s: psum(s * x * x if x > 2 else s * s * x, "i") * x)(psum(x, "i")),
    "mean": lambda x: pa.pmean(x * x, "i") ** 2 * (x if x > 2 else 1.0),
    "gathered": lambda x: pa.pmax(x * x, "i") * (x if x > 2 else 1.0) + pa.all_gather(x * x, "i")[0] * (2 if x > 1 else 1),
}
for name, f in FUNCTIONS.items():
    expected = pa.grad(lambda x: pa.sum(pa.vmap(f, axis_name="i")(x)))(three)
    for m in (pa.vmap, pmap):
        same(m(pa.grad(f), axis_name="i")(three), expected, name)
        same(m(pa.value_and_grad(f), axis_name="i")(three)[1], expected, name)
    check(name + ", twice", lambda m: m(pa.grad(lambda x: pa.grad(f)(x) ** 2), axis_name="i")(three))
    check(name + ", outside", lambda m: pa.grad(lambda x: pa.sum(m(pa.grad(f), axis_name="i")(x) ** 2))(three))
    check(name + ", forward", lambda m: m(lambda x: pa.jvp(f, (x,), (1.0,))[1], axis_name="i")(three))
    check(name + ", forward over reverse", lambda m: m(lambda x: pa.jacfwd(pa.grad(f))(x), axis_name="i")(three))
    check(name + ", a parameter", lambda m: pa.grad(
        lambda w: pa.sum(m(pa.grad(lambda x: f(x) * w), axis_name="i")(three) ** 2))(1.5))
for m in (pa.vmap, pmap):  # lanes that agree: one number for all lanes, counted once
    same(m(pa.grad(lambda x: psum(x * x, "i") if x > 0 else x), axis_name="i")(three), 2 * three, "once")
late = lambda x: (lambda g: g if x > 1 else -g)(pa.grad(lambda x: psum(x, "i") ** 2 * x)(x))
check("after the derivative", lambda m: m(late, axis_name="i")(three))
check("in vmap", lambda m: pa.vmap(lambda y: m(
    pa.grad(lambda x: psum(x * y, "i") ** 2 * (1.0 if x > y else 3.0)), axis_name="i")(three))(three))
check("no collective", lambda m: m(lambda x: (x, 1.0) if x > 1 else (x * x, 2.0), axis_name="i")(three))
only = lambda x: psum(x, "i") * (psum(x, "i") if x > 2 else x)
raises(pa.LaneSplitError, lambda: pmap(only, axis_name="i")(three), "'i'")

programs = []
if ranks == 1:
    pmap(lambda x: (programs.append(pa.make_ir(lambda y: pa.pmean(y, "i") * y)(x)), x)[1], axis_name="i")(three)
else:
    pa.vmap(lambda x: (programs.append(pa.make_ir(lambda y: pa.pmean(y, "i") * y)(x)), x)[1], axis_name="i")(three)
same(pmap(programs[0], axis_name="i")(np.arange(1.0, 6.0)), 3 * np.arange(1.0, 6.0), "a program from another map")

def kept():
    x = three.copy()
    y, z = pmap(lambda x: (x, x))(x)
    y[0] = 7.0
    return x, y, z
same(kept(), (three, np.array([7.0, 2.0, 3.0]), three), "results own their memory")
"""
)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_lanes_of_all_ranks_that_go_different_ways(mpirun, n):
    mpirun(DIVERGING, n)


INPUTS = (
    COMMON
    + """
import os
three = np.array([1.0, 2.0, 3.0])
def differs(f, what):
    raises(CollectiveError, f, what + " differs between the ranks", "POLYAD_COLLECTIVE_CHECK=0")

def closed(v):
    return pmap(lambda x: pa.sum(x * v))(three)

shared = {"a": [1.0 + rank], "b": 0}
large = np.zeros((300, 300)) + rank
if os.environ.get("POLYAD_COLLECTIVE_CHECK") == "0":
    same(pmap(lambda x: x)(three * 1.0 + 0 * rank), three, "unchecked")
else:
    differs(lambda: pmap(lambda x: x)(three + rank), "argument 0")
    differs(lambda: pmap(lambda x, t: x * t["a"][0], in_axes=(0, None))(three, shared), "argument 1['a'][0]")
    differs(lambda: pmap(lambda x, scale: x * scale)(three, scale=three + rank), "argument scale")
    differs(lambda: pmap(lambda x: x)(three.astype("f4" if rank else "f8")), "argument 0")
    differs(lambda: pmap(lambda x: x)(np.arange(3.0 + rank)), "argument 0")
    differs(lambda: closed(large), "the closure variable 'v'")
    differs(lambda: closed(large[:, ::2]), "the closure variable 'v'")
    differs(lambda: closed([2.0 + rank]), "the closure variable 'v'[0]")
    differs(lambda: pa.grad(lambda v: pa.sum(closed(v)))(large), "the closure variable 'v'")
    differs(lambda: pmap(functools.partial(lambda v, x: x * v, three + rank))(X[:, :1]), "the closure variable '0 of partial'")

def numbered(number):
    return pmap(lambda x: x if number < 0 else x * 2)(three)  # which rank this is may be known to the function
same(numbered(rank), 2 * three, "a rank's number")

# what user code makes of an error that all ranks have met is of no account
def unequal(x):
    try:
        psum(np.ones(2) * x if x > 2 else x, "i")
    except Exception:
        pass
    return x

def fails(x):
    try:
        if x > 2:
            raise ValueError("own")
        psum(x, "i")
    except CollectiveError:
        psum(x, "i")
    return x

def anew(x):
    try:
        psum(x if x < 3 else 1 // 0, "i")
    except CollectiveError:
        raise KeyError("another") from None
    return x

if ranks <= 3:
    raises(pa.LaneSplitError, lambda: pmap(unequal, axis_name="i")(three[-ranks:]), "float64[2]")
    raises(ValueError if rank == ranks - 1 else CollectiveError, lambda: pmap(fails, axis_name="i")(three), "own")
    kind = ZeroDivisionError if rank == ranks - 1 else KeyError
    raises(kind, lambda: pmap(anew, axis_name="i")(three[-ranks:]))
same(pmap(lambda x: psum(x, "i"), axis_name="i")(np.arange(5.0)), np.full(5, 10.0), "after the errors")
"""
)


@pytest.mark.parametrize(("n", "checked"), [(2, "1"), (3, "1"), (2, "0")])
def test_inputs_and_errors_of_all_ranks(mpirun, n, checked):
    script = INPUTS if checked == "1" else f"import os\nos.environ['POLYAD_COLLECTIVE_CHECK'] = '0'\n{INPUTS}"
    mpirun(script, n)


# ---------------------------------------------------------------------- one process
def test_one_process_is_vmap():
    assert world().size == 1
    f = lambda x: x / pa.psum(x, "i")
    np.testing.assert_array_equal(pmap(f, axis_name="i")(X), pa.vmap(f, axis_name="i")(X))
    loss = lambda m: lambda w: pa.sum(m(lambda x: pa.sum(w * x) ** 2)(X))
    np.testing.assert_array_equal(pa.grad(loss(pmap))(w), pa.grad(loss(pa.vmap))(w))


def test_messages():
    with pytest.raises(pa.ShapeError, match=r"argument 1 has no axis 0 to map; use in_axes=None"):
        pmap(lambda x, y: x * y)(X, 2.0)
    with pytest.raises(pa.ShapeError, match=r"argument 1 has 2 lanes, but .*argument 0\['a'\] has 5"):
        pmap(lambda x, y: x["a"] * y)({"a": X}, X[:2])
    with pytest.raises(pa.AxisNameError, match=r"no axis named 'j' here \(bound: 'i'\)"):
        pmap(lambda x: pa.psum(x, "j"), axis_name="i")(X)
    with pytest.raises(pa.ShapeError, match=r"pmap\(<lambda>\): out_axes is None for a result that differs"):
        pmap(lambda x: x, out_axes=None)(X)
    with pytest.raises(pa.LaneSplitError, match=r"different structures"):
        pmap(lambda x: (x,) if x > 0 else x)(X[:, 0])
