"""Random numbers: what their errors say to give, and keys under every transformation."""

import numpy as np
import pytest

import polyad as pa
from polyad import random

N = 20000
KEY = random.key(12345)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: random.normal(3), pa.DTypeError, r"normal: int is not a key.*random\.key"),
        (lambda: random.normal(np.zeros(2)), pa.DTypeError, r"float64\[2\]\) is not a key"),
        (lambda: random.uniform(random.split(KEY)), pa.ShapeError, r"uniform: .*several keys.*vmap"),
        (lambda: random.split(np.zeros(3, np.uint64)), pa.ShapeError, "split: .* last axis has length 2"),
        (lambda: random.split(KEY, 2.0), pa.ShapeError, "split: shape 2.0 is no int"),
        (lambda: random.bits(KEY, -1), pa.ShapeError, "negative length"),
        (lambda: random.bits(KEY, 2, np.int64), pa.DTypeError, "bits: dtype int64"),
        (lambda: random.normal(KEY, 2, dtype=int), pa.DTypeError, "normal: dtype int64 is not a real floating"),
        (lambda: random.normal(KEY, 2, np.zeros(3)), pa.ShapeError, r"normal: .*float64\[3\].*shape \[2\]"),
        (lambda: random.normal(KEY, None, np.zeros(3), np.zeros(2)), pa.ShapeError, "normal: parameters"),
        (lambda: random.fold_in(KEY, 0.5), pa.DTypeError, "fold_in: data is float"),
        (lambda: random.fold_in(KEY, np.arange(2)), pa.ShapeError, "fold_in: .*vmap"),
        (lambda: random.randint(KEY, 2, 3, 3), pa.ShapeError, "randint: 0 integers"),
        (lambda: random.randint(KEY, 2, 0.0, 3), pa.DTypeError, "randint: low is float"),
        (lambda: random.choice(KEY, 3, 4, replace=False), pa.ShapeError, "choice: 4 out of 3 slices without"),
        (lambda: random.choice(KEY, 0, 1), pa.ShapeError, "choice: 1 out of 0"),
        (lambda: random.choice(KEY, 3, 1, p=np.ones(2)), pa.ShapeError, "choice: p is"),
        (lambda: random.permutation(KEY, np.ones(3), axis=1), pa.ShapeError, "permutation: axis 1"),
        (lambda: random.categorical(KEY, np.ones((2, 3)), shape=(3,)), pa.ShapeError, "categorical"),
        (lambda: random.multivariate_normal(KEY, np.ones(2), np.ones((2, 3))), pa.ShapeError, "multivariate_normal: cov"),
        (lambda: random.dirichlet(KEY, 1.0), pa.ShapeError, "dirichlet: .*no axis"),
    ],
)  # fmt: skip
def test_errors_say_what_to_give(call, error, said):
    with pytest.raises(error, match=said):
        call()


# ---------------------------------------------------------------------- transformations
DRAWS = {
    "bits": lambda k: random.bits(k, 3),
    "uniform": lambda k: random.uniform(k, (2, 3)),
    "normal": lambda k: random.normal(k, 5000),
    "truncated_normal": lambda k: random.truncated_normal(k, 0.0, 1.0, 3),
    "randint": lambda k: random.randint(k, 3, 0, 9),
    "bernoulli": lambda k: random.bernoulli(k, 0.5, 3),
    "rademacher": lambda k: random.rademacher(k, 3),
    "permutation": lambda k: random.permutation(k, 5),
    "permutation of rows": lambda k: random.permutation(k, np.arange(6.0).reshape(3, 2)),
    "choice": lambda k: random.choice(k, np.arange(4.0), 3),
    "choice by p": lambda k: random.choice(k, 3, 2, p=np.array([0.2, 0.3, 0.5])),
    "choice without": lambda k: random.choice(k, 5, 2, replace=False),
    "categorical": lambda k: random.categorical(k, np.zeros((2, 3))),
    "exponential": lambda k: random.exponential(k, 3),
    "gamma": lambda k: random.gamma(k, np.array([0.5, 3.0])),
    "beta": lambda k: random.beta(k, 0.5, 3.0),
    "dirichlet": lambda k: random.dirichlet(k, np.ones(3)),
    "poisson": lambda k: random.poisson(k, 3.0, 4),
    "laplace": lambda k: random.laplace(k, 3),
    "gumbel": lambda k: random.gumbel(k, 3),
    "student_t": lambda k: random.student_t(k, 4.0, 3),
    "multivariate_normal": lambda k: random.multivariate_normal(k, np.zeros(2), np.eye(2)),
    "split": random.split,
    "fold_in": lambda k: random.fold_in(k, 7),
    "a tree of keys": lambda k: random.uniform(random.split(random.fold_in(k, 1), 3)[2]),
}


@pytest.mark.parametrize("name", DRAWS)
def test_lanes_have_the_numbers_of_their_keys(name):
    draw, keys = DRAWS[name], random.split(KEY, 4)
    alone = np.stack([draw(k) for k in keys])
    np.testing.assert_allclose(pa.vmap(draw)(keys), alone, rtol=1e-14)
    nested = pa.vmap(pa.vmap(draw))(keys.reshape(2, 2, 2))
    np.testing.assert_allclose(np.asarray(nested).reshape(alone.shape), alone, rtol=1e-14)
    assert pa.vmap(draw)(keys[:0]).shape == (0, *alone.shape[1:])
    if alone.dtype.kind in "iub":
        np.testing.assert_array_equal(pa.vmap(draw)(keys), alone)


@pytest.mark.parametrize("name", DRAWS)
def test_a_program_has_the_key_as_its_input(name):
    def draw(k):
        return DRAWS[name](k)

    program = pa.make_ir(draw)(random.key(0))
    np.testing.assert_array_equal(program(KEY), draw(KEY))
    assert "uint64[2]" in str(program).splitlines()[0] and "random_bits" in str(program)
    namespace = {}
    exec(program.code, namespace)
    np.testing.assert_array_equal(namespace[program.name](KEY), draw(KEY))


def test_parameters_may_be_mapped_with_one_key():
    scales = np.array([1.0, 2.0])
    found = pa.vmap(lambda s: random.normal(KEY, 3, scale=s))(scales)
    np.testing.assert_array_equal(found, np.stack([random.normal(KEY, 3, scale=s) for s in scales]))
    lanes = pa.vmap(lambda x: x + random.uniform(random.fold_in(KEY, pa.axis_index("i"))), axis_name="i")(np.zeros(3))
    np.testing.assert_array_equal(lanes, [random.uniform(random.fold_in(KEY, i)) for i in range(3)])


def test_the_same_numbers_on_any_number_of_ranks(mpirun):
    script = """
import numpy as np
import polyad as pa
from polyad import random

one = random.key(5)
draw = lambda k: random.normal(random.fold_in(k, pa.axis_index("i")), 3)
for keys, axes in ((random.split(one, 5), 0), (one, None)):
    found = pa.pmap(draw, axis_name="i", in_axes=axes, axis_size=5)(keys)
    expected = [random.normal(random.fold_in(keys[i] if axes == 0 else keys, i), 3) for i in range(5)]
    np.testing.assert_allclose(found, expected, rtol=1e-14)
"""
    for ranks in (1, 2):
        mpirun(script, ranks)


PARAMETERS = {
    "uniform": (lambda a, b: random.uniform(KEY, None, a, b + 3), (0.5, 1.0)),
    "normal": (lambda a, b: random.normal(KEY, (4,), a, b), (0.5, 1.0)),
    "truncated_normal": (lambda a, b: random.truncated_normal(KEY, a, b, 4), (-0.5, 1.0)),
    "truncated above": (lambda a, b: random.truncated_normal(KEY, a, b, 4), (1.5, 2.0)),
    "exponential": (lambda a, b: random.exponential(KEY, 4, a * b), (0.5, 1.0)),
    "gamma": (lambda a, b: random.gamma(KEY, a, 50, b), (0.7, 2.0)),
    "gamma of large shape": (lambda a, b: random.gamma(KEY, 100 * a, 50, b), (3.0, 2.0)),
    "beta": (lambda a, b: random.beta(KEY, a, b, 50), (0.7, 2.0)),
    "dirichlet": (lambda a, b: random.dirichlet(KEY, pa.stack([a, b, a * b]), 5), (0.7, 2.0)),
    "student_t": (lambda a, b: random.student_t(KEY, 3 * a, 5, 0.0, b), (0.7, 2.0)),
    "choice": (lambda a, b: random.choice(KEY, pa.stack([a, b]), 5), (0.7, 2.0)),
    "multivariate_normal": (
        lambda a, b: random.multivariate_normal(KEY, pa.stack([a, b]), pa.stack([pa.stack([a, 0.1]), pa.stack([0.1, b])]), 5),
        (0.7, 2.0),
    ),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_draws_are_differentiable_functions_of_their_parameters(name):
    f, at = PARAMETERS[name]
    pa.check_grads(f, tuple(np.float64(x) for x in at), order=2, rtol=1e-3, atol=1e-5)


def test_gradient_of_an_expectation():
    a = 2.0  # E x² = a (a + 1)
    g = pa.grad(lambda a: pa.mean(random.gamma(KEY, a, N) ** 2))(a)
    assert g == pytest.approx(2 * a + 1, rel=0.03)
    step = pa.value_and_grad(lambda w, k: pa.sum((w * random.normal(k, 3)) ** 2))
    value, g = step(2.0, KEY)
    assert g == pytest.approx(float(value))
