"""`progress`: a loop with a bar, which one rank alone draws."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from .farm_progress import bar
from .rank_process import RANKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = TypeVar("Item")


def progress(items: Iterable[Item], text: str = "") -> Iterator[Item]:
    """Iterate over items, with a bar that rank 0 alone draws: on n ranks n bars would write over one another.

    items: iterable; where it has no length the bar counts. text: before the bar. The bar is that of tqdm or rich; where neither
    is installed, and on all other ranks, there is none. Which rank this is comes from its launcher: MPI is not started, and
    nothing sent, so that ranks may call it as they like.

    >>> import polyad as pa
    >>> [x * x for x in pa.progress(range(3), "squares")]
    [0, 1, 4]
    """
    if next((os.environ[name] for name in RANKS if name in os.environ), "0") != "0":
        yield from items
        return
    with bar(len(items) if hasattr(items, "__len__") else None, text) as report:  # type: ignore[arg-type]
        for item in items:
            yield item
            if report is not None:
                report(1)
