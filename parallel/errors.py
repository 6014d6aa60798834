"""What is wrong between the ranks."""


class CollectiveError(RuntimeError):
    """A collective cannot be run: the base of `CollectiveMismatch` and `CollectiveTimeout`."""

    plainly = True  # jit does not run a function again that this ended


class RankError(RuntimeError):
    """A mapped function asks which rank it runs on, under POLYAD_COLLECTIVE_CHECK=strict: its lanes would depend on that."""


class CollectiveMismatch(CollectiveError):
    """The ranks called different collectives; the same error, listing every rank's call, is raised on all ranks."""


class CollectiveTimeout(CollectiveError):
    """A rank did not come to a collective within POLYAD_DEADLINE seconds; the message says what it last did."""
