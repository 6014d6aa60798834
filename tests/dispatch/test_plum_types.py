"""Methods for the types and signatures of plum: promised classes, parametric ones, signatures in place of annotations."""

import subprocess
import sys
import types
from abc import ABC
from numbers import Number
from pathlib import Path

import numpy as np
import plum
import pytest

import polyad as pa
from polyad.dispatch import plum_types

pytestmark = pytest.mark.quick
PUBLIC = ("AmbiguousLookupError", "CovariantMeta", "Function", "ModuleType", "NotFoundLookupError", "PromisedType", "Signature",
          "parametric")  # fmt: skip


@pytest.fixture
def f():
    @pa.generic
    def f(x, /): ...

    yield f
    plum_types.promises[:] = [m for m in plum_types.promises if m.generic is not f.generic]


def add(f, name, hint):
    def method(x, /):
        return name

    method.__annotations__["x"] = hint
    return f.method(method)


def test_the_names_of_plum_that_we_use_are_public():
    assert set(PUBLIC) <= set(plum.__all__)
    for cls, names in {plum.ModuleType: ("retrieve", "resolve"), plum.PromisedType: ("deliver", "resolve"),
                       plum.Signature: ("types", "varargs", "has_varargs", "precedence")}.items():  # fmt: skip
        assert all([hasattr(cls, name) for name in names]), cls
    source = Path(plum_types.__file__).read_text()
    assert "plum._" not in source and "beartype." not in source


def test_plum_is_loaded_only_by_those_who_use_it():
    """Neither imports, nor calls, nor signatures of classes and unions of classes load it: it takes as long as NumPy."""
    code = """
import sys, numpy as np, polyad as pa
@pa.sin.method
def sin_text(x: str | bytes, /): return "text"
print(pa.sin("") + str(pa.add(pa.Diagonal(np.ones(2)), np.ones((2, 2)))[0, 0]), "plum" in sys.modules)
print(pa.methods(pa.sin)[-1].signature, "plum" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120)
    assert run.stdout.splitlines() == ["text2.0 False", "Signature(str | bytes) True"], run.stderr


def test_a_class_of_a_module_that_is_imported_later(f, monkeypatch):
    """It was registered for a class that no value is of, and never ran."""
    add(f, "late", plum.ModuleType("polyad_tests_late", "inner.Late"))
    add(f, "any", object)
    module = types.ModuleType("polyad_tests_late")
    monkeypatch.setitem(sys.modules, "polyad_tests_late", module)
    assert f(1) == "any"  # the module is still being imported
    Late = type("Late", (), {})
    module.inner = types.SimpleNamespace(Late=Late)
    assert f(Late()) == "late" and f(2.0) == "any"
    assert [str(m).partition("(")[0] for m in pa.methods(f)] == ["f", "f"] and pa.methodswith(Late)


def test_a_class_of_a_module_that_is_there(f):
    add(f, "array", plum.ModuleType("numpy", "ndarray"))
    assert pa.methods(f)[0].types == (np.ndarray,) and f(np.ones(2)) == "array"


@pytest.mark.parametrize("ask", [lambda f, x: f(x), lambda f, x: pa.which(f, type(x)).implementation(x)])
def test_a_promised_class_in_a_union(f, ask):
    promise = plum.PromisedType("Later")
    add(f, "later", promise | str)
    with pytest.raises(pa.MethodError, match=r"closest: f\(!\S*PromisedType\[Later\] \| str\)"):
        f(1)
    later = type("Later", (), {})
    promise.deliver(later)
    assert ask(f, later()) == ask(f, "") == "later"
    assert pa.methods(f)[0].types == (later | str,)


def test_rules_and_families_for_promised_classes(monkeypatch):
    """Rules of derivatives, and methods of many operations, for an array type that is declared later."""
    hint = plum.ModuleType("polyad_tests_types", "Doubled")

    def rule(ct, y, x: hint, /):
        return (x.like(5.0 * ct.v),)

    def unary(op, x: hint, /, **params):
        return x.like(op(x.v) + 100.0)

    pa.cos.vjp.method(rule)
    pa.elementwise_family.method(unary)

    @pa.array_type(leaves=("v",), linear=True)
    class Doubled(pa.Container):
        def __init__(self, v):
            self.v = v

        like = classmethod(lambda cls, v: cls(v))
        shape, dtype = property(lambda self: self.v.shape), property(lambda self: self.v.dtype)

    monkeypatch.setitem(sys.modules, "polyad_tests_types", types.SimpleNamespace(Doubled=Doubled))
    x = Doubled(np.zeros(2))
    assert list(pa.cos(x).v) == [101.0, 101.0]
    assert list(pa.grad(lambda x: pa.sum(pa.cos(x).v))(x).v) == [5.0, 5.0]


def test_parametric_types_are_told_by_type(f):
    @plum.parametric
    class Vector:
        def __init__(self, *entries):
            self.entries = entries

    add(f, "vector", Vector)
    add(f, "numbers", Vector[Number])
    add(f, "truth", Vector[bool])
    given = Vector(True), Vector(1.0), Vector(""), Vector(1, 1)
    assert [f(x) for x in given] == ["truth", "numbers", "vector", "vector"]
    assert pa.which(f, Vector[float]).types == (Vector[Number],)
    by_plum = plum.Function(lambda x: None)
    for method in pa.methods(f):
        by_plum.register(method.implementation, signature=method.signature, precedence=None)
    for t in (Vector[bool], Vector[int], Vector[str], Vector[int, int]):
        assert by_plum.resolve_method(plum.Signature(t))[0] is pa.which(f, t).implementation


def test_a_parametric_array_type_in_transformations():
    @plum.parametric
    class Scaled(pa.Container):
        def __init__(self, values, unit):
            self.values, self.unit = values, unit

        shape, dtype = property(lambda self: self.values.shape), property(lambda self: self.values.dtype)

        @classmethod
        def __infer_type_parameter__(cls, values, unit):
            return unit

    pa.array_type(leaves=("values",), static=("unit",), linear=True)(Scaled)

    @pa.multiply.method
    def multiply_scaled(x: Scaled["m"], y: Scaled["s"], /):  # noqa: F821
        return Scaled(x.values * y.values, "m s")

    x, y = Scaled(np.array([2.0, 3.0]), "m"), Scaled(np.array([5.0, 7.0]), "s")
    assert type(x * y) is Scaled["m s"]
    gradient = pa.grad(lambda x: pa.sum((x * y).values))(x)
    assert type(gradient) is Scaled["m"] and list(gradient.values) == [5.0, 7.0]


def test_a_parametric_type_whose_own_metaclass_asks_the_value(f):
    class Asks(type):
        def __instancecheck__(cls, x):
            return x == 3

    @plum.parametric
    class Three(metaclass=Asks):
        pass

    with pytest.raises(pa.RegistrationError, match="not decided by type"):
        add(f, "three", Three[int])


def test_a_signature_in_place_of_annotations():
    @pa.generic
    def g(x, y, /): ...

    @pa.generic
    def h(*xs): ...

    pair = g.method(plum.Signature(int | bool, str))(lambda x, y: "pair")
    assert g(1, "") == "pair" and pa.which(g, bool, str).implementation is pair
    h.method(plum.Signature(int, varargs=str))(lambda x, *rest: len(rest))
    assert h(1) == 0 and h(1, "", "") == 2
    assert [str(m.signature) for m in (*pa.methods(g), *pa.methods(h))] == ["Signature(int | bool, str)",
                                                                            "Signature(int, varargs=str)"]  # fmt: skip
    for signature, text in (
        (plum.Signature(int), r"g takes 2 array argument\(s\), but .* declares 1"),
        (plum.Signature(int, list[int]), "the annotation of 'argument 1', list.int., is not decided"),
        (plum.Signature(int, int, precedence=1), "methods have no precedence, but the signature has 1"),
    ):
        with pytest.raises(pa.RegistrationError, match=text):
            g.method(signature)(lambda x, y: None)
    assert len(pa.methods(g)) == 1


def test_why_plum_does_not_choose_the_method():
    """If one of these fails, plum has changed what decision 24 rests on."""

    class Round(ABC): ...

    class Disc: ...

    assert not plum.Signature(Disc) <= plum.Signature(Round)
    Round.register(Disc)
    assert issubclass(Disc, Round) and not plum.Signature(Disc) <= plum.Signature(Round)  # remembered for good
    function = plum.Function(lambda x: None)
    for name, cls in (("object", object), ("round", Round)):
        function.register(lambda x, name=name: name, signature=plum.Signature(cls), precedence=None)
    assert function.resolve_method(plum.Signature(Disc))[0](None) == "object"  # a wider method, without an error
    if plum.COMPILED:
        with pytest.raises(TypeError):  # an order of our own cannot be put in its place
            type("Ours", (plum.Signature,), {})(int)
    assert "Resolver" not in plum.__all__
