"""Compiled functions where it is not known how arrays are laid out."""

import importlib.util
from pathlib import Path

import numpy as np

import polyad as pa

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).parents[1] / "comparing.py")
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
run = comparing.run

rng = np.random.default_rng(3)


def test_without_knowing_how_arrays_are_laid_out(monkeypatch):
    from polyad.devices.codegen import calls
    from polyad.devices.codegen.text import numpy_objects

    assert numpy_objects.layout_known()  # on CPython with a NumPy of today
    monkeypatch.setattr(calls, "layout_known", lambda: False)
    run(lambda x, y: [x @ y, pa.sin(x) + 1.0], rng.normal(size=(3, 4)), rng.normal(size=4))
