"""`jit.explain`, `jit.programs`, `jit.source`: what is behind a jitted function."""

from typing import Any

import numpy as np

from ...dispatch import StructureError, describe, isa


def explain(f):
    """The tree of a jitted function as text: per kind of arguments the segments with their steps, what ends them, answers,
    number of runs and time of compiling, and why what runs eagerly does.

    f: made by jit. Raises StructureError for another function.

    >>> import polyad as pa
    >>> f = pa.jit(lambda x: x * 2 if x > 0 else -x)
    >>> f(1.0), f(-1.0)
    (2.0, 1.0)
    >>> print(pa.jit.explain(f))  # doctest: +ELLIPSIS
    jit(<lambda>): 1 kind of arguments
      float: 3 segments, 2 calls, 2 traces
        segment 0: 1 step (greater), 2 runs (compiled in ... s), then asks for bool[]
          True -> segment 1: 1 step (multiply), 1 run, returns 1 value
          False -> segment 2: 1 step (negative), 1 run, returns 1 value
    """
    jitted = jitted_of(f, "explain")
    kinds = len(jitted.trees)
    lines = [f"{jitted.name}: {kinds} kind{'s' * (kinds != 1)} of arguments"]
    for tree in jitted.trees:
        shown = ", ".join(_show_argument(v) for v in tree.inputs)
        lines.append(f"  {shown or 'no arguments'}: {_counted(tree.size, 'segment')}, {_counted(tree.calls, 'call')}, "
                     f"{_counted(tree.traces, 'trace')}")  # fmt: skip
        if tree.eager:
            lines.append(f"    runs eagerly: {tree.eager}")
        if tree.root is not None:
            lines += _show(tree.root, "    ", "")
    return "\n".join(lines)


def programs(f):
    """The programs of a jitted function, a list: of each segment that has run as a whole.

    f: made by jit. A program prints, and `.code` and `.draw()` show it. Raises StructureError for another function.

    >>> import polyad as pa
    >>> f = pa.jit(lambda x: pa.sin(x) * 2)
    >>> y = f(1.0)
    >>> print(*pa.jit.programs(f))
    jit(<lambda>)(a: float64[]):
      b: float64[] = sin a
      c: float64[] = multiply b 2
      return c
    """
    found = [
        s.code.program
        for t in jitted_of(f, "programs").trees
        if t.root is not None
        for s in t.root.below()
        if s.code is not None
    ]
    return [p for p in dict.fromkeys(found) if p.equations]


def source(f):
    """The C or CUDA source of the compiled programs of a jitted function, a list of texts.

    f: made by jit. Raises StructureError for another function.
    """
    made = [p.lifted.get(kind) for p in programs(f) for kind in ("host", "cuda")]
    return [indented(text) for run in made for text in getattr(run, "sources", ())]


def indented(text):
    """C with each line as deep as the braces and parentheses around it."""
    lines, braces, parentheses = [], 0, 0
    for line in map(str.strip, text.splitlines()):
        depth = 0 if line.startswith("#") and braces == 0 else braces - line.startswith("}") + 2 * (parentheses > 0)
        lines.append("  " * depth + line if line else "")
        braces += line.count("{") - line.count("}")
        parentheses += line.count("(") - line.count(")")
    return "\n".join(lines).strip() + "\n"


def jitted_of(f, asked):
    """Return the object behind a function made by jit."""
    jitted = getattr(getattr(f, "func", f), "jitted", None)
    if jitted is None:
        raise StructureError(f"jit.{asked}: {describe(f)} is no function made by jit")
    return jitted


def _counted(n, what):
    return f"{n} {what}{'s' * (n != 1)}"


def _show_argument(var):
    return "static" if var is None else var.weak.__name__ if var.weak else str(var.aval)


def _show(segment, indent, label):
    names = [e.op.__name__ for e in segment.equations]
    shown = f" ({', '.join(names[:6])}{', …' if len(names) > 6 else ''})" if names else ""
    what: Any
    how, what = segment.question
    end = {
        "answer": lambda: f"then asks for {what.aval}", "raises": lambda: f"then {what.op.__name__} may fail",
        "return": lambda: f"returns {_counted(len(what), 'value')}",
    }[how]()  # fmt: skip
    compiled = "" if segment.seconds is None else f" (compiled in {segment.seconds:.2g} s)"
    what = f"{_counted(len(names), 'step')}{shown}, {_counted(segment.runs + segment.traced, 'run')}{compiled}, {end}"
    lines = [f"{indent}{label}segment {segment.number}: {what}"]
    for answer, child in segment.children.items():
        lines += _show(child, indent + "  ", f"{_show_answer(answer)} -> ")
    return lines


def _show_answer(answer):
    if isa(answer, bool):
        return str(answer)
    if len(answer) != 3:
        return answer[0]
    shape, dtype, data = answer
    value = np.frombuffer(data, dtype).reshape(shape)
    return str(value[()]) if value.size <= 8 else f"{value.dtype}{list(shape)}"
