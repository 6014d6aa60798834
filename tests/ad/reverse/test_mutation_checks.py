"""The tape under `debug_mutation`: an array that changed before a rule reads it is an error that names the operation."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick

x0 = np.random.default_rng(5).uniform(0.5, 1.5, 6)


def test_debug_mutation_names_the_operation():
    x = x0.copy()
    with pa.debug_mutation():
        _, pull = pa.vjp(lambda x: pa.sum(pa.sin(x) * x), x)
    pull(1.0)
    x[0] = 9.0
    with pytest.raises(pa.MutationError, match=r"(multiply|sin): an array of float64\[6\] was changed.*copy"):
        pull(1.0)
    with pa.debug_mutation(False):
        y, pull = pa.vjp(lambda x: x * x, x)
    x[0] = 1.0
    pull(y)


READ = {  # which of two arrays the rules read
    "multiply": (lambda x, y: x * y, True, True),
    "add": (lambda x, y: x + y, False, False),
    "of one": (lambda x, y: pa.sin(x) + pa.negative(y), True, False),
    "concatenate": (lambda x, y: pa.concatenate([x, y]), False, False),
}


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("size", ["small", "large"])
def test_what_rules_do_not_read_may_change(name, which, size):
    f, *reads = READ[name]
    columns = 3 if size == "small" else 4000  # rules of large arrays are others
    given = [np.ones((2, columns)), np.full((2, columns), 2.0)]
    with pa.debug_mutation():
        y, pull = pa.vjp(lambda x, y: pa.sum(f(x, y)), *given)
    right = pull(1.0)
    given[which][0] = 9.0
    if reads[which]:
        with pytest.raises(pa.MutationError, match="was changed after its derivative had kept it; write to a copy"):
            pull(1.0)
    else:
        for a, b in zip(pull(1.0), right, strict=True):
            np.testing.assert_array_equal(a, b)
