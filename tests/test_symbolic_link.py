"""An installation that is reached through a symbolic link, as home directories of clusters are."""

import os
import subprocess
import sys
from pathlib import Path

import polyad

SCRIPT = """
import sys, warnings
import numpy as np
import polyad as pa
from polyad.parallel.signature import call_site

assert "linked" in pa.__file__, pa.__file__
assert call_site() == "script.py:8", call_site()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    pa.jit(lambda x: float(x) * x)(2.0)
    pa.vmap(lambda x: (pa.abs(x) if x > 0 else x))(np.arange(3.0))
assert [w.filename for w in told] == [__file__], [str(w) for w in told]
try:
    pa.grad(lambda x: float(np.asarray(x)))(2.0)
except pa.ConcreteValueError:
    pass
kept = []
pa.grad(lambda x: kept.append(x) or x)(1.0)
try:
    kept[0] + 1
except pa.LeakedLayerError as error:
    assert f"{__file__}:19" in str(error), error

program = pa.jit(lambda x, w=np.arange(3.0): pa.vmap(lambda v: v * w)(x))  # a closure of ours around one of the user's
for _ in range(2):
    np.testing.assert_array_equal(program(np.ones((2, 3))), [[0, 1, 2]] * 2)
wrapped = pa.jit(pa.vmap(lambda x: x * scale))
for scale in (2.0, 3.0):
    np.testing.assert_array_equal(wrapped(np.ones(2)), [scale] * 2)
"""


def test_messages_and_jit_are_as_elsewhere(tmp_path):
    """Messages name the user's line, and what a mapped function reads is found behind our own closure."""
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "polyad").symlink_to(Path(polyad.__file__).parent, target_is_directory=True)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "linked"), "OMP_NUM_THREADS": "1"}
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=300)
    assert ended.returncode == 0, ended.stderr
