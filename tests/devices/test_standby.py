"""A compiler on standby compiles what it is given, gives way where it fails, and is never left behind."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import polyad as pa
from polyad.devices import standby as module
from polyad.devices.codegen.toolchain import library
from polyad.devices.codegen.toolchain.cache import Cache
from polyad.devices.compilers import find_compiler, flag_sets
from polyad.devices.standby import Standby

WORDS = find_compiler()
pytestmark = [pytest.mark.optimized, pytest.mark.skipif(WORDS is None, reason="there is no compiler")]


@pytest.fixture
def waiting(tmp_path):
    made = Standby(WORDS, flag_sets(WORDS)[0], tmp_path)
    yield made
    made.stop()
    assert made not in module._waiting and made.process.poll() is not None
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("new-")] == []


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    library.load("int nothing;", [])
    library.functions(WORDS)  # what serves all programs is there
    module.stop_all()
    monkeypatch.setattr(library, "_loaded", {})
    monkeypatch.setattr(library, "_state", library._state | {"missed": None, "standby": None, "cache": Cache(tmp_path)})
    yield
    module.stop_all()


def test_it_compiles(waiting, tmp_path):
    import ctypes

    assert waiting.process.poll() is None  # it waits
    assert waiting.compile("int seven(void) { return 7; }", tmp_path / "seven.so")
    assert ctypes.CDLL(str(tmp_path / "seven.so")).seven() == 7


def test_what_is_wrong_is_said_by_the_ordinary_way(waiting, tmp_path):
    assert not waiting.compile("int seven(void) { return", tmp_path / "seven.so") and not (tmp_path / "seven.so").exists()


def test_its_text_may_be_longer_than_a_pipe_holds(waiting, tmp_path):
    text = "".join(f"int f{k}(void) {{ return {k}; }}\n" for k in range(5000))
    assert len(text) > 100_000 and waiting.compile(text, tmp_path / "many.so")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_does_not_hold_its_input_open(waiting, tmp_path):
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(write)
        os.read(read, 1)  # until the parent is done
        os._exit(0)
    os.close(read)
    done = threading.Timer(60, waiting.process.kill)  # instead of waiting for ever
    done.start()
    try:
        assert waiting.compile("int seven(void) { return 7; }", tmp_path / "seven.so")
    finally:
        done.cancel()
        os.close(write)
        os.waitpid(child, 0)


def test_a_compiler_that_cannot_be_started(tmp_path):
    waiting = Standby((str(tmp_path / "absent"),), (), tmp_path)
    assert not waiting.compile("int seven(void) { return 7; }", tmp_path / "seven.so") and list(tmp_path.iterdir()) == []
    with pytest.raises(OSError):
        Standby(WORDS, (), tmp_path / "absent")


@pytest.mark.parametrize(
    ("target", "words", "wanted"),
    [("x86_64-linux-gnu-gcc-12", 1, True), ("clang-18", 1, True), ("ccache", 1, False), ("gcc", 2, False), ("mycc", 1, False)],
)
def test_only_compilers_known_to_read_it_once(tmp_path, monkeypatch, target, words, wanted):
    """What keeps results by the file's text would keep those of one input for all."""
    (tmp_path / target).write_text("#!/bin/sh\n")
    (tmp_path / target).chmod(0o755)
    (tmp_path / "compiler").symlink_to(tmp_path / target)
    (tmp_path / "timeout").symlink_to(tmp_path / target)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert module.can_wait(("compiler", "-m64")[:words]) == wanted


def count_of_starts(monkeypatch):
    started = []
    monkeypatch.setattr(library, "Standby", lambda *args: started.append(Standby(*args)) or started[-1])
    return started


def test_it_is_started_where_something_must_be_compiled(fresh, monkeypatch):
    started, x = count_of_starts(monkeypatch), np.arange(5.0)
    used = []
    monkeypatch.setattr(library, "compile_c", lambda *args: used.append(args) or "not asked")
    for k in range(3):
        np.testing.assert_allclose(pa.jit(lambda x, k=k: x * k + 1)(x), x * k + 1)
    assert len(started) == 4 and not used  # the directory was empty, then each one was missed: one waits for the next
    assert [s.waits for s in started] == [False, False, False, True]
    monkeypatch.setattr(library, "_loaded", {})
    started[-1].stop()
    for k in range(3):  # the first of them is expected to be compiled; it is found, and then nothing is expected
        np.testing.assert_allclose(pa.jit(lambda x, k=k: x * k + 1)(x), x * k + 1)
    assert len(started) == 5


def test_it_does_not_wait_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 0.05)
    waiting = Standby(WORDS, flag_sets(WORDS)[0], tmp_path)
    waiting.process.wait(60)
    assert not waiting.waits and threading.active_count() == 1
    assert not waiting.compile("int seven(void) { return 7; }", tmp_path / "seven.so") and list(tmp_path.iterdir()) == []


def test_what_is_cut_off_is_not_compiled(waiting, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WHOLE", "")
    assert not waiting.compile("int seven(void) { return 7; }", tmp_path / "seven.so")


def test_the_longest_compilation_is_not_cut_short(tmp_path, monkeypatch):
    """The time is that until C comes, not that for compiling it."""
    monkeypatch.setattr(module, "SECONDS", 1)
    slow = ["sh", "-c", 'sleep 1.5; exec "$0" "$@"', *WORDS]
    waiting = Standby(slow, flag_sets(WORDS)[0], tmp_path)
    assert waiting.compile("int seven(void) { return 7; }", tmp_path / "seven.so")


def test_one_of_several_threads_has_it(waiting, tmp_path):
    made, start = [], threading.Barrier(4)

    def use(k):
        start.wait()
        made.append(waiting.compile(f"int number(void) {{ return {k}; }}", tmp_path / f"{k}.so"))

    threads = [threading.Thread(target=use, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [False, False, False, True] and len(list(tmp_path.glob("*.so"))) == 1


def test_without_one_the_results_are_the_same(fresh, monkeypatch):
    def none(*args):
        raise OSError("no more processes")

    monkeypatch.setattr(library, "Standby", none)
    np.testing.assert_allclose(pa.jit(lambda x: pa.sin(x) - 2)(np.arange(4.0)), np.sin(np.arange(4.0)) - 2, rtol=1e-14)


def test_one_that_fails_gives_way(fresh, monkeypatch):
    monkeypatch.setattr(Standby, "compile", lambda self, text, target: self.stop())  # and says that it made nothing
    np.testing.assert_allclose(pa.jit(lambda x: pa.sin(x) - 3)(np.arange(4.0)), np.sin(np.arange(4.0)) - 3, rtol=1e-14)


def test_parts_of_a_program_are_compiled_at_the_same_time(fresh, monkeypatch):
    """Between them lies what has no C."""
    monkeypatch.setattr(library, "Standby", lambda *args: (_ for _ in ()).throw(OSError()))
    inside, both, lock = [], threading.Event(), threading.Lock()
    compiled = library.compile_c

    def together(*args):
        with lock:
            inside.append(threading.get_ident())
        if len(set(inside)) > 1:
            both.set()
        both.wait(30)
        return compiled(*args)

    monkeypatch.setattr(library, "compile_c", together)
    x = np.array([3.0, 1.0, 2.0])
    f = pa.jit(lambda x: pa.exp(pa.fft.fft(pa.sin(x) * 2).real) + 1)
    np.testing.assert_allclose(f(x), np.exp(np.fft.fft(np.sin(x) * 2).real) + 1, rtol=1e-13)
    assert both.is_set()


UNUSED = """
from polyad.devices.codegen.toolchain import library
with library.standby():
    pass
"""


@pytest.mark.parametrize("code", [UNUSED, UNUSED + "import os; os._exit(0)"])
def test_nothing_is_left_in_temporary_folders(tmp_path, code):
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "POLYAD_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "temporary")}
    subprocess.run([sys.executable, "-P", "-c", code], env=environment, check=True, timeout=100)
    for _ in range(100):
        left = [p.name for p in (tmp_path / "temporary").iterdir()]
        if not left:
            return
        threading.Event().wait(0.1)
    raise AssertionError(left)


LEFT = """
import numpy as np, polyad as pa, os, subprocess
from polyad.devices.codegen.toolchain import library
with library.standby():
    print(library._state["standby"].process.pid, flush=True)
    os.kill(os.getpid(), 9)
"""


def test_it_ends_with_a_process_that_is_killed(tmp_path):
    environment = {**os.environ, "POLYAD_CACHE_DIR": str(tmp_path)}
    answer = subprocess.run([sys.executable, "-P", "-c", LEFT], env=environment, capture_output=True, text=True, timeout=100)
    pid = int(answer.stdout)
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        threading.Event().wait(0.1)
    os.kill(pid, 9)
    raise AssertionError("the compiler still waits")
