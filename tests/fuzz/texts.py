"""A finding as a small program: the smallest case that is wrong in the same way, and its text."""

import numpy as np

import polyad as pa
from polyad.dsl import operations

from .cases import SIZES, Refused, build
from .compare import quiet
from .running import run

LITERAL = 12  # elements that are written out


def shrunk(finding, transform):
    """The finding of the smallest case, found step by step, that is wrong in the same way."""
    case = finding.case
    tries = [("mode", ("value",)), ("layout", ("plain",)), ("dtype", ("f8", "f4", "c16")), ("size", SIZES)]
    tries += [("sample", (0,)), ("seed", (0,))]
    for _ in range(2):
        for name, values in tries:
            for value in values:
                if value == getattr(finding.case, name):
                    break
                found = same_kind(finding.case.but(**{name: value}), finding.kind, transform)
                if found is not None:
                    finding = found
                    break
        if finding.case == case:
            break
        case = finding.case
    return finding


def same_kind(case, kind, transform):
    try:
        found = run([build(case)], transform)
    except Refused:
        return None
    return next((f for f in found if f.kind == kind), None)


class Name:
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


LAID = {
    "plain": "{x}", "readonly": "np.broadcast_to({x}, {x}.shape)", "fortran": "np.asfortranarray({x})",
    "offset": "np.concatenate([{x}.ravel()[:1], {x}.ravel()])[1:].reshape({x}.shape)",
    "reverse": "np.flip(np.flip({x}).copy())", "gaps": "np.repeat({x}, 2, axis=-1)[..., ::2]",
    "swapped": "{x}.swapaxes(-1, -2).copy().swapaxes(-1, -2)", "broadcast": "np.broadcast_to({x}[:1], {x}.shape)",
    "repeated": "np.broadcast_to({x}[..., :1], {x}.shape)",
    "unaligned": "np.frombuffer(b' ' + {x}.tobytes(), {x}.dtype, offset=1).reshape({x}.shape)",
}  # fmt: skip


def text_of(finding):
    """A program that shows a finding, for reading and running."""
    case = finding.case
    head = f"# {finding.kind}: {finding.text}\n# {case}\nimport numpy as np\nimport polyad as pa\n\n"
    try:
        call = build(case)
    except Refused:
        return head
    names = [f"x{i}" for i in range(len(call.arrays))]
    lines = [f"{name} = {written(x)}" for name, x in zip(names, call.arrays, strict=True)]
    if case.layout != "plain":
        laid = [name for name, x in zip(names, call.arrays, strict=True) if isinstance(x, np.ndarray)]
        lines += [f"{name} = {LAID[case.layout].format(x=name)}" for name in (laid if case.seed % 2 else laid[:1])]
    given, left = list(call.rest), iter(names)
    for i in call.places:
        given[i] = Name(next(left))
    arguments = [repr(a) for a in pa.tree.unflatten(call.structure, given)] + [f"{k}={v!r}" for k, v in call.params.items()]
    if case.name in operations:
        function = f"pa.{operations[case.name].card.public}"
    else:
        lines.insert(0, "import runpy\n")
        function = f"runpy.run_path('tests/fuzz/programs.py')['PROGRAMS'][{case.name!r}][0]"
    lines += [f"f = lambda {', '.join(names)}: {function}({', '.join(arguments)})"]
    if case.mode != "value":
        inexact = "[y for y in pa.tree.leaves(f(*xs)) if y.dtype.kind in 'fc']"
        weight = "(1 + 0.5j) * " * (np.dtype(case.dtype).kind == "c")
        lines += [f"total = lambda *xs: sum(pa.sum(pa.real({weight}y)) for y in {inexact})"]
        lines += [f"g = pa.grad(total, argnums={call.smooth})"]
    g = "f" if case.mode == "value" else "g"
    lines += [f"print(pa.jit({g})({', '.join(names)}))", f"print({g}({', '.join(names)}))"]
    return head + "\n".join(lines) + "\n"


def written(x):
    """An array as an expression: its elements where they are few, else numbers like them."""
    y = np.asarray(x)
    if y.size <= LITERAL:
        values = f"np.array({y.tolist()}, {y.dtype.str!r})"
        return values.replace("nan", "np.nan").replace("inf", "np.inf") + ("[()]" if not isinstance(x, np.ndarray) else "")
    with quiet():
        low, high = (float(np.nanmin(y.real)), float(np.nanmax(y.real)))
    rng = "np.random.default_rng(0)"
    if y.dtype.kind in "iu":
        return f"{rng}.integers({int(low)}, {int(high)} + 1, {y.shape}).astype({y.dtype.str!r})"
    if y.dtype.kind == "b":
        return f"{rng}.random({y.shape}) < 0.5"
    imaginary = f" + 1j * {rng}.uniform(size={y.shape})" if y.dtype.kind == "c" else ""
    return f"({rng}.uniform({low:.3g}, {high:.3g}, {y.shape}){imaginary}).astype({y.dtype.str!r})"
