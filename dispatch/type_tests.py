"""What Python's type tests say of a followed value: what they say of the plain value in its place.

`isinstance(x, np.ndarray)`, `np.isscalar(x)`, `match x: case float()` and `functools.singledispatch` ask `x.__class__`, so
there a layer value answers with the class that the function would have met without the transformation. Dispatch and the
code of the package ask `type(x)`, by `isa`: they see layers as layers.
"""


def isa(x, kind):
    """Return whether x itself is of a class, or of one of a tuple of classes: by its type, whatever it stands for.

    To be used in the package instead of `isinstance` wherever x may be followed and the class is one of plain values.
    """
    return issubclass(type(x), kind)


class Standing:
    """A value in the place of a plain one: `standing()` is the class of that."""

    __slots__ = ()
    __class__ = property(lambda self: self.standing())


class PlainMembers:
    """The base of layers behind all others: attributes of the plain value that are no operations, see
    dsl/numpy_calls/array_methods.py."""

    __slots__ = ()


set_class = object.__dict__["__class__"].__set__  # makes an object one of another class of the same slots
