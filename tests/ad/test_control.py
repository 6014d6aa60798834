"""Random programs of nested control flow, under every transformation, against Python's own loops and branches.

A program is drawn as a nested list of statements and run in two ways: with polyad's control flow, and with Python's `if`,
`for` and `while` around the same operations, which is the reference. Hypothesis shrinks what fails to the shortest program.
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import polyad as pa
from polyad.dsl.ir.programs import check

DEPTH, N = 3, 2  # nesting of control flow; length of vectors


class Plain:
    """Control flow by Python itself."""

    @staticmethod
    def cond(condition, true_fun, false_fun, *operands):
        return true_fun(*operands) if bool(condition) else false_fun(*operands)

    @staticmethod
    def switch(index, branches, *operands):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)

    @staticmethod
    def while_loop(cond_fun, body_fun, x):
        while bool(cond_fun(x)):
            x = body_fun(x)
        return x

    @staticmethod
    def fori_loop(lower, upper, body_fun, x):
        for i in range(int(lower), int(upper)):
            x = body_fun(i, x)
        return x

    @staticmethod
    def scan(f, carry, xs=None, length=None, reverse=False):
        length = length if length is not None else len(pa.tree.leaves(xs)[0])
        ys = [None] * length
        for i in range(length)[:: -1 if reverse else 1]:
            carry, ys[i] = f(carry, pa.tree.map(lambda x, i=i: x[i], xs))
        if not length:
            _, y = f(carry, pa.tree.map(lambda x: pa.zeros_like(x, shape=x.shape[1:]), xs))  # for its shape
            return carry, pa.tree.map(lambda y: pa.zeros_like(y, shape=(0, *np.shape(y))), y)
        return carry, pa.tree.map(lambda *ys: pa.stack(list(ys)), *ys)

    @classmethod
    def map(cls, f, xs):
        return cls.scan(lambda c, x: (c, f(x)), (), xs)[1]

    @staticmethod
    def associative_scan(f, xs, reverse=False):
        leaves, structure = pa.tree.flatten(xs)
        n = leaves[0].shape[0]
        rows, total = [None] * n, None
        for i in range(n)[:: -1 if reverse else 1]:
            row = pa.tree.unflatten(structure, [x[i : i + 1] for x in leaves])
            total = row if total is None else f(total, row)
            rows[i] = total
        return pa.tree.map(lambda *rows: pa.concatenate(list(rows)), *rows)


# ---------------------------------------------------------------------- programs
class Drawn:
    """Statements over a list of floating values (`floats`, shapes () and (N,)) and one of integers (`ints`)."""

    def __init__(self, pick):
        self.pick = pick  # function(n) -> one of 0 … n - 1

    def block(self, depth, floats, ints):
        """A list of statements that see so many values before them, and the value returned."""
        statements, count = [], floats
        for _ in range(1 + self.pick(3)):
            make = self.control if depth and self.pick(2) else self.plain
            statements.append(make(depth, count, ints))
            count += 1
        return statements, count - 1 - self.pick(min(2, count))

    def plain(self, depth, floats, ints):
        kind = ("sin", "mul", "tanh", "mix", "sum", "stop", "int", "square", "index")[self.pick(9)]
        return kind, self.pick(floats), self.pick(floats), self.pick(ints) if ints else None

    def control(self, depth, floats, ints):
        kind = ("scan", "cond", "while", "fori", "switch", "map", "associative", "call")[self.pick(8)]
        some = lambda: self.pick(floats)
        inner = lambda more=0, more_ints=0: self.block(depth - 1, floats + more, ints + more_ints)
        number = self.pick(ints) if ints else None
        if kind == "cond":
            test = ("by float", "by int", "always")[self.pick(3)]
            return kind, test, some(), number, inner(1), inner(1)
        if kind == "switch":
            return kind, number, some(), [inner(1) for _ in range(1 + self.pick(3))]
        if kind == "while":
            return kind, ("by int", "by float")[self.pick(2)], self.pick(4), number, some(), inner(1, 1)
        if kind == "fori":
            return kind, ("fixed", "by int")[self.pick(2)], self.pick(4), number, some(), inner(1, 1)
        if kind == "scan":
            return kind, self.pick(4), bool(self.pick(2)), self.pick(3), some(), some(), inner(2, 1), inner(2, 1)
        if kind == "map":
            return kind, some(), inner(1)
        if kind == "associative":
            return kind, some(), bool(self.pick(2)), self.pick(2)
        return kind, some(), inner(1)


def like(x, y):
    """y brought to the shape of x."""
    if np.shape(y) == np.shape(x):
        return y
    return pa.sum(y) if np.shape(x) == () else y * pa.ones_like(x)


def run(block, lib, floats, ints):
    statements, result = block
    floats = list(floats)
    for statement in statements:
        floats.append(step(statement, lib, floats, ints))
    return floats[result]


def step(statement, lib, floats, ints):
    kind, *rest = statement
    if kind == "cond":
        test, x, number, yes, no = rest
        x = floats[x]
        condition = {"by float": lambda: pa.sum(x) > 0.3, "by int": lambda: ints[number] % 2 == 0, "always": lambda: True}[
            test if number is not None or test != "by int" else "always"
        ]()
        branch = lambda b: lambda v: like(v, run(b, lib, [*floats, v], ints))
        return lib.cond(condition, branch(yes), branch(no), x)
    if kind == "switch":
        number, x, branches = rest
        branch = lambda b: lambda v: like(v, run(b, lib, [*floats, v], ints))
        return lib.switch(ints[number] % 4 - 1 if number is not None else 1, [branch(b) for b in branches], floats[x])
    if kind == "while":
        test, limit, number, x, body = rest
        if number is not None:
            limit = (ints[number] + limit) % 4
        going = {
            "by int": lambda s: s["i"] < limit,
            "by float": lambda s: (s["i"] < 3) & (pa.sum(s["x"]) < 1.2),
        }[test]
        advance = lambda s: {"x": like(s["x"], run(body, lib, [*floats, s["x"]], [*ints, s["i"]])), "i": s["i"] + 1}
        return lib.while_loop(going, advance, {"x": floats[x], "i": 0})["x"]
    if kind == "fori":
        how, limit, number, x, body = rest
        if how == "by int" and number is not None:
            limit = ints[number] % 3
        return lib.fori_loop(0, limit, lambda i, v: like(v, run(body, lib, [*floats, v], [*ints, i])), floats[x])
    if kind == "scan":
        length, reverse, which, x, row, body, out = rest
        rows = [floats[row] * (0.5 + k) for k in range(length)]
        xs = {"a": pa.stack(rows) if rows else pa.zeros_like(floats[row], shape=(0, *np.shape(floats[row])))}
        if which == 1:
            xs = None

        def advance(carry, row):
            v, i = carry
            row = v if row is None else row["a"]
            inside, numbers = [*floats, v, row], [*ints, i]
            return (like(v, run(body, lib, inside, numbers)), i + 2), (run(out, lib, inside, numbers), v)

        (v, i), (ys, vs) = lib.scan(advance, (floats[x], 1), xs, length, reverse)
        if which == 2:
            return pa.sum(ys, axis=0) + 0.3 * pa.sum(vs) + 0.01 * i
        return v + like(v, 0.5 * pa.sum(ys))
    if kind == "map":
        x, body = rest
        xs = pa.stack([floats[x], floats[x] * 0.5, floats[x] + 0.1])
        return pa.sum(lib.map(lambda v: run(body, lib, [*floats, v], ints), xs), axis=0) * 0.4
    if kind == "associative":
        x, reverse, which = rest
        xs = pa.stack([floats[x] * (0.6 + 0.2 * k) for k in range(5)])
        if which:
            return lib.associative_scan(pa.multiply, xs, reverse)[2]
        affine = lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])
        return pa.sum(lib.associative_scan(affine, (pa.cos(xs), xs), reverse)[1], axis=0) * 0.3
    if kind == "call":
        x, body = rest
        f = lambda v: run(body, lib, [*floats, v], ints)
        return f(floats[x])
    a, b, number = rest
    a, b = floats[a], floats[b]
    return {
        "sin": lambda: pa.sin(a) + 0.1,
        "mul": lambda: a * b * 0.7,
        "tanh": lambda: pa.tanh(a - 0.5 * b),
        "mix": lambda: 0.5 * a + like(a, b) * 0.3,
        "sum": lambda: pa.sum(a) * 0.5,
        "stop": lambda: pa.stop_gradient(a) * 0.5 + b * 0.2,
        "int": lambda: a * (1 if number is None else ints[number] if number else pa.astype(ints[0], a.dtype)) * 0.3,
        "square": lambda: a * a * 0.4 - b,
        "index": lambda: a if np.shape(a) == () else a[0] * a[1],
    }[kind]()


def as_function(block, lib):
    """f(x: (N,), s: (), n: int) -> number."""

    def f(x, s, n):
        y = run(block, lib, [x, s], [n])
        return pa.sum(pa.sin(y)) + 0.1 * pa.sum(y)

    return f


@st.composite
def programs(draw, depth=DEPTH):
    return Drawn(lambda n: draw(st.integers(0, n - 1))).block(depth, 2, 1)


X, S = np.array([0.4, -0.7]), np.float64(0.8)
XS, SS, NS = np.array([[0.4, -0.7], [1.3, 0.2], [-0.5, 0.9]]), np.array([0.8, 0.1, -0.6]), np.array([2, 1, 5])


def traced(f):
    return lambda *args: pa.make_ir(f)(*args)(*args)


def looped(f):
    """What `vmap(f)` means."""

    def g(*args):
        rows = [f(*[a[k] for a in args]) for k in range(len(args[0]))]
        return pa.tree.map(lambda *ys: np.stack([np.asarray(y) for y in ys]), *rows)

    return g


def same(found, right, tolerance=1e-9):
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(right), strict=True):
        assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * 1e-2)


gradient = lambda f: pa.grad(f, (0, 1))
hessian = lambda f: pa.hessian(f, (0, 1))
forward = lambda f: lambda x, s, n: pa.jvp(lambda x, s: f(x, s, n), (x, s), (x + 1, s - 2))
twice = lambda f: lambda x, s, n: pa.jvp(lambda x, s: gradient(f)(x, s, n), (x, s), (x + 1, s - 2))[1]
both = lambda f: lambda x, s, n: pa.grad(lambda x: pa.jvp(lambda s: f(x, s, n), (s,), (0.7,))[1])(x)
back_twice = lambda f: lambda x, s, n: pa.jacrev(lambda x: pa.grad(f)(x, s, n))(x)
ONE = {"value": lambda f: f, "gradient": gradient, "forward": forward, "twice": twice, "both": both, "back_twice": back_twice,
       "hessian": hessian}  # fmt: skip


dtypes = st.sampled_from([np.float64, np.float32])


@given(programs(), st.sampled_from(sorted(ONE)), dtypes)
@settings(max_examples=60)
def test_traced(block, name, dtype):
    """make_ir(T(f)), T(make_ir(f)) and T(f) are T of the reference, dtypes included."""
    transform, f, near = ONE[name], as_function(block, pa), 1e-9 if dtype is np.float64 else 1e-3
    x, s, other, t = X.astype(dtype), dtype(S), XS[1].astype(dtype), dtype(SS[1])
    reference = transform(as_function(block, Plain))
    right = reference(x, s, 1)
    same(transform(f)(x, s, 1), right, near)
    same(traced(transform(f))(x, s, 1), right, near)
    same(transform(traced(f))(x, s, 1), right, near)
    program = pa.make_ir(transform(f))(x, s, 1)
    check(program)
    same(program(other, t, 1), reference(other, t, 1), near)  # and for other numbers
    named = {}
    exec(program.code, named)
    found = named[program.name if program.name in named else "program"](other, t, 1)
    same(found if isinstance(found, tuple) else (found,), pa.tree.leaves(reference(other, t, 1)), near)


@given(programs(2), st.sampled_from(sorted(ONE)), st.sampled_from([3, 0]), dtypes, st.integers(0, 1))
@settings(max_examples=60)
def test_lanes(block, name, size, dtype, half):
    """vmap(T(f)) in two places of the trace, against a loop over the lanes."""
    transform, f, near = ONE[name], as_function(block, pa), 1e-9 if dtype is np.float64 else 1e-3
    args = XS[:size].astype(dtype), SS[:size].astype(dtype), NS[:size]
    forms = [lambda t: pa.vmap(t(f)), lambda t: traced(pa.vmap(t(f))), lambda t: pa.vmap(traced(t(f)))]
    if name != "value":
        forms.append(lambda t: pa.vmap(t(traced(f))))
    for form in forms[half::2]:
        found = form(transform)(*args)
        if size:
            same(found, looped(transform(as_function(block, Plain)))(*args), near)
        else:
            one = transform(f)(X.astype(dtype), dtype(S), 1)
            same(found, pa.tree.map(lambda y: np.zeros((0, *np.shape(y)), np.asarray(y).dtype), one))


@given(programs(2), st.sampled_from([gradient, hessian]))
@settings(max_examples=40)
def test_around_lanes(block, transform):
    """Derivatives of sums over lanes."""
    f, g = as_function(block, pa), as_function(block, Plain)
    total = lambda f: lambda x, s: pa.sum(pa.vmap(lambda x, n: f(x, s, n))(x, NS))
    by_loop = lambda x, s: sum(g(x[k], s, int(NS[k])) for k in range(3))
    right = transform(by_loop)(XS, S)
    same(transform(total(f))(XS, S), right)
    same(traced(transform(total(f)))(XS, S), right)
    same(transform(traced(total(f)))(XS, S), right)
    same(transform(total(traced(f)))(XS, S), right)


@given(programs(2))
@settings(max_examples=30)
def test_differences(block):
    """The reference itself, where no branch is near."""
    g = as_function(block, Plain)
    f = as_function(block, pa)
    value = f(X, S, 1)
    slope = pa.grad(lambda x: f(x, S, 1))(X)
    for k in range(N):
        ends = [g(X + h * np.eye(N)[k], S, 1) for h in (1e-5, -1e-5)]
        if abs(ends[0] - value) < 1e-2 and abs(ends[0] + ends[1] - 2 * value) < 1e-6 and "stop" not in str(block):
            np.testing.assert_allclose(slope[k], (ends[0] - ends[1]) / 2e-5, rtol=1e-3, atol=1e-5)
