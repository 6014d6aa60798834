"""Random words within compiled programs are those of the kernel."""

import importlib.util
from pathlib import Path

import numpy as np

import polyad as pa

_spec = importlib.util.spec_from_file_location("agreeing", Path(__file__).with_name("agreeing.py"))
agreeing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(agreeing)
same = agreeing.same


def test_random_words():
    keys = pa.random.split(pa.random.key(3), 6)

    def f(key, more):
        a, b = pa.random.split(key, 2)
        return pa.random.normal(a, (3, 5)), pa.random.uniform(b), pa.vmap(lambda k: pa.random.bits(k, (2,)))(more)

    same(f, keys[0], keys, rtol=1e-14)
    wanted = f(keys[0], keys)[2]
    np.testing.assert_array_equal(pa.jit(lambda more: pa.vmap(lambda k: pa.random.bits(k, (2,)))(more))(keys), wanted)


def test_a_chain_of_draws():
    def f(key):
        def step(x, k):
            a, b = pa.random.split(k, 2)
            y = x + pa.random.normal(a)
            return pa.where(pa.log(pa.random.uniform(b)) < 0.5 * (x * x - y * y), y, x), x

        return pa.scan(step, 0.0, pa.random.split(key, 50))

    assert len(pa.jit.source(same(f, pa.random.key(1)))) == 1
