"""Random programs built from the samples of all cards, several operations deep, for tests that compare compiled and plain runs.

A program is made by running it: steps that raise are left out. Its later operations work on samples moved a little by earlier
results, so that they stay where the operation is defined, or on these results themselves, whatever they are.
"""

import random
import warnings

import numpy as np

import polyad as pa
from polyad.dsl import operations
from polyad.dsl.ir.programs import Var, evaluate

LARGEST = 512  # elements of a value that later steps use
CARDS = [(name, make) for name, op in operations.items() for make in op.card.samples
         if not op.card.collective and not op.card.acts({})]  # fmt: skip
ELEMENTWISE = [name for name, op in operations.items() if op.card.kind == "elementwise" and op.card.samples]
SHAPES = [(3, 4), (4,), (3, 1), (1, 4), (), (0, 4), (3, 0), (1, 1), (40, 5), (40,)]


class CardProgram:
    """A function of arrays `f`, and arrays for it, `xs`. seed: of all choices; size: steps that are tried. smooth: places of
    arrays for which `total` may have a derivative."""

    def __init__(self, seed, size=8):
        self.random, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.single, self.xs, self.steps, self.names = self.random.random() < 0.2, [], [], []
        known = [self.input(self.fresh()) for _ in range(3)]
        known = [get([*self.xs], []) for get in known]
        self.first = len(known)
        with quiet():
            for _ in range(size):
                self.add(known)
        self.smooth = [i for i, x in enumerate(self.xs) if x.dtype.kind == "f"]  # arguments for derivatives
        if not all(np.isfinite(y).all() for y in (*known, *self.xs)):
            self.smooth = []
        values = range(len(known))
        self.results = sorted({*self.random.sample(values, min(3, len(known))), len(known) - 1})

    def add(self, known):
        """Try one more step."""
        count = len(self.xs)
        kind = self.random.choice(["card", "card", "card", "gradient", "elementwise", "elementwise", "control", "shape"])
        try:
            name, step = getattr(self, kind)(known)
            made = [y for y in pa.tree.leaves(step(self.xs, known)) if isinstance(y, (np.ndarray, np.generic))]
        except Exception:  # whatever the eager operations refuse
            del self.xs[count:]
            return
        kept = [i for i, y in enumerate(made) if y.dtype.kind in "biufc" and y.size <= LARGEST]
        self.names.append(name)
        self.steps.append((step, kept))
        known += [made[i] for i in kept]

    def f(self, *xs):
        """The program: some of its values."""
        known = list(xs[: self.first])
        for step, kept in self.steps:
            made = [y for y in pa.tree.leaves(step(xs, known)) if hasattr(y, "dtype")]
            known += [made[i] for i in kept]
        return [known[i] for i in self.results]

    def total(self, *xs):
        """A number of the program's values."""
        return sum([pa.sum(pa.real(y)) for y in self.f(*xs) if y.dtype.kind in "fc"], 0.0)

    # ------------------------------------------------------------------ values
    def fresh(self):
        shape, kind = self.random.choice(SHAPES), self.random.choice("dddddlD?")
        x = self.rng.normal(size=shape)
        if kind in "d" and self.random.random() < 0.2:
            x = np.where(self.rng.uniform(size=shape) < 0.2, self.rng.choice([0.0, -0.0, np.nan, np.inf, 1.0]), x)
        x = np.rint(3 * x).astype(np.int64) if kind == "l" else x > 0 if kind == "?" else x + 1j if kind == "D" else x
        return self.cast(np.asarray(x))

    def cast(self, x):
        return x.astype({"d": "f", "D": "F"}[x.dtype.char]) if self.single and x.dtype.char in "dD" else x

    def input(self, x):
        """function(xs, known) of a new argument of the program."""
        self.xs.append(x)
        place = len(self.xs) - 1
        return lambda xs, known: xs[place]

    def given(self, x):
        """function(xs, known) of a new argument or a constant."""
        return self.input(x) if self.random.random() < 0.6 else lambda xs, known: x

    def one(self, known, fits=lambda y: True):
        """The place of a known value."""
        return self.random.choice([i for i, y in enumerate(known) if fits(y)])

    def moved(self, sample, known):
        """function(xs, known) of an argument like the sample."""
        sample = self.cast(np.asarray(sample))
        same = [i for i, y in enumerate(known) if y.shape == sample.shape and y.dtype == sample.dtype]
        if same and sample.dtype.kind in "fc?" and self.random.random() < 0.4:
            place = self.random.choice(same)
            return lambda xs, known: known[place]
        sources = [i for i, y in enumerate(known) if y.size]
        get = self.given(sample)
        if sample.dtype.kind not in "fc" or not sample.size or not sources:
            return get
        place, real = self.random.choice(sources), sample.dtype.kind == "f"
        wanted = np.arange(sample.size)

        def near(xs, known):
            y = pa.reshape(known[place], (-1,))
            y = pa.reshape(y[wanted % y.shape[0]], sample.shape)
            y = pa.astype(pa.real(y) if real and y.dtype.kind == "c" else y, sample.dtype)
            small = pa.where(pa.isfinite(y), y / (1.0 + pa.abs(y)), 0.0)
            return get(xs, known) + small * 0.01

        return near

    # ------------------------------------------------------------------ steps: (name, function(xs, known))
    def card(self, known):
        name, make = self.random.choice(CARDS)
        args, params = make(self.rng)
        leaves, structure = pa.tree.flatten(list(args))
        gets = [self.moved(x, known) if isinstance(x, (np.ndarray, np.generic)) else None for x in leaves]

        def step(xs, known):
            given = [x if get is None else get(xs, known) for x, get in zip(leaves, gets, strict=True)]
            return operations[name](*pa.tree.unflatten(structure, given), **params)

        return name, step

    def gradient(self, known):
        name, step = self.card(known)
        place = self.one(known, lambda y: y.dtype.kind == "f")

        def gradient(xs, known):
            def total(x):
                ys = pa.tree.leaves(step(xs, [*known[:place], x, *known[place + 1 :]]))
                return sum([pa.sum(pa.sin(pa.real(y))) for y in ys if y.dtype.kind in "fc"], pa.sum(x) * 0.1)

            return pa.grad(total)(known[place])

        return f"gradient of {name}", gradient

    def elementwise(self, known):
        """An elementwise operation of values as they are: of all dtypes and shapes, broadcast."""
        name = self.random.choice(ELEMENTWISE)
        args, params = operations[name].card.samples[0](self.rng)
        places = [self.one(known) for _ in args]
        number = self.random.choice([None, 1.0, 0.0, -1.0, 2, 0.5])

        def step(xs, known):
            given = [known[i] for i in places]
            if number is not None and len(given) > 1:
                given[-1] = number
            return operations[name](*given, **params)

        return name, step

    def shape(self, known):
        place, other = self.one(known), self.one(known)
        n = self.random.randrange(4)
        x = known[place]
        axis = self.random.randrange(x.ndim) if x.ndim else None
        ways = {
            "sum": lambda x, y: pa.sum(x, axis=axis, keepdims=bool(n % 2)),
            "max": lambda x, y: pa.max(x, axis=axis, keepdims=bool(n % 2)),
            "transpose": lambda x, y: pa.transpose(x),
            "concatenate": lambda x, y: pa.concatenate([x, y, x[:0]], axis=0),
            "reshape": lambda x, y: pa.reshape(x, x.shape if n == 0 else (*x.shape, 1) if n == 1 else (-1,)),
            "mirrored": lambda x, y: (lambda t: t * t[::-1])(pa.exp(pa.sin(x))),
            "slice": lambda x, y: x[::-1] if n == 0 else x[n - 1 :],
            "at": lambda x, y: pa.at(pa.at(x, 0).set(x[-1]), slice(0, 1)).add(x[-1:]),
            "written": lambda x, y: pa.at(pa.at(pa.sin(x), 0).set(x[-1]), -1).multiply(0.5),
        }
        name = self.random.choice(list(ways))
        return name, lambda xs, known: ways[name](known[place], known[other])

    def control(self, known):
        gradient = self.random.random() < 0.3
        place = self.one(known, lambda y: y.dtype.kind == "f" and y.size)
        one, two = [self.random.choice(ELEMENTWISE) for _ in range(2)]
        inner = lambda name, x: operations[name](x) if len(operations[name].card.samples[0](self.rng)[0]) == 1 else pa.tanh(x)
        calm = lambda x: 0.5 * pa.tanh(x) + 0.1
        n, bound = self.random.randrange(1, 4), self.rng.normal()
        like = lambda x, y: pa.astype(pa.real(y) if y.dtype.kind == "c" else y, x.dtype)
        a, b = [lambda x, name=name: like(x, inner(name, x)) for name in (one, two)]
        a(known[place]), b(known[place])  # raises for what a branch not taken would refuse when it is traced
        zeros = lambda x: pa.zeros_like(x[0])
        ways = {
            "cond": lambda x: pa.cond(pa.sum(x) > bound, lambda: a(x), lambda: b(calm(x))),
            "switch": lambda x: pa.switch(pa.sum(pa.astype(x > bound, int)) % 3, [a, b, calm], x),
            "scan": lambda x: pa.scan(lambda c, e: (calm(c + a(e)), (c * e, b(calm(c)))), zeros(x), x),
            "backwards": lambda x: pa.scan(lambda c, e: (calm(c * e), c + e), zeros(x), x, reverse=True)[1],
            "while": lambda x: pa.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, calm(a(c[1]))), (0, x))[1],
            "fori": lambda x: pa.fori_loop(0, x.shape[0], lambda i, c: pa.at(c, i).set(calm(a(c[i]) + c[0])), calm(x)),
            "nested": lambda x: pa.scan(
                lambda c, e: (pa.cond(pa.sum(c) > bound, lambda: calm(c + e), lambda: c * 0.5), pa.at(x, 0).add(e)), zeros(x), x
            ),
            "late": lambda x: pa.fori_loop(
                0, n, lambda i, c: (pa.at(c[0], i % x.shape[0]).set(pa.sum(c[1])), calm(c[0] + c[1])), (x, calm(x))
            ),
            "swap": lambda x: pa.fori_loop(0, n, lambda i, c: (c[1], calm(c[0] + c[1])), (x, calm(x))),
            "map": lambda x: pa.map(lambda e: pa.sum(a(e)) + e, x),
        }
        name = self.random.choice(list(ways))
        step = lambda xs, known: ways[name](known[place])
        if gradient:
            total = lambda x: sum([pa.sum(y) for y in pa.tree.leaves(ways[name](x)) if y.dtype.kind == "f"], 0.0)
            return f"gradient of {name}({one}, {two})", lambda xs, known: pa.grad(total)(known[place])
        return f"{name}({one}, {two})", step


# ---------------------------------------------------------------------- how far rounding may carry
def shaken(program, leaves, rng):
    """The results of a program all of whose values are changed by a few units in the last place."""
    env = dict(program.constants)
    env.update(zip(program.inputs, leaves, strict=True))

    def shake(x):
        x = np.asarray(x)
        if x.dtype.kind not in "fc":
            return x
        return (x * (1 + 4 * np.finfo(x.dtype).eps * rng.uniform(-1, 1, size=x.shape).astype(x.real.dtype))).astype(x.dtype)[()]

    for e in program.equations:
        given = [shake(env[v]) if isinstance(v, Var) else v for v in e.inputs]
        y = e.op.generic.spread(*given, **e.params)
        for v, part in zip(e.outputs, y if isinstance(y, tuple) else (y,), strict=True):
            env[v] = shake(part)
    return [np.asarray(env[v] if isinstance(v, Var) else v) for v in program.outputs]


class Near:
    """What the results of a program may be: 1e-12 relative (1e-5 in single precision), or where sums and steps carry rounding
    further, what a few units in the last place of every value come to."""

    def __init__(self, program, leaves):
        rng = np.random.default_rng(0)
        with quiet():
            self.plain = [np.asarray(y) for y in evaluate(program, leaves)]
            self.others = [shaken(program, leaves, rng) for _ in range(3)]

    def check(self, found, wanted):
        """Assert that results are those wanted."""
        for k, (a, b) in enumerate(zip(found, wanted, strict=True)):
            a, b, plain = np.asarray(a), np.asarray(b), self.plain[k]
            others = [ys[k] for ys in self.others]
            assert (a.dtype, a.shape) == (b.dtype, b.shape), (a.dtype, a.shape, b.dtype, b.shape)
            if b.dtype.kind not in "fc":
                if all(np.array_equal(y, plain) for y in others):
                    np.testing.assert_array_equal(a, b)
                continue
            with quiet():
                far = [np.abs(y - plain) for y in others]
                sure = np.isfinite(plain) & np.all([np.isfinite(d) for d in far], axis=0)
                fixed = ~sure & np.all([(y == plain) | (np.isnan(y) & np.isnan(plain)) for y in others], axis=0)
                carried = 100 * max([float(d[sure].max(initial=0.0)) for d in far])
            rtol = 1e-12 if b.dtype.char in "dD" else 1e-5
            np.testing.assert_allclose(a[sure], b[sure], rtol=rtol, atol=carried)
            if b.dtype.kind == "f":
                np.testing.assert_array_equal(a[fixed], b[fixed])


class quiet(warnings.catch_warnings):
    """Without warnings of floating-point arithmetic, and others."""

    def __enter__(self):
        super().__enter__()
        warnings.simplefilter("ignore")
        self.state = np.errstate(all="ignore")
        self.state.__enter__()

    def __exit__(self, *error):
        self.state.__exit__(*error)
        super().__exit__(*error)
