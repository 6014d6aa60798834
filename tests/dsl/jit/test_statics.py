"""What can be changed of the static attributes of array types, dataclasses and other nodes is looked at at each call of jit."""

import dataclasses

import numpy as np
import pytest

import polyad as pa

same = np.testing.assert_array_equal


class Setting:
    """An object that counts by which one it is."""

    def __init__(self, k=2.0):
        self.k = k


class Slotted:
    __slots__ = ("k",)

    def __init__(self):
        self.k = 2.0


class Equal(Setting):
    """One that counts by its number."""

    def __eq__(self, other):
        return type(other) is Equal and other.k == self.k

    def __hash__(self):
        return hash(self.k)


def factor(u):
    """The number that a static attribute means."""
    if isinstance(u, (Setting, Slotted)):
        return u.k
    if isinstance(u, (list, tuple)):
        return factor(u[0])
    return factor(u["k"]) if isinstance(u, dict) else u() if callable(u) else u


@pa.array_type(leaves=("values",), static=("u",))
class Scaled(pa.Container):
    def __init__(self, values, u):
        self.values, self.u = values, u

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)

    def dense(self):
        return factor(self.u) * self.values


@dataclasses.dataclass
class Record:
    values: object
    u: object = dataclasses.field(metadata={"static": True})

    def dense(self):
        return factor(self.u) * self.values


class Node(Record):
    """Registered by hand, with the attribute itself as what is static."""

    __hash__ = object.__hash__


pa.tree.register(Node, lambda x: ([x.values], x.u), lambda u, children: Node(children[0], u))


def cycle():
    u = Setting()
    u.me = [u]
    return u


CHANGES = {  # what is static, how it changes
    "list": (lambda: [2.0], lambda u: u.__setitem__(0, 5.0)),
    "dict": (lambda: {"k": 2.0}, lambda u: u.update(k=5.0)),
    "array": (lambda: np.array([2.0, 3.0]), lambda u: u.__setitem__(1, 5.0)),
    "object": (Setting, lambda u: setattr(u, "k", 5.0)),
    "slots": (Slotted, lambda u: setattr(u, "k", 5.0)),
    "equal objects": (Equal, lambda u: setattr(u, "k", 5.0)),
    "object in a tuple": (lambda: (Setting(), "text"), lambda u: setattr(u[0], "k", 5.0)),
    "array in an object": (lambda: Setting(np.array([2.0, 3.0])), lambda u: u.k.__setitem__(0, 5.0)),
    "list in a dict": (lambda: {"k": [2.0]}, lambda u: u["k"].__setitem__(0, 5.0)),
    "cycle": (cycle, lambda u: setattr(u, "k", 5.0)),
}
WHERE = {  # how a function meets it
    "argument": lambda x: (lambda x: x.dense() + 0.0, lambda f: f(x)),
    "in a list": lambda x: (lambda xs: xs[0].dense() + 0.0, lambda f: f([x])),
    "by name": lambda x: (lambda *, x: x.dense() + 0.0, lambda f: f(x=x)),
    "captured": lambda x: (lambda y: x.dense() + y, lambda f: f(0.0)),
    "in an attribute": lambda x: ((lambda h: lambda y: h.k.dense() + y)(Setting(x)), lambda f: f(0.0)),
    "in a captured list": lambda x: ((lambda xs: lambda y: xs[0].dense() + y)([x]), lambda f: f(0.0)),
    "in another": lambda x: (lambda x: x.values.dense() + 0.0, lambda f: f(Scaled(x, "text"))),
}


@pytest.mark.parametrize("kind", [Scaled, Record, Node])
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_between_calls(change, where, kind):
    make, edit = CHANGES[change]
    u = make()
    x = kind(np.array([1.0, 2.0]), u)
    f, call = WHERE[where](x)
    g = pa.jit(f)
    for step in range(3):
        for _ in range(3):
            same(call(g), call(f), err_msg=str(step))
        edit(u)


def test_under_other_transformations():
    x = Scaled(np.array([1.0, 2.0]), [2.0])
    loss = lambda x: pa.sum(x.dense() ** 2)
    for run in (pa.grad(pa.jit(loss)), pa.jit(pa.grad(loss)), pa.jit(lambda x: pa.jit(pa.grad(loss))(x))):
        for x.u[0] in (2.0, 3.0, 2.0):
            same(run(x).values, pa.grad(loss)(x).values)


def test_branches_come_later():
    """A way through the function that is traced after a change sees what is there then."""
    f = lambda x, y: x.values * x.u[0] if y > 0 else x.values * x.u[1]
    g, x = pa.jit(f), Scaled(np.ones(2), [1.0, 2.0])
    for y, new in [(1.0, [1.0, 2.0]), (-1.0, [1.0, 9.0]), (1.0, [8.0, 9.0]), (-1.0, [8.0, 7.0]), (1.0, [1.0, 2.0])]:
        x.u[:] = new
        same(g(x, y), f(x, y))


def test_one_program_for_equal_contents():
    traced = []
    f = pa.jit(lambda x: (traced.append(0), x.dense() + 0.0)[1])
    for make in (lambda: [2.0], lambda: {"k": 2.0}, lambda: np.full(2, 2.0), Equal, lambda: 2.0, lambda: (2.0,)):
        traced.clear()
        for _ in range(3):
            same(f(Scaled(np.ones(2), make())), [2.0, 2.0])
        assert len(traced) == 1


def test_kinds_beside_one_another():
    """Constants, arrays and lists in the same place, in any order."""
    f = lambda x: x.dense() + 0.0
    g = pa.jit(f)
    for u in (2.0, np.ones(2), np.array([3.0, 4.0]), 2, [2.0], np.ones(2), 2.0, -0.0, 0.0, True, Setting(1.0), [0.5]):
        found, expected = g(Scaled(np.ones(2), u)), f(Scaled(np.ones(2), u))
        same(found, expected)
        same(np.signbit(found), np.signbit(expected))


def test_functions_among_them():
    number = [2.0]
    for u in (lambda: number[0], [lambda: number[0]]):
        x = Scaled(np.ones(2), u)
        for f, args in ((lambda x: x.dense() + 0.0, (x,)), (lambda: x.dense() + 0.0, ())):
            g = pa.jit(f)
            for number[0] in (2.0, 5.0):
                same(g(*args), f(*args))


def test_static_arguments():
    """An array given by `static_argnums` counts by which one it is, and its parts are looked at."""
    x = Scaled(np.array([1.0, 2.0]), [2.0])
    f = lambda x, y: x.dense() * y
    g = pa.jit(f, static_argnums=0)
    edits = (lambda: None, lambda: np.put(x.values, 0, 5.0), lambda: x.u.__setitem__(0, 3.0), lambda: setattr(x, "u", 1))
    for edit in edits:
        edit()
        for _ in range(3):
            same(g(x, 3.0), f(x, 3.0))


def counted(x):
    x.u["k"] += 1.0
    return x.dense() + 0.0


def drawn(x):
    return x.values + x.u.normal()


WARNED = {
    "written to": (counted, lambda: {"k": 0.0}, "writes to"),
    "random": (drawn, lambda: np.random.default_rng(0), "draws random numbers"),
    "many": (lambda x: x.values * x.u[5], lambda: list(range(3000)), "hold more than 2000 values"),
}


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("name", WARNED)
def test_what_runs_eagerly(name, captured):
    f, make, text = WARNED[name]
    x, y = Scaled(np.ones(2), make()), Scaled(np.ones(2), make())
    g = pa.jit((lambda: f(x)) if captured else f)
    with pytest.warns(pa.PerformanceWarning, match=f"runs eagerly.*{text}"):
        same(g(*([] if captured else [x])), f(y))
    for _ in range(3):
        same(g(*([] if captured else [x])), f(y))
