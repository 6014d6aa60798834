"""Calls run compiled and plainly, many in one program, and what is found."""

import warnings
from dataclasses import dataclass

import numpy as np

import polyad as pa
from polyad.dsl import operations

from .cases import results, total
from .compare import Carried, disagreement, doubled, quiet, wrong_slope
from .layouts import LAYOUTS

NO_SLOPE = ("stop_gradient", "astype", "nextafter", "sign", "heaviside")  # whose slopes are not those of their values
NO_PHASE = ("svd", "eig", "eigh", "qr")  # of complex matrices: vectors have a phase that nothing decides


def has_slope(case):
    """Whether differences of the values are to be the slope."""
    free = case.name in NO_PHASE and np.dtype(case.dtype).kind == "c"
    told = case.name in operations and "samples" in operations[case.name].card.no_rule
    return case.name not in NO_SLOPE and not free and not told


@dataclass
class Finding:
    """case: the case; kind: what is wrong, one of few words; text: what was found instead of what."""

    case: object
    kind: str
    text: str

    def __str__(self):
        return f"{self.kind}: {self.case}: {self.text}"


class Item:
    """A call with what it must give. xs: its arguments; others: the same with other values."""

    def __init__(self, call):
        self.call, self.f, self.xs = call, call.f, call.xs
        lay = LAYOUTS[call.case.layout]
        with quiet():
            self.others = [other(x, lay) if i < len(call.arrays) else other(x, LAYOUTS["plain"]) for i, x in enumerate(self.xs)]
            self.wanted = [self.plainly(xs) for xs in (self.xs, self.others)]

    def plainly(self, xs):
        return [np.asarray(y) for y in self.f(*xs)]


def other(x, lay):
    """An array of other values in the domain of the first one's: floating ones a little smaller."""
    if x.dtype.kind not in "fc":
        return x
    y = np.asarray(x * x.dtype.type(0.984375)).astype(x.dtype)
    return lay(y) if isinstance(x, np.ndarray) else y[()]


def items(calls, findings):
    """The calls that run eagerly, as items; those whose derivative does not are findings."""
    for call in calls:
        try:
            yield Item(call)
        except (pa.PolyadError, NotImplementedError):
            continue  # a derivative that is refused by name
        except Exception as error:
            findings.append(Finding(call.case, "eager execution raises", f"{type(error).__name__}: {error}"))


def together(items):
    """One function of all arguments."""
    parts, start = [], 0
    for item in items:
        parts.append((item.f, start, start + len(item.xs)))
        start += len(item.xs)
    return lambda *xs: [f(*xs[a:b]) for f, a, b in parts]


def run(calls, transform=pa.jit, reference=True):
    """Findings of calls that run in one program. transform: makes a compiled function of a function; reference: whether narrow
    dtypes are compared with double precision, and gradients with differences."""
    findings = []
    ready = list(items(calls, findings))
    compiled(ready, transform, findings)
    if reference:
        for item in ready:
            findings += references(item)
    return findings


def compiled(ready, transform, findings):
    """Run items in one program, or where that fails in two, until the one at fault is alone."""
    if not ready:
        return
    xs, others = [x for item in ready for x in item.xs], [x for item in ready for x in item.others]
    before = [x.copy() for x in xs]
    try:
        with quiet():
            warnings.simplefilter("error", pa.PerformanceWarning)  # it runs eagerly from some point on
            g = transform(together(ready))
            rounds = []
            for given in (xs, others, xs):
                poison([y for item in ready for y in item.wanted[0]])
                rounds.append(g(*given))
    except Exception as error:
        if len(ready) > 1:
            half = len(ready) // 2
            compiled(ready[:half], transform, findings)
            compiled(ready[half:], transform, findings)
        elif not isinstance(error, pa.PerformanceWarning):
            findings.append(Finding(ready[0].call.case, "compiled execution raises", f"{type(error).__name__}: {error}"))
        return
    for k, item in enumerate(ready):
        findings += judged(item, [ys[k] for ys in rounds])
    start = 0
    for item in ready:
        n = len(item.xs)
        kept = zip(xs[start : start + n], before[start : start + n])
        if any(not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in kept):
            findings.append(Finding(item.call.case, "an argument was changed", ""))
        start += n


def poison(ys):
    """Fill memory that the next results may get, so that what is not written to them is seen."""
    kept = [np.full(y.shape, np.nan if y.dtype.kind in "fc" else 77, y.dtype) for y in ys for _ in range(2)]
    del kept


def judged(item, rounds):
    """Findings of an item's results in three calls: with its arguments, others, and the first again."""
    case, carried = item.call.case, Carried(item.f, item.xs)
    wrong = disagreement(rounds[0], item.wanted[0], carried)
    if wrong:
        return [Finding(case, "compiled is not eager", wrong)]
    wrong = disagreement(rounds[1], item.wanted[1], Carried(item.f, item.others))
    wrong = wrong or disagreement(rounds[2], item.wanted[0], carried)
    if wrong:
        return [Finding(case, "a later call is not eager", wrong)]
    for ys in rounds:
        for y in ys:
            if any(np.may_share_memory(y, x) for x in (*item.xs, *item.others) if isinstance(y, np.ndarray)):
                return [Finding(case, "a result shares memory with an argument", f"{y.dtype}{y.shape}")]
    return []


def references(item):
    """Findings of the eager results: narrow dtypes against double precision, gradients against differences."""
    call, case = item.call, item.call.case
    if case.layout in ("broadcast", "repeated") and case.mode == "gradient":
        return []  # equal elements: conventions at ties are not slopes
    kinds = {x.dtype.kind + str(x.dtype.itemsize) for x in item.xs}
    with quiet():
        if kinds & {"f2", "f4", "c8"}:
            if case.name in ("nextafter", "frexp", "eps"):
                return []
            try:
                wanted = [np.asarray(y) for y in item.f(*doubled(item.xs))]
            except Exception as error:
                return [Finding(case, "double precision raises", f"{type(error).__name__}: {error}")]
            inexact = [k for k, y in enumerate(wanted) if y.dtype.kind in "fc"]
            carried = Carried(item.f, item.xs)
            for k in inexact:
                wrong = disagreement([item.wanted[0][k]], [wanted[k]], Part(carried, k), of_dtype=False)
                if wrong:
                    return [Finding(case, "eager is not double precision", wrong)]
        elif case.mode == "gradient" and has_slope(case) and max(x.size for x in item.xs) <= 2000:
            smooth = list(call.smooth)
            arrays = doubled(call.arrays)
            xs = [arrays[i] for i in smooth]

            def value(*some):
                full = list(arrays)
                for i, x in zip(smooth, some, strict=True):
                    full[i] = x
                return total(results(call.plain(*full), "fc"), call.weights)

            wrong = wrong_slope(value, xs, item.wanted[0])
            if wrong:
                return [Finding(case, "a gradient is not the slope", wrong)]
    return []


class Part:
    """One of the limits."""

    def __init__(self, carried, k):
        self.carried, self.k = carried, k

    @property
    def limits(self):
        return [self.carried.limits[self.k]]
