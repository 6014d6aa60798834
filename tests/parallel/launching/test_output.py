"""Whole lines with the number of their rank, shown when what belongs together is complete."""

import io

import pytest

from polyad.parallel.launching import output
from polyad.parallel.launching.output import Lines, write_bytes

pytestmark = pytest.mark.quick


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    return now


def test_lines_wait_for_what_may_belong_to_them(clock):
    stream = io.StringIO()
    lines = Lines(stream, b"[rank 3] ")
    lines.add(b"Traceback\n  File")
    lines.show()
    assert stream.getvalue() == ""
    lines.add(b" x\nValueError\nunfinished")
    clock[0] += output.BURST * 1.1
    lines.show()
    assert stream.getvalue() == "[rank 3] Traceback\n[rank 3]   File x\n[rank 3] ValueError\n"
    clock[0] += output.UNFINISHED * 1.1
    lines.show()
    assert stream.getvalue().endswith("ValueError\n[rank 3] unfinished\n")
    lines.add(b"end")
    lines.show(ended=True)
    assert stream.getvalue().endswith("unfinished\n[rank 3] end\n")


def test_a_rank_that_writes_without_a_pause_is_shown(clock):
    stream = io.StringIO()
    lines = Lines(stream)
    for _ in range(100):
        lines.add(b"line\n")
        clock[0] += output.BURST / 2
        lines.show()
    assert stream.getvalue().count("line\n") > 80


def test_progress_bars_show_their_last_state():
    stream = io.StringIO()
    lines = Lines(stream)
    lines.add(b"10%\r 50%\r")
    lines.add(b"100%\ndone\r\n")
    lines.show(ended=True)
    assert stream.getvalue() == "100%\ndone\n"


def test_lines_for_the_launcher_are_not_shown():
    stream, told = io.StringIO(), []
    lines = Lines(stream, hidden=b"\x1e/folder ", told=told.append)
    lines.add(b"before\n\x1e/folder 1 end 0\nafter\n\x1e/another 1 end 0\n")
    lines.show(ended=True)
    assert told == [b"1 end 0"] and stream.getvalue() == "before\nafter\n\x1e/another 1 end 0\n"


def test_any_stream_will_do(tmp_path):
    write_bytes(None, b"x")
    with open(tmp_path / "ascii", "w", encoding="ascii") as file:
        file.write("first ")
        write_bytes(file, "ä\n".encode())
        assert (tmp_path / "ascii").read_bytes() == "first ä\n".encode()
    write_bytes(file, b"closed")
    collected = io.StringIO()
    write_bytes(collected, b"\xff")
    assert collected.getvalue() == "\ufffd"
