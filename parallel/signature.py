"""What all ranks must have in common before a collective moves data, and where a program calls it."""

import os
from typing import NamedTuple

import numpy as np

from ..dispatch.callers import caller


class Signature(NamedTuple):
    """The facts that all ranks must have in common before a collective moves data."""

    operation: str
    shape: tuple = ()
    dtype: np.dtype | None = None
    reduction: str = ""
    root: int = -1
    label: str = ""
    place: str = ""  # where it is called, compared under POLYAD_COLLECTIVE_CHECK=strict
    agreed: bool = False  # the ranks have compared it already, in a message of their own

    def __str__(self):
        words = self.operation + (f"({self.reduction})" if self.reduction else "")
        if self.dtype is not None:
            shape = str(self.shape).replace("-1", "*")
            words += f" of {self.dtype.name} with shape {shape}"
        words += f" from root {self.root}" if self.root >= 0 else ""
        return words + (f" [{self.label}]" if self.label else "") + at_site(self.place)


END = Signature("end of the program")


def call_site():
    """'file:line' of the innermost frame outside this package: what a user can look at; '' if there is none."""
    place = caller()
    return "" if place is None else f"{os.path.basename(place[0])}:{place[1]}"


def at_site(site):
    """Such a place as the end of a phrase."""
    return f" at {site}" if site else ""


def listed(ranks):
    """'rank 1' or 'ranks 1, 2, 5', cut after a dozen."""
    shown = ", ".join(map(str, ranks[:12])) + (f" and {len(ranks) - 12} more" if len(ranks) > 12 else "")
    return f"rank{'s' if len(ranks) != 1 else ''} {shown}"
