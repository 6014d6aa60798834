"""A rule in the wrong form is refused when it is given, with its place and what to write; the library's own are in form."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import card as cards
from polyad.dsl.card import operations
from polyad.dsl.declaration_checks import check_partials, check_rule

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def forget():
    before = dict(cards.outside)
    yield
    cards.outside.clear()
    cards.outside.update(before)


def declared(kind=pa.elementwise, **facts):
    @kind(**facts)
    def blend(a, b, /, *, rate=1.0):
        """A blend of two arrays."""

    return blend


def of_one(**facts):
    @pa.elementwise(**facts)
    def bump(y, /):
        """A bump."""

    return bump


def test_the_library_s_own(each):
    def check(op):
        for which, rule in op.card.rules.items():
            check_rule(op, which, rule)
        if op.card.partials is not None:
            check_partials(op.__name__, op.generic, op.card.partials)

    each({name: (op,) for name, op in operations.items()}, check)


good = lambda y, a, b, *, rate: a
PARTIALS = {  # partials -> what the text says
    "fewer": ([good], r"blend: it has 1 partial derivative.*2 array\(s\) \(a, b\), None where there is none"),
    "more": ([1, 1, 1], r"blend: it has 3 partial"),
    "none": ([], r"blend: it has 0 partial"),
    "no list": (good, r"partials is function \(.*checks.py:\d+\), not a list; write partials=\[…\]"),
    "a text": ("ab", "partials is str"),
    "too few parameters": ([lambda y, a: a, 1], r"partials\[0\] \(.*checks.py:\d+\) takes \(y, a\); write a function "
                           r"\(y, a, b, \*, rate\)"),
    "too many": ([1, lambda y, a, b, c, rate: a], r"partials\[1\] .*takes \(y, a, b, c, rate\)"),
    "without the parameter": ([lambda y, a, b: a, 1], r"partials\[0\] .*takes \(y, a, b\)"),
    "a number": ([2, 1], r"partials\[0\] is int; give a function \(y, a, b, \*, rate\).*, 1, -1, or None"),
    "an array": ([np.ones(2), 1], r"partials\[0\] is ndarray"),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTIALS)
def test_partials(name):
    partials, text = PARTIALS[name]
    with pytest.raises(pa.RegistrationError, match=text):
        declared(partials=partials)
    with pytest.raises(pa.RegistrationError, match=text):
        declared(pa.opaque, partials=partials)


def test_what_is_right_is_taken():
    for partials in ([good, None], (1, -1), [lambda *xs, **params: 1.0, lambda y, a, b, rate=2.0, extra=3: a]):
        declared(partials=partials)
    of_one(partials=[lambda z, y: y])
    blend = declared(partials=[1, 1])
    for which, rule in {
        "jvp": lambda dxs, y, a, b, rate: None, "shape": lambda *xs, **params: None,
        "vjp_all": lambda ct, y, *xs, **params: None,
        "batch": lambda size, xs, batched, rate=1.0: None, "vjp": [None, lambda ct, y, a, b, *, rate: ct],
        "taylor": lambda k, y, a, b, rate: None, "depends": "ij,ij->ij",
    }.items():  # fmt: skip
        assert blend.rule(which)(rule) is rule
    each = lambda i, ct, y, a, b, rate: ct
    assert blend.rule("vjp")(each) is each


FACTS = {
    "kernel": (dict(kernel=np.sin), r"kernel is the operation's name in NumPy-like .*, not ufunc; .*@blend.method above"),
    "kernel, a function": (dict(kernel=good), r"not function \(.*checks.py:\d+\); leave it out, and register the function"),
    "numpy": (dict(numpy="sin"), r"numpy is a tuple of names .* such as \('blend',\), not 'sin'"),
    "numpy, a function": (dict(numpy=(np.sin,)), "numpy is a tuple of names"),
    "c": (dict(c=good), r"c is an expression of C as text, such as 'sin\(\{0\}\)'"),
    "samples": (dict(samples=[np.ones(3)]), "samples is a list of functions rng -> array"),
    "samples, one": (dict(samples=good), "samples is a list of functions rng -> array"),
    "another name": (dict(partial=[1, 1]), "a card has no 'partial'; it may say .*partials"),
}


@pytest.mark.parametrize("name", FACTS)
def test_facts(name):
    facts, text = FACTS[name]
    for kind in (pa.elementwise, pa.linear, pa.opaque):
        with pytest.raises(pa.RegistrationError, match=text):
            declared(kind, **facts)


ALL = r"\(dxs, y, a, b, \*, rate\)"
RULES = {
    "jvp": (lambda x, dx: dx, rf"its rule 'jvp' \(.*checks.py:\d+\) takes \(x, dx\), but is called with {ALL}; write "
            r"`@blend.rule\('jvp'\)` above `def jvp"),
    "jvp without the parameter": (lambda dxs, y, a, b: None, rf"takes \(dxs, y, a, b\), but is called with {ALL}"),
    "jvp, no function": (3, rf"its rule 'jvp' is int; it must be a function {ALL}"),
    "vjp of one": ([good], r"its rule 'vjp' has 1 function\(s\) for 2 array\(s\); write blend.rule\('vjp'\)\(\[…\]\) with one "
                   r"function \(ct, y, a, b, \*, rate\) for each array, None"),
    "vjp, a function": (lambda ct, y, a, b, rate: ct,
                        r"called with \(i, ct, y, a, b, \*, rate\); write blend.rule\('vjp'\)\(\["),
    "vjp, parameters": ([lambda ct, a, b: ct, None], r"takes \(ct, a, b\), but is called with \(ct, y, a, b, \*, rate\)"),
    "vjp, no function": ([1, 2], "its rule 'vjp' is int; it must be a function"),
    "vjp, no list": ("ct", r"its rule 'vjp' is str; write blend.rule\('vjp'\)\(\["),
    "vjp_all": (lambda ct: ct, r"called with \(ct, y, a, b, \*, rate\)"),
    "transpose": ([None], r"its rule 'transpose' has 1 function\(s\) for 2 array\(s\)"),
    "shape": (lambda a: a, r"called with \(a, b, \*, rate\); write `@blend.rule\('shape'\)` above `def shape\(a, b"),
    "batch": (lambda xs, batched: xs, r"called with \(size, xs, batched, \*, rate\)"),
    "accumulate": (lambda total, ct: None, r"called with \(total, ct, y, a, b, \*, rate\)"),
    "add_to": (lambda total, ct: None, r"called with \(total, ct, y, a, b, \*, rate\)"),
    "taylor": (lambda y, a, b: None, r"called with \(k, y, a, b, \*, rate\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_rules(name):
    rule, text = RULES[name]
    blend = declared(pa.opaque)
    with pytest.raises(pa.RegistrationError, match=text):
        blend.rule(name.split()[0].strip(","))(rule)
    assert not blend.card.rules  # nothing is left of it


def test_a_name_that_the_value_has_too():
    with pytest.raises(pa.RegistrationError, match=r"write a function \(z, y\) of the value and the arrays"):
        of_one(partials=[lambda y: y])


def test_sequences_and_variadics():
    join = pa.opaque()(prototype_of_sequence)
    with pytest.raises(pa.RegistrationError, match=r"called with \(dxs, y, \*xs, axis\)"):
        join.rule("jvp")(lambda dxs, y, *xs: None)
    join.rule("jvp")(lambda dxs, y, *xs, axis: None)


def prototype_of_sequence(*xs, axis=0):
    """An operation on several arrays."""


def test_scalar_rules():
    with pytest.raises(pa.RegistrationError, match=r"gauss: partials\[0\] .*takes \(x\); write a function \(y, x\)"):
        pa.scalar_rule(lambda x: x, lambda x: x, name="gauss")


def test_typed_rules():
    blend = declared(pa.opaque)
    with pytest.raises(pa.RegistrationError, match=r"blend.vjp: a rule takes \(ct, y, a, b, /, …\)"):
        blend.vjp.method(lambda ct: ct)
    with pytest.raises(pa.RegistrationError, match="takes 2 array argument"):
        blend.jvp.method(lambda dxs, y, a: a)


class TestCustom:
    def test_forward(self):
        f = pa.custom_jvp(lambda x, y: x * y)
        for rule, shown in ((lambda primals: primals, "(primals)"), (lambda x, y, dx, dy: x, "(x, y, dx, dy)")):
            with pytest.raises(pa.RegistrationError) as found:
                f.defjvp(rule)
            text = str(found.value)
            assert f"takes {shown}, but is called with 2 argument(s); write it as (primals, tangents) -> (y, dy)" in text
            assert "test_declaration_checks.py" in text and f.jvp_rule is None

    def test_one_by_one(self):
        f = pa.custom_jvp(lambda x, y: x * y)
        with pytest.raises(pa.RegistrationError, match=r"rule 1 of defjvps .*takes \(dx, y\), but is called with 4"):
            f.defjvps(None, lambda dx, y: dx)
        with pytest.raises(pa.StructureError, match="defjvps got 1 rule"):
            f.defjvps(lambda dx, z, x, y: dx)
        f.defjvps(lambda dx, z, x, y: 10 * dx * y, None)
        assert pa.grad(f)(2.0, 3.0) == 30.0

    def test_reverse(self):
        f = pa.custom_vjp(lambda x, y: x * y)
        with pytest.raises(pa.RegistrationError, match=r"forward of defvjp .*takes \(x\), but is called with 2"):
            f.defvjp(lambda x: (x, None), lambda saved, ct: (ct, ct))
        with pytest.raises(pa.RegistrationError, match=r"backward of defvjp .*takes \(ct\), but is called with 2"):
            f.defvjp(lambda x, y: (x * y, None), lambda ct: (ct, ct))
        f.defvjp(lambda x, y: (x * y, (x, y)), lambda saved, ct: (ct * saved[1], ct * saved[0]))
        assert pa.grad(f)(2.0, 3.0) == 3.0

    def test_arguments_that_are_fixed(self):
        f = pa.custom_vjp(lambda n, x: x**n, nondiff_argnums=0)
        with pytest.raises(pa.RegistrationError, match="called with 3 argument.*after those of nondiff_argnums"):
            f.defvjp(lambda n, x: (x**n, x), lambda saved, ct: (ct,))
        f.defvjp(lambda n, x: (x**n, x), lambda n, saved, ct: (ct * n * saved ** (n - 1),))
        assert pa.grad(f, 1)(2, 3.0) == 6.0

    def test_keywords(self):
        @pa.custom_jvp
        def f(x, *, scale=2.0):
            return scale * x

        f.defjvp(lambda primals, tangents, *, scale=2.0: (scale * primals[0], 10 * scale * tangents[0]))
        f.defjvp(lambda primals, tangents, *, scale: (scale * primals[0], 10 * scale * tangents[0]))
        assert pa.grad(lambda x: f(x, scale=3.0))(1.0) == 30.0


BODY = """
@declare
def op(x, /{more}):
    {body}
"""
KINDS = {"elementwise": "", "reduction": ", axis=None, keepdims=False", "linear": "", "opaque": ""}


def with_body(declare, body, more=""):
    """The operation, declared where nothing has a module's name either."""
    space = {"declare": declare}
    exec(BODY.format(body=body, more=more), space)
    return space["op"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_that_never_runs(kind):
    for body in ("return 3 * x", '"What it is."; return 3', "y = x", "return axis" if KINDS[kind] else "return x"):
        with pytest.raises(
            pa.RegistrationError, match=r"op \(<string>:2\): the body of its declaration never runs; .*composite"
        ):
            with_body(getattr(pa, kind)(), body, KINDS[kind])
    for body in ('"What it is."', "...", "pass", '"What it is."; ...', "return None", "raise NotImplementedError('no')"):
        assert with_body(getattr(pa, kind)(), body, KINDS[kind]).card.kind == kind
    assert with_body(pa.composite(), "return 3 * x")(2.0) == 6


def test_declarations_in_a_namespace_without_a_name():
    """As exec(source, {}) makes it: the functions of it have no module."""
    op = with_body(pa.elementwise(partials=[lambda y, x: 7.0], kernel=None), '"Seven times x."')

    @op.method
    def op_kernel(x: pa.HostArray, /):
        return 7 * x

    x = np.ones(2)
    assert op.__module__ == "__main__" and op in cards.outside.values()
    for f in (op, pa.jit(op), pa.vmap(op)):
        np.testing.assert_array_equal(f(x), 7 * x)
    np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(op(x)))(x), 7 * x)
    assert pa.ambiguities("somewhere_else") == [] and "op" in str(pa.make_ir(op)(x))
