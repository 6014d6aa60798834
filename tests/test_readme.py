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
    """The library's files whose functions run, generated entries counted as the file that generates them."""
    profile = cProfile.Profile()
    profile.runcall(function, *args)
    home = Path(pa.__file__).parent
    found = set()
    for file, _, _ in pstats.Stats(profile).stats:
        if file.startswith("<generic "):
            found.add("dispatch/generic.py")
        elif Path(file).is_relative_to(home) and not Path(file).is_relative_to(home / "tests") and ".venv" not in file:
            found.add(Path(file).relative_to(home).as_posix())
    return found


def test_reading_path():
    assert len(steps()) <= 8
    assert all((ROOT / step).exists() for step in steps())
    derivative = pa.grad(lambda x: pa.sum(pa.sin(x)))
    derivative(np.ones(3))  # the first call also resolves
    files = executed_files(derivative, np.ones(3))
    assert len(files) <= 10, sorted(files)
    assert set(steps()) - {"dispatch/resolve.py"} <= files, set(steps()) - files
