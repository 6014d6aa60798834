"""`check_rule`: the rules of an operation's card against references that know nothing of them."""

from functools import reduce
from typing import Any

import numpy as np

from ..ad import jvp, vjp
from ..ad.tools.check import check_grads, inner
from ..ad.tools.finite_differences import numerical_jvp
from ..devices import Device
from ..dispatch import isa, tree
from ..dsl import compile_program, make_ir, operations, vmap
from ..dsl.avals import aval_of, dtype_of
from ..dsl.card import library_name
from .comparing import agree, inexact, naming, random_like


def check_rule(op, *args, **params):
    """Check everything that an operation's card says, at one sample.

    op: an operation (declared with `elementwise`, `linear`, …). args: its arrays, at a point where it is smooth; a list
    for an operation on a sequence. params: its parameters. Checked are the kernel against NumPy (for NumPy's names),
    the shape rule against the result, forward mode against finite differences, reverse mode as its transpose, second
    order, lanes of `vmap` against a loop, a trace against eager execution, and the C expression of an operation of your
    own against its kernel. Raises AssertionError naming the rule that disagrees.

    >>> import numpy as np, polyad as pa
    >>> from polyad.testing import check_rule
    >>> check_rule(pa.multiply, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    """
    if getattr(op, "card", None) is None:
        raise TypeError(f"check_rule: {op!r} is not an operation with a card; use polyad.check_grads for functions")
    with naming(op.__name__):
        check_kernel(op, args, params)
        check_shape(op, args, params)
        check_forward(op, args, params)
        check_reverse(op, args, params)
        check_second_order(op, args, params)
        check_lanes(op, [_shifted(args, k) for k in range(3)], params)
        check_trace(op, args, params)
        if op.card.c is not None and library_name(op) is None:
            check_c(op, args, params)


def _shifted(args, k):
    """Other values of the same kind: floating ones a little smaller, others turned round."""
    change = lambda x: x * (1 - 0.05 * k) if inexact(x) else np.roll(x, k) if isa(x, np.ndarray) else x
    return tree.map(lambda x: change(x).astype(x.dtype)[()] if isa(x, np.ndarray) else x, args)


def flat(op, args):
    """The arrays of a call; a sequence operation's come as one list."""
    return list(args[0]) if op.generic.sequence else list(args)


def _with_arrays(op, args, params, chosen):
    """The operation as a function of the chosen ones of its arguments, and those."""
    xs, call = flat(op, args), op.generic.spread
    where = [i for i, x in enumerate(xs) if chosen(x)]

    def f(*values):
        full = list(xs)
        for i, v in zip(where, values, strict=True):
            full[i] = v
        return call(*full, **params)

    return f, tuple(xs[i] for i in where)


def _differentiable(op, args, params):
    """The operation as a function of its floating arguments with floating results (a list, if it gives several)."""
    f, xs = _with_arrays(op, args, params, inexact)
    if not xs or not op.card.differentiable:
        return f, ()
    if not isinstance(f(*xs), tuple):
        return f, xs
    return (lambda *values: [y for y in f(*values) if dtype_of(y).kind in "fc"]), xs


def check_kernel(op, args, params):
    """The operation gives numbers, and what NumPy's functions of its names give."""
    with naming("kernel"):
        y = op(*args, **params)
        for part in tree.leaves(y):
            assert aval_of(part).dtype.kind in "biufc", f"the result is of dtype {aval_of(part).dtype}"
        for name in op.card.numpy:
            function = reduce(lambda found, part: getattr(found, part, None), name.split("."), np)
            if function is not None and name not in ("fabs", "astype") and "size" not in params:  # NumPy's take less
                agree(y, function(*args, **params), rtol=1e-13, atol=1e-15)


def check_shape(op, args, params):
    """The shape rule, which a trace asks, says the result's shape and dtype."""
    with naming("shape rule"):
        f, arrays = _with_arrays(op, args, params, lambda x: isa(x, (np.ndarray, np.generic)))
        found = [v.aval if hasattr(v, "aval") else aval_of(v) for v in make_ir(f)(*arrays).outputs]
        expected = [aval_of(part) for part in tree.leaves(op(*args, **params))]
        assert found == expected, f"{', '.join(map(str, found))}, but the result is {', '.join(map(str, expected))}"


def check_forward(op, args, params):
    """Forward mode against finite differences: all tangents at once, and one at a time."""
    f, xs = _differentiable(op, args, params)
    if not xs:
        return
    rng = np.random.default_rng(1)
    dxs = tuple(random_like(rng, x) for x in xs)
    with naming("forward mode"):
        y, dy = jvp(f, xs, dxs)
        agree(y, f(*xs))
        agree(dy, numerical_jvp(f, xs, dxs), rtol=2e-6, atol=1e-8)
        for v, t in zip(tree.leaves(y), tree.leaves(dy), strict=True):
            assert aval_of(t) == aval_of(v), f"a tangent {aval_of(t)} of a value {aval_of(v)}"
    for k in range(len(xs)):
        with naming(f"forward mode by argument {k}"):
            one = tuple(dx if i == k else np.zeros_like(dx) for i, dx in enumerate(dxs))
            g = lambda v, k=k: f(*xs[:k], v, *xs[k + 1 :])
            agree(jvp(g, (xs[k],), (dxs[k],))[1], numerical_jvp(f, xs, one), rtol=2e-6, atol=1e-8)


def check_reverse(op, args, params):
    """Reverse mode is the transpose of finite differences; each cotangent has its argument's shape and dtype."""
    f, xs = _differentiable(op, args, params)
    if not xs:
        return
    rng = np.random.default_rng(2)
    dxs = tuple(random_like(rng, x) for x in xs)
    with naming("reverse mode"):
        y, pullback = vjp(f, *xs)
        ct = tree.map(lambda v: random_like(rng, np.asarray(v)[()]), y)
        cts = pullback(ct)
        for c, x in zip(cts, xs, strict=True):
            assert aval_of(c) == aval_of(x), f"a cotangent {aval_of(c)} of an argument {aval_of(x)}"
    for k in range(len(xs)):
        with naming(f"reverse mode by argument {k}"):
            g = lambda v, k=k: f(*xs[:k], v, *xs[k + 1 :])
            change = numerical_jvp(g, (xs[k],), (dxs[k],))
            agree(inner(cts[k], dxs[k]), inner(ct, change), rtol=2e-6, atol=1e-8)
            agree(vjp(g, xs[k])[1](ct)[0], cts[k])


def check_second_order(op, args, params):
    """Derivatives of derivatives, in all mixtures of the modes."""
    f, xs = _differentiable(op, args, params)
    if xs:
        with naming("second order"):
            check_grads(f, xs, order=2, rtol=2e-4, atol=1e-5)


def check_lanes(op, lanes, params, sizes=None):
    """`vmap` against a loop, each subset of the arrays mapped that matters: all of them, and one at a time.

    lanes: list of arguments, one per lane. sizes: how many lanes to use, by default all, and 0, which is a case of its own.
    """
    rows, call = [flat(op, args) for args in lanes], op.generic.spread
    arrays = [i for i, x in enumerate(rows[0]) if isa(x, (np.ndarray, np.generic))]
    columns = {i: np.stack([row[i] for row in rows]) for i in arrays}
    for mapped in sorted({tuple(arrays), *[(i,) for i in arrays]}):
        each = [[row[i] if i in mapped else x for i, x in enumerate(rows[0])] for row in rows]
        results = [call(*lane, **params) for lane in each]
        in_axes = tuple(0 if i in mapped else None for i in range(len(rows[0])))
        for size in (len(rows), 0) if sizes is None else sizes:
            with naming(f"{size} lanes of arguments {', '.join(map(str, mapped))}"):
                loop = tree.map(lambda *ys, size=size: np.stack(ys)[:size], *results)
                batch = [columns[i][:size] if i in mapped else x for i, x in enumerate(rows[0])]
                found = vmap(lambda *xs: call(*xs, **params), in_axes=in_axes)(*batch)
                agree(found, loop, exact=True)


def check_trace(op, args, params):
    """A traced program gives what eager execution gives, and so does its source code."""
    f, values = _with_arrays(op, args, params, lambda x: isa(x, (np.ndarray, np.generic)))
    with naming("trace"):
        program = make_ir(f)(*values)
        expected = f(*values)
        # beside its body, a kernel of its own may round otherwise
        rounding: dict[str, Any] = {} if op.card.body else {"rtol": 0, "atol": 0}
        agree(program(*values), expected, **rounding)
        assert str(program), "the program does not print"
        if operations.get(op.__name__) is op and op.__module__.startswith("polyad."):  # code names ours only
            namespace = {}
            exec(program.code, namespace)
            agree(namespace[program.name](*values), expected, **rounding)


def check_c(op, args, params):
    """The operation compiled, by its card's C expression, gives what its kernel gives."""
    f, values = _with_arrays(op, args, params, lambda x: isa(x, (np.ndarray, np.generic)))
    with naming("C expression"):
        (found,) = compile_program(make_ir(f)(*values), Device("cpu"))(*values)
        rounding = {"rtol": 64 * np.finfo(found.dtype).eps, "atol": 64 * np.finfo(found.dtype).eps} if inexact(found) else {}
        agree(found, f(*values), **rounding)
