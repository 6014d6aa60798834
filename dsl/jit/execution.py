"""Running a call by the tree: along the segments known, and where they end, by the user's function itself."""

import traceback
from typing import Any

from ...dispatch import MutationError, PolyadError
from ...dispatch import tree as pytree
from ...dispatch.callers import is_library, warn
from ...dispatch.errors import PerformanceWarning
from ..array_libraries import Scalar
from ..ir.pass_selection import using
from ..ir.programs import Var
from ..layers.splitting import concrete
from ..layers.tracing import Traced
from .arguments import Static, is_array, objects_among
from .captured_arrays import Adoption, NotFollowed
from .globals_key import looked_up
from .recursion import under_way
from .results import Results
from .run import JitRun, answer_key
from .segments import run_segment
from .statics import key_of
from .tree_code import path_function
from .try_blocks import called
from .writes import RETURN, Before

NOT_RETURNED = object()  # before the function has returned


def execute(jitted, tree, leaves, arrays):
    """The result of one call. arrays: what the function reads from outside, as it is now."""
    tree.calls += 1
    env = {v: x for v, x in zip(tree.inputs, leaves, strict=True) if v is not None}
    env.update(tree.constants)
    env.update([(var, looked_up(arrays, place)) for var, place in tree.places.items()])
    return _go_on(jitted, tree, tree.root, [], env, leaves, arrays)


def _go_on(jitted, *call):
    if jitted.passes is None:
        return _found(jitted, *call)
    with using(jitted.passes):
        return _found(jitted, *call)


def _found(jitted, tree, segment, path, env, leaves, arrays):
    found = walk(tree, segment, env, path)
    if found is None:
        found = trace_call(jitted, tree, env, leaves, arrays, path)
    outputs, structure = found
    return pytree.unflatten(structure, outputs)


def shorten(jitted, tree):
    """Give a tree its function for plain arrays, if its segments are compiled."""

    def resume(segment, path, env, xs):
        y = _go_on(jitted, tree, segment, path, env, xs[: len(tree.inputs)], xs[len(tree.inputs) :])
        if tree.go is None:  # it has grown, or another segment is compiled
            jitted.quick = None
        return y

    if tree.go is None:
        tree.go = path_function(tree, resume)


def walk(tree, segment, env, path):
    """(results, structure) by the segments known, from one on, or None where they end. path: pairs (segment, answer), which
    grows."""
    while segment is not None:
        key = run_segment(tree, segment, env)
        how, what = segment.question
        if how == "return":
            own = Results(tree, env)
            return [own.of(v, kind) for v, kind in zip(what, segment.weak)], segment.out
        if how == "answer":
            key = answer_key(concrete(env[what]))
        path.append((segment, key))
        segment = segment.children.get(key)
    return None


def trace_call(jitted, tree, env, leaves, arrays, path) -> Any:
    """(results, structure) by running the user's function, and the tree grown by what was new. path: what has been run
    already."""
    tree.traces += 1
    example = next((x for x in leaves if is_array(x) and not isinstance(x, Scalar)), None)
    run = JitRun(jitted.name, tree, env, example, path, arrays)
    before = Before(tree, [*objects_among(leaves), *(tree.statics[1] if tree.statics else ())], arrays)
    adoption = Adoption(jitted.f, tree.reads, before.values, arrays) if tree.adopts else None
    given, out = None, NOT_RETURNED
    try:
        with run:
            f = adoption.copy(jitted.f, run) if adoption else jitted.f
            seen = [_seen(x, v, run) for x, v in zip(leaves, tree.inputs, strict=True)]
            args, kwargs = _arguments(tree, seen)
            given = pytree.flatten((args, kwargs))
            with under_way(jitted, seen, run):
                out = called(f, args, kwargs)
            before.look(run)
            if tree.statics and key_of(tree.structure[0])[0] != tree.statics[0]:
                before.doubt = "writes to a static attribute of an argument", RETURN
            _check_unchanged(jitted.name, given, pytree.flatten((args, kwargs)))
            outputs, structure = run.finish(out)
            if adoption:
                adoption.check(run.segments())
    except (NotFollowed, Exception) as error:
        if adoption is None:
            if given is None or out is not NOT_RETURNED or _fails_anyhow(error) or not before.repeatable(run):
                raise
            return _without_a_trace(jitted, tree, leaves, before, error)
        tree.reads.adopts = False
        if tree.root is None:
            raise NotFollowed from None
        tree.eager = "the arrays that it reads from outside have led somewhere else"
        return _as_it_is(jitted, tree, leaves, before)
    finally:
        if not run.performs:
            run.attach()
    found = _outcome(tree, run, before, env, outputs, structure)
    before.settle()
    jitted.note(tree, before, adoption.chosen if adoption else ())
    return found


def _as_it_is(jitted, tree, leaves, before):
    """(results, structure) of the function without a trace."""
    jitted.quick = None
    before.draw_again()
    args, kwargs = _arguments(tree, [x.value if type(x) is Static else x for x in leaves])
    return pytree.flatten(jitted.f(*args, **kwargs))


def _without_a_trace(jitted, tree, leaves, before, error):
    """(results, structure) of a function that failed while it was followed, as some code takes plain values only: it runs as it
    is from now on. If that fails too, so does the call; with our own error, which says more, if there is one."""
    try:
        found = _as_it_is(jitted, tree, leaves, before)
    except Exception as plain:
        plain = error if isinstance(error, PolyadError) else plain
        plain.plainly = True  # type: ignore[union-attr]
        raise plain from None
    if tree.eager is None:
        tree.eager = f"with values that jit follows it fails: {type(error).__name__}{user_line_of(error)}: {error}"
        warn(f"{jitted.name} runs eagerly from now on: {tree.eager}", PerformanceWarning)
    return found


def _fails_anyhow(error):
    """Return whether an error is none of following values: the stack is at its end, or it came where nothing was followed."""
    return isinstance(error, RecursionError) or getattr(error, "plainly", False)


def user_line_of(error):
    """ " at file:line" of the user's last line that an error came through, or nothing."""
    steps = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    mine = [step for step in steps if not is_library(step[0])]
    return f" at {mine[-1][0]}:{mine[-1][1]}" if mine else ""


def _outcome(tree, run, before, env, outputs, structure):
    """(results, structure) at the end of a trace."""
    if run.performs:
        return outputs, structure
    untouched = not run.path and not run.done and tree.root is run.segment
    if before.doubt is None and untouched:  # nothing has been run: it runs as a whole
        tree.root.traced = 0
        return walk(tree, tree.root, env, [])
    run.pending()
    for v in outputs:
        if isinstance(v, Var):
            run.value(v)
    own = Results(tree, env)
    return [own.of(v, getattr(v, "weak", None)) for v in outputs], structure


def _arguments(tree, leaves):
    """(positional arguments, those by name) from their leaves."""
    structure, named = tree.structure
    whole = pytree.unflatten(structure, leaves)
    return whole if named else (whole, {})


def _check_unchanged(name, given, now):
    """Lists, dicts and other containers among the arguments are as they were given. Raises MutationError."""
    if given[1] != now[1] or not all([a is b for a, b in zip(given[0], now[0], strict=True)]):
        raise MutationError(
            f"{name}: the function changes a list, dict or other container among its arguments; jit gives it containers of its "
            "own, so that the caller would not see it: change a copy, and return it"
        )


def _seen(x, var, run):
    """An argument as the function sees it."""
    if var is None:
        return x.value if type(x) is Static else x
    seen = Traced[run.depth](var, run)
    run.arguments.append((seen, var, not isinstance(x, Scalar)))
    return seen
