"""The bounds by which code is chosen, low: what only large arrays do, done with small ones."""

import contextlib

from .package import beside


@contextlib.contextmanager
def low():
    changed = beside("devices/codegen", "test_large").LOW
    before = [getattr(module, name) for module, name, _ in changed]
    try:
        for module, name, value in changed:
            setattr(module, name, value)
        yield
    finally:
        for (module, name, _), value in zip(changed, before, strict=True):
            setattr(module, name, value)
