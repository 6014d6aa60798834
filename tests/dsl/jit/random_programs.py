"""Random Python programs of the language, as source text, for the tests that compare jit with plain Python."""

import random

import numpy as np

import polyad as pa

HEAD = """\
import numpy as np
import polyad as pa

log = []
scale, weights, table = 0.75, np.array([0.5, -1.0, 2.0]), {"bias": np.array([0.1, 0.2, 0.3]), "rate": 0.5}


class Layer:
    def __init__(self, w):
        self.w, self.gain = w, 1.5

    def __call__(self, x):
        return pa.tanh(x * self.w) * self.gain


layer = Layer(np.array([1.0, -0.5, 0.25]))


def noted(x):
    log.append(np.array(x))


def tick(x):
    pa.io_callback(noted, None, x)


def down(x, k):
    return x if k <= 0 else down(pa.sin(x) + 0.1 * k, k - 1)


def make(c):
    def inner(x):
        return x * c + scale

    return inner

"""


class Writer:
    """Writes one program. random: the source of choices; allowed: kinds of statements."""

    def __init__(self, seed, effects=True):
        self.random, self.lines, self.effects, self.count = random.Random(seed), [], effects, 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def number(self):
        return repr(round(self.random.uniform(-1.5, 1.5), 2))

    def array(self, depth=2):
        """An expression of an array of three elements."""
        if depth == 0:
            return self.pick(*self.arrays)
        a, b, s = self.array(depth - 1), self.array(depth - 1), self.scalar(depth - 1)
        return self.pick(
            f"({a} + {b})", f"({a} * {s})", f"pa.sin({a})", f"np.tanh({a} - {b})", f"pa.where({a} > {s}, {a}, {b})",
            f"layer({a})", f"(weights * {a} * 0.5)", f"make({s})({a})", f"({a} + table['bias'])", f"(p['u'][0] * {s})",
            f"(pa.roll({a}, 1) * 0.3)", f"({a}[::-1])",
        )  # fmt: skip

    def scalar(self, depth=2):
        """An expression of one floating number."""
        if depth == 0:
            return self.pick(*self.scalars, self.number())
        a, s, t = self.array(depth - 1), self.scalar(depth - 1), self.scalar(depth - 1)
        return self.pick(
            f"pa.sum({a}) * 0.3", f"({s} - {t})", f"pa.max({a})", f"({s} * 0.5)", f"{a}[{self.random.randrange(3)}]",
            f"pa.cos({s})", "table['rate']", "p['v']",
        )  # fmt: skip

    def condition(self):
        s, t = self.scalar(1), self.scalar(1)
        return self.pick(f"{s} > {t}", f"not {s} < 0.2", f"n > {self.random.randrange(3)}", "flag", f"flag and {s} > 0",
                         f"pa.any({self.array(1)} > {t})")  # fmt: skip

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def block(self, depth, size, inside=False):
        for _ in range(size):
            self.statement(depth, inside)

    def statement(self, depth, inside):
        kinds = ["array", "array", "scalar", "scalar"]
        if depth < 4:
            kinds += ["if", "if", "while", "for", "write", "solve", "recursion", "return", "break", "scan", "cond"]
        if self.effects:
            kinds += ["tick", "tick"]
        getattr(self, f"{self.pick(*kinds)}_")(depth, inside)

    def array_(self, depth, inside):
        self.line(depth, f"{self.pick('x', 'y')} = {self.array()}")

    def scalar_(self, depth, inside):
        self.line(depth, f"{self.pick('s', 't')} = {self.scalar()}")

    def if_(self, depth, inside):
        self.line(depth, f"if {self.condition()}:")
        self.block(depth + 1, self.random.randint(1, 2), inside)
        if self.random.random() < 0.6:
            self.line(depth, "else:")
            self.block(depth + 1, self.random.randint(1, 2), inside)

    def while_(self, depth, inside):
        self.count += 1
        k = f"k{self.count}"
        self.line(depth, f"{k} = 0")
        self.line(depth, f"while {k} < 3 and {self.condition()}:")
        self.line(depth + 1, f"{k} += 1")
        self.block(depth + 1, 1, True)

    def for_(self, depth, inside):
        self.line(depth, f"for i in range({self.pick('int(n)', 'n', '2')}):")
        self.line(depth + 1, f"x = x * 0.9 + i * {self.number()}")
        self.block(depth + 1, 1, True)

    def break_(self, depth, inside):
        self.line(depth, f"if {self.condition()}:")
        self.line(depth + 1, self.pick("break", "continue") if inside else "s = -s")

    def write_(self, depth, inside):
        self.line(depth, "z = y * 1.0")
        self.line(depth, self.pick(f"z[{self.random.randrange(3)}] = {self.scalar(1)}", f"z += {self.array(1)}", "z[1:] *= 0.5",
                                   f"z[z > 0.2] = {self.number()}"))  # fmt: skip
        self.line(depth, "y = z")

    def solve_(self, depth, inside):
        self.line(depth, "try:")
        matrix = self.pick(f"pa.eye(3) * pa.where({self.scalar(1)} > 0, 1.0, 0.0)", "pa.eye(3) * 2.0")
        self.line(depth + 1, f"y = pa.linalg.solve({matrix}, x)")
        self.line(depth, "except pa.LinAlgError:")
        self.block(depth + 1, 1, inside)

    def recursion_(self, depth, inside):
        self.line(depth, f"x = down({self.array(1)}, {self.pick('n', '2')})")

    def return_(self, depth, inside):
        self.line(depth, f"if {self.condition()}:")
        self.line(depth + 1, f"return {self.result()}")

    def scan_(self, depth, inside):
        self.line(depth, f"s, x = pa.scan(lambda c, e: (c * 0.5 + e, {self.pick('c + e', 'e if c > e else c')}), s * 1.0, x)")

    def cond_(self, depth, inside):
        self.line(depth, f"y = pa.cond({self.condition()}, lambda: {self.array(1)}, lambda: {self.array(1)} * 1.0)")

    def tick_(self, depth, inside):
        self.line(depth, f"tick({self.pick(self.array(0), self.scalar(1))})")

    def result(self):
        """The result: of one structure, so that lanes which take different paths agree."""
        return f"{{'a': {self.array(1)} * 1.0, 'b': ({self.scalar(1)} * x[0], None), 'c': y}}"

    def program(self):
        """The source of `f(x, s, n, flag, p, t=0.25, *, y)`."""
        self.arrays, self.scalars = ["x", "y", "p['u'][0]"], ["s", "t"]
        self.line(0, "def f(x, s, n, flag, p, t=0.25, *, y):")
        self.block(1, self.random.randint(3, 6))
        self.line(1, f"return {self.result()}")
        return HEAD + "\n".join(self.lines) + "\n"


def program(seed, effects=True):
    """(namespace of a random program with its function `f`, its source)."""
    source = Writer(seed, effects).program()
    space = {"__name__": "random_program"}
    exec(compile(source, f"<random program {seed}>", "exec"), space)
    return space, source


def arguments(rng, numbers="array", dtype=float):
    """(args, kwargs) for `f`. numbers: whether single numbers are NumPy's or Python's."""
    one = lambda v: float(v) if numbers == "python" else np.asarray(v, dtype)[()]
    n = int(rng.integers(0, 3))
    array = lambda: rng.normal(size=3).astype(dtype)
    args = (array(), one(rng.normal()), n if numbers == "python" else np.int64(n), bool(rng.integers(2)),
            {"u": (array(),), "v": one(rng.normal())})  # fmt: skip
    return args, {"y": array()}


def same(found, expected, rtol=1e-12):
    """Assert that two results are equal in structure, dtypes, shapes and values."""
    a, b = pa.tree.flatten(found), pa.tree.flatten(expected)
    assert a[1] == b[1], (a[1], b[1])
    for x, y in zip(a[0], b[0], strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape), (x, y)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)
