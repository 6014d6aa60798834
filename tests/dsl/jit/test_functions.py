"""Functions that Hypothesis writes: under jit each gives what plain Python gives, at every call: value, dtype, Python type,
structure, exception, and arguments as they were."""

import contextlib
import copy
import re
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polyad as pa

HEAD = """\
import numpy as np
import polyad as pa

table = {"s": 1.5, "w": np.array([1.0, 2.0, -1.0])}


def down(x, n):
    return x if n <= 0 else down(x * 0.5 + 1, n - 1)


@pa.jit
def deep(x, n):
    return pa.cond(n <= 0, lambda: x, lambda: deep(x * 0.5 + 1.0, n - 1))


"""

one_of = lambda *texts: st.sampled_from(texts)
index = one_of("n", "n - 1", "n + 1", "-n", "int(t) % 4", "2", "round(u) % 3", "len(x) - n")
condition = one_of("t > u", "n > 1", "flag", "not flag", "pa.sum(x) > 0", "x[0] > t and u < 1", "n == 2 or t < 0",
                   "n in (0, 2)", "pa.all(y > -1)", "int(u * 2) % 2 == 0")  # fmt: skip
ERRORS = "(IndexError, KeyError, ZeroDivisionError, ValueError, OverflowError)"


def _wider(parts):
    """Expressions of x, y (arrays of three) and t, u (numbers) from smaller ones: pairs (array, number)."""
    return st.tuples(parts, parts, index, condition).flatmap(lambda drawn: st.tuples(_array(*drawn), _number(*drawn)))


def _array(one, other, i, test):
    (a, s), (b, t) = one, other
    return one_of(
        f"({a} + {b})", f"({a} * {s})", f"np.sin({a})", f"pa.where({a} > {s}, {b}, {t})", f"({a} / 2 + table['w'])",
        f"{a}[::-1]", f"down({a}, {i})", f"deep({a} * 1.0, {i})", f"pa.take({a}, pa.asarray([0, 1, 1]) + {i})",
        f"pa.cond({test}, lambda: {a} * 1.0, lambda: {b} * 2.0)", f"pa.scan(lambda c, e: (c * 0.5 + e, c), {s} * 1.0, {a})[1]",
        f"pa.fori_loop(0, 2, lambda i, c: c * 0.5 + {t}, {a} * 1.0)", f"pa.map(lambda e: e * 2 if e > 0 else e, {a})",
        f"pa.grad(lambda q: pa.sum(q * q * {s}))({a} * 1.0)", f"pa.vmap(lambda q: q * {s})({a})", f"np.clip({a}, -2, 2)",
        f"pa.checkpoint(lambda q: pa.tanh(q))({a})",
    )  # fmt: skip


def _number(one, other, i, test):
    (a, s), (b, t) = one, other
    return one_of(
        f"({s} + {t})", f"({s} * {t})", f"({s} - 1)", f"({s} ** 2)", f"abs({s})", f"{a}[{i}]", f"np.sum({b}) * 0.3",
        f"({s} if {test} else {t})", f"max({s}, {t})", f"({s} // 0.7)", f"(n * {s})", f"np.add({s}, {t})", "table['s']",
        f"pa.while_loop(lambda c: c < 3, lambda c: c + 1.5, pa.abs({s} * 1.0))", f"float({i})",
    )  # fmt: skip


expression = st.recursive(st.tuples(one_of("x", "y", "x", "table['w']"), one_of("t", "u", "0.5", "t")), _wider, max_leaves=3)


def _indented(lines):
    return ["    " + line for line in lines]


def _blocks(inner):
    body = st.lists(inner, min_size=1, max_size=2).map(lambda blocks: _indented([line for block in blocks for line in block]))
    ended = st.tuples(body, condition, one_of("break", "continue")).map(lambda d: [*d[0], f"    if {d[1]}: {d[2]}"])
    return st.one_of(
        st.tuples(condition, body, body).map(lambda d: [f"if {d[0]}:", *d[1], "else:", *d[2]]),
        st.tuples(condition, body).map(lambda d: [f"if {d[0]}:", *d[1]]),
        st.tuples(index, ended).map(lambda d: [f"for i in range({d[0]}):", "    y = y * 0.8 + i", *d[1]]),
        st.tuples(condition, ended).map(lambda d: ["k = 0", f"while k < 3 and ({d[0]}):", "    k += 1", *d[1]]),
        st.tuples(risky, body, body).map(lambda d: ["try:", f"    {d[0]}", *d[1], f"except {ERRORS}:", *d[2]]),
        st.tuples(risky, body).map(lambda d: ["try:", f"    {d[0]}", "finally:", *d[1]]),
    )


risky = st.one_of(
    index.map(lambda i: f"t = x[{i}] * 2"), index.map(lambda i: f"y = pa.take(y, pa.asarray([0, 1, 2]) + {i})"),
    condition.map(lambda c: f"x = pa.linalg.solve(pa.eye(3) * pa.where({c}, 1.0, 0.0), x)"),
    one_of("t = {0: 1.0, 1: 2.0}[int(n)]", "u = 1 / int(n)", "n = int(x[1] / np.float64(n)) % 3", "t = int(t * np.inf)"),
)  # fmt: skip
simple = st.one_of(
    expression.map(lambda e: [f"x = {e[0]}"]), expression.map(lambda e: [f"y = {e[0]}"]),
    expression.map(lambda e: [f"t = {e[1]}"]), expression.map(lambda e: [f"u = {e[1]}", "t += u"]), risky.map(lambda r: [r]),
    expression.map(lambda e: ["z = x.copy()", f"z[1:] *= {e[1]}", f"z += {e[0]}", "x = z"]),
    st.tuples(index, expression).map(lambda d: ["z = y.copy()", f"z[{d[0]}] = {d[1][1]}", "y = z"]),
    st.tuples(condition, expression).map(lambda d: [f"if {d[0]}:", f"    return {{'a': {d[1][0]}, 'b': ({d[1][1]}, None)}}"]),
    expression.map(lambda e: [f"h = lambda q, c={e[1]}: q * c + t", "y = h(y)"]),
    one_of(["t = sum([e for e in x if e > 0], t)"], ["t = len([e for e in y if e > t]) * u"]),
)  # fmt: skip


def _counted(lines):
    """The lines with a counter of its own for each while, for one within another would start the other's again, without end."""
    lines = list(lines)
    for i, line in enumerate(lines):
        if line.strip() == "k = 0":
            lines[i : i + 3] = [re.sub(r"\bk\b", f"k{i}", part) for part in lines[i : i + 3]]
    return lines


statement = st.recursive(simple, _blocks, max_leaves=3)
function = st.tuples(st.lists(statement, min_size=1, max_size=4), expression).map(
    lambda d: "\n".join([
        "def f(x, t, n, flag, y, u=0.5):", *_indented(_counted([line for block in d[0] for line in block])),
        f"    return {{'a': {d[1][0]}, 'b': ({d[1][1]}, f'n={{n}}'), 'c': [y, t, n, flag]}}",
    ])
)  # fmt: skip


def compiled(source):
    """(the function of a source, what it reads from outside)."""
    space = {"__name__": "written"}
    exec(compile(HEAD + source, "<written>", "exec"), space)
    return space["f"], space


def arguments(seed, python):
    """Values for a call. python: whether the numbers are Python's own."""
    rng = np.random.default_rng(seed)
    number = float if python else np.float64
    whole = int if python else np.int64
    return rng.normal(size=3), number(rng.normal() * 2), whole(rng.integers(0, 4)), bool(rng.integers(2)), rng.normal(size=3)


def outcome(f, args):
    """What a call gives or raises, and its arguments after it."""
    args = copy.deepcopy(args)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(*args), args
        except Exception as error:
            return error, args


def agree(found, expected, rtol=1e-11):
    """Assert that two results are the same to the type of each leaf; a refusal by eager execution is not held against jit."""
    if isinstance(expected, Exception):
        assert isinstance(expected, pa.PolyadError) or isinstance(found, type(expected)), (found, expected)
        return
    if isinstance(found, Exception):
        raise found
    leaves, structure = pa.tree.flatten(found)
    others, other = pa.tree.flatten(expected)
    assert structure == other, (structure, other)
    for a, b in zip(leaves, others, strict=True):
        assert type(a) is type(b), (a, b)
        assert getattr(a, "dtype", None) == getattr(b, "dtype", None), (a, b)
        if isinstance(a, str):
            assert a == b
        else:
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-13)


QUICK = settings(max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@QUICK
@given(function, st.integers(0, 999), st.booleans())
def test_written_functions(source, seed, python):
    """Calls that take other paths, again and again, also after what the function reads has changed."""
    f, space = compiled(source)
    g, calls = pa.jit(f), [arguments(seed + k, python) for k in range(3)]
    for again in range(3):
        if again == 2:
            space["table"]["s"], space["table"]["w"] = 0.25, np.array([0.5, 0.1, 3.0])
        for args in calls:
            (y, after), (expected, wanted) = outcome(g, args), outcome(f, args)
            agree(y, expected)
            agree(after, wanted, 0.0)


def total(f):
    """The sum of a function's numbers, by arguments that are arrays."""
    return lambda *args: sum(pa.sum(v) for v in pa.tree.leaves(f(*args)) if not isinstance(v, str))


def in_lanes(f):
    return lambda x, *args: pa.vmap(f, (0, *[None] * len(args)))(np.stack([x, -x, x * 0.3]), *args)


TRANSFORMED = {
    "grad of jit": (lambda f: pa.grad(pa.jit(f)), pa.grad), "jit of grad": (lambda f: pa.jit(pa.grad(f)), pa.grad),
    "lanes of jit": (lambda f: in_lanes(pa.jit(f)), in_lanes), "jit of lanes": (lambda f: pa.jit(in_lanes(f)), in_lanes),
    "jit in jit": (lambda f: pa.jit(lambda *args: pa.jit(f)(*args)), lambda f: f),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMED)
@settings(QUICK, max_examples=3)
@given(function, st.integers(0, 999))
def test_transformed_functions(name, source, seed):
    made, plain = TRANSFORMED[name]
    f = total(compiled(source)[0])
    found, expected = made(f), plain(f)
    for args in [arguments(seed + k, False) for k in range(2)] * 2:
        y, wanted = outcome(found, args)[0], outcome(expected, args)[0]
        with contextlib.suppress(pa.ConcreteValueError, pa.LaneSplitError):  # a question that lanes cannot answer
            agree(y, wanted, 1e-9)
