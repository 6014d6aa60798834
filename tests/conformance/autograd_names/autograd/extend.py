"""Functions with rules of their own: cards of operations, whose rules are looked up when they are needed."""

import inspect

import polyad as pa

primitive_vjps = {}  # function -> position of an argument -> its reverse rule


def primitive(f):
    """f, a function of one or two arrays, as an operation that transformations do not look into."""

    def one(x, /):
        """f(x)"""

    def two(x, y, /):
        """f(x, y)"""

    op = pa.opaque(kernel=None)(one if len(inspect.signature(f).parameters) == 1 else two)
    op.__name__ = getattr(f, "__name__", "primitive")
    op.method(_on_host(op, f))
    op.rule("vjp")(lambda i, ct, y, *xs: _rule(op, i)(y, *xs)(ct))
    op.defgrad = lambda rule, argnum=0: _add(op, argnum, rule)
    op.defvjp = lambda rule, argnum=0: _add(op, argnum, lambda y, *xs: lambda ct: rule(ct, y, None, None, *xs))
    op.defvjp_is_zero = lambda places: [_add(op, i, None) for i in places]
    return op


def _on_host(op, f):
    if op.generic.arity == 1:

        def method(x: pa.HostArray, /):
            return f(x)
    else:

        def method(x: pa.HostArray, y: pa.HostArray, /):
            return f(x, y)

    return method


def _add(op, place, rule):
    primitive_vjps.setdefault(op, {})[place] = rule or (lambda y, *xs: lambda ct: None)


def _rule(op, place):
    try:
        return primitive_vjps[op][place]
    except KeyError:
        raise NotImplementedError(f"{op.__name__} has no reverse rule for argument {place}") from None


def defvjp(op, *rules):
    """Reverse rules of an operation: for each argument (value, *arguments) -> cotangent of the value -> of the argument."""
    for place, rule in enumerate(rules):
        _add(op, place, rule)
