"""The net catches: faults put in on purpose, each of one kind, are found and named."""

from dataclasses import replace

import numpy as np
import pytest
from polyad_fuzz import cases, products, programs, running, texts
from polyad_fuzz.compare import quiet
from polyad_fuzz.covering import covering, pairs_of

import polyad as pa
from polyad.devices.codegen import source
from polyad.devices.codegen.lowerings import blas
from polyad.dsl import operations

pytestmark = [pytest.mark.optimized, pytest.mark.slow]


def kinds(*calls, transform=pa.jit):
    with quiet():
        return [f.kind for f in running.run(calls, transform)]


def case(name="tanh", size=17, dtype="f8", layout="plain", mode="value", sample=0):
    return cases.build(cases.Case(name, sample, size, dtype, layout, mode))


def test_without_a_fault_nothing_is_found():
    calls = [case(), case(mode="gradient"), case(mode="tangent"), case(dtype="f2")]
    calls += [case("sum", 300, layout="reverse"), case("sort", 9)]
    assert kinds(*calls) == []


def test_a_loop_of_one_length_that_ends_early(monkeypatch):
    before = source.Source.__init__

    def made(self, *args, **kwargs):
        before(self, *args, **kwargs)
        self.text = self.text.replace("< 17;", "< 16;")

    monkeypatch.setattr(source.Source, "__init__", made)
    assert kinds(case(size=16), case(size=33), case(size=300)) == []
    assert kinds(case(size=17)) == ["compiled is not eager"]
    with quiet():
        (finding,) = running.run([case(size=17, dtype="f4", layout="gaps", mode="gradient")])
        least = texts.shrunk(finding, pa.jit)
    assert (least.case.size, least.case.dtype, least.case.layout, least.case.mode) == (17, "f8", "plain", "value")
    assert "pa.tanh(x0)" in texts.text_of(least)


def test_a_product_that_is_wrong_where_it_is_large(monkeypatch):
    right = blas.gemm

    def short(dtype, n, m, k, *rest):
        statements = right(dtype, n, m, k, *rest)
        return statements and [replace(s, value=k - 1) if getattr(s, "name", "") == "K" else s for s in statements]

    monkeypatch.setattr(blas, "gemm", short)
    assert kinds(products.build("NN", 3, 3, 3, "f8", "plain", "value")) == []
    assert kinds(products.build("NN", 100, 100, 100, "f8", "plain", "value")) == ["compiled is not eager"]


def test_a_slope_that_is_wrong_compiled_and_not(monkeypatch):
    card = operations["tanh"].card
    monkeypatch.setattr(card, "partials", (lambda y, x: 1.0 - y * y * 0.999,))
    operations["tanh"].generic.clear()
    try:
        assert kinds(case(mode="gradient")) == ["a gradient is not the slope"]
    finally:
        monkeypatch.undo()
        operations["tanh"].generic.clear()


def test_sums_in_half_precision(monkeypatch):
    monkeypatch.setitem(programs.PROGRAMS, "running sum", (lambda x: pa.cumsum(x)[-1], [programs.sample(programs.positive(3))]))
    assert kinds(case("running sum", 7, "f8")) == []
    assert kinds(case("running sum", 20000, "f2")) == ["eager is not double precision"]


def later(f):
    first = []
    return lambda *xs: first[0] if first else first.append(f(*xs)) or first[0]


def shared(f):
    return lambda *xs: [[np.asarray(x)[...]] for x in xs]


def writing(f):
    def g(*xs):
        y = f(*xs)
        xs[0][0] += 1e-15
        return y

    return g


def single(f):
    return lambda *xs: [[y.astype("f4") for y in ys] for ys in f(*xs)]


def raising(f):
    def g(*xs):
        raise ValueError("no")

    return g


@pytest.mark.parametrize(
    ("transform", "name", "kind"),
    [
        (later, "tanh", "a later call is not eager"), (shared, "positive", "a result shares memory with an argument"),
        (writing, "tanh", "an argument was changed"), (single, "tanh", "compiled is not eager"),
        (raising, "tanh", "compiled execution raises"),
    ],
    ids=["a stale result", "a view", "a write", "another dtype", "an error"],
)  # fmt: skip
def test_faults_of_a_transformation(transform, name, kind):
    found = kinds(case(name), transform=transform)
    assert kind in found and len(set(found)) == 1
    assert kinds(case(name), case("cos"), transform=raising) == ["compiled execution raises"] * 2


def test_a_covering_array_covers():
    factors = ["abc", "xy", (1, 2, 3), "pq"]
    rows = covering(factors)
    assert len(rows) < 12
    wanted = {((i, a), (j, b)) for i in range(4) for j in range(i + 1, 4) for a in factors[i] for b in factors[j]}
    assert set().union(*map(pairs_of, rows)) == wanted
    refusing = covering(factors, lambda row: row[0] != "a")
    assert set().union(*map(pairs_of, refusing)) == {p for p in wanted if (0, "a") not in p}
