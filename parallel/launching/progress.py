"""How far each rank of a job has come, by what it has told and whether its process is there, and what to say at the end."""

from dataclasses import dataclass

ENDED_BY_LAUNCHERS = ("SIGKILL", "SIGTERM")


@dataclass
class Rank:
    """One rank. process: its id, 0 before it has started and for one on another node; told: its last word, see rank_process.py;
    text: what it said with that; gone: its place among the processes that have ended, 0 before; how: it did, if known."""

    number: int
    process: int = 0
    told: str = ""
    text: str = ""
    kind: str = ""
    gone: int = 0
    how: str = ""
    entered_mpi: bool = False
    left_mpi_start: bool = False

    def hear(self, word, text):
        """Take a word of this rank."""
        if word == "mpi":
            self.entered_mpi, self.left_mpi_start = True, text == "started"
        elif self.told != "raised":  # the end that follows it says less
            self.told, self.text = word, text
            if word == "started":
                process, _, self.kind = text.partition(" ")
                self.process = int(process)

    @property
    def waits_for_mpi(self):
        return self.entered_mpi and not self.left_mpi_start

    @property
    def went_by_itself(self):
        return self.how not in ("", *ENDED_BY_LAUNCHERS)

    @property
    def ended_well(self):
        return self.told == "end" and self.text == "0"

    @property
    def failed(self):
        """Return whether it has told of an end that is none, or its process has left without telling."""
        if self.told == "end":
            return self.text != "0"
        return self.told in ("raised", "killed", "left") or self.gone > 0

    def words(self):
        match self.told:
            case "":
                return "never started"
            case "raised":
                return f"raised {self.text}"
            case "end":
                return "ended well" if self.text == "0" else f"ended with exit status {self.text}"
            case "killed":
                return f"ended by {self.text}"
            case "left":
                return f"left without coming to the end of the program (exit status {self.text}, by os._exit)"
        if self.waits_for_mpi:
            return "did not come out of MPI's start"
        if self.gone:
            how = (
                self.how.replace("exit status 0", "exit status 0, as by os._exit")
                or "os._exit, a signal, or a crash of compiled code"
            )
            return f"left without coming to the end of the program ({how})"
        return "still running"


def verdict(ranks):
    """Lines on the ranks that a job ended for, else on all that did not come to their end; [] if all did."""
    failed = [rank for rank in ranks if rank.failed]
    named = [rank for rank in failed if rank.told != "started"] or first_to_leave(failed)
    unsure = len(named) > 1 and not all(rank.told != "started" or rank.went_by_itself for rank in named)
    named = named or [rank for rank in ranks if not rank.ended_well]
    waiting = [rank for rank in ranks if rank.waits_for_mpi]
    absent = [rank for rank in ranks if not rank.entered_mpi]
    lines = together([rank for rank in named if not (rank in waiting and absent)])
    if unsure and lines:
        lines.append(f"one of {numbers(named)} was the first")
    if waiting and absent:
        lines.append(f"{numbers(waiting)} waited in MPI's start (world()), to which {numbers(absent)} never came")
    return lines


def first_to_leave(left):
    """Of ranks that left without a word those that may have been the first: launchers kill the others, and MPI's connection of
    a process is closed, which the launcher sees, before the process is gone."""
    by_themselves = [rank for rank in left if rank.went_by_itself]
    if by_themselves or not left:
        return by_themselves
    first = min(left, key=lambda rank: rank.gone)
    return [rank for rank in left if rank is first or first.how and not rank.how]


def together(ranks):
    """A line for each thing that there is to say, with the numbers of the ranks that it is true of."""
    said = {}
    for rank in ranks:
        said.setdefault(rank.words(), []).append(rank)
    return [f"{numbers(those)} {words}" for words, those in said.items()]


def numbers(ranks):
    """'rank 1' or 'ranks 0, 2, 3', cut after a dozen."""
    shown = ", ".join(str(rank.number) for rank in ranks[:12]) + (f" and {len(ranks) - 12} more" if len(ranks) > 12 else "")
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}"
