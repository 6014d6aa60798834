"""Random numbers: the bits of Philox, distributions by fixed-seed tests, and keys under every transformation."""

import warnings

import numpy as np
import pytest
from scipy import stats

import polyad as pa
from polyad import random
from polyad.devices.philox import numpy_random_bits, random_bits_kernel, rounds

N = 20000
KEY = random.key(12345)
PINNED = {
    "bits": [15129985323320379406, 3490965594592278910],
    "split": [[2441417102155951742, 15965382264027906161], [7204409068884566625, 10097173069124897316]],
    "fold_in": [18002119627159167984, 1204449895891787567],
    "randint": [6, 10, 75, 29, 67, 92],
    "permutation": [1, 4, 3, 5, 0, 2],
}
UNIFORM = [0.8201981478608876, 0.18924562408645496, 0.8676608148821462]
NORMAL = [0.5000105892023632, 0.04324585028227921, 0.35701858835050804]
GAMMA = [2.702362472723065, 1.0515342587875804, 5.042028764026954]


def fits(sample, distribution):
    """Kolmogorov and Smirnov's test; the seeds are fixed, so this passes always or never."""
    assert stats.kstest(np.asarray(sample, np.float64), distribution.cdf).pvalue > 1e-3


def counts_fit(sample, probabilities):
    """Pearson's test of counts of 0, 1, … against probabilities."""
    p = np.asarray(probabilities, float)
    found = np.bincount(sample, minlength=len(p))
    assert len(found) == len(p) and not found[p == 0].any()
    assert stats.chisquare(found[p > 0], p[p > 0] / p.sum() * len(sample)).pvalue > 1e-3


# ---------------------------------------------------------------------- bits
@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 5000])
def test_bits_are_those_of_numpys_philox(n):
    for seed in (0, 7, 2**64 - 1, 2**127 + 5):
        words = np.random.Philox(key=seed).random_raw(n)
        np.testing.assert_array_equal(random.random_bits(random.key(seed), 0, shape=(n,)), words)


def test_known_answer_of_the_papers_authors():
    zero = np.zeros((1, 1), np.uint64)
    words = rounds(np, [zero] * 4, zero, zero)
    known = [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]
    assert [int(word[0, 0]) for word in words] == known


def test_both_kernels_give_the_same_bits():
    keys = np.random.default_rng(0).integers(0, 2**64, (3, 1, 2), np.uint64)
    for args in ((keys, np.arange(4)), (KEY, 2**63), (keys[0, 0], np.int64(-1))):
        for shape in ((), (7,), (2, 3000)):
            for stream in (0, 5):
                arrays = random_bits_kernel(np)(*args, shape, stream)
                np.testing.assert_array_equal(arrays, numpy_random_bits()(*args, shape, stream))


def test_reproducible_for_ever():
    """These numbers never change: experiments depend on them."""
    k = random.key(42)
    constants = {
        "bits": random.bits(k, 2).tolist(),
        "split": random.split(k).tolist(),
        "fold_in": random.fold_in(k, 3).tolist(),
        "randint": random.randint(k, 6, 0, 100).tolist(),
        "permutation": random.permutation(k, 6).tolist(),
    }
    assert constants == PINNED
    np.testing.assert_allclose(random.uniform(k, 3), UNIFORM, rtol=1e-15)
    np.testing.assert_allclose(random.normal(k, 3), NORMAL, rtol=1e-13)
    np.testing.assert_allclose(random.gamma(k, 2.5, 3), GAMMA, rtol=1e-11)


def test_uniform_numbers_are_exact():
    bits = random.bits(KEY, N)
    np.testing.assert_array_equal(random.uniform(KEY, N), (bits >> np.uint64(11)) * 2.0**-53)
    u = random.uniform(KEY, N, dtype=np.float32)
    assert u.dtype == np.float32 and u.max() < 1
    np.testing.assert_array_equal(u * 2.0**24, bits >> np.uint64(40))
    assert random.uniform(KEY, N, dtype=np.float16).max() < 1
    counts_fit(random.bits(KEY, N, np.uint8), np.ones(256))
    assert random.bits(KEY, 4, np.uint32).dtype == np.uint32


def test_extreme_words_stay_inside(monkeypatch):
    from polyad.dsl.random_numbers import choices, draws

    for word in (0, 2**64 - 1):
        for module in (choices, draws):
            monkeypatch.setattr(module, "words", lambda key, shape, part=0, w=word: np.full(shape, w, np.uint64))
        assert 0 <= random.uniform(KEY, 1)[0] < 1
        for draw in (random.normal, random.gumbel, random.laplace, random.logistic, random.cauchy, random.exponential):
            assert np.isfinite(draw(KEY, 1)).all()
        assert np.isfinite(random.gamma(KEY, 0.5, 1)).all() and random.poisson(KEY, 3.0, 1)[0] >= 0
        assert random.randint(KEY, 1, -3, 4)[0] in (-3, -2, -1, 0, 1, 2, 3)
        assert random.choice(KEY, 3, (1,), p=np.array([0.0, 1.0, 0.0]))[0] == 1


# ---------------------------------------------------------------------- keys
def test_split_keys_are_different_and_independent():
    keys = random.split(KEY, 1000)
    assert keys.shape == (1000, 2) and keys.dtype == np.uint64
    everything = np.concatenate([keys, [KEY], pa.vmap(lambda i: random.fold_in(KEY, i))(np.arange(1000))])
    assert len({row.tobytes() for row in everything}) == 2001
    np.testing.assert_array_equal(random.split(KEY, 3), keys[:3])  # key i depends on i alone
    np.testing.assert_array_equal(random.split(KEY, (2, 3)).reshape(6, 2), keys[:6])
    draws = np.asarray(pa.vmap(lambda k: random.normal(k, 50))(keys))
    fits(draws.ravel(), stats.norm)
    correlation = np.corrcoef(draws[:, :20].T) - np.eye(20)
    assert abs(correlation).max() < 5 / np.sqrt(1000)
    neighbours = np.corrcoef(draws[:-1].ravel(), draws[1:].ravel())[0, 1]
    assert abs(neighbours) < 4 / np.sqrt(draws.size)
    parent_and_child = np.corrcoef(random.normal(KEY, N), random.normal(keys[0], N))[0, 1]
    assert abs(parent_and_child) < 4 / np.sqrt(N)


def test_seeds():
    for seed in (0, 1, -1, -5, 2**63 - 1):
        np.testing.assert_array_equal(random.key(seed), random.key(np.int64(seed)))
    np.testing.assert_array_equal(random.key(np.array([3, -4])), [random.key(3), random.key(-4)])
    np.testing.assert_array_equal(pa.vmap(random.key)(np.arange(3)), random.key(np.arange(3)))
    np.testing.assert_array_equal(random.fold_in(KEY, -1), random.fold_in(KEY, np.int64(-1)))
    for bad in (1.0, "7", True, [1, 2]):
        with pytest.raises(pa.DTypeError, match="key: seed is .* integer"):
            random.key(bad)


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


# ---------------------------------------------------------------------- distributions
CONTINUOUS = {
    "uniform": (lambda k: random.uniform(k, N, -1.0, 3.0), stats.uniform(-1, 4)),
    "normal": (lambda k: random.normal(k, N, 1.0, 2.0), stats.norm(1, 2)),
    "normal float32": (lambda k: random.normal(k, N, dtype=np.float32), stats.norm),
    "truncated normal": (lambda k: random.truncated_normal(k, -0.5, 2.0, N), stats.truncnorm(-0.5, 2)),
    "truncated in the tail": (lambda k: random.truncated_normal(k, 9.0, np.inf, N), stats.truncnorm(9, np.inf)),
    "truncated in the other": (lambda k: random.truncated_normal(k, -np.inf, -9.0, N), stats.truncnorm(-np.inf, -9)),
    "exponential": (lambda k: random.exponential(k, N, 2.0), stats.expon(scale=2)),
    "gumbel": (lambda k: random.gumbel(k, N, 1.0, 2.0), stats.gumbel_r(1, 2)),
    "laplace": (lambda k: random.laplace(k, N, 1.0, 2.0), stats.laplace(1, 2)),
    "logistic": (lambda k: random.logistic(k, N), stats.logistic),
    "cauchy": (lambda k: random.cauchy(k, N), stats.cauchy),
    "gamma": (lambda k: random.gamma(k, 2.5, N, 3.0), stats.gamma(2.5, scale=3)),
    "gamma of small shape": (lambda k: random.gamma(k, 0.1, N), stats.gamma(0.1)),
    "gamma of large shape": (lambda k: random.gamma(k, 1e4, N), stats.gamma(1e4)),
    "beta": (lambda k: random.beta(k, 2.0, 0.5, N), stats.beta(2, 0.5)),
    "student t": (lambda k: random.student_t(k, 3.0, N), stats.t(3)),
    "dirichlet": (lambda k: random.dirichlet(k, np.array([0.5, 1.0, 2.0]), N)[:, 0], stats.beta(0.5, 3)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_distribution(name):
    draw, distribution = CONTINUOUS[name]
    sample = draw(random.fold_in(KEY, 8))
    assert sample.shape == (N,)
    fits(sample, distribution)


def test_counts_and_choices():
    k = random.split(KEY, 12)
    counts_fit(random.randint(k[0], N, -3, 4) + 3, np.ones(7))
    counts_fit(random.bernoulli(k[1], 0.3, N).astype(int), [0.7, 0.3])
    counts_fit((random.rademacher(k[2], N) + 1) // 2, [1, 1])
    p = np.array([0.0, 2.0, 1.0, 0.0, 5.0, 0.0])
    counts_fit(random.choice(k[3], 6, N), np.ones(6))
    counts_fit(random.choice(k[4], 6, N, p=p), p)
    with np.errstate(divide="ignore"):
        counts_fit(random.categorical(k[5], np.log(p), shape=(N,)), p)
    counts_fit(random.poisson(k[6], 0.7, N).clip(0, 5), [*stats.poisson(0.7).pmf(range(5)), stats.poisson(0.7).sf(4)])
    orders = pa.vmap(lambda key: random.permutation(key, 3))(random.split(k[7], N))
    counts_fit(orders @ [9, 3, 1] - 5, np.isin(np.arange(17), [0, 2, 6, 10, 14, 16]))
    pairs = pa.vmap(lambda key: random.choice(key, 3, 2, replace=False, p=np.array([1.0, 2.0, 3.0])))(random.split(k[8], N))
    expected = np.zeros((3, 3))
    for i in range(3):
        for j in {0, 1, 2} - {i}:
            expected[i, j] = (i + 1) / 6 * (j + 1) / (6 - i - 1)
    counts_fit(pairs @ [3, 1], expected.ravel())


def test_poisson_is_the_quantile_everywhere(monkeypatch):
    from polyad.dsl.random_numbers import distributions

    u = np.array([1e-16, 1e-9, 1e-3, 0.2, 0.5, 0.9, 1 - 1e-6, 1 - 2.0**-53])
    monkeypatch.setattr(distributions, "inside", lambda key, shape, part=0: np.broadcast_to(u[:, None], shape))
    lam = np.array([0.0, 1e-9, 1e-3, 0.3, 1.0, 4.0, 17.0, 300.0, 1e5])
    found = random.poisson(KEY, lam, (len(u), len(lam)))
    for i, row in enumerate(u):
        above = stats.poisson.cdf(found[i], lam) >= row * (1 - 1e-9)
        below = (stats.poisson.cdf(found[i] - 1, lam) < row * (1 + 1e-9)) | (found[i] == 0)
        assert above.all() and below.all(), (row, lam[~(above & below)])
    many = random.poisson(KEY, np.array([1e9]), (len(u), 1))[:, 0]
    np.testing.assert_allclose((many - 1e9) / np.sqrt(1e9), stats.norm.ppf(u), atol=4e-4)


def test_vectors():
    cov = np.array([[2.0, 0.6], [0.6, 0.5]])
    x = random.multivariate_normal(KEY, np.array([1.0, -1.0]), cov, N)
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.06)
    np.testing.assert_allclose(x.mean(0), [1, -1], atol=0.04)
    fits((x[:, 0] - 1) / np.sqrt(2), stats.norm)
    d = random.dirichlet(KEY, np.array([1e-3, 1e-3, 1e-3]), 100)
    np.testing.assert_allclose(d.sum(-1), 1)
    assert random.multivariate_normal(KEY, np.zeros((4, 1, 2)), np.stack([cov] * 3)).shape == (4, 3, 2)
    assert random.dirichlet(KEY, np.ones((4, 3))).shape == (4, 3)


def test_shapes_follow_parameters():
    assert random.normal(KEY).shape == () and random.normal(KEY, (), 1.0).dtype == np.float64
    assert random.uniform(KEY, None, np.zeros((2, 1)), np.ones(3)).shape == (2, 3)
    assert random.normal(KEY, (5, 3), np.zeros(3)).shape == (5, 3) and random.gamma(KEY, np.ones(4)).shape == (4,)
    assert random.normal(KEY, 0).shape == (0,) and random.randint(KEY, (2, 0)).shape == (2, 0)
    assert random.choice(KEY, np.ones((4, 5)), (2, 3), axis=1).shape == (4, 2, 3)
    assert random.categorical(KEY, np.zeros((4, 5)), axis=0).shape == (5,)
    assert random.randint(KEY, 3, np.int64(0), np.array([1, 2, 3])).shape == (3,)
    assert random.randint(KEY, 3, -(2**62), 2**62).dtype == np.int64


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


def test_no_derivative_through_counts():
    for f in (lambda x: random.poisson(KEY, x), lambda x: random.bernoulli(KEY, x / 9) * 1.0):
        assert pa.grad(lambda x, f=f: f(x) * x)(3.0) == f(3.0)


# ---------------------------------------------------------------------- keys used twice
def test_key_reuse_is_warned_of_on_request():
    k = random.key(1)
    random.normal(k), random.normal(k)  # not watched
    with random.debug_key_reuse(True):
        first, second = random.split(k)
        random.normal(first), random.uniform(second, 3), random.normal(k)
        for again in (random.normal, random.gamma):
            with pytest.warns(random.KeyReuseWarning, match="second draw.*split") as found:
                again(first, 2.0) if again is random.gamma else again(first)
            assert found[0].filename == __file__
        keys = random.split(second, 3)
        pa.vmap(random.normal)(keys)
        with pytest.warns(random.KeyReuseWarning):
            pa.grad(lambda x: x * random.normal(keys[1]))(1.0)
        pa.make_ir(lambda k: random.normal(k) + random.normal(k))(second)  # not seen under a trace
    random.normal(first)


def test_passes_of_one_map_are_no_reuse():
    with random.debug_key_reuse():
        pa.vmap(lambda x: random.normal(KEY) * (1.0 if x > 0 else 2.0))(np.array([-1.0, 1.0, 2.0]))
        with pytest.warns(random.KeyReuseWarning):
            pa.vmap(lambda x: random.normal(KEY) * x)(np.ones(2))


def test_the_watch_is_a_switch():
    random.debug_key_reuse(True)
    random.bits(KEY)
    random.debug_key_reuse(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        random.bits(KEY)
