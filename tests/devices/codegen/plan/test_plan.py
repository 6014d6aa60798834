"""Which values of a straight line get memory, which passes are one, and what has no C."""

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.loops.bodies import Graph
from polyad.devices.codegen.loops.nests import Nest
from polyad.devices.codegen.plan import plan as module
from polyad.devices.codegen.plan.plan import DEEPEST, Plan, lowerable, trial
from polyad.devices.codegen.text.indices import Buffer
from polyad.devices.codegen.text.math_functions import Functions
from polyad.devices.codegen.text.scalars import Unsupported
from polyad.dsl.ir.pass_selection import PASSES, using

pytestmark = pytest.mark.quick

X, Y = np.ones((4, 5)), np.ones(5)


def planned(f, *xs):
    program = pa.make_ir(f)(*xs)
    graph = Graph(Functions())
    for letter, group in (("x", program.inputs), ("y", program.outputs)):
        graph.buffers.update({v: Buffer(f"{letter}{k}", v.aval.dtype, v.aval.shape) for k, v in enumerate(group)})
    return Plan(program.equations, program.outputs, graph)


def sizes(f, *xs):
    """(how many passes, shapes of temporaries)."""
    plan = planned(f, *xs)
    return len(plan.nests), [v.aval.shape for v in plan.temporaries]


def test_elementwise_values_are_computed_where_they_are_read():
    assert sizes(lambda x: pa.exp(pa.sin(x) * 2.0) + pa.cos(x), X) == (1, [])
    assert sizes(lambda x: (pa.sin(x), pa.sin(x) + 1.0), X) == (1, [])
    assert sizes(lambda x: pa.sum(pa.exp(x), axis=1), X) == (1, [])
    assert sizes(lambda x: pa.transpose(pa.reshape(x, (4, 5)) * 2.0)[::-1], X) == (1, [])


def test_what_would_be_computed_many_times_has_memory():
    """A function of a row that each row needs; not where it is but moved, or cheap and read at two places."""
    assert sizes(lambda x, y: x * pa.sin(y), X, Y) == (2, [(5,)])
    assert sizes(lambda x, y: x * y[::-1], X, Y) == (1, [])
    assert sizes(lambda x: (lambda e: e + e[::-1])(pa.exp(x)), X) == (2, [(4, 5)])
    assert sizes(lambda x: (lambda e: e + e[::-1])(x + 1.0), X) == (1, [])


def test_passes_over_one_space_are_one():
    two = lambda x: (pa.sum(x, axis=1), pa.max(x, axis=1))
    assert sizes(two, X) == (1, [])
    assert sizes(lambda x: (pa.sum(x, axis=1), pa.sum(x, axis=0)), X) == (2, [])  # over other axes
    assert sizes(lambda x: x / pa.sum(x), X)[0] == 2  # one waits for the other
    with using([p for p in PASSES if p != "fusion"]):
        count, temporaries = sizes(lambda x: pa.exp(pa.sin(x)) + 1.0, X)
        assert count == 3 and temporaries == [(4, 5)] * 2


@pytest.mark.parametrize("n, kept", [(DEEPEST, 0), (DEEPEST + 2, 1), (2 * DEEPEST + 3, 2)])
def test_movements_one_after_the_other(n, kept):
    """Followed from one to the next, and after so many stored, so that places do not grow without an end."""

    def f(x):
        for _ in range(n):
            x = x[::-1]
        return x + 1.0

    assert len(sizes(f, Y)[1]) == kept


def test_other_shapes_share_memory():
    plan = planned(lambda x: pa.sum(pa.reshape(pa.cumsum(x, axis=0), (20,))), X)
    assert len(plan.temporaries) == 1 and all(isinstance(n, Nest) for n in plan.nests[1:])
    outside = planned(lambda x: pa.reshape(x, (20,)), X)  # a result of the program lies apart
    assert len(outside.nests) == 1 and outside.nests[0].shape == (20,)


@pytest.mark.parametrize("f", [
    lambda x: pa.sin(x), lambda x: pa.sum(x, axis=0), lambda x: x @ pa.transpose(x), lambda x: pa.reshape(x, (20,)),
    lambda x: pa.fori_loop(0, 2, lambda i, c: pa.sin(c), x),
])  # fmt: skip
def test_what_has_c(f):
    assert all(lowerable(e) for e in pa.make_ir(f)(X).equations)


@pytest.mark.parametrize("f, x", [
    (lambda x: pa.linalg.svd(x)[1], X), (lambda x: x + 1, X.astype("e")),
    (lambda x: pa.fori_loop(0, 2, lambda i, c: pa.linalg.svd(c)[1][0] * c, x), X),
])  # fmt: skip
def test_what_has_none(f, x):
    found = pa.make_ir(f)(x).equations
    assert not all(lowerable(e) for e in found)
    with pytest.raises(Unsupported):
        for e in found:
            trial(e)
            if not lowerable(e):
                raise Unsupported


def test_what_is_known_is_forgotten_at_a_bound(monkeypatch):
    """And in between it is asked once for each operation, dtypes, shapes and parameters."""
    asked, succeeds = [], module._succeeds
    monkeypatch.setattr(module, "_succeeds", lambda e, functions: asked.append(e) or succeeds(e, functions))
    monkeypatch.setattr(module, "_lowerable", {})
    monkeypatch.setattr(module, "REMEMBERED", 2)
    once = lambda n: lowerable(pa.make_ir(pa.sin)(np.ones(n)).equations[0])
    assert once(3) and once(3) and once(4) and len(asked) == 2
    assert once(5) and once(6) and len(asked) == 4 and len(module._lowerable) == 1
