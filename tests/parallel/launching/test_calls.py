"""Functions called on several ranks: their results in order, their errors with the rank's traceback."""

import io
import os
import pickle
import traceback

import numpy as np
import pytest
from jobs import Job

import polyad as pa
from polyad.parallel.launching import calls

pytestmark = pytest.mark.mpi


@pytest.fixture(autouse=True)
def quick_end(tmp_path, monkeypatch):
    Job(tmp_path, monkeypatch)


@pytest.fixture
def cloudpickle():
    return pytest.importorskip("cloudpickle")


def test_results_come_in_the_order_of_the_ranks(cloudpickle, capsys):
    scale = 3.0

    def f(x, *, y):
        everyone = pa.world()
        print("on", everyone.rank)
        return {"x": scale * x * everyone.rank, "sum": float(everyone.allreduce(y)), "at": os.environ["OMP_NUM_THREADS"]}

    got = pa.launch(f, 3, (np.arange(2.0),), {"y": 2.0}, env={"OMP_NUM_THREADS": "7"})
    assert [each["sum"] for each in got] == [6.0] * 3 and {each["at"] for each in got} == {"7"}
    for rank, each in enumerate(got):
        np.testing.assert_array_equal(each["x"], [0.0, 3.0 * rank])
    assert sorted(capsys.readouterr().out.splitlines()) == [f"[rank {k}] on {k}" for k in range(3)]


def test_an_error_is_raised_here_as_it_was_there(cloudpickle, capsys):
    def f():
        rank = int(os.environ["POLYAD_RUN_RANK"].split()[0])
        if rank == 1:
            raise KeyError("there is none")
        pa.world().barrier()  # it would wait for ever

    with pytest.raises(KeyError, match="there is none") as told:
        pa.launch(f, 2, timeout=60)
    shown = "".join(traceback.format_exception(told.value))
    assert (
        "raised on rank 1 of 2" in shown
        and 'raise KeyError("there is none")' in shown
        and isinstance(told.value.__cause__, calls.RankTraceback)
    )
    assert "Traceback" not in capsys.readouterr().err  # once is enough


def test_what_does_not_pickle_is_told(cloudpickle):
    class Odd(Exception):
        def __init__(self, a, b):
            super().__init__(f"{a} and {b}")

    def odd():
        raise Odd(1, 2)

    with pytest.raises(pa.LaunchError, match="Odd: 1 and 2, which cannot be pickled"):
        pa.launch(odd, 2)
    with pytest.raises(pa.LaunchError, match="launch: its result cannot be handed over .*generator"):
        pa.launch(lambda: (i for i in range(3)), 2)
    with pytest.raises(pa.LaunchError, match=r"launch: .*<lambda> and its arguments cannot be handed over .*generator"):
        pa.launch(lambda x: x, 2, ((i for i in range(3)),))


def test_ranks_that_leave_are_named(cloudpickle):
    with pytest.raises(pa.LaunchError, match="rank 1 left without coming to the end of the program"):
        pa.launch(lambda: os._exit(0) if os.environ["POLYAD_RUN_RANK"][0] == "1" else None, 2)
    with pytest.raises(pa.LaunchError, match="ranks 0, 1 ended with exit status 3"):
        pa.launch(lambda: __import__("sys").exit(3), 2)
    with pytest.raises(pa.LaunchError, match="not at its end after 1 s; ranks 0, 1 still running"):
        pa.launch(lambda: __import__("time").sleep(60), 2, timeout=1)


def test_without_cloudpickle_what_can_be_imported(monkeypatch):
    monkeypatch.setattr(calls.importlib.util, "find_spec", lambda name: None)
    assert pa.launch(pow, 2, (2, 5)) == [32, 32]
    with pytest.raises(pa.LaunchError, match="<lambda> and its arguments cannot be handed over.*: pip install cloudpickle"):
        pa.launch(lambda: 1, 2)

    def of_a_script():
        pass

    of_a_script.__module__, of_a_script.__qualname__ = "__main__", "of_a_script"
    with pytest.raises(pa.LaunchError, match="of_a_script .*defined in __main__.*: pip install cloudpickle, or import it"):
        pa.launch(of_a_script, 2)


def test_a_call_within_this_process(tmp_path, monkeypatch):
    """call_here leaves the result beside the call."""
    path = tmp_path / "call"
    calls.call_here(io.BytesIO(pickle.dumps((divmod, (7, 2), {}))), str(path), 4)
    assert pickle.loads((tmp_path / "4").read_bytes()) == (None, "", (3, 1))
    ended = []
    monkeypatch.setattr(calls.os, "_exit", ended.append)
    calls.call_here(io.BytesIO(pickle.dumps((divmod, (7, 0), {}))), str(path), 5)
    error, text, _ = pickle.loads((tmp_path / "5").read_bytes())
    assert ended == [1] and type(error) is ZeroDivisionError and text.endswith(f"ZeroDivisionError: {error}\n")
