"""What goes wrong with a job of ranks, seen by the process that started it."""


class LaunchError(RuntimeError):
    """Ranks cannot be started, or one of them did not come to its end: the message names it."""
