"""The words for how a job has ended: they name the rank that was the first to fail."""

import pytest

from polyad.parallel.launching.progress import Rank, numbers, verdict

pytestmark = pytest.mark.quick


def ranks(*told):
    made = []
    for number, words in enumerate(told):
        rank = Rank(number)
        for word in words:
            rank.hear(*word) if isinstance(word, tuple) else setattr(rank, *word.split("="))
        rank.gone = int(rank.gone)
        made.append(rank)
    return made


START, END = ("started", "10 script"), ("end", "0")
LEFT = "left without coming to the end of the program"
UNKNOWN = f"{LEFT} (os._exit, a signal, or a crash of compiled code)"
CASES = {
    "all well": ([[START, END], [START, END]], []),
    "raised": ([[START, "gone=1"], [START, ("raised", "ValueError: x"), ("end", "1")]], ["rank 1 raised ValueError: x"]),
    "status": ([[START, END], [START, ("end", "3")], [START, ("end", "3")]], ["ranks 1, 2 ended with exit status 3"]),
    "killed": ([[START, ("killed", "SIGSEGV")], [START]], ["rank 0 ended by SIGSEGV"]),
    "left": ([[START, "gone=2"], [START, "gone=1"]], [f"rank 1 {UNKNOWN}"]),
    "left, known how": ([[START, "gone=1", "how=SIGKILL"], [START, "gone=2", "how=SIGSEGV"]], [f"rank 1 {LEFT} (SIGSEGV)"]),
    "left, and said nothing": (
        [[START, "gone=1", "how=exit status 0"], [START, "gone=2", "how=exit status 0"]],
        [f"ranks 0, 1 {LEFT} (exit status 0, as by os._exit)"],
    ),
    "left, and said so": (
        [[START, "gone=1", "how=SIGKILL"], [START, ("left", "0"), "gone=2"], [START, "gone=3"]],
        [f"rank 1 {LEFT} (exit status 0, by os._exit)"],
    ),
    "left, unsure": (
        [[START, "gone=1", "how=SIGKILL"], [START, "gone=2"], [START, "gone=3", "how=SIGKILL"]],
        [f"rank 0 {LEFT} (SIGKILL)", f"rank 1 {UNKNOWN}", "one of ranks 0, 1 was the first"],
    ),
    "still there": ([[START, END], [START], []], ["rank 1 still running", "rank 2 never started"]),
    "in MPI's start": (
        [[START, ("mpi", "starting"), "gone=1"], [START], [START, ("mpi", "starting")]],
        ["ranks 0, 2 waited in MPI's start (world()), to which rank 1 never came"],
    ),
    "all in MPI's start": ([[START, ("mpi", "starting")]] * 2, ["ranks 0, 1 did not come out of MPI's start"]),
    "raised before MPI": (
        [[START, ("mpi", "starting")], [START, ("raised", "E")]],
        ["rank 1 raised E", "rank 0 waited in MPI's start (world()), to which rank 1 never came"],
    ),
    "out of MPI's start": ([[START, ("mpi", "starting"), ("mpi", "started")], [START, END]], ["rank 0 still running"]),
}


@pytest.mark.parametrize("case", CASES)
def test_verdict(case):
    told, lines = CASES[case]
    assert verdict(ranks(*told)) == lines


def test_failing():
    states = ranks([START], [START, END], [START, END, "gone=1"], [START, "gone=2"], [START, ("end", "1")], [])
    assert [rank.failed for rank in states] == [False, False, False, True, True, False]
    assert [rank.ended_well for rank in states] == [False, True, True, False, False, False]


def test_many_ranks_are_cut():
    assert numbers([Rank(0)]) == "rank 0" and numbers([Rank(1), Rank(2)]) == "ranks 1, 2"
    assert numbers([*map(Rank, range(40))]).endswith("10, 11 and 28 more")
