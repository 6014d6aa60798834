"""`draw_tape`: a picture of what reverse mode records of a function."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...dispatch import describe, isa, tree, unwatch, watch
from ...dsl.avals import aval_of
from ...dsl.ir.drawing import MAX_NODES, Graph
from ..inputs import inexact, of_function, title
from ..reverse.nodes import PART
from ..sweeps import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...dispatch.annotations import P


def draw_tape(f: Callable[P, Any], file: Any = None, format: str | None = None, limit: int = MAX_NODES) -> Callable[P, str]:
    """A function that runs f and returns a picture of its tape: the steps that the walk back will take, from below upwards.

    f: function of arrays or trees; floating arguments are followed. Each box is an operation with the shape and dtype of its
    result, what else it reads, and the user's line; arrows come from the values that it was computed from. file: where to
    write the picture, too. format: "dot" (for Graphviz) or "svg", by default that of the file's ending, else dot. limit:
    of boxes; a note counts what is beyond.

    >>> import polyad as pa
    >>> print(pa.draw_tape(lambda x: pa.sin(x) * x)(1.0))  # doctest: +ELLIPSIS
    digraph {
    ...
      n1 [label="sin\\nfloat64[]\\n...
    """

    name = title("draw_tape", f)

    def draw(*args) -> Any:
        watcher = object()
        watch(watcher)
        try:
            result = record(name, f, range(len(args)), args)
        finally:
            unwatch(watcher)
        if result is None:
            return of_function(f, lambda g: draw_tape(g, file, format, limit)(*args))
        return tape_graph(result[0], args, limit).written(file, format)

    return cast("Any", draw)  # which takes f's arguments by position


def tape_graph(pullback, args, limit=MAX_NODES):
    """The picture of the tape behind a pullback, whose function was called with `args`."""
    run, graph, places = pullback.run, Graph(pullback.name), {}
    paths = [f"argument {n}{path}" for n, x in enumerate(args) for path, leaf in tree.leaves_with_path(x) if inexact(leaf)]
    values = [leaf for leaf in tree.leaves(args) if inexact(leaf)]
    for i, (path, x) in enumerate(zip(paths, values, strict=True)):
        places[i] = graph.add([path, aval_of(x)], "input")
    origins = run.origins or {}
    for i in range(pullback.followed, len(run.tape)):
        if len(graph.nodes) >= limit:
            graph.add([f"… {len(run.tape) - i} more step(s) not drawn", "draw_tape(limit=…) draws more"], "note")
            break
        _step(graph, places, i, run.tape[i], origins.get(i))
    for j, (value, index) in enumerate(pullback.outputs):
        name = f"result {j}" if len(pullback.outputs) > 1 else "result"
        box = graph.add([name, aval_of(value)] + ["does not depend on the arguments"] * (index is None), "output")
        if index in places:
            graph.connect(places[index], box)
    return graph


def _step(graph, places, i, node, origin):
    """The box of one node and the arrows to it."""
    if node is None:
        places[i] = graph.add(["an input of its own"], "input")
        return
    rule, xs, y, parents = node
    if rule is PART:
        number, count = xs
        lines, kind = [f"result {number} of {count}", aval_of(y)], "operation"
    elif not parents and type(parents) is tuple:
        lines, kind = ["constant", aval_of(y)], "constant"
    else:
        name = (origin and origin.name) or "operation"
        results = [aval_of(part) for part in y] if isinstance(y, tuple) else [aval_of(y)]
        lines, kind = [name, ", ".join(map(str, results)), *_others(xs, parents)], "operation"
        if origin and origin.place:
            lines.append(f"{Path(origin.place[0]).name}:{origin.place[1]}")
    places[i] = graph.add(lines, kind)
    for parent in parents if type(parents) is tuple else (parents,):
        if parent in places:
            graph.connect(places[parent], places[i])


def _others(xs, parents):
    """A line on the arguments, where there are more than are followed."""
    arrays = [x for x in (xs if isinstance(xs, tuple) else ()) if hasattr(x, "shape") or isa(x, (int, float, complex))]
    count = len(parents) if type(parents) is tuple else 1
    return [f"of {', '.join(map(describe, arrays))}"] if len(arrays) > count else []
