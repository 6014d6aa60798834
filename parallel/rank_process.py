"""The process that `python -m polyad run` starts as each rank, and how a rank tells that launcher how far it has come.

It is run as a file and imports nothing of the package: what a script sets before its own imports comes first. It takes its
share of the node, sends its output to the launcher, and then is what it was started for:

    rank_process.py start PROGRAM [argument …]      on the way to mpiexec: it ends with the launcher
    rank_process.py script PATH [argument …]        a script, as `python PATH` would run it
    rank_process.py module NAME [argument …]        a module, as `python -m NAME` would
    rank_process.py cell PATH [argument …]          a script that finds modules where it is started, as a notebook does
    rank_process.py call PATH                       a function (launching/calls.py)
    rank_process.py command PROGRAM [argument …]    any program, as a child

A rank that has come to its end says so, as the last thing that Python does: a signal and a crash skip that, and os._exit
says that it was that.
"""

import atexit
import builtins
import os
import platform
import signal
import stat
import sys

FOLDER = "POLYAD_RUN"  # of the job: the pipes on which ranks tell, and write; its path is also the job's mark
NODE = "POLYAD_RUN_NODE"  # name of the launcher's machine
RANK = "POLYAD_RUN_RANK"  # number and process of a rank, and whether its lines are tagged: set by itself
MARK = "POLYAD_RANK_PROCESS"  # what launched_process.py leaves to the children of a rank
OUTLINE = "\x1e"  # begins what is told among the lines of stderr, where there is no pipe: on other nodes

RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID")
_PLACES = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
_NEIGHBOURS = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
_status = 0  # what sys.exit was told


# --- telling, in the rank and in the package ------------------------------------------------------------------------


def is_ours():
    """Return whether this process is a rank of `python -m polyad run`, and none of its children."""
    return os.environ.get(RANK, "").split(" ")[1:2] == [str(os.getpid())]


def is_tagged():
    """Return whether the launcher writes the number of the rank before each line of this process."""
    return is_ours() and os.environ[RANK].endswith(" tagged")


def tell(word, text=""):
    """Tell the launcher `word` of this rank, and what there is to it: one short line. Nothing where it is not ours, or gone."""
    if not is_ours():
        return
    said = f"{os.environ[RANK].split(' ')[0]} {word} {' '.join(text.split())}".encode(errors="replace")[:400] + b"\n"
    folder = os.environ[FOLDER]
    try:
        pipe = os.open(os.path.join(folder, "told"), os.O_WRONLY | os.O_NONBLOCK)
    except FileNotFoundError:  # on another node
        pipe, said = os.dup(2), f"{OUTLINE}{folder} ".encode() + said
    except OSError:  # nobody reads
        return
    try:
        os.set_blocking(pipe, True)
        os.write(pipe, said)
    except OSError:
        pass
    finally:
        os.close(pipe)


def connection():
    """Name the open connection to MPICH's launcher; "closed" if the one there should be is not; "" if there is to be
    none, as with other launchers."""
    descriptor = os.environ.get("PMI_FD", "")
    if not descriptor.isdigit():
        return ""
    try:
        found = os.fstat(int(descriptor))
    except OSError:
        return "closed"
    return str(found.st_ino) if stat.S_ISSOCK(found.st_mode) else "closed"


# --- becoming a rank ------------------------------------------------------------------------------------------------


def main():
    if not sys.flags.safe_path:
        del sys.path[0]  # this folder
    kind, target, *arguments = sys.argv[1:]
    if kind == "start":
        end_with_parent()
        os.execvp(target, [target, *arguments])
    rank = next(os.environ[name] for name in (*RANKS, NODE) if name in os.environ)
    rank = rank if rank.isdigit() else "0"  # one process, without an MPI library
    take_share()
    os.environ[RANK] = f"{rank} {os.getpid()}{' tagged' * send_output(rank)}"
    tell("started", f"{os.getpid() if platform.node() == os.environ[NODE] else 0} {kind}")
    if kind == "command":
        return supervise([target, *arguments])
    os.environ[MARK] = f"{os.getpid()} {connection()}"
    atexit.register(say_end, os.getpid())  # the first to be registered is the last to be called
    sys.stdout.reconfigure(line_buffering=True, write_through=False)  # type: ignore[union-attr]  lines are written whole
    say_where_on_signal()
    os._exit = tell_and_leave
    run({"script": script, "module": module, "cell": cell, "call": left_call}[kind], target, arguments)


def end_with_parent():
    """Have this process, and what it becomes, end when its parent does: on Linux, where that can be asked for."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, int(signal.SIGTERM), 0, 0, 0)  # PR_SET_PDEATHSIG


def take_share():
    """Threads and GPU of this rank, of those that its node has, unless the user has said which."""
    place, ranks = (int(next((os.environ[n] for n in names if n in os.environ), least)) for names, least in SHARES)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // max(1, ranks))))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        gpus = [
            str(k) for k in range(len([name for name in os.listdir("/dev") if name[:6] == "nvidia" and name[6:].isdigit()]))
        ]
    else:  # Slurm gives those of the job to each rank; a user's own choice stays
        gpus = visible.split(",") if "SLURM_JOB_ID" in os.environ else []
    if gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus[place % len(gpus)]


SHARES = ((_PLACES, "0"), (_NEIGHBOURS, "1"))


def send_output(rank):
    """Write to the launcher's pipes instead of mpiexec's; False where there are none: on another node, or without tags."""
    pipes = [os.path.join(os.environ[FOLDER], f"{name}.{rank}") for name in ("out", "err")]
    if not all(map(os.path.exists, pipes)):
        return False
    for stream, path in zip((1, 2), pipes):
        pipe = os.open(path, os.O_WRONLY)
        os.dup2(pipe, stream)
        os.close(pipe)
    return True


def say_where_on_signal():
    """Write the lines that this process is at when the launcher sends SIGUSR2, unless the script wants that signal."""
    import faulthandler

    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR2, all_threads=False)


def say_end(process):
    if os.getpid() == process:
        tell("end", str(_status))


def tell_and_leave(status):
    """Be os._exit, in a rank: the launcher cannot always see which of its ranks, ended by each other, was the first to go."""
    tell("left", str(status))
    leave(status)


leave = os._exit


def supervise(words):
    """Run a program as a child; what it ends with is what this process ends with, and what the launcher is told."""
    import subprocess

    signal.signal(signal.SIGINT, lambda number, frame: None)  # the program has it as well
    try:
        status = subprocess.call(words, close_fds=False)  # MPI's connection to mpiexec is one of them
    except OSError as error:
        print(f"{words[0]}: {error.strerror}", file=sys.stderr)
        status = 127
    tell("end" if status >= 0 else "killed", str(status) if status >= 0 else signal.Signals(-status).name)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -status)
    sys.exit(status)


# --- being a Python program -----------------------------------------------------------------------------------------


def run(how, target, arguments):
    """Run the program and end as Python does: an uncaught error is shown without the frames of this file, and then told."""
    global _status
    process = os.getpid()
    try:
        how(target, arguments)
    except SystemExit as end:
        _status = int(end.code) if type(end.code) in (int, bool) else int(end.code is not None)  # type: ignore[arg-type]
        raise
    except BaseException as error:
        if os.getpid() == process:
            message = str(error).partition("\n")[0].rstrip(":")
            tell("raised", f"{type(error).__name__}: {message}" if message else type(error).__name__)
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        _status = 130 if isinstance(error, KeyboardInterrupt) else 1
        raise SystemExit(_status) from None


def cell(path, arguments):
    """Run a script that was written elsewhere for this folder."""
    script(path, arguments, os.getcwd())


def left_call(path, arguments):
    """Hand over to the function that another process has left, which then reads the rest of the file."""
    import pickle

    with open(path, "rb") as file:
        sys.path[:], sys.argv[:] = pickle.load(file)  # first: it says where the function is found
        pickle.load(file)(file, path, int(os.environ[RANK].split(" ")[0]))


def script(path, arguments, folder=None):
    """Run a script as `python path` would, in a module __main__ of its own; folder: where it finds modules, its own."""
    if os.path.isdir(path):
        import runpy

        sys.argv[:] = [path, *arguments]
        runpy.run_path(path, run_name="__main__")
        return
    import io
    from importlib.machinery import SourceFileLoader

    sys.argv[:] = [path, *arguments]
    if not sys.flags.safe_path:
        sys.path.insert(0, folder or os.path.dirname(os.path.realpath(path)))
    path = os.path.abspath(path)
    main_module = type(sys)("__main__")
    main_module.__dict__.update(
        __file__=path, __builtins__=builtins, __loader__=SourceFileLoader("__main__", path), __cached__=None
    )
    sys.modules["__main__"] = main_module
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, main_module.__dict__)


def module(name, arguments):
    """Run a module as `python -m name` would."""
    import runpy

    if not sys.flags.safe_path:
        sys.path.insert(0, os.getcwd())
    sys.argv[:] = [name, *arguments]
    kept.append(runpy.run_module(name, run_name="__main__", alter_sys=True))


kept = []  # what the program defined, which its threads and exit functions may still use

if __name__ == "__main__":
    main()
