"""Programs that read what lies outside of them: under jit each gives what it gives without, call by call, while that changes.

Each is run twice in a namespace of its own, as it is and under jit: what it returns and what it leaves outside are the same.
What jit cannot look up runs eagerly, with one warning that names it.
"""

import collections
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import polyad as pa

same = np.testing.assert_array_equal
x3 = np.array([1.0, 2.0, 3.0])


def programs():
    """The programs of the text file: set up, body of f, changes, warning."""
    for part in Path(__file__).with_name("outside_programs.txt").read_text().split("\n== ")[1:]:
        name, *lines = part.rstrip().split("\n")
        lines_of = {sign: [line[1:] for line in lines if line.startswith(sign)] for sign in ("--", ">", "!")}
        setup = "\n".join(line for line in lines if line[:1] not in (">", "!") and line[:2] != "--")
        body = "\n    ".join(line[2:] for line in lines_of["--"])
        changes = [text for line in lines_of[">"] for times, text in [line.split(" ", 1)] for _ in range(int(times))]
        yield pytest.param(setup, body, changes, lines_of["!"][0].strip() if lines_of["!"] else None, id=name)


def story(setup, body, changes, jit):
    """(what the calls gave, what is outside after it, warnings, the function)."""
    space = {"np": np, "pa": pa, "__name__": "users_program", "x": x3.copy()}
    exec(f"{setup}\ndef f(x):\n    {body}\n", space)
    f = pa.jit(space["f"]) if jit else space["f"]
    found = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for change in ["", *changes]:
            exec(change, space)
            found += [f(space["x"]) for _ in range(3)]
    return found, outside(space), [str(w.message) for w in caught], f


def outside(space):
    """What a program has left outside, as text."""
    kept = {k: v for k, v in space.items() if not k.startswith("__")}
    shown = lambda v: vars(v) if type(v).__module__ == "users_program" and hasattr(v, "__dict__") else v
    return re.sub(r"0x[0-9a-fA-F]+|/tmp/\S*", "", "\n".join(f"{k}: {shown(v)}" for k, v in kept.items()))


@pytest.mark.parametrize(("setup", "body", "changes", "warning"), list(programs()))
def test_follows(setup, body, changes, warning):
    expected, left, _, _ = story(setup, body, changes, False)
    found, mine, said, f = story(setup, body, changes, True)
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(a, b, rtol=1e-13, err_msg=f"call {k}")
        assert type(a) is type(b), k
    assert mine == left
    if warning is None:
        assert not said
        assert not any([reads.eager for reads in f.jitted.known.values()])
    else:
        assert len(said) == 1 and re.search(warning, said[0]), said


# ---------------------------------------------------------------------- arguments
class Model:
    def __init__(self):
        self.p, self.t, self.m = {"w": np.ones(3), "b": np.zeros(3)}, 0, np.zeros(3)

    @pa.jit
    def loss(self, x):
        return pa.sum((self.p["w"] * x + self.p["b"]) ** 2)

    @pa.jit
    def step(self, g):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        return self.m / (1 - 0.9**self.t)


def test_parameters_in_an_object_that_are_others_at_each_call():
    model, losses = Model(), []
    for _ in range(30):
        losses.append(model.loss(x3))
        model.p = {k: v * 0.5 for k, v in model.p.items()}
    np.testing.assert_allclose(losses, [14 * 0.25**k for k in range(30)])
    assert [tree.traces for tree in Model.loss.jitted.trees] == [1]


def test_an_optimiser_that_counts_its_steps():
    model, plain = Model(), Model()
    with pytest.warns(pa.PerformanceWarning, match=r"writes to Model\.(t|m), outside of it; return the new value") as caught:
        for _ in range(4):
            np.testing.assert_allclose(model.step(x3), Model.step.__wrapped__(plain, x3))
            assert type(model.m) is np.ndarray and model.t == plain.t
    assert len(caught) == 1


@pytest.mark.parametrize("made", [
    lambda: collections.Counter(a=2), lambda: collections.UserDict(a=3.0), lambda: collections.OrderedDict(a=np.ones(3)),
    lambda: type("Config", (dict,), {"__getattr__": dict.__getitem__})(a=2.0),
    lambda: collections.ChainMap({"a": 1.0}, {"b": 2}),
])  # fmt: skip
def test_containers_as_arguments(made):
    c = made()
    f = pa.jit(lambda x, c: x * c["a"] + len(c))
    for value in (None, 5.0, 6.0):
        if value is not None:
            c["a"] = value
        for _ in range(3):
            same(f(x3, c), x3 * c["a"] + len(c))


def test_functions_as_arguments():
    def h(x, a=1.0):
        return x * a

    h.w = 1.0
    g = pa.jit(lambda h, x: h(x) * h.w)
    same(g(h, x3), x3)
    h.w = 5.0
    same(g(h, x3), 5 * x3)
    h.__defaults__ = (2.0,)
    same(g(h, x3), 10 * x3)


def test_static_arguments_with_equality_of_their_own():
    class Size:
        def __init__(self, n, scale):
            self.n, self.scale = n, scale

        def __eq__(self, other):
            return self.n == other.n

        def __hash__(self):
            return self.n

    for f in (pa.jit(lambda x, s: x * s.scale), pa.jit(lambda x, s: x * s.scale, static_argnums=1)):
        for size in [Size(1, 2.0), Size(1, 2.0), Size(2, 3.0), Size(1, 4.0), Size(2, 3.0)] * 2:
            same(f(x3, size), x3 * size.scale)


def test_dtypes_and_classes_as_arguments():
    f = pa.jit(lambda x, d: x.astype(d) * 2)
    for d in [np.float32, np.dtype("f4"), float, np.int64, np.complex64] * 2:
        assert f(x3, d).dtype == (x3.astype(d) * 2).dtype
    g = pa.jit(lambda x, cls: cls() is None or x * len(cls.__name__))
    same(g(x3, Model), x3 * 5)
    same(g(x3, dict), x3 * 4)


# ---------------------------------------------------------------------- results
w6 = np.arange(6.0)
box, lists = {"w": w6}, [w6]
RESULTS = [
    lambda x: w6, lambda x: x, lambda x: (x, w6), lambda x: {"a": w6[1:], "b": [x[1:], x.T]}, lambda x: w6[::-1],
    lambda x: lists, lambda x: x.reshape(2, 3).T, lambda x: w6.reshape(2, 3).T, lambda x: np.broadcast_to(x, (2, 6)),
    lambda x: x if x.sum() > 0 else w6, lambda x: x[1:] if x.sum() > 0 else w6, lambda x: box["w"], lambda x: np.ravel(x),
    lambda x: x.real, lambda x: (x + 1, pa.zeros(6)), lambda x: pa.cond(x[0] >= 0, lambda: x, lambda: w6), lambda x: x,
    lambda x: x.astype(float, copy=False), lambda x: np.split(x, 2), lambda x: pa.Diagonal(x),
    lambda x: (x * 2, x), lambda x: x[:], lambda x: w6 * float(w6.sum() > 99) if w6[0] > 0 else w6,
    lambda x: pa.vmap(lambda v: v)(x), lambda x: pa.fori_loop(0, 0, lambda i, c: c, x),
]  # fmt: skip


@pytest.mark.parametrize("f", RESULTS)
def test_results_are_arrays_of_their_own(f):
    """In a first and in later calls: writing into one changes neither an argument nor what the next call gives."""
    g = pa.jit(f)
    for _ in range(4):
        x = np.arange(6.0)
        expected = [np.array(y) for y in pa.tree.leaves(f(x))]
        found = [y for y in pa.tree.leaves(g(x)) if isinstance(y, np.ndarray)]
        for y, z in zip(found, expected, strict=True):
            same(y, z)
            y[...] = 7
        same(w6, np.arange(6.0))
        same(x, np.arange(6.0))


# ---------------------------------------------------------------------- how often it is traced


def test_draws_are_those_of_plain_python_from_the_first_call_on():
    def elbo(p, x):
        return pa.sum((p[0] + np.exp(p[1]) * np.random.normal(size=3) - x) ** 2)

    def fit(f):
        np.random.seed(0)
        p, found = [np.zeros(3), np.zeros(3)], []
        for _ in range(5):
            value, slopes = pa.value_and_grad(f)(p, x3)
            p = [a - 0.01 * b for a, b in zip(p, slopes, strict=True)]
            found.append(value)
        return found

    with pytest.warns(
        pa.PerformanceWarning, match=r"it uses np\.random\.normal, which draws random numbers; draw with polyad\.rand"
    ):
        found = fit(pa.jit(elbo))
    assert found == fit(elbo)


@pa.elementwise(partials=[lambda y, x: 2 * np.cos(x)])
def wobble(x, /):
    """Twice the sine."""


@wobble.method
def wobble_numpy(x: pa.HostArray, /):
    return 2 * np.sin(x)


def test_an_operation_of_the_users():
    """Its table of methods fills when it is called; that is no write of the function's."""
    for f in (wobble, pa.grad(lambda x: pa.sum(wobble(x)))):
        g = pa.jit(f)
        for _ in range(3):
            np.testing.assert_allclose(g(x3), f(x3), rtol=1e-14)
        assert not any([reads.eager for reads in g.jitted.known.values()])


class Rate:
    def __init__(self):
        self.lr = 0.1


def test_a_number_that_changes_is_an_input_of_one_program():
    """Traced anew at each value, compiled twice: with the first one as it is, and with any number in its place."""
    owner = Rate()

    def loss(w):
        return np.sum((w - owner.lr * np.sin(w) + (1 - owner.lr)) ** 2)

    for f in (loss, pa.grad(loss), pa.vmap(loss), lambda w: w - owner.lr * pa.grad(loss)(w)):
        for w in (np.linspace(0.0, 1.0, 6).reshape(2, 3), np.linspace(0.0, 1.0, 6, dtype="f4").reshape(2, 3)):
            jitted = pa.jit(f)
            for i in range(6):
                owner.lr = 0.1 + 0.3 * i
                for _ in range(3 if i == 4 else 1):
                    np.testing.assert_allclose(jitted(w), f(w), rtol=1e-13 if w.dtype == float else 1e-5)
                    assert jitted(w).dtype == w.dtype
            assert len(jitted.jitted.trees) == 6 and len(jitted.jitted.shared) == 2


def test_numbers_that_do_not_change_stay_in_the_program():
    f = pa.jit(lambda x: x * 2.0 + 1.0)
    for n in (3, 4):
        f(np.ones(n))
        f(np.ones(n))
    assert [tree.lifts for tree in f.jitted.trees] == [False, False]
