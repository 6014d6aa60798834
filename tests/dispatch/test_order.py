"""Which method is the narrower one: by random signatures against plum, in both orders of registration, and after
`ABCMeta.register`."""

import itertools
import random
from abc import ABC

import plum
import pytest

import polyad as pa
from polyad.dispatch.order import Signature, is_narrower, narrowest


class Shape(ABC): ...


class A: ...


class B(A): ...


class C(A): ...


class D(B, C): ...


class E: ...


Shape.register(B)
Shape.register(E)
CLASSES = [Shape, A, B, C, D, E, int]
HINTS = [*CLASSES, object, A | int, B | E, Shape | None, int | E | None]


def signatures(rng, varargs):
    """A few different signatures of two or three arguments, or with variable ones."""
    for _ in range(rng.randint(1, 5)):
        yield tuple(rng.choices(HINTS, k=2)), rng.choice(HINTS) if varargs and rng.random() < 0.5 else None


def by_plum(found, types):
    """The signature that plum chooses, None if none applies, or "ambiguous"."""
    function = plum.Function(lambda *args: None)
    for declared, varargs in found:
        extra = {} if varargs is None else {"varargs": varargs}
        method = lambda *args: None
        method.key = declared, varargs
        function.register(method, signature=plum.Signature(*declared, **extra), precedence=None)
    try:
        return function.resolve_method(plum.Signature(*types))[0].key
    except plum.NotFoundLookupError:
        return None
    except plum.AmbiguousLookupError:
        return "ambiguous"


def chosen(found, types):
    """The same by a generic function of ours."""

    @pa.generic
    def f(*xs): ...

    for declared, varargs in found:
        method = lambda *args: None
        method.key = declared, varargs
        f.generic.add(method, declared, varargs)
    try:
        return pa.which(f, *types).implementation.key
    except pa.AmbiguousMethodError:
        return "ambiguous"
    except pa.MethodError:
        return None


@pytest.mark.parametrize("varargs", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_the_method_is_the_one_that_plum_takes(seed, varargs):
    rng = random.Random(seed)
    found = list(dict.fromkeys(signatures(rng, varargs)))
    for types in itertools.product(CLASSES, repeat=2):
        if types not in [declared for declared, rest in found if rest is None]:  # plum calls int | bool a rival of int
            assert chosen(found, types) == by_plum(found, types), (types, found)


@pytest.mark.parametrize("s", HINTS)
@pytest.mark.parametrize("t", HINTS)
def test_narrower_is_what_issubclass_says_of_each_class(s, t):
    classes = lambda hint: getattr(hint, "__args__", (hint,))
    assert is_narrower(s, t) == all(any(issubclass(a, b) for b in classes(t)) for a in classes(s))


def test_of_equal_types_those_named_one_by_one_are_narrower():
    """Whatever the order of registration; plum takes the later one."""
    one, two = ((A,), B), ((A, B), B)
    assert [chosen(order, (A, B)) for order in ((one, two), (two, one))] == [two, two]
    assert chosen([one, two], (A,)) == one
    assert Signature(*two) < Signature(*one) and not Signature(*one) <= Signature(*two)
    assert narrowest([Signature(*one), Signature(*two)], signature=lambda s: s) == [Signature(*two)]


def test_a_class_registered_later_changes_the_order():
    """Signatures, the mismatches that errors mark, ambiguities: no answer is kept."""

    class Round(ABC): ...

    class Disc: ...

    @pa.generic
    def f(x, /): ...

    f.generic.add(lambda x: "round", (Round,))
    assert not Signature((Disc,)) <= Signature((Round,))
    with pytest.raises(pa.MethodError, match="closest: f.!.*Round"):
        f(Disc())
    Round.register(Disc)
    assert Signature((Disc,)) < Signature((Round,))
    assert f(Disc()) == "round" and pa.which(f, Disc).implementation(None) == "round"

    @pa.generic
    def g(x, y, /): ...

    g.generic.add(lambda x, y: "first", (Round, object))
    g.generic.add(lambda x, y: "second", (object, Round))
    assert any(["define g(" in text and "Round" in text for text in pa.ambiguities(__name__)])
    with pytest.raises(pa.AmbiguousMethodError, match="hint: define g"):
        g(Disc(), Disc())


@pytest.mark.parametrize("faithful", [True, False])
def test_a_class_may_say_that_its_metaclass_decides_by_type(faithful):
    """`__faithful__`, as plum has it."""

    class Meta(type):
        def __instancecheck__(cls, x):
            return cls.__subclasscheck__(type(x))

    class Mine(metaclass=Meta):
        __faithful__ = faithful

    @pa.generic
    def f(x, /): ...

    def f_mine(x: Mine, /):
        return "mine"

    if not faithful:
        with pytest.raises(pa.RegistrationError, match="not decided by type"):
            f.method(f_mine)
        return
    f.method(f_mine)
    assert f(Mine()) == "mine"
