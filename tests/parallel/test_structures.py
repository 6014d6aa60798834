"""Ranks compare what of arguments and results is no array, too: types, keys, static parts, and functions if asked."""

COMMON = """
import dataclasses
import numpy as np
import polyad as pa
from polyad import pmap
from polyad.parallel import CollectiveError, world
from polyad.parallel.ownership import Owners

@pa.array_type(leaves=("value",), static=("unit",), linear=True)
class Quantity(pa.Container):
    def __init__(self, value, unit): self.value, self.unit = value, unit
    shape, dtype = property(lambda s: s.value.shape), property(lambda s: s.value.dtype)
@dataclasses.dataclass
class Named:
    value: np.ndarray
    name: str = dataclasses.field(default="", metadata={"static": True})

K = np.arange(4.0)
w = world()
rank, ranks = w.rank, w.size
take = lambda q: pmap(lambda v, q: v, in_axes=(0, None))(K, q)
same = lambda found, right: np.testing.assert_allclose(found, right, rtol=1e-12)

def refused(f, *texts, kind=CollectiveError):
    try:
        f()
    except kind as error:
        for text in texts:
            assert text in str(error), error
        assert w.agree(str(error)), error
    else:
        raise AssertionError(f"no {kind.__name__}: {texts}")
"""

DEFAULT = (
    COMMON
    + """
# arguments
units = "m" if rank else "km"
for q, what in [(Quantity(K, units), "argument 1 (Quantity(value=*, unit='km') and Quantity(value=*, unit='m'))"),
                ({"a": (K, Quantity(K, units))}, "argument 1 ({'a': (*, Quantity(value=*, unit='km'))} and"),
                (Named(K, units), "Named(value=*, name='km') and Named"),
                (K if rank else Quantity(K, "m"), "unit='m') and *"), (Quantity(K, K + rank), "unit=float64[4]#"),
                ({"ab"[rank % 2]: K}, "{'a': *} and {'b': *}"),
                ([K] if rank else (K,), "((*,) and [*])"), (object() if rank else Owners, "function and object")]:
    refused(lambda: take(q), what, "differs between the ranks")
q = Quantity(K, units)
inner = lambda q: lambda v: v * q.value[0]
refused(lambda: pmap(inner(q))(K), "the closure variable 'q' (Quantity", "differs between the ranks")
refused(lambda: pmap(lambda q: q.value)(q), "argument 0 (Quantity", "differs between the ranks")
for q in (Quantity(K, frozenset({"second", "metre", "ampere"})), Quantity(K, lambda x: x), Quantity(K, Owners(0)), Owners(0),
          print if rank else refused, Quantity(K, ("m", {"a": 1.5, "b": K}))):  # equal, in any order, at any address
    same(take(q), K)

# results: where lanes part within a rank, and between the ranks
D, Z = (lambda v: pa.Diagonal(v * np.ones(2))), (lambda v: pa.Zeros((2, 2), float))
metre, second = (lambda v: Quantity(v, "m")), (lambda v: Quantity(v, "s"))
cases = [(metre, second, "Quantity(value=*, unit='m') and Quantity(value=*, unit='s')"),
         (metre, lambda v: v, "Quantity(value=*, unit='m') and *"),
         (lambda v: {"a": [Quantity(v, "m")]}, lambda v: {"a": [v]}, "{'a': [Quantity(value=*, unit='m')]} and {'a': [*]}"),
         (lambda v: Named(v, "m"), lambda v: Named(v, "s"), "Named(value=*, name='m') and Named(value=*, name='s')"),
         (D, Z, "Diagonal(diag=*) and Zeros("), (lambda v: (v,), lambda v: [v], "(*,) and [*]")]
for one, other, text in cases:
    f = pmap(lambda v: one(v) if v < 2 else other(v))
    refused(lambda: f(np.tile([1.0, 2.0], ranks)), "different structures", kind=pa.LaneSplitError)
    refused(lambda: f(np.repeat([1.0, 2.0, 3.0], 2)[: 2 * ranks]), f"different structures: {text}",
            "must return the same types, with the same static parts", kind=pa.LaneSplitError)
assert pmap(lambda v: Quantity(v, "m"))(K).unit == "m"
"""
)

STRICT = (
    COMMON
    + """
class Model:
    def __init__(self, scale): self.scale = scale
    def __call__(self, x): return x * self.scale
    step = __call__

apply = pmap(lambda f, v: f(v), in_axes=(None, 0))
pairs = [(np.sin, np.cos), (pa.sin, pa.cos), (np.negative, abs), (lambda x: 2 * x, lambda x: 3 * x), (Model(1), Model(2)),
         (Model(1).step, Model(2).step), ((lambda n: lambda x: n * x)(1), (lambda n: lambda x: n * x)(2))]
for pair in pairs:
    f = pair[rank % 2]
    refused(lambda: apply(f, K), "argument 0", "differs between the ranks")
    refused(lambda: pmap(lambda h, v: h["a"](v), in_axes=(None, 0))({"a": f}, K), "argument 0['a']", "differs between")
    refused(lambda: pmap(lambda x: f(x))(K), "differs between the ranks")
    same(apply(pair[0], K), pair[0](K))
refused(lambda: take(Quantity(K, "m" if rank else "km")), "argument 1 (Quantity(value=*, unit='km')")
here = Quantity(K, lambda x: x)
same(take(here), K)
same(pmap(lambda v: v * here.value[1])(K), K)
"""
)


def test_structures_of_arguments_and_results(mpirun):
    for ranks in (2, 3):
        mpirun(DEFAULT, ranks)


def test_strict_compares_functions_among_the_arguments(mpirun):
    for ranks in (2, 3):
        mpirun(STRICT, ranks, env={"POLYAD_COLLECTIVE_CHECK": "strict"})
