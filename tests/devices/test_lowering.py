"""Lowerings: one record for each operation, which others fill in for theirs as the library does for its own."""

import ast
from pathlib import Path

import numpy as np
import pytest

import polyad as pa
from polyad.devices.lowering import FACTS, SIGNS, Lowering
from polyad.dsl import operations

DEVICES = Path(pa.devices.__file__).parent
# words of C and CUDA, which operations are called after
WORDS = ("codegen/text", "cuda_codegen/dialect.py", "codegen/toolchain")
GENERATORS = [
    path
    for room in ("codegen", "gpu_codegen", "cuda_codegen", "opencl_codegen")
    for path in sorted((DEVICES / room).rglob("*.py"))
    if not path.relative_to(DEVICES).as_posix().startswith(WORDS)
]


@pytest.mark.parametrize("path", GENERATORS, ids=lambda path: path.relative_to(DEVICES).as_posix())
def test_code_generators_know_no_operation_by_name(path):
    """No table has names of operations as its keys, and no decision hangs on one."""
    for node in ast.walk(ast.parse(path.read_text())):
        where = f"{path.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Dict):
            keys = [k.value for k in node.keys if isinstance(k, ast.Constant)]
            assert operations.keys().isdisjoint(keys), f"{where}: a table by names of operations: {keys}"
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            held = {n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)} & operations.keys() - set(SIGNS)
            assert len(held) < 2, f"{where}: a list of names of operations: {held}"
        if isinstance(node, ast.Compare):
            compared = [ast.unparse(part) for part in (node.left, *node.comparators)]
            named = [text for text in compared if text.endswith(("op.__name__", "card.name"))]
            assert not named, f"{where}: {ast.unparse(node)}"


# ---------------------------------------------------------------------- operations of others
@pa.reduction(samples=[lambda rng: rng.standard_normal((3, 4))])
def largest(x, /, axis=None, keepdims=False):
    """The largest element along axes."""


@largest.method
def largest_kernel(x: pa.HostArray, /, axis=None, keepdims=False):
    return np.max(x, axis=axis, keepdims=keepdims)


pa.lowering(largest, reduce="max")


@pa.linear(linear=(0,), samples=[lambda rng: rng.standard_normal((3, 4))])
def leaky_sum(x, /, decay):
    """The running sum along the last axis of which a share is lost at each step: y[k] = decay · y[k - 1] + x[k]."""


@leaky_sum.method
def leaky_sum_kernel(x: pa.HostArray, /, decay):
    y = np.array(x, float)
    for k in range(1, y.shape[-1]):
        y[..., k] += decay * y[..., k - 1]
    return y


@leaky_sum.rule("shape")
def leaky_sum_shape(x, decay):
    return pa.Aval(x.shape, x.dtype)


@leaky_sum.rule("batch")
def leaky_sum_batch(size, xs, batched, decay):
    return leaky_sum(xs[0], decay=decay)


leaky_sum.rule("transpose")([lambda ct, y, x, decay: pa.flip(leaky_sum(pa.flip(ct, -1), decay=decay), -1)])


@pa.lowering(leaky_sum)
def leaky_sum_loops(e, graph):
    """A loop along the last axis whose rounds build on each other, in loops over the others."""
    from polyad.devices.codegen.lowerings.scans import Scan
    from polyad.devices.codegen.text.expressions import Name, c
    from polyad.devices.codegen.text.scalars import Unsupported
    from polyad.devices.codegen.text.statements import Assign, Local

    (x,), (out,), decay = e.inputs, e.outputs, e.params["decay"]
    if x.aval.dtype != np.dtype(float):
        raise Unsupported("leaky sums of other numbers")

    def make(body, idx, counter):
        value, target, total = body.at(x, idx, out.aval.dtype), body.access(graph.buffers[out], idx), Name("total")
        steps = [Assign(total, c("{} * {} + {}", float(decay), total, value)), Assign(target, total)]
        return steps, lambda loop: [Local("double", "total", "0"), *loop]

    return [Scan(e, graph, x, x.aval.ndim - 1, make)]


def sources(f, *xs):
    return "\n".join(pa.compile_program(pa.make_ir(f)(*xs), pa.devices.Device("cpu")).sources)


def whole(f, *xs):
    """Whether a function is one piece of C."""
    from polyad.devices.codegen.program import stretches

    return [is_c for is_c, _ in stretches(pa.make_ir(f)(*xs).equations)] == [True]


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 4), (2, 0), (3, 700)])
def test_a_scan_of_somebody_else(shape):
    x = np.random.default_rng(1).standard_normal(shape)
    f = lambda x: leaky_sum(pa.sin(x), decay=0.5) * 2
    assert whole(f, x)
    np.testing.assert_allclose(pa.jit(f)(x), 2 * leaky_sum_kernel(np.sin(x), 0.5), rtol=1e-13)
    slope = lambda x: pa.grad(lambda x: pa.sum(pa.cos(leaky_sum(x, decay=0.5))))(x)
    np.testing.assert_allclose(pa.jit(slope)(x), slope(x), rtol=1e-12)
    lanes = pa.jit(pa.vmap(lambda x: leaky_sum(x, decay=0.25)))(np.stack([x, 2 * x]))
    np.testing.assert_allclose(lanes, leaky_sum_kernel(np.stack([x, 2 * x]), 0.25), rtol=1e-13)


@pytest.mark.parametrize("n", [1, 4, 40])
def test_a_scan_of_somebody_else_in_a_loop(n):
    """Few elements are variables there, more lie in memory: the loop is one piece of C."""
    x = np.random.default_rng(1).standard_normal(n)
    f = lambda x: pa.fori_loop(0, 3, lambda i, s: leaky_sum(s, decay=0.5) * 0.5, x)
    wanted = x
    for _ in range(3):
        wanted = leaky_sum_kernel(wanted, 0.5) * 0.5
    assert whole(f, x)
    np.testing.assert_allclose(pa.jit(f)(x), wanted, rtol=1e-13)


def test_what_a_lowering_does_not_take_runs_by_the_kernel():
    x = np.arange(5, dtype=np.float32)
    f = lambda x: leaky_sum(pa.sin(x), decay=0.5)
    assert not whole(f, x)
    np.testing.assert_allclose(pa.jit(f)(x), leaky_sum_kernel(np.sin(x), 0.5), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "?"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_a_reduction_of_somebody_else(dtype, axis):
    x = (np.random.default_rng(1).standard_normal((5, 6)) * 3).astype(dtype)
    f = lambda x: largest(x, axis=axis)
    assert whole(f, x)
    y = pa.jit(f)(x)
    np.testing.assert_array_equal(y, np.max(x, axis=axis), strict=True)
    both = np.stack([x, x[::-1]])
    np.testing.assert_array_equal(pa.jit(pa.vmap(f))(both), pa.vmap(f)(both), strict=True)


@pytest.mark.parametrize("dtype", ["f8", "i1", "?"])
@pytest.mark.parametrize("sign, extremum, initial", [("max", np.max, {}), ("min", np.min, {}), ("max", np.max, {"initial": 1})])
def test_an_extremum_of_nothing_is_what_the_kernel_says(dtype, sign, extremum, initial):
    """An error, or what the kernel has for it: as where nothing is compiled."""

    @pa.reduction()
    def extreme(x, /, axis=None, keepdims=False):
        """An extremum."""

    @extreme.method
    def extreme_kernel(x: pa.HostArray, /, axis=None, keepdims=False):
        return extremum(x, axis=axis, keepdims=keepdims, **initial)

    pa.lowering(extreme, reduce=sign)
    for shape, axis in (((0,), None), ((0, 3), 0), ((2, 0, 3), (0, 1)), ((3, 0), 0)):
        x, f = np.zeros(shape, dtype), lambda x, axis=axis: extreme(x, axis=axis, keepdims=True)
        for call in (f, pa.jit(f), pa.jit(lambda x, f=f: f(~x if x.dtype == bool else -x))):
            if initial or np.max(x, axis=axis, initial=0).size == 0:
                assert call(x).shape == f(x).shape
                np.testing.assert_array_equal(pa.jit(f)(x), f(x), strict=True)
            else:
                with pytest.raises(ValueError, match="zero-size array"):
                    call(x)
    assert whole(lambda x: extreme(x), np.ones(3, dtype))


def test_facts_add_up_and_are_seen_at_once():
    """An operation runs by its kernel until it has a lowering; what is said later is added."""

    @pa.reduction()
    def total(x, /, axis=None, keepdims=False):
        """The sum."""

    @total.method
    def total_kernel(x: pa.HostArray, /, axis=None, keepdims=False):
        return np.sum(x, axis=axis, keepdims=keepdims)

    x = np.ones(3)
    assert not whole(lambda x: total(x * 2), x)
    pa.lowering(total, reduce="+")
    assert whole(lambda x: total(x * 2), x)
    pa.lowering(total, leader=0)
    assert total.card.lowering.reduce == "+" and total.card.lowering.leader == 0
    assert pa.jit(lambda x: total(x * 2))(x) == 6


def test_operations_of_one_name_are_told_apart():
    """The record lies on the operation: one of another's with the name of ours is not ours."""

    def declared():
        @pa.reduction(kernel="max")
        def sum(x, /, axis=None, keepdims=False):
            """The largest element, under a name that is taken."""

        @sum.method
        def sum_kernel(x: pa.HostArray, /, axis=None, keepdims=False):
            return np.max(x, axis=axis, keepdims=keepdims)

        return sum

    own = declared()
    assert pa.jit(lambda x: own(x + 1) + pa.sum(x))(np.arange(4.0)) == 4 + 6
    assert pa.sum.card.lowering.reduce == "+" and own.card.lowering is None


class TestErrors:
    def test_no_operation(self):
        with pytest.raises(pa.RegistrationError, match="lowering: len is no operation; give one that has a card"):
            pa.lowering(len, reduce="+")

    def test_unknown_fact(self):
        with pytest.raises(pa.RegistrationError, match="lowering of largest: it has no 'loops'; it may say nests, index_map"):
            pa.lowering(largest, loops=lambda e, graph: [])

    def test_sign(self):
        with pytest.raises(pa.RegistrationError, match=r"reduce is one of '\+', '\*', 'max', 'min', '&', '\|', not 'sum'"):
            pa.lowering(largest, reduce="sum")

    def test_no_function(self):
        with pytest.raises(pa.RegistrationError, match=r"largest: index_map is str; it must be a function \(body, e, idx\)"):
            pa.lowering(largest, index_map="x[0]")

    def test_form(self):
        with pytest.raises(pa.RegistrationError, match=r"nests takes \(e\), but is called with \(e, graph\)"):
            pa.lowering(leaky_sum)(lambda e: [])

    def test_composite(self):
        with pytest.raises(pa.RegistrationError, match="lowering of softplus: it is composite, so that code is"):
            pa.lowering(pa.softplus, leader=0)


def test_each_fact_is_explained():
    assert all(f"\n    {fact} " in pa.lowering.__doc__ for fact in FACTS)
    assert Lowering() == Lowering(**dict.fromkeys(FACTS[:2]))


# ---------------------------------------------------------------------- an irregular operation of the library's
def test_an_irregular_operation_touches_two_files():
    """Everything that the code generators know of `cumsum`, say, is said in one file beside its family's: no other of theirs
    names it. Each lowering file is found by itself."""
    for name in ("cumsum", "argsort", "random_bits", "insertion_places", "matmul", "cholesky", "concatenate"):
        naming = [
            path.relative_to(DEVICES).as_posix()
            for path in GENERATORS
            if any(isinstance(n, ast.Constant) and n.value == name for n in ast.walk(ast.parse(path.read_text())))
            and f'"{name}"' in path.read_text()
        ]
        assert len(naming) == 1 and naming[0].startswith("codegen/lowerings/"), f"{name}: {naming}"
