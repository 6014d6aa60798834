"""What the README promises: its code runs, and the path a reader follows is as short as it says."""

import cProfile
import pstats
import re
from pathlib import Path

import numpy as np

import polyad as pa

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_code_blocks_run():
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(blocks) >= 3
    namespace = {"loss": lambda w, x, y: np.sum((x * w - y) ** 2)}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)
    w, x = np.float64(2.0), np.arange(4.0)
    value, slope = namespace["step"](w, x, x)
    assert float(value) == np.sum((x * w - x) ** 2)
    np.testing.assert_allclose(slope, np.sum(2 * (x * w - x) * x))
    scaled = namespace["Scaled"](np.float64(2.0), 3)
    assert pa.grad(lambda s: pa.sum(s @ np.ones(3)))(scaled).value == 3.0


def test_ten_lines_are_ten():
    first = re.search(r"## Ten lines\n\n```python\n(.*?)```", README, re.S)[1]
    assert len(first.strip().splitlines()) <= 10


def steps():
    section = re.search(r"## One derivative, step by step\n(.*?)\n## ", README, re.S)[1]
    return re.findall(r"^\d+\. `([\w/]+\.py)`", section, re.M)


def executed_files(function, *args):
    """The library's files whose functions run (an operation's generated entry is no file)."""
    profile = cProfile.Profile()
    profile.runcall(function, *args)
    home = Path(pa.__file__).parent
    files = {Path(file) for file, _, _ in pstats.Stats(profile).stats}
    inside = [f.relative_to(home) for f in files if f.is_relative_to(home)]
    return {f.as_posix() for f in inside if f.parts[0] not in ("tests", ".venv")}


def test_reading_path():
    assert len(steps()) <= 8
    assert all((ROOT / step).exists() for step in steps())
    derivative = pa.grad(lambda x: pa.sum(pa.sin(x)))
    for op in (pa.sin, pa.sum):
        op.generic.clear()
    with pa.debug_mutation(False):  # what a user meets
        first = executed_files(derivative, np.ones(3))
        again = executed_files(derivative, np.ones(3))
    assert set(steps()) <= first, set(steps()) - first
    assert len(again) <= 10, sorted(again)
