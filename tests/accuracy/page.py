"""`make accuracy`: writes tutorials/accuracy.md, the largest error of every elementwise operation and its derivatives."""

import inspect
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from exceptions import GOALS, reason  # noqa: E402
from measure import KINDS, largest, names, operation, rows  # noqa: E402

PAGE = Path(__file__).parents[2] / "tutorials" / "accuracy.md"
COUNTS = (0.08, 0.02)  # of the usual number of points; the second are those of the test
HEAD = """\
# How accurate it is

The largest error of each operation that acts on each element, and of its first and second derivatives, in units in the last
place (ulp) of the exact number, against mpmath: over the whole range of each precision, both tails, the neighbours of zeros and
poles, subnormal and huge numbers (`tests/accuracy`). Errors below 1 are those of a rounded result. Written by `make accuracy`.

The goal is 4 ulp for values and 16 ulp for first derivatives wherever the exact number is representable; second derivatives
have none. Half precision is not compiled: such programs run operation by operation, and SciPy's functions answer halves in
float64, of which the errors then are. Near zeros inside their domain (of Bessel functions, log Γ, ψ and slopes that change
their sign) errors count as if the value there were of the function's size. {met} of {all} rows with a goal meet it; the others
have a number, which is that of the reason below the table.

| operation | derivative | float64 | float64, jit | float32 | float32, jit | float16 | reason |
|---|---|---|---|---|---|---|---|
"""


def shown(error):
    return "—" if error is None else f"{error:.1f}" if error < 99.5 else f"{error:.0e}".replace("e+0", "e").replace("e+", "e")


def derivative(name, by, order):
    if not order:
        return ""
    letter = list(inspect.signature(operation(name)).parameters)[by]
    return f"by {letter}" + (" twice" if order == 2 else "")


def measured(name):
    """(by, order, [(largest error, where) for KINDS]) of each row of an operation."""
    start, found = time.perf_counter(), []
    for by, order in rows(name):
        found.append((by, order, [largest(name, d, by, order, c, COUNTS) for d, c in KINDS]))
    missed = [(by, order, [e for e in errors if (e[0] or 0) > GOALS[order]]) for by, order, errors in found if GOALS[order]]
    print(f"{name}: {time.perf_counter() - start:.1f} s {[w for w in missed if w[2]] or ''}", flush=True)
    return found


def table(results):
    """The lines of the table, the reasons that they name, how many rows have a goal and how many meet it."""
    lines, reasons, goals, met = [], [], 0, 0
    for name, found in results:
        for by, order, errors in found:
            mark, goal = "", GOALS[order]
            if goal is not None:
                beyond = max([e for e, _ in errors if e is not None], default=0.0) > goal
                goals, met = goals + 1, met + (not beyond)
                if beyond:
                    known = reason(name, by, order)
                    reasons += [known] if known not in reasons else []
                    mark = str(reasons.index(known) + 1)
            lines.append(f"| {' | '.join([f'`{name}`', derivative(name, by, order), *[shown(e) for e, _ in errors], mark])} |")
    return lines, reasons, goals, met


def page(lines, reasons, goals, met):
    """The text of the page."""
    text = HEAD.format(met=met, all=goals) + "\n".join(lines) + "\n\n## Reasons\n"
    return text + "".join(f"{k}. {why}\n" for k, why in enumerate(reasons, 1))


def main(workers):
    with ProcessPoolExecutor(workers) as pool:
        results = list(zip(names(), pool.map(measured, names()), strict=True))
    lines, reasons, goals, met = table(results)
    PAGE.write_text(page(lines, reasons, goals, met))
    print(f"{met} of {goals} rows meet the goal; {PAGE}")
    return 1 if None in reasons else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
