"""Specs: which axes of a mesh cut which axes of an array."""

import polyad as pa

P = pa.PartitionSpec


def test_parts_and_names():
    spec = P("a", None, ("b", "c"), partial="d")
    assert spec.parts == (("a",), (), ("b", "c")) and spec.names == ("a", "b", "c") and spec.partial == ("d",)
    assert repr(spec) == "PartitionSpec('a', None, ('b', 'c'), partial='d')"
    assert repr(P(partial=("a", "b"))) == "PartitionSpec(partial=('a', 'b'))"


def test_equal_and_hashable():
    assert P("a") == P(("a",)) != P("a", partial="b") and P("a") != P("b")
    assert len({P("a", None), P("a", None), P("a", partial="b")}) == 2
