"""What the README promises: its code runs, and the path a reader follows is as short as it says."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import polyad as pa

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_code_blocks_run():
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(blocks) >= 3
    namespace = {"__name__": "readme", "loss": lambda w, x, y: np.sum((x * w - y) ** 2)}
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


# In a process of its own, as a user meets it: operations that other tests gave rules by type take a longer path. Printed
# are the library's files whose functions run at a first and at a second call (an operation's generated entry is no file).
PROGRAM = """
import cProfile, pstats
from pathlib import Path
import numpy as np
import polyad as pa

derivative = pa.grad(lambda x: pa.sum(pa.sin(x)))
home = Path(pa.__file__).parent
for _ in range(2):
    profile = cProfile.Profile()
    profile.runcall(derivative, np.ones(3))
    files = {Path(file) for file, _, _ in pstats.Stats(profile).stats}
    ours = [f.relative_to(home) for f in files if f.is_relative_to(home)]
    print(*{f.as_posix() for f in ours if f.parts[0] != ".venv"})
"""


def test_reading_path():
    assert len(steps()) <= 8
    assert all((ROOT / step).exists() for step in steps())
    done = subprocess.run([sys.executable, "-P", "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120)
    first, again = (set(line.split()) for line in done.stdout.splitlines())
    assert set(steps()) <= first, set(steps()) - first
    assert len(again) <= 11, sorted(again)
