"""What `facts` says of functions, one form of code each: it must be the same on every Python."""

import textwrap
import types

import pytest

from polyad.dsl.jit.bytecode import facts


def made(source):
    """The code of the function `f` in a source text, which may be inside another function."""
    space = {}
    exec(textwrap.dedent(source), space)
    found = space["f"]
    return (found if found.__code__.co_name == "f" else found()).__code__


FORMS = {
    "a global": ("def f(x): return x + a", {("global", "a"): False}, [("global", "a", (), False)]),
    "its attributes": ("def f(x): return x + a.b.c", {("global", "a"): False}, [("global", "a", ("b", "c"), False)]),
    "a method": ("def f(x): return a.b.m(x)", {("global", "a"): False}, [("global", "a", ("b", "m"), False)]),
    "a method without arguments": ("def f(x): return a.m()", {("global", "a"): False}, [("global", "a", ("m",), True)]),
    "a function without arguments": ("def f(x): return x + g()", {("global", "g"): False}, [("global", "g", (), True)]),
    "a call by keyword": ("def f(x): return g(seed=x)", {("global", "g"): False}, [("global", "g", (), False)]),
    "an edit": ("def f(x): a.append(x)", {("global", "a"): True}, [("global", "a", ("append",), False)]),
    "a condition": ("def f(x): return x if a else -x", {("global", "a"): False}, [("global", "a", (), False)]),
    "a condition of an attribute": (
        "def f(x): return x if a.b else -x", {("global", "a"): False}, [("global", "a", ("b",), False)],
    ),
    "a write to a global": ("def f(x):\n    global a\n    a = x", {("global", "a"): False}, []),
    "a variable of an enclosing function": (
        "def f():\n    k = 1\n    def h(x): return x * k.real\n    return h",
        {("cell", "k"): False}, [("cell", "k", ("real",), False)],
    ),
    "a write to one": (
        "def f():\n    k = 1\n    def h(x):\n        nonlocal k\n        k = x\n    return h", {("cell", "k"): False}, [],
    ),
    "a function inside": ("def f(x): return [v + a.b for v in x]", {("global", "a"): False}, [("global", "a", ("b",), False)]),
    "a lambda inside": ("def f(x): return (lambda v: v + a)(x)", {("global", "a"): False}, [("global", "a", (), False)]),
    "a class inside": (
        "def f(x):\n    class K:\n        b = a.c\n    return K.b",
        {("global", "a"): False, ("global", "__name__"): False},
        [("global", "__name__", (), False), ("global", "a", ("c",), False)],
    ),
    "a loop": ("def f(x):\n    for i in range(a): x = x + i\n    return x",
               {("global", "range"): False, ("global", "a"): False},
               [("global", "range", (), False), ("global", "a", (), False)]),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_reads(form):
    source, reads, chains = FORMS[form]
    found = facts(made(source))
    assert (found.reads, found.chains, found.unknown) == (reads, chains, None)
    assert not (found.whole or found.guarded or found.imports or found.stored)


@pytest.mark.parametrize("source, imports", [
    ("def f():\n    import a.b", [("a.b", 0)]),
    ("def f():\n    from a import b, c", [("a", 0)]),
    ("def f():\n    from . import b", [("", 1)]),
    ("def f():\n    from ..a import b", [("a", 2)]),
    ("def f():\n    import a as b", [("a", 0)]),
    ("def f(x):\n" + "".join(f"    x = x + {i}.5\n" for i in range(300)) + "    from ...a import b", [("a", 3)]),
])  # fmt: skip
def test_imports(source, imports):
    assert facts(made(source)).imports == imports


@pytest.mark.parametrize("source, whole", [
    ("def f(x): return getattr(x, 'b')", False),
    ("def f(x): return getattr(x.c, 'b', None)", False),
    ("def f(x): return getattr(g(x, 1), 'b')", False),
    ("def f(x, n): return getattr(x, n)", True),
    ("def f(x, n): return getattr(x, 'b' + n)", True),
    ("def f(x, n): return getattr(x, 'b' if n else 'c')", True),
    ("def f(x, n): return getattr(*n)", True),
    ("def f(x, n): return h(getattr, x, n)", True),
    ("def f(x): return setattr(x, 'b', 1)", False),
    ("def f(x, n): return setattr(x, n, 1)", True),
    ("def f(x): return vars(x)", True),
    ("def f(x): return x.__dict__", True),
    ("def f(x): return x.b", False),
])  # fmt: skip
def test_computed_names(source, whole):
    assert facts(made(source)).whole == whole


def test_names_and_what_is_written():
    found = facts(made("def f(x):\n    x.p = g(x.q, 'r.s', ('t',))\n    del x.u\n    return [h.w for h in x]"))
    assert found.stored == {"p", "u"}
    assert set(found.names) >= {"p", "q", "r", "s", "t", "u", "w", "g"}


@pytest.mark.parametrize("source, is_guarded", [
    ("def f(x): return x", False),
    ("def f(x):\n    try: return x.a\n    except AttributeError: return 0", True),
    ("def f(x): return hasattr(x, 'a')", True),
    ("def f(x):\n    with x: return 1", True),
    ("def f(x):\n    try: return x.a\n    finally: x.b()", True),
    ("def f(x): return [v for v in x if v]", False),
    ("def f(x):\n    for v in x: yield v", False),
    ("def f(x):\n    def g():\n        try: return x.a\n        finally: pass\n    return g", True),
])  # fmt: skip
def test_what_may_be_caught(source, is_guarded):
    assert facts(made(source)).guarded == is_guarded


def test_code_is_read_once():
    code = made("def f(x): return x + a")
    assert isinstance(code, types.CodeType) and facts(code) is facts(code)
