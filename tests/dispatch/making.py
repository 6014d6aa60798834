"""Generic functions and methods for tests of how calls find them."""

import polyad as pa


def make(*methods, **options):
    """A fresh generic function of two arguments with methods that return their own name."""

    @pa.generic(**options)
    def op(x, y, /):
        """Two arguments."""

    for method in methods:
        op.method(method)
    return op


def named(name, /, **annotations):
    """A method with these annotations that returns `name`."""
    source = f"def {name}({', '.join(annotations)}, /): return {name!r}"
    scope = {}
    exec(source, scope)
    method = scope[name]
    method.__annotations__ = annotations
    return method
