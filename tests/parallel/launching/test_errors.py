"""What goes wrong with jobs of ranks is an error of its own."""

import polyad as pa
from polyad.parallel.launching.errors import LaunchError


def test_a_job_that_fails_is_a_runtime_error():
    assert issubclass(LaunchError, RuntimeError) and not issubclass(LaunchError, pa.CollectiveError)
