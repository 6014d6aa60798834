"""Wrong input is a named error that says operation, types, shapes and the next step; unusual input is right."""

import warnings

import numpy as np
import pytest

import polyad as pa

x = np.ones((2, 3))
objects = np.array([1.0, None, 2.0], dtype=object)
words = np.array(["a", "b", "c"])

follow = {
    "eager": lambda f, v: f(v),
    "grad": lambda f, v: pa.grad(lambda u: pa.sum(f(u)))(v),
    "jvp": lambda f, v: pa.jvp(f, (v,), (v,)),
    "vmap": lambda f, v: pa.vmap(f)(np.stack([v] * 5)),
    "ir": lambda f, v: pa.make_ir(f)(v),
}


to_float = lambda v: pa.astype(v, dtype=float)
UNARY = [pa.sin, pa.negative, pa.sum, pa.mean, pa.max, pa.prod, pa.all, pa.transpose, pa.ravel, pa.squeeze,
         pa.expand_dims, pa.matrix_transpose, pa.real, lambda v: pa.reshape(v, (-1,)),
         lambda v: pa.broadcast_to(v, (2, 3)),
         lambda v: pa.moveaxis(v, 0, 0), lambda v: pa.take(v, np.array([0])), lambda v: pa.getitem(v, 0),
         lambda v: pa.at(v, 0).set(1.0), to_float, lambda v: pa.concatenate([v, v]),
         lambda v: pa.stack([v, v])]  # fmt: skip


@pytest.mark.parametrize("f", UNARY)
@pytest.mark.parametrize(
    "what", [[1.0, 2.0], (1.0, 2.0), [[1.0]], "text", None, {"a": 1}, object(), b"1"], ids=lambda w: type(w).__name__
)
def test_what_is_no_array(f, what):
    with pytest.raises(pa.MethodError) as found:
        f(what)
    text = str(found.value)
    assert f"({type(what).__name__}" in text or f", {type(what).__name__}" in text, text
    assert "hint: " in text
    if isinstance(what, (list, tuple)):
        assert "lists and tuples are not arrays: convert with polyad.asarray" in text


@pytest.mark.parametrize("f", UNARY)
def test_arrays_of_objects(f):
    """Each refuses them, but the conversion that the error recommends."""
    if f is to_float:
        np.testing.assert_array_equal(f(np.array([1, 2.5], object)), [1, 2.5])
        return
    with pytest.raises(pa.DTypeError, match="object.*(not supported|numbers)"):
        f(objects[None])


@pytest.mark.parametrize("transform", [pa.grad, pa.make_ir, pa.vmap, lambda f: lambda v: pa.jvp(f, (v,), (v,))])
@pytest.mark.parametrize("array", [objects, words], ids=["objects", "words"])
def test_arrays_of_objects_and_words_into_transformations(transform, array):
    with pytest.raises((pa.DTypeError, pa.ShapeError), match="object|<U1|str"):
        transform(lambda v: pa.multiply(v, 2.0))(array)


@pytest.mark.parametrize("how", [how for how in follow if how != "eager"])
@pytest.mark.parametrize("operand", [[1.0, 2.0, 3.0], "text", None, objects])
def test_operands_beside_followed_values(how, operand):
    add, join = lambda v: pa.add(v, operand), lambda v: pa.concatenate([v, operand])
    for f in (add, join, lambda v: pa.where(v > 0, v, operand)):
        with pytest.raises((pa.MethodError, pa.DTypeError, pa.ShapeError)):
            follow[how](f, x[0])


@pytest.mark.parametrize("join", [pa.concatenate, pa.stack])
@pytest.mark.parametrize("empty", [[], ()])
def test_nothing_to_join(join, empty):
    with pytest.raises(pa.ShapeError, match=f"{join.__name__}: the list of arrays is empty; give at least one"):
        join(empty)


@pytest.mark.parametrize("join", [pa.concatenate, pa.stack])
@pytest.mark.parametrize("what", [None, 3.0, np.float64(1)])
def test_no_list_to_join(join, what):
    with pytest.raises(pa.MethodError, match=f"{join.__name__} takes a list or tuple of arrays"):
        join(what)


def test_nothing_to_reduce():
    for shape, axis in (((0,), None), ((0, 3), 0), ((2, 0), 1)):
        for extremum in (pa.max, pa.min):
            with pytest.raises(pa.ShapeError, match=f"{extremum.__name__}.*no identity"):
                extremum(np.ones(shape), axis=axis)
        np.testing.assert_array_equal(pa.sum(np.ones(shape), axis=axis), np.sum(np.ones(shape), axis=axis))
        np.testing.assert_array_equal(pa.prod(np.ones(shape), axis=axis), np.prod(np.ones(shape), axis=axis))


# --- unusual arrays --------------------------------------------------------------------------------------------

base = np.arange(24.0).reshape(4, 6) / 7 + 0.1
read_only = base[:2, :3].copy()
read_only.flags.writeable = False
UNUSUAL = {
    "non-contiguous": base[::2, ::-2], "transposed": base[:3, :2].T, "read-only": read_only,
    "big-endian": base[:2, :3].astype(">f8"), "float16": base[:2, :3].astype(np.float16),
    "no rows": np.ones((0, 3)), "no columns": np.ones((2, 0)), "broadcast view": np.broadcast_to(0.3, (2, 3)),
    "int8": np.arange(6, dtype=np.int8).reshape(2, 3), "bool": np.arange(6).reshape(2, 3) % 2 == 0,
}  # fmt: skip
FAMILIES = {
    "arithmetic": lambda m, v: m.add(m.multiply(v, v), 1), "trigonometric": lambda m, v: m.sin(v),
    "exponential": lambda m, v: m.exp(v), "comparison": lambda m, v: m.where(m.greater(v, 0.5), v, v + v),
    "reduction": lambda m, v: m.sum(v, axis=0, keepdims=True), "product": lambda m, v: m.prod(v, axis=1),
    "mean": lambda m, v: m.mean(v, axis=-1) if v.shape[1] else m.sum(v),
    "matmul": lambda m, v: m.matmul(v, m.transpose(v)),
    "shape": lambda m, v: m.reshape(m.swapaxes(v, 0, 1), (v.shape[0], v.shape[1], 1)),
    "join": lambda m, v: m.concatenate([v, m.stack([v[:, 0], v[:, 0]], axis=-1)], axis=1) if v.shape[1] else v,
    "index": lambda m, v: v[::-1, :2][:, None], "take": lambda m, v: m.take(v, np.array([], int), axis=1),
    "complex": lambda m, v: m.conj(v),
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", UNUSUAL)
def test_unusual_arrays(family, kind):
    v, f = UNUSUAL[kind], FAMILIES[family]
    before = v.copy()
    expected = f(np, v)
    tolerance = {"rtol": 1e-2 if v.dtype == np.float16 else 1e-6 if expected.dtype == np.float32 else 1e-12}
    found = f(pa, v)
    np.testing.assert_allclose(found, expected, **tolerance)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(pa.vmap(lambda u: f(pa, u))(np.stack([v, v]))[0], expected, **tolerance)
    program = pa.make_ir(lambda u: f(pa, u))(v)
    np.testing.assert_allclose(program(v), expected, **tolerance)
    if v.dtype.kind == "f" and expected.dtype.kind == "f":
        value, pullback = pa.vjp(lambda u: f(pa, u), v)
        np.testing.assert_allclose(value, expected, **tolerance)
        (g,) = pullback(np.ones(expected.shape, expected.dtype))
        (g64,) = pa.vjp(lambda u: f(pa, u), v.astype(float))[1](np.ones(expected.shape))
        np.testing.assert_allclose(g, g64, **tolerance)
        assert g.shape == v.shape and g.dtype == v.dtype
    np.testing.assert_array_equal(v, before)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "index"])
def test_masked_arrays_and_matrices(family):
    """Their functions mean something else, so that an operation made of several of them would give a third number."""
    masked = np.ma.masked_array(np.arange(6.0).reshape(2, 3), mask=[[0, 1, 0], [0, 0, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    for v, advice in ((masked, "x.filled"), (matrix, "np.asarray")):
        batched = pa.vmap(lambda u, v=v: pa.add(u, v), in_axes=None, axis_size=2)
        for call in (lambda u: FAMILIES[family](pa, u), batched):
            with pytest.raises(pa.MethodError, match=advice):
                call(v)


class Mine(np.ndarray):
    """A subclass of somebody's."""


@pytest.mark.parametrize("family", FAMILIES)
def test_subclasses_of_arrays(family):
    v = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(np.asarray(FAMILIES[family](pa, v.view(Mine))), FAMILIES[family](np, v))


@pytest.mark.parametrize("number", [2, 2.5, True, np.float32(2), np.int8(3), np.array(1.5), np.array(2)])
def test_numbers_and_arrays_without_axes(number):
    for name, *rest in (("sin",), ("square",), ("sum",), ("ravel",), ("reshape", (1, 1)), ("broadcast_to", (2, 2))):
        np.testing.assert_array_equal(getattr(pa, name)(number, *rest), getattr(np, name)(number, *rest))
    for outside in (lambda: pa.concatenate([number, number]), lambda: pa.take(number, 0, axis=1)):
        with pytest.raises((pa.ShapeError, pa.MethodError)):
            outside()
