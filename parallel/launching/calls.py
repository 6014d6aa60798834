"""Call a function on several ranks from one process, a script or a notebook, and hand back what they return or raise."""

from __future__ import annotations

import importlib.util
import io
import os
import pickle
import shutil
import sys
import tempfile
import traceback
import types
from collections import ChainMap
from typing import TYPE_CHECKING, Any, TypeVar

from ..rank_process import tell
from .errors import LaunchError
from .job import INTERRUPTED, run_job

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

R = TypeVar("R")
_CALL = "call"  # name of the file with what to call; results lie beside it


class RankTraceback(Exception):
    """The traceback of a rank, as text: the cause of the error that `launch` raises."""

    def __str__(self):
        return f'\n"""\n{self.args[0]}"""'


def launch(
    f: Callable[..., R],
    n: int,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    timeout: float | None = None,
    env: Any = (),
    tags: bool = True,
) -> list[R]:
    """Call `f(*args, **kwargs)` on n MPI ranks and return the list of what they return, in the order of the ranks.

    Every rank is a new process, started as by `python -m polyad run` (its share of the cores, one GPU, its lines tagged), in
    which `polyad.world()` has n ranks. f, its arguments and its results are pickled: with cloudpickle, where it is installed,
    any function will do, else one that can be imported. timeout: seconds after which the job is ended. env: dict of variables
    for the ranks. tags: whether the number of the rank stands before each line that it writes.

    What the first rank to fail raises is raised here, with the traceback of that rank as its cause. LaunchError: ranks cannot
    be started, f or a result cannot be handed over, a rank is killed or leaves, or the time is over.

    >>> import polyad as pa
    >>> pa.launch(lambda x: x + float(pa.world().allreduce(1.0)), 2, (0.5,))  # doctest: +SKIP
    [2.5, 2.5]
    """
    folder = tempfile.mkdtemp(prefix="polyad-call-")
    try:
        path = os.path.join(folder, _CALL)
        with open(path, "wb") as file:
            pickle.dump((sys.path, sys.argv), file)
            pickle.dump(call_here, file)
            file.write(_pickled((f, tuple(args), dict(kwargs or {})), f))
        outcome = run_job("call", [path], n, timeout=timeout, env=env, tags=tags)
        if outcome.status == INTERRUPTED and outcome.lines[:1] == ["ended by SIGINT"]:
            raise KeyboardInterrupt
        answers = {rank: os.path.join(folder, str(rank)) for rank in range(n)}
        answers = {rank: path for rank, path in answers.items() if os.path.exists(path)}
        found = {rank: _loaded(path) for rank, path in sorted(answers.items(), key=lambda each: os.stat(each[1]).st_mtime_ns)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for rank, (error, text, _) in found.items():
        if text:
            error.add_note(f"raised on rank {rank} of {n}")
            raise error from RankTraceback(text)
    if outcome.status or len(found) < n:
        raise LaunchError("; ".join(outcome.lines) or "the results of ranks on other nodes cannot be read here")
    return [found[rank][2] for rank in range(n)]


def call_here(file, path, rank):
    """In a rank: load the function, call it, and leave its result or error for `launch`. An error ends this process at
    once, and so the job: it is told where `launch` was called, and by no other rank."""
    error = None
    try:
        f, args, kwargs = pickle.load(file)
        result = f(*args, **kwargs)
        left = _pickled((None, "", result), "its result")
    except SystemExit:
        raise
    except BaseException as raised:
        error = raised
        trace = error.__traceback__
        trace = trace and (trace.tb_next or trace)  # without this function
        text = "".join(traceback.format_exception(type(error), error, trace))
        left = _pickled_error(error, text)
    made = f"{os.path.join(os.path.dirname(path), str(rank))}"
    with open(f"{made}.part", "wb") as file:
        file.write(left)
    os.replace(f"{made}.part", made)
    if error is not None:
        tell("raised", traceback.format_exception_only(type(error), error)[-1])
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def _pickled(value, what):
    any_function = importlib.util.find_spec("cloudpickle") is not None
    try:
        if not any_function and getattr(what, "__module__", "") == "__main__":
            raise pickle.PicklingError("it is defined in __main__, which the ranks do not run")
        return _with_functions(value) if any_function else pickle.dumps(value, 5)
    except Exception as error:
        name = what if type(what) is str else f"{getattr(what, '__qualname__', repr(type(what)))} and its arguments"
        remedy = "" if any_function else ": pip install cloudpickle, or import it from a module"
        raise LaunchError(f"launch: {name} cannot be handed over ({type(error).__name__}: {error}){remedy}") from error


def _with_functions(value):
    """Pickle by cloudpickle, which takes the names of files out of functions: here they stay, for tracebacks and for what reads
    the source of a function, as loops in programs do."""
    import cloudpickle

    reduced: Any = cloudpickle.Pickler.dispatch_table[types.CodeType]

    class Pickler(cloudpickle.Pickler):
        dispatch_table = ChainMap(
            {types.CodeType: lambda code: (_code_of_file, (code.co_filename, *reduced(code)))},
            cloudpickle.Pickler.dispatch_table,  # type: ignore[arg-type]
        )

    made = io.BytesIO()
    Pickler(made, 5).dump(value)
    return made.getvalue()


def _code_of_file(name, make, arguments):
    return make(*arguments).replace(co_filename=name)


def _pickled_error(error, text):
    """An error as it is, or, where it does not survive, what there is to say of it."""
    try:
        left = _pickled((error, text, None), "its error")
        pickle.loads(left)
        return left
    except Exception:
        words = f"{type(error).__name__}: {error}, which cannot be pickled"
        return pickle.dumps((LaunchError(words), text, None))


def _loaded(path):
    with open(path, "rb") as file:
        return pickle.load(file)
