"""Pytrees: which objects are nodes, mapping, paths, mismatches, prefixes."""

import copy
import dataclasses
import pickle
import sys
import threading
from collections import OrderedDict, defaultdict, deque, namedtuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import polyad as pa
from polyad import tree

pytestmark = pytest.mark.quick

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Plain:
    w: object
    b: object = None


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    w: object
    name: str = dataclasses.field(metadata={"static": True})
    b: object = 0

    def __post_init__(self):
        if not isinstance(self.name, str):
            raise TypeError("unflattening must not run the checks of __init__ on other leaves")


@dataclasses.dataclass
class Derived(Plain):
    scale: object = 1


class Pair:
    """A class of the user's, registered below."""

    def __init__(self, left, right, tag):
        self.left, self.right, self.tag = left, right, tag

    def __eq__(self, other):
        return (self.left, self.right, self.tag) == (other.left, other.right, other.tag)

    __hash__ = None


tree.register(Pair, lambda p: ((p.left, p.right), p.tag), lambda tag, children: Pair(*children, tag))

TREES = {
    "leaf": 1.0, "array": np.ones(2), "dict": {"b": 1, "a": 2}, "list": [1, [2, 3]], "tuple": (1, (2,)), "none": None,
    "empty": {"a": [], "b": (), "c": {}}, "namedtuple": Point(1, (2, 3)), "plain": Plain(1, [2]),
    "frozen": Frozen((1, 2), "n"), "derived": Derived(1, 2, {"s": 3}), "registered": Pair(1, Plain(2), "tag"),
    "none inside": [None, 1, {"a": None}],
    "ordered": OrderedDict(b=1, a=2), "deque": deque([1, 2]), "defaultdict": defaultdict(list, {"a": 1}),
    "mixed keys": {1: 1, "a": 2},
}  # fmt: skip


@pytest.mark.parametrize("name", TREES)
def test_round_trip(name):
    value = TREES[name]
    leaves, structure = tree.flatten(value)
    again = tree.unflatten(structure, leaves)
    assert type(again) is type(value)
    assert again is value if name == "array" else again == value
    assert tree.leaves(value) == leaves and tree.structure(value) == structure
    assert structure.num_leaves == len(leaves)


def test_leaves_in_order():
    assert tree.leaves({"b": 1, "a": [2, Point(3, 4)]}) == [2, 3, 4, 1]  # keys sorted
    assert tree.leaves(Frozen(1, "n", 2)) == [1, 2]  # without the static field
    assert tree.leaves(Derived(1, 2, 3)) == [1, 2, 3]  # inherited fields first
    assert tree.leaves(None) == tree.leaves([]) == []
    assert tree.leaves("text") == ["text"]


def test_order_of_keys_is_no_difference_and_is_kept():
    one, other = {"b": 1, "a": 2}, {"a": 20, "b": 10}
    assert tree.structure(one) == tree.structure(other)
    assert tree.map(lambda x, y: x + y, one, other) == {"b": 11, "a": 22}
    assert list(tree.map(lambda x: x, one)) == ["b", "a"]


def test_map():
    assert tree.map(lambda x: 10 * x, Pair(1, Plain(2, None), "t")) == Pair(10, Plain(20, None), "t")
    assert tree.map(lambda x, y, z: x + y + z, [1, (2,)], [3, (4,)], [5, (6,)]) == [9, (12,)]
    assert tree.map(lambda x: x + 1, 1) == 2
    assert tree.map(lambda x: x, None) is None
    assert tree.map(sum, {"a": [1, 2]}, is_leaf=lambda x: isinstance(x, list)) == {"a": 3}


def test_unflatten_runs_no_init():
    marked = tree.map(lambda x: object(), Frozen(1, "n"))
    assert marked.name == "n" and type(marked.w) is object
    assert tree.map(lambda x: None, Frozen(1, "n")) == Frozen(None, "n", None)


def test_reduce():
    assert tree.reduce(lambda x, y: x + y, {"a": 1, "b": (2, 3)}) == 6
    assert tree.reduce(lambda x, y: x + y, [], 5) == 5
    assert tree.reduce(lambda x, y: f"({x}{y})", [1, [2, 3]], "") == "(((1)2)3)"


def test_paths():
    value = {"w": [1, Plain(2, Point(3, 4))], "v": Frozen(5, "n")}
    assert tree.paths(value) == ["['v'].w", "['v'].b", "['w'][0]", "['w'][1].w", "['w'][1].b.x", "['w'][1].b.y"]
    assert tree.paths(1.0) == [""] and tree.paths([]) == []
    assert tree.paths([pa.Diagonal(np.ones(2))]) == ["[0].diag"]
    for path, leaf in zip(tree.paths(value), tree.leaves(value), strict=True):
        assert eval(f"value{path}") == leaf


def test_map_with_path():
    found = tree.map_with_path(lambda path, x: f"{path}={x}", {"a": [1, 2]})
    assert found == {"a": ["['a'][0]=1", "['a'][1]=2"]}
    assert tree.map_with_path(lambda path, x: (path, x), 3) == ("", 3)


@pytest.mark.parametrize(
    ("one", "other", "names"),
    [
        ({"a": 1}, {"b": 1}, ("{'a': *}", "{'b': *}")),
        ([1, 2], [1], ("[*, *]", "[*]")),
        ([1], (1,), ("[*]", "(*,)")),
        (1, [1], ("*", "[*]")),
        ([1], None, ("[*]", "None")),
        (Plain(1, 2), Derived(1, 2), ("Plain", "Derived")),
        (Frozen(1, "n"), Frozen(1, "m"), ("'n'", "'m'")),
    ],
    ids=str,
)
def test_mismatch_names_both_structures(one, other, names):
    for pair, texts in (((one, other), names), ((other, one), names[::-1])):
        with pytest.raises(pa.StructureError, match="tree.map: the structures of two trees differ") as caught:
            tree.map(lambda x, y: x, *pair)
        first, _, second = str(caught.value).partition(" differ: ")[2].partition(" and ")
        assert texts[0] in first and texts[1] in second
        assert "PyTreeSpec" not in str(caught.value) and "namespace" not in str(caught.value)


# ---------------------------------------------------------------------- prefixes
def test_prefix():
    value = {"a": [1, 2], "b": (3, Plain(4, 5))}
    spread = lambda prefix, value=value: tree.broadcast_prefix(prefix, value, "here")
    assert spread(0) == [0] * 5
    assert spread(None) == [None] * 5
    assert spread({"a": 0, "b": None}) == [0, 0, None, None, None]
    assert spread({"a": [0, 1], "b": (2, None)}) == [0, 1, 2, None, None]
    assert spread({"a": 0, "b": (1, Plain(2, None))}) == [0, 0, 1, 2, None]
    assert spread((0, 1), (None, 3)) == [1]  # None has no leaves
    assert spread(7, []) == []


def test_prefix_that_does_not_fit():
    for prefix in ([0], (0, 1, 2), {"a": 0}):
        with pytest.raises(pa.StructureError, match=r"here: .* does not fit the structure \(\*, \*\)"):
            tree.broadcast_prefix(prefix, (1, 2), "here")


def test_prefix_of_a_dataclass_not_seen_before():
    """The prefix is looked at before the tree, whose classes were registered too late."""
    New = dataclasses.make_dataclass("New", ["x", "y"])
    assert tree.broadcast_prefix([New(0, None)], [New(1, (2, 3))], "here") == [0, None, None]


# ---------------------------------------------------------------------- registration
def test_dataclass_first_seen_inside_a_registered_container():
    Inner = dataclasses.make_dataclass("Inner", ["x"])
    Outer = dataclasses.make_dataclass("Outer", ["inner"])
    value = Pair(Outer(Inner(1)), [Inner(2)], "tag")
    assert tree.leaves(value) == [1, 2]
    assert tree.map(lambda x: -x, value) == Pair(Outer(Inner(-1)), [Inner(-2)], "tag")


def test_dataclass_first_seen_as_a_cut_leaf():
    New = dataclasses.make_dataclass("New", ["x"])
    value = [New(1)]
    assert tree.leaves(value, is_leaf=lambda x: isinstance(x, New)) == value
    assert tree.leaves(value) == [1]


def test_class_of_a_dataclass_is_a_leaf():
    assert tree.leaves([Plain]) == [Plain]


def test_registered_twice():
    for known in (Pair, Plain, dict):
        tree.leaves(Plain(1))
        with pytest.raises(pa.RegistrationError, match="is a node of pytrees already"):
            tree.register(known, lambda x: ((), None), lambda static, children: None)
    assert tree.leaves(Pair(1, 2, "t")) == [1, 2]


def test_first_flattening_races():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            New = dataclasses.make_dataclass("New", ["x"])
            gate, found = threading.Barrier(8), []

            def work(New=New, gate=gate, found=found):
                gate.wait()
                try:
                    found.append(tree.leaves([New(New(1))]))
                except Exception as error:
                    found.append(error)

            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert found == [[1]] * 8
    finally:
        sys.setswitchinterval(before)


# ---------------------------------------------------------------------- structures
@pytest.mark.parametrize("value", [1.0, [1, {"a": (2, None)}], {}], ids=str)
def test_structure_is_pickled_copied_and_hashed(value):
    structure = tree.structure(value)
    for again in (pickle.loads(pickle.dumps(structure)), copy.deepcopy(structure)):
        assert again == structure and hash(again) == hash(structure)
        assert tree.unflatten(again, tree.leaves(value)) == value


def test_bare_leaf_is_one_structure():
    cut = tree.flatten([1, 2], is_leaf=lambda x: isinstance(x, list))[1]
    assert tree.structure(1.0) is tree.structure("a") is cut is tree.LEAF
    assert tree.structure([1]) != tree.LEAF and tree.structure([1]) != tree.LEAF
    assert tree.show(tree.LEAF) == "*" and tree.show(tree.structure({"a": (1,)})) == "{'a': (*,)}"


leaf = st.one_of(st.integers(), st.floats(allow_nan=False), st.text(), st.booleans())
key = st.text(max_size=3)


def nodes(children):
    return st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        st.dictionaries(key, children, max_size=3),
        st.builds(Point, children, children),
        st.builds(Plain, children, children),
        st.builds(Frozen, children, key, children),
        st.builds(Derived, children, children, children),
        st.builds(Pair, children, children, key),
    )


@given(st.recursive(st.one_of(leaf, st.none()), nodes, max_leaves=20))
def test_random_trees(value):
    leaves, structure = tree.flatten(value)
    assert tree.unflatten(structure, leaves) == value
    assert tree.map(lambda x: x, value) == value
    assert tree.map(lambda x, y: (x, y), value, value) == tree.unflatten(structure, [(x, x) for x in leaves])
    assert len(tree.paths(value)) == len(leaves) == len(tree.broadcast_prefix(0, value, "here"))
    assert tree.broadcast_prefix(value, value, "here") == leaves
    numbered = tree.unflatten(structure, range(len(leaves))) if structure is not tree.LEAF else 0
    assert tree.leaves(numbered) == list(range(len(leaves)))


# --- as users of JAX expect ------------------------------------------------------------------------------------


def test_none_is_an_empty_subtree():
    assert pa.tree.leaves({"a": None, "b": 1}) == [1]
    assert pa.tree.map(lambda x: x + 1, {"a": None, "b": 1}) == {"a": None, "b": 2}
    assert pa.tree.leaves(None) == [] and pa.tree.map(lambda x: x, None) is None
    assert pa.tree.structure({"a": None}) != pa.tree.structure({"a": 0})
    assert pa.tree.leaves({"a": None, "b": 1}, is_leaf=lambda x: x is None) == [None, 1]
    with pytest.raises(pa.StructureError):
        pa.tree.map(lambda x, y: x, {"a": None}, {"a": 1})


def test_none_in_arguments_of_transformations():
    parameters = {"w": np.array([1.0, 2.0]), "b": None}
    f = lambda p: np.sum(p["w"] ** 2) if p["b"] is None else p["b"]
    gradient = pa.grad(f)(parameters)
    assert gradient["b"] is None
    np.testing.assert_array_equal(gradient["w"], [2.0, 4.0])
    mapped = pa.vmap(lambda p: {"w": p["w"] * 2, "b": p["b"]})(parameters)
    assert mapped["b"] is None
    assert pa.make_ir(lambda p: p)(parameters)(parameters)["b"] is None


def test_static_fields():
    @dataclasses.dataclass
    class Layer:
        w: np.ndarray
        activation: str = dataclasses.field(default="tanh", metadata={"static": True})

    layer = Layer(np.array([0.5]))
    gradient = pa.grad(lambda p: np.sum(getattr(np, p.activation)(p.w)))(layer)
    assert gradient.activation == "tanh"
    np.testing.assert_allclose(gradient.w, 1 - np.tanh(0.5) ** 2)
    assert pa.tree.leaves(layer) == [layer.w]
    assert pa.tree.structure(layer) != pa.tree.structure(Layer(layer.w, "relu"))


def test_all():
    assert pa.tree.all({"a": True, "b": [1, 2]}) and pa.tree.all(()) and not pa.tree.all([True, {"a": 0}])


def test_transpose():
    whole = [{"a": 1, "b": (2, None)}, {"a": 3, "b": (4, None)}]
    expected = {"a": [1, 3], "b": ([2, 4], None)}
    assert pa.tree.transpose([0, 0], whole[0], whole) == expected
    assert pa.tree.transpose(pa.tree.structure([0, 0]), pa.tree.structure(whole[0]), whole) == expected
    assert pa.tree.transpose([0, 0], None, whole) == expected
    assert pa.tree.transpose(0, {"a": 0}, {"a": 5}) == {"a": 5}
    for outer, inner in (([0, 0, 0], None), ([0, 0], {"a": 0}), ([], None)):
        with pytest.raises(pa.StructureError, match="tree.transpose"):
            pa.tree.transpose(outer, inner, whole)


def test_paths_and_several_trees():
    one, two = {"a": 1, "b": [2, 3]}, {"a": 10, "b": [20, 30]}
    found = pa.tree.map_with_path(lambda path, x, y: (path, x + y), one, two)
    assert found == {"a": ("['a']", 11), "b": [("['b'][0]", 22), ("['b'][1]", 33)]}
    assert pa.tree.leaves_with_path(one) == [("['a']", 1), ("['b'][0]", 2), ("['b'][1]", 3)]
    assert pa.tree.leaves_with_path(5) == [("", 5)]
    pairs = [(1, 2), (3, 4)]
    assert pa.tree.map_with_path(lambda p, x: (p, x), pairs, is_leaf=lambda x: isinstance(x, tuple))[1] == ("[1]", (3, 4))
    assert pa.tree.reduce(lambda a, b: a + b[0], pairs, 0, is_leaf=lambda x: isinstance(x, tuple)) == 4


def test_flatten_and_register_are_public():
    class Point:
        def __init__(self, x, label):
            self.x, self.label = x, label

    pa.tree.register(Point, lambda p: ([p.x], p.label), lambda label, children: Point(*children, label), ("x",))
    leaves, structure = pa.tree.flatten({"p": Point(2.0, "origin")})
    assert leaves == [2.0] and pa.tree.unflatten(structure, [3.0])["p"].label == "origin"
    assert pa.grad(lambda p: p.x**2)(Point(2.0, "origin")).x == 4.0
    assert pa.tree.paths(Point(2.0, "")) == [".x"]
