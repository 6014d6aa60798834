"""The directory of compiled libraries: private, whole files only, many processes, bounded."""

import os
import subprocess
import sys
import time

import pytest

from polyad.devices.codegen import program
from polyad.devices.codegen.toolchain import library
from polyad.devices.codegen.toolchain.cache import Cache, unusable

pytestmark = pytest.mark.optimized


def write(text):
    def make(path):
        path.write_bytes(text)

    return make


def libraries(path):
    return sorted([p.name for p in path.iterdir() if p.name != ".looked" and p.suffix != ".note"])


def test_what_is_built_is_found(tmp_path):
    cache = Cache(tmp_path / "made")
    assert cache.path.stat().st_mode & 0o777 == 0o700 and cache.find("key") is None
    path, complaint = cache.build("key", write(b"code"))
    assert complaint is None and cache.find("key") == path and path.read_bytes().startswith(b"code")
    assert cache.build("other", lambda path: "no") == (None, "no") and libraries(cache.path) == ["key.so"]


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b"x" + b[1:], lambda b: b"", lambda b: b + b"more"])
def test_a_damaged_file_is_removed(tmp_path, damage):
    cache = Cache(tmp_path)
    path, _ = cache.build("key", write(b"code"))
    path.write_bytes(damage(path.read_bytes()))
    assert cache.find("key") is None and not path.exists()


def test_wide_permissions_are_narrowed(tmp_path):
    tmp_path.chmod(0o755)
    assert unusable(tmp_path) is None and tmp_path.stat().st_mode & 0o777 == 0o700


def test_unused_files_go_first(tmp_path):
    cache = Cache(tmp_path, limit=3000)
    for k in range(4):
        path, _ = cache.build(f"key{k}", write(b"c" * 900))
        os.utime(path, (time.time() - 100 + k,) * 2)
    cache.find("key1")  # was just used
    os.utime(cache.path / ".looked", (time.time() - 3600,) * 2)
    cache.build("last", write(b"c" * 900))
    assert cache.find("key1") and cache.find("last") and not cache.find("key0") and not cache.find("key2")


def test_the_whole_directory_is_not_looked_through_each_time(tmp_path, monkeypatch):
    cache, looks = Cache(tmp_path), []
    monkeypatch.setattr(Cache, "trim", lambda self, keep=None: looks.append(keep))
    for k in range(3):
        cache.build(f"key{k}", write(b"code"))
    assert len(looks) == 1


def test_unfinished_files_of_others_go_when_they_are_old(tmp_path):
    cache = Cache(tmp_path)
    for name, age in (("new-old", 9999), ("new-young", 0)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    cache.trim()
    assert libraries(tmp_path) == ["new-young"]


@pytest.mark.parametrize("kind", ["file", "foreign", "link"])
def test_a_directory_that_is_not_ours_is_replaced_with_a_warning(tmp_path, monkeypatch, kind):
    path = tmp_path / "place"
    if kind == "file":
        path.write_text("")
    elif kind == "link":
        (tmp_path / "elsewhere").mkdir()
        path.symlink_to(tmp_path / "elsewhere")
    else:
        monkeypatch.setattr(os, "getuid", lambda: 4242)
    with pytest.warns(RuntimeWarning, match="POLYAD_CACHE_DIR"):
        cache = Cache(path)
    assert cache.path != path and cache.build("key", write(b"code"))[0] is not None


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="another system's users")
def test_a_directory_that_cannot_be_written(tmp_path):
    user = os.geteuid()
    tmp_path.chmod(0o500)
    try:
        if user == 0:  # root may write everywhere
            os.seteuid(65534)
        with pytest.warns(RuntimeWarning, match="cannot be used .Permission den.*POLYAD_CACHE_DIR"):
            Cache(tmp_path / "place")
    finally:
        os.seteuid(user)
        tmp_path.chmod(0o700)


def test_a_directory_that_cannot_be_made(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch, pytest.warns(RuntimeWarning, match="cannot be used .Permission den.*POLYAD_CACHE_DIR"):
        patch.setattr(type(tmp_path), "mkdir", refuse)
        assert Cache(tmp_path / "place").path.parent != tmp_path


def test_a_directory_that_is_removed_meanwhile_is_made_again(tmp_path):
    cache = Cache(tmp_path / "place")
    cache.path.rmdir()
    path, complaint = cache.build("key", write(b"code"))
    assert complaint is None and path.parent == tmp_path / "place" and cache.find("key") == path


def full(*args):
    raise OSError(28, "No space left on device")


def test_a_directory_that_is_full_is_left_with_a_warning(tmp_path, monkeypatch):
    cache = Cache(tmp_path)

    def make(path):
        if path.is_relative_to(tmp_path):
            full()
        path.write_bytes(b"code")

    with pytest.warns(RuntimeWarning, match="process only: .* cannot be written .No space left on device.*_DIR"):
        path, complaint = cache.build("key", make)
    assert complaint is None and cache.find("key") == path
    with pytest.warns(RuntimeWarning, match="for this process only"):
        assert cache.build("other", full)[1].endswith("(No space left on device)")


def test_the_directory_is_named_by_the_environment(monkeypatch, tmp_path):
    from polyad.devices.codegen.toolchain.cache import default_directory

    monkeypatch.delenv("POLYAD_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_directory() == tmp_path / "polyad"
    monkeypatch.setenv("POLYAD_CACHE_DIR", str(tmp_path / "own"))
    assert default_directory() == tmp_path / "own"


# ---------------------------------------------------------------------- programs


MANY = """
import sys, numpy as np, polyad as pa
x = np.arange(12.0).reshape(3, 4)
f = lambda x: pa.sum(pa.cos(x) * 3.0, axis=0)
run = pa.compile_program(pa.make_ir(f)(x), pa.devices.Device("cpu"))
np.testing.assert_allclose(run(x)[0], f(x), rtol=1e-14)
print("right")
"""


def test_many_processes_at_once(tmp_path):
    environment = {**os.environ, "POLYAD_CACHE_DIR": str(tmp_path / "shared"), "OMP_NUM_THREADS": "1"}
    started = [subprocess.Popen([sys.executable, "-P", "-c", MANY], env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE) for _ in range(8)]  # fmt: skip
    for process in started:
        out, err = process.communicate(timeout=280)
        assert out.strip() == b"right", err.decode()
    assert len(libraries(tmp_path / "shared")) == 2  # the program, and what serves all programs


def test_nothing_is_pickled():
    import inspect

    for module in (library, program):
        assert "pickle" not in inspect.getsource(module)
