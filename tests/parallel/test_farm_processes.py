"""Workers that are child processes: one that dies, in each way, costs one item; what cannot be sent is said."""

import operator
import subprocess
import sys

import pytest

from polyad.parallel import FarmError, farm
from polyad.parallel.farm_processes import Children, _ending

pytestmark = pytest.mark.quick


FAULTS = """
import functools, os, signal, sys, threading, time
import numpy as np
import polyad as pa

class Odd(Exception):
    def __init__(self, a, b): super().__init__(a)

def f(x):
    if x == "kill": os.kill(os.getpid(), signal.SIGKILL)
    if x == "exit": os._exit(7)
    if x == "raise": raise KeyError("mine")
    if x == "odd": raise Odd(1, 2)
    if x == "sys.exit": sys.exit(3)
    if x == "no pickle": return (i for i in x)
    if x == "nested": return pa.farm(str.upper, ["a", "b"], workers=2)
    if x == "forever": time.sleep(1000)
    return x

def once(folder, x):
    mark = os.path.join(folder, str(x))
    if x == 2 and not os.path.exists(mark):
        os.mkdir(mark)
        os._exit(1)
    return x

def add(x):
    x += 1
    return x

if __name__ == "__main__":
    items = ["a", "kill", "b", "exit", "raise", "odd", "c", "sys.exit", "no pickle", "nested", "d"]
    items.append(i for i in "x")
    found = pa.farm(f, items, batch=4, workers=2, on_error=lambda error: error)
    for item, y in zip(items, found):
        print(type(item).__name__ if not isinstance(item, str) else item, repr(y), getattr(y, "__notes__", [])[-1:], sep="|")
    assert pa.farm(functools.partial(once, sys.argv[1]), range(5), batch=3, workers=1, retry=1) == list(range(5))
    found = pa.farm(add, [np.full(10**5, float(i)) for i in range(3)], batch=2, workers=1)
    assert [y[-1] for y in found] == [1.0, 2.0, 3.0]
    found[0][0] = 7.0
    numbers = pa.farm_iter(abs, iter(lambda: -1, 0), workers=1)
    assert [next(numbers) for _ in range(3)] == [1, 1, 1]
    numbers.close()
    try:
        pa.farm(f, ["a", "kill"], workers=1)
    except pa.WorkerDied as error:
        print("raised", error, error.__notes__[0].partition(", on process")[0])
    start = time.monotonic()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell takes from what it starts in the background
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        pa.farm(f, ["forever"], workers=1)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - start < 60)
"""


def run(text, tmp_path, *arguments):
    (tmp_path / "script.py").write_text(text)
    command = [sys.executable, "-P", str(tmp_path / "script.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_faults(tmp_path):
    job = run(FAULTS, tmp_path, str(tmp_path))
    assert job.returncode == 0, job
    lines = [line.split("|") for line in job.stdout.splitlines()]
    found = {name: (text, note) for name, text, note in lines[:12]}
    assert [found[each][0] for each in "abcd"] == ["'a'", "'b'", "'c'", "'d'"]
    for name, how in (("kill", "was ended by SIGKILL"), ("exit", "ended with status 7")):
        assert found[name][0] == f"WorkerDied('the worker process {how} in this item')"
    assert found["raise"][0] == "KeyError('mine')" and "farm(f): item 4, on process " in found["raise"][1]
    assert found["odd"][0] == "FarmError('Odd: 1')" and found["sys.exit"][0] == "SystemExit(3)"
    assert "the result, of type generator, cannot be pickled" in found["no pickle"][0] and found["nested"][0] == "['A', 'B']"
    assert ["raised the worker process was ended by SIGKILL in this item farm(f): item 1"] in lines
    assert lines[-1] == ["interrupted True"]
    assert "the item, of type generator, cannot be pickled" in found["generator"][0]


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_so(tmp_path):
    job = run("import polyad as pa\npa.farm(abs, [1], workers=1)", tmp_path)
    assert job.returncode == 1 and "ended with status 1 before it could take an item" in job.stderr
    assert "if __name__ == '__main__':" in job.stderr.splitlines()[-1]


def test_a_function_that_cannot_be_sent(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(FarmError, match=r"farm: .*<lambda> cannot be sent to worker processes .*install cloudpickle"):
        farm(lambda x: x, [1], workers=1)


def test_processes_are_started_with_the_first_items():
    workers = Children(operator.neg, 5)
    assert workers.free == 5 and workers.children == [] and workers.take(0) == []
    workers.close()


def test_ends_in_words():
    assert [_ending(code) for code in (0, 3, -9, -200)] == [
        "ended with status 0",
        "ended with status 3",
        "was ended by SIGKILL",
        "was ended by signal 200",
    ]
