"""Containers: who answers a call, when an array becomes dense, tangents, batch axes. Types of the test's own
throughout."""

import pickle
import re
import warnings

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import as_tangent, batch_axis, is_container, tree

pytestmark = pytest.mark.quick

seen = []


@pa.array_type(leaves=("values",), static=("label",), linear=True)
class Tagged(pa.Container):
    """An array with a label. Methods: multiply (own), elementwise (family) but not cos."""

    def __init__(self, values, label="x"):
        self.values, self.label = values, label

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)

    def dense(self):
        return self.values


@pa.array_type(leaves=("values",))
class Sealed(pa.Container):
    """An array that refuses to become dense, with no methods at all."""

    def __init__(self, values):
        self.values = values

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)


@pa.multiply.method
def multiply_tagged(x: Tagged, y: pa.Array, /):
    seen.append(("multiply", type(x.values), type(y)))
    return NotImplemented if isinstance(y, Tagged) else Tagged(x.values * y, x.label)


@pa.claim(pa.elementwise_family, Tagged)
def tagged_elementwise(op, *xs, **params):
    seen.append((op.__name__, *[type(x) for x in xs]))
    if op is pa.cos:
        return NotImplemented
    (label, *_) = [x.label for x in xs if isinstance(x, Tagged)]
    return Tagged(op(*[x.values if isinstance(x, Tagged) else x for x in xs], **params), label)


x = Tagged(np.array([1.0, 2.0]), "x")


@pytest.fixture(autouse=True)
def start():
    seen.clear()
    with pa.densify("error"):
        yield


def new_type(name, **declaration):
    """A container type without methods, of one leaf."""

    def init(self, values):
        self.values = values

    members = {
        "__init__": init, "shape": property(lambda self: self.values.shape), "dtype": np.dtype(float),
        "dense": lambda self: self.values, "__module__": __name__,
    }  # fmt: skip
    return pa.array_type(leaves=("values",), **declaration)(type(name, (pa.Container,), members))


# ---------------------------------------------------------------------- the three steps
def test_own_method_then_family_then_dense():
    assert type(x * 2.0) is Tagged and seen == [("multiply", np.ndarray, float)]
    seen.clear()
    assert type(np.sin(x)) is Tagged and seen == [("sin", Tagged)]
    with pytest.raises(pa.DensifyError, match="^cos has no method for .*Tagged of shape"):
        np.cos(x)
    with pa.densify("allow"):
        np.testing.assert_array_equal(np.cos(x), np.cos(x.values))


def test_which_names_the_method():
    assert pa.which(pa.multiply, Tagged, float).implementation is multiply_tagged
    assert pa.which(pa.sin, Tagged).implementation is tagged_elementwise
    assert "elementwise_family" in str(pa.which(pa.sin, x))
    assert {m.generic.name for m in pa.methodswith(Tagged)} >= {"multiply", "elementwise_family"}


def test_containers_come_before_layers():
    """The method sees the container of layer values, whatever the layer and wherever it stands."""
    pa.grad(lambda x: pa.sum((x * 2.0).values))(x)
    pa.jvp(lambda y: (x * y).values, (3.0,), (1.0,))
    pa.vmap(lambda x: x * 2.0)(x)
    pa.make_ir(lambda x: x * 2.0)(x)
    kinds = [(values.__name__.partition("[")[0], other.__name__.partition("[")[0]) for _, values, other in seen]
    assert kinds == [("Reverse", "float"), ("ndarray", "Dual"), ("Batched", "float"), ("Traced", "float")]


def test_composites_follow_their_body():
    mean = pa.mean(Tagged(np.ones(3)).values)
    with pytest.raises(pa.DensifyError, match="^sum has no method"):
        pa.mean(Tagged(np.ones(3)))
    with pa.densify("allow"):
        assert pa.mean(Tagged(np.ones(3))) == mean
    assert type(pa.clip(x, min=0.5)) is Tagged and seen[-1][0] == "maximum"


def test_a_declined_own_method_goes_on():
    """multiply declines two of its kind; there is no wider own method, so they become dense."""
    with pytest.raises(pa.DensifyError, match="multiply"):
        x * x
    with pa.densify("allow"):
        np.testing.assert_array_equal(x * x, x.values**2)


def test_late_registration_is_seen_by_the_next_call():
    late = new_type("Late")
    one = late(np.array([4.0]))
    for _ in range(2):
        with pytest.raises(pa.DensifyError):
            pa.sqrt(one)

    @pa.elementwise_family.method
    def late_elementwise(op, x: late, /, **params):
        return "family"

    assert pa.sqrt(one) == pa.exp(one) == "family"

    @pa.sqrt.method
    def sqrt_late(x: late, /):
        return "own"

    assert pa.sqrt(one) == "own" and pa.exp(one) == "family"


def test_a_declining_family_leaves_the_call_to_the_own_method():
    first, second = new_type("First"), new_type("Second")
    pa.add.generic.add(lambda x, y: "own", (pa.Array, second))
    pa.combine_rule(first, second, pa.elementwise_family)(lambda op, *xs, **params: NotImplemented)
    assert first(np.ones(1)) + second(np.ones(1)) == "own"


def test_what_is_no_array_is_a_method_error_at_once():
    with pa.densify("allow"):
        for other in ("2", None, [1.0], {}):
            with pytest.raises(pa.MethodError):
                pa.add(x, other)
        with pytest.raises(TypeError, match="unsupported operand"):
            x - "2"


# ---------------------------------------------------------------------- two types
def test_two_types_that_claim_a_call_by_own_methods():
    one, other = new_type("Red"), new_type("Blue")
    pa.add.generic.add(lambda x, y: "one", (one, pa.Array))
    pa.add.generic.add(lambda x, y: "other", (pa.Array, other))
    a, b = one(np.ones(2)), other(np.ones(2))
    with pa.densify("allow"), pytest.raises(pa.AmbiguousMethodError) as error:
        a + b
    assert re.search(r"hint: define add\(.*Red, .*Blue\), or polyad.combine_rule", str(error.value))
    assert any(text.startswith("add(") and "Red" in text and "Blue" in text for text in pa.ambiguities(__name__))

    @pa.combine_rule(one, other, pa.elementwise_family)
    def one_and_other(op, *xs, **params):
        return f"{op.__name__} of both"

    assert a + b == b + a == "add of both" and b * a == "multiply of both"
    assert not any(text.startswith("add(") and "Red" in text and "Blue" in text for text in pa.ambiguities(__name__))
    pa.add.generic.add(lambda x, y: "pair", (one, other))
    assert a + b == "pair" and b + a == "add of both"


def test_an_own_method_and_a_family_of_another_type():
    """An own method is more specific in the operation, the other type's family in the argument: neither wins."""
    one, other = new_type("OwnOne"), new_type("FamilyOther")
    pa.add.generic.add(lambda x, y: "own", (one, pa.Array))
    pa.claim(pa.elementwise_family, other)(lambda op, *xs, **params: "family")
    a, b = one(np.ones(2)), other(np.ones(2))
    assert a + 1 == "own" and b + 1 == 1 + b == b + np.ones(2) == "family"
    with pa.densify("allow"), pytest.raises(pa.AmbiguousMethodError, match=r"OwnOne, .*FamilyOther"):
        a + b
    assert any("OwnOne" in text and "FamilyOther" in text for text in pa.ambiguities(__name__))
    assert b + a == "family"  # OwnOne claims nothing on the right


def test_own_methods_win_over_the_family_of_the_same_type():
    mine = new_type("Mine")
    pa.claim(pa.elementwise_family, mine)(lambda op, *xs, **params: "family")
    pa.add.generic.add(lambda x, y: "own", (mine, pa.Array))
    a = mine(np.ones(2))
    assert a + a == a + 1 == "own" and 1 + a == a * a == "family"


def test_claims_of_three_places():
    a = new_type("Chosen")
    pa.claim(pa.elementwise_family, a)(lambda op, *xs, **params: sum(isinstance(x, a) for x in xs))
    y, condition = a(np.ones(2)), np.array([True, False])
    assert pa.where(condition, y, 0.0) == pa.where(condition, 0.0, y) == 1
    assert pa.where(condition, y, y) == 2 and pa.where(y, y, y) == 3


# ---------------------------------------------------------------------- dense or not
def test_densify_modes():
    with pa.densify("allow"):
        np.testing.assert_array_equal(np.cos(x), np.cos(x.values))
        with (
            pa.densify("error"),
            pytest.raises(pa.DensifyError, match=r'densify is "error"; write the method, or call'),
        ):
            np.cos(x)
        np.cos(x)
    with pytest.raises(ValueError, match="'never'"):
        pa.densify("never")


def test_densify_warning_says_what_and_where():
    with pa.densify("warn"), pytest.warns(pa.DensifyWarning) as caught:
        np.cos(x)
        pa.grad(lambda x: pa.sum(pa.cos(x)))(x)
        np.asarray(x)
    texts = [str(w.message) for w in caught]
    assert re.match(
        r"cos has no method for .*Tagged of shape \[2\]: it becomes dense; write the method, call \.dense\(\)", texts[0]
    )
    assert 'polyad.densify("allow")' in texts[0] and texts[-1].startswith("np.asarray has no method")
    assert {w.filename for w in caught} == {__file__}


def test_warnings_are_given_once_for_each_line():
    with pa.densify("warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            np.cos(x)
    assert len(caught) == 1


def test_types_that_refuse():
    with pa.densify("allow"):
        with pytest.raises(pa.MethodError, match="Sealed has no dense form"):
            np.sin(Sealed(np.ones(2)))
        with pytest.raises(pa.DensifyError, match=r"dense: \S*Sealed of shape \[2\] has no dense form; take the array that is"):
            Sealed(np.ones(2)).dense()
    assert not Sealed.densifies and Tagged.densifies


def test_dense_is_a_generic_function():
    assert pa.dense(x) is x.values and pa.dense(2.0) == 2.0


# ---------------------------------------------------------------------- inner types
def test_inner_arrays_keep_their_class():
    """DimensionalData#1194: `2 .* A` dropped the inner array type; StaticArrays#327: a mutable one became immutable."""

    class Mine(np.ndarray):
        pass

    inner = np.ones(2).view(Mine)
    for y in (Tagged(inner) * 2.0, 2.0 + Tagged(inner), np.exp(Tagged(inner)), pa.Diagonal(inner) * 2.0):
        leaf = tree.leaves(y)[0]
        assert type(leaf) is Mine and leaf.flags.writeable


def test_containers_of_containers():
    nested = Tagged(pa.Diagonal(np.array([1.0, 2.0])))
    assert nested.shape == (2, 2) and type((2.0 * nested).values) is pa.Diagonal
    g = pa.grad(lambda t: pa.sum((t * t.values.diag[0]).values))(nested)
    assert type(g) is Tagged and type(g.values) is pa.Diagonal
    np.testing.assert_allclose(g.values.diag, [1.0 + 3.0, 1.0])


def test_a_subclass_is_an_array_type_too():
    class Sub(Tagged):
        pass

    y = Sub(np.ones(2), "sub")
    assert len(tree.leaves(y)) == 1 and type(tree.map(lambda v: 2 * v, y)) is Sub
    assert type(pa.grad(lambda s: pa.sum((s * 3.0).values))(y)) is Sub


# ---------------------------------------------------------------------- declaration
def test_declarations_that_are_refused():
    with pytest.raises(pa.RegistrationError, match="must inherit from polyad.Container"):
        pa.array_type(leaves=("values",))(type("Plain", (), {}))
    with pytest.raises(pa.RegistrationError, match="must define 'dtype'"):
        pa.array_type(leaves=("values",))(type("Short", (pa.Container,), {"shape": ()}))


def test_trees():
    leaves, structure = tree.flatten({"a": x, "b": 1.0})
    assert leaves[0] is x.values and leaves[1] == 1.0
    again = tree.unflatten(structure, [3 * leaves[0], 2.0])["a"]
    assert type(again) is Tagged and again.label == "x"
    assert tree.structure(x) != tree.structure(Tagged(x.values, "y"))
    assert is_container(x) and not is_container(x.values)
    assert repr(x) == "Tagged(values=array([1., 2.]), label='x')" and (x.ndim, x.size) == (1, 2)


# ---------------------------------------------------------------------- tangents
def test_tangent_algebra():
    s = Sealed(np.array([1.0, 2.0]))
    t = as_tangent({"s": s, "x": x, "n": 1.0})
    assert type(t["s"]) is pa.Tangent and t["x"] is not None and type(t["x"]) is Tagged and t["n"] == 1.0
    t = t["s"]
    np.testing.assert_array_equal((t + t).values, [2.0, 4.0])
    assert repr(t) == "Tangent[Sealed]({'values': array([1., 2.])})"
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(t)).values, t.values)
    assert type(tree.map(lambda v: -v, t)) is pa.Tangent
    step = tree.map(lambda v, dv: v - dv, s, t)
    assert type(step) is Sealed and not step.values.any()
    for wrong in (lambda: t + 1.0, lambda: t * 2.0, lambda: t + as_tangent(pa.OneHot(0, 2)), lambda: t + s):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(AttributeError, match=r"Tangent\[Sealed\] has no leaf 'weights'"):
        t.weights
    with pytest.raises(pa.StructureError):
        tree.map(lambda v, dv: v, x, t)


def test_tangents_of_integer_leaves():
    _, pullback = pa.vjp(lambda h, w: h @ w, pa.OneHot(1, 2), np.ones(2))
    h, w = pullback(1.0)
    assert type(h) is pa.Tangent and h.indices is pa.NoTangent
    np.testing.assert_array_equal(w, [0.0, 1.0])


# ---------------------------------------------------------------------- batch axes
def test_batch_axes():
    D = pa.Diagonal(np.zeros((4, 5, 3)))
    assert [batch_axis(D, axis, "f") for axis in (0, 1, -4, -3)] == [0, 1, 0, 1]
    assert [batch_axis(D, axis, "f") for axis in (2, 3, -1, -2)] == [None] * 4
    with pytest.raises(pa.ShapeError, match=r"f: axis 4 is out of range for .*Diagonal of shape \[4, 5, 3, 3\]"):
        batch_axis(D, 4, "f")
    assert pa.vmap(lambda D: D, in_axes=1, out_axes=1)(D).shape == (4, 5, 3, 3)
    assert pa.vmap(lambda D: D, in_axes=1)(D).shape == (5, 4, 3, 3)


# ---------------------------------------------------------------------- lanes that the shape leaves out
@pa.array_type(leaves=("value",), structure_ndim=2, linear=True)
class Constant(pa.Container):
    """A 2×2 matrix of one number, whose shape forgets lanes."""

    def __init__(self, value):
        self.value = value

    shape, dtype = (2, 2), np.dtype(np.float64)


@pa.array_type(leaves=("value",), structure_ndim=2, linear=True)
class DenseConstant(Constant):
    """The same with a dense form."""

    def dense(self):
        return self.value[..., None, None] * np.ones((2, 2))


@pytest.mark.parametrize("transform", [pa.vmap, lambda f: pa.jit(pa.vmap(f)), lambda f: pa.vmap(pa.grad(f))])
def test_lanes_that_a_shape_leaves_out(transform):
    f = lambda s: pa.sum(pa.sin(s))
    with pa.densify("allow"):
        with pytest.raises(pa.DensifyError, match=r"Constant of shape \[2, 2\] has no axis of lanes.*`shape` has to begin"):
            transform(f)(Constant(np.ones(3)))
        with pytest.raises(pa.DensifyError, match=r"dense form of .*DenseConstant has shape \[3, 2, 2\], where .*\[2, 2\]"):
            transform(f)(DenseConstant(np.ones(3)))
