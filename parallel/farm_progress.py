"""A bar that counts the items of a farm, by tqdm or rich, where one of them is installed."""

import importlib
from contextlib import contextmanager


@contextmanager
def bar(total, text):
    """function(n) to be called with how many more items are done, or None if there is nothing to draw with. total: None if it
    is not known."""
    for name, draw in (("tqdm", _by_tqdm), ("rich.progress", _by_rich)):
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        with draw(library, total, text) as report:
            yield report
        return
    yield None


@contextmanager
def _by_tqdm(tqdm, total, text):
    with tqdm.tqdm(total=total, desc=text, unit="item") as shown:
        yield shown.update


@contextmanager
def _by_rich(progress, total, text):
    with progress.Progress() as shown:
        task = shown.add_task(text, total=total)
        yield lambda n: shown.advance(task, n)
