"""Which steps can fail for the numbers they meet: each kind that can is seen to, and those that cannot."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.failures import may_fail

x, i = np.ones((3, 3)), np.array([0, 2])
FAIL = {
    "index arrays": lambda: pa.make_ir(lambda x, i: x[i])(x, i),
    "writes at index arrays": lambda: pa.make_ir(lambda x, i: pa.at(x, i).set(1.0))(x, i),
    "powers of whole numbers": lambda: pa.make_ir(lambda i: i**i)(i),
    "inverses": lambda: pa.make_ir(pa.linalg.inv)(x),
    "functions of users": lambda: pa.make_ir(lambda x: pa.callback(np.sum, pa.Aval((), float), x))(x),
    "loops that index": lambda: pa.make_ir(lambda x, i: pa.scan(lambda c, k: (c, x[k]), 0.0, i)[1])(x, i),
}
CANNOT = {
    "elementwise": lambda: pa.make_ir(lambda x: pa.sin(x) + x)(x), "powers": lambda: pa.make_ir(lambda x: x**x)(x),
    "products": lambda: pa.make_ir(lambda x: x @ x)(x), "sums": lambda: pa.make_ir(lambda x: pa.sum(x, axis=0))(x),
    "moves": lambda: pa.make_ir(lambda x: pa.transpose(x))(x), "slices": lambda: pa.make_ir(lambda x: x[1:])(x),
    "loops": lambda: pa.make_ir(lambda x: pa.scan(lambda c, r: (c + r, c), x[0], x)[1])(x),
}  # fmt: skip


@pytest.mark.parametrize("name", FAIL)
def test_what_can_fail(name):
    assert any(may_fail(e) for e in FAIL[name]().equations)


@pytest.mark.parametrize("name", CANNOT)
def test_what_cannot(name):
    assert not any(may_fail(e) for e in CANNOT[name]().equations)
