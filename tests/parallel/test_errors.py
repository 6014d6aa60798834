"""What is raised between the ranks: the public names, what catches which, and that no error is tried again."""

import pickle
import sys

import numpy as np
import pytest

import polyad as pa
from polyad.parallel import errors

pytestmark = pytest.mark.quick

NAMES = ("CollectiveError", "CollectiveMismatch", "CollectiveTimeout", "RankError")


@pytest.mark.parametrize("name", NAMES)
def test_the_names_are_public(name):
    cls = getattr(errors, name)
    assert getattr(pa.parallel, name) is cls and issubclass(cls, RuntimeError) and cls.__doc__
    error = pickle.loads(pickle.dumps(cls("text")))  # as a pool of processes hands it on
    assert type(error) is cls and str(error) == "text"


def test_one_name_catches_both_faults_of_collectives_and_nothing_else():
    assert issubclass(pa.parallel.CollectiveMismatch, errors.CollectiveError)
    assert issubclass(pa.parallel.CollectiveTimeout, errors.CollectiveError)
    assert not issubclass(errors.RankError, errors.CollectiveError)


def runs(error):
    """How often a function under jit that ends with this error is run, the one call from outside included."""

    def f(x):
        raise error

    def profile(frame, event, argument):
        times[0] += event == "call" and frame.f_code is f.__code__

    times, before = [0], sys.getprofile()
    sys.setprofile(profile)
    try:
        with pytest.raises(type(error)):
            pa.jit(f)(np.ones(3))
    finally:
        sys.setprofile(before)
    return times[0]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("Collective")])
def test_jit_does_not_run_again_what_one_ended(name):
    """The other ranks do not come a second time."""
    assert runs(getattr(errors, name)("the ranks do not agree")) == 1
    assert runs(ValueError("another")) == 2
