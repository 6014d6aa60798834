"""Every tutorial runs top to bottom; those for many processes give the same numbers on any number of them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TUTORIALS = Path(__file__).parents[1] / "tutorials"
OVER_RANKS = {  # they compare with one process themselves, and say so at the end
    "10_parallel_training.py": "pipeline: the same", "11_gradients_through_communication.py": "those of the whole sequence",
    "12_sharded_linear_algebra.py": "and its derivative: the same",
}  # fmt: skip
PARALLEL = {"01_digits.py", "09_one_script_many_ranks.py", *OVER_RANKS}  # those with a test of their own below


ALONE = [path for path in sorted(TUTORIALS.glob("[0-9]*.py")) if path.name not in PARALLEL]


@pytest.mark.parametrize("path", ALONE, ids=lambda path: path.stem)
def test_tutorial_runs(path, tmp_path):
    script = shutil.copy(path, tmp_path)
    result = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr


def test_digits_are_the_same_on_any_number_of_processes(mpirun, tmp_path):
    script = Path(shutil.copy(TUTORIALS / "01_digits.py", tmp_path))
    outputs = [mpirun(script, n, timeout=120).stdout for n in (1, 3)]
    losses = [[float(x) for x in re.findall(r"loss after step +\d+: ([\d.]+)", out)] for out in outputs]
    assert len(losses[0]) == 4
    for other in losses[1:]:
        assert other == pytest.approx(losses[0], abs=1e-10, rel=0)
    accuracy = [float(re.search(r"test accuracy: ([\d.]+)", out)[1]) for out in outputs]
    assert min(accuracy) >= 0.95
    assert script.with_name("01_digits_loss.png").stat().st_size > 10_000


def test_heat_is_the_same_on_any_number_of_processes(mpirun, tmp_path):
    script = Path(shutil.copy(TUTORIALS / "09_one_script_many_ranks.py", tmp_path))
    told = [re.search(r"heat in the corner: .*", mpirun(script, n, timeout=120).stdout)[0] for n in (1, 2, 4)]
    assert len(set(told)) == 1, told
    assert script.with_suffix(".png").stat().st_size > 10_000


@pytest.mark.parametrize("name", OVER_RANKS)
def test_many_ranks_give_the_numbers_of_one(mpirun, tmp_path, name):
    script = Path(shutil.copy(TUTORIALS / name, tmp_path))
    for n in (1, 2, 3):
        told = mpirun(script, n, timeout=120).stdout
        assert OVER_RANKS[name] in told, told
