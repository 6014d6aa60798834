"""`farm` and `farm_iter` on one process, and on ranks the same results; arguments that make no sense."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


SAME = """
import itertools, threading
import numpy as np
import polyad as pa

w, rank = pa.world(), pa.world().rank
offset = 10                                                   # in a closure of each rank
for batch in (1, 2, 7, 100):
    assert pa.farm(lambda x: x + offset, range(23), batch=batch) == [x + offset for x in range(23)]
assert pa.farm(abs, []) == [] and pa.farm(pow, [2, 3, 4], [5, 6]) == [32, 729]
assert pa.farm(abs, iter([-1, -2])) == [1, 2]
assert pa.farm(abs, range(-3, 0) if rank == 0 else None) == [3, 2, 1]       # those of rank 0
assert pa.farm(abs, [-1], replicate=False) == ([1] if rank == 0 else None)

found = pa.farm(lambda x: x * 2, [np.full((3, 10**4), i) for i in range(5)], batch=2)
assert [y[0, 0] for y in found] == [0, 2, 4, 6, 8]
found[0][0, 0] = 1                                            # memory of its own

def nested(x):
    assert pa.world().size == 1 and pa.world().rank == 0
    total = pa.pmap(lambda z: pa.psum(z, "i"), axis_name="i")(np.full(3, float(x)))[0]
    return pa.farm(lambda y: y + x, range(3)), total, float(pa.world().allreduce(np.ones(1))[0])

assert pa.farm(nested, range(4)) == [([x, x + 1, x + 2], 3.0 * x, 1.0) for x in range(4)]
assert pa.farm(lambda x: 1 / x, [1, 0, 2], on_error=lambda e: type(e).__name__) == [1.0, "ZeroDivisionError", 0.5]

key = pa.random.key(7)
draw = lambda i: float(pa.random.normal(pa.random.fold_in(key, i)))
assert pa.farm(draw, range(6), batch=2) == [draw(i) for i in range(6)]

total = [y for y in pa.farm_iter(lambda x: x * x, range(9), batch=2)]
assert total == ([x * x for x in range(9)] if rank == 0 else [])
for y in pa.farm_iter(lambda x: x, itertools.count(), buffersize=5):
    if y == 30:
        break
for number in range(3):                                       # after an error all are in step
    try:
        pa.farm(lambda x: 1 / x, range(number, -1, -1))
    except ZeroDivisionError as error:
        assert f"farm(<lambda>): item {number}" in error.__notes__[-1]
    else:
        raise AssertionError
for number in range(3):
    try:
        list(pa.farm_iter(lambda x: 1 / x, range(number, -1, -1)))
    except ZeroDivisionError as error:
        assert f"item {number}" in error.__notes__[-1]
    else:
        raise AssertionError

f = lambda x: sum(pa.farm(lambda k: x**k, [1, 2, 3], batch=2))  # in a transformation: in place
assert pa.grad(f)(2.0) == 17 and list(pa.pmap(f)(np.array([1.0, 2.0, 3.0]))) == [3, 14, 39]

def once(x):
    if threading.current_thread() is not threading.main_thread():
        raise ValueError(x)                                   # on rank 0
    return x
if w.size > 1:
    assert pa.farm(once, range(4), retry=5000, on_error=None) == [0, 1, 2, 3]
assert w.allreduce(np.ones(1))[0] == w.size
left = pa.farm_iter(abs, itertools.count())                   # the program ends before it does
if rank == 0:
    next(left)
else:
    assert list(left) == []
"""


@pytest.mark.parametrize(("ranks", "check"), [(1, "1"), (2, "1"), (3, "1"), (3, "0"), (2, "strict")])
def test_the_same_on_any_number_of_ranks(mpirun, ranks, check):
    mpirun(SAME, ranks, env={"POLYAD_COLLECTIVE_CHECK": check})


FUTURES = """
from mpi4py import MPI
from mpi4py.futures import MPICommExecutor
import polyad as pa

with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
    if executor is not None:
        found = pa.farm(eval, ["1 + 1", "1 / 0", "2 + 2"], batch=2, executor=executor, on_error=type)
        assert found == [2, ZeroDivisionError, 4], found
"""


def test_executors_of_mpi4py(mpirun):
    mpirun(FUTURES, 2)


def test_items_are_taken_as_they_are_needed():
    taken = []
    results = pa.farm_iter(lambda x: x, (taken.append(i) or i for i in itertools.count()), buffersize=3)
    assert [next(results) for _ in range(5)] == list(range(5)) and len(taken) <= 8
    results.close()


def test_in_transformations():
    """One process: f is called here, so that derivatives, lanes and traces go through."""
    f = lambda x: sum(pa.farm(lambda k: x**k, [1, 2, 3]))
    assert pa.grad(f)(2.0) == 1 + 4 + 12
    np.testing.assert_array_equal(pa.vmap(f)(np.array([1.0, 2.0])), [3, 14])
    assert pa.jit(f)(2.0) == 14
    branch = lambda x: pa.farm(lambda k: x if x > k else -x, [1, 2])[1]
    np.testing.assert_array_equal(pa.vmap(branch)(np.array([1.5, 2.5])), [-1.5, 2.5])


def test_executors():
    with ThreadPoolExecutor(2) as executor:
        assert pa.farm(lambda x: -x, range(5), batch=2, executor=executor) == [0, -1, -2, -3, -4]
        with pytest.raises(ValueError, match="workers= and executor= are two ways"):
            pa.farm(abs, [1], executor=executor, workers=2)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "text"),
    [
        (([1], abs), {}, TypeError, "farm: f is a list, not a function; the items come second"),
        ((abs, [1]), {"batch": 0}, ValueError, "farm: batch=0 is not at least 1"),
        ((abs, [1]), {"workers": 0}, ValueError, "farm: workers=0 is not at least 1"),
        ((abs, [1]), {"retry": -1}, ValueError, "farm: retry=-1 must not be negative"),
        ((abs, [1]), {"retry": [0.1, -1]}, ValueError, "must not be negative"),
        ((abs, [1]), {"retry": None}, TypeError, "farm: retry is a NoneType, not a number of tries or a list of seconds"),
        ((abs, [1]), {"on_error": 3}, TypeError, "farm: on_error is a int, not a function of an error"),
        ((abs, [1]), {"retry_check": 3}, TypeError, "farm: retry_check is a int, not a function of an error"),
    ],
)
def test_arguments_that_make_no_sense(arguments, options, error, text):
    with pytest.raises(error) as caught:
        pa.farm(*arguments, **options)
    assert text in str(caught.value)


def test_a_buffer_of_nothing():
    with pytest.raises(ValueError, match="farm_iter: buffersize=0 is not at least 1"):
        pa.farm_iter(abs, [1], buffersize=0)
