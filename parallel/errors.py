"""What is wrong between the ranks."""


class CollectiveError(RuntimeError):
    """A collective cannot be run: the base of the two errors below."""


class CollectiveMismatch(CollectiveError):
    """The ranks called different collectives; the same error, listing every rank's call, is raised on all ranks."""


class CollectiveTimeout(CollectiveError):
    """A rank did not come to a collective within POLYAD_DEADLINE seconds; the message says what it last did."""
