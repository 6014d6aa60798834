"""Where errors are looked for: numbers of a dtype over its whole range, each binary exponent near 1 and every few beyond,
subnormal and huge ones, and the neighbours of the numbers at which functions have zeros and poles."""

import itertools

import numpy as np

SPECIAL = (0.0, 1.0, 2.0, 0.5, 3.0, np.pi, np.pi / 2, np.pi / 4, np.e, 1.4616321449683623, 0.37250741078136663,
           2.404825557695773, 3.8317059702075125, 37.4, 38.0, 20.0, 40.0, 100.0, 745.0, 709.0, 88.0, 11.0, 170.0)  # fmt: skip

FEWEST = 0.05


def line(dtype, count=1.0):
    """Numbers of a dtype along the whole line, sorted. count: the share of the usual number of them."""
    info, rng = np.finfo(dtype), np.random.default_rng(0)
    least, most = info.minexp - info.nmant, info.maxexp
    near = np.arange(max(least, -40), min(most, 12))
    step = max(1, round(8 / count)) if most > 20 else 1
    far = np.setdiff1d(np.arange(least, most, step), near)
    per = max(1, round(3 * count))
    exponents = np.concatenate([np.repeat(near[:: max(1, round(1 / (3 * count)))], per), far, [least, most - 1]])
    spread = np.ldexp(rng.uniform(1, 2, exponents.size), exponents)
    wide = [rng.uniform(0, high, max(4, round(60 * count))) for high in (4, 40, 800)]
    sizes = np.concatenate([spread, *wide, SPECIAL])
    with np.errstate(over="ignore"):
        sizes = sizes.astype(dtype)
        around = np.array(SPECIAL).astype(dtype)
    up, down = np.nextafter(around, dtype(np.inf)), np.nextafter(around, dtype(-np.inf))
    ends = np.array([info.max, info.smallest_normal, info.smallest_subnormal], dtype)
    x = np.concatenate([sizes, up, down, ends])
    x = np.unique(np.concatenate([x, -x])) + dtype(0)
    return x[np.isfinite(x)]


def sparse(dtype, count):
    """A few numbers of every size, for grids."""
    info, rng = np.finfo(dtype), np.random.default_rng(1)
    least, most = info.minexp - info.nmant, info.maxexp
    exponents = np.concatenate([np.linspace(least, most - 1, 10), np.linspace(max(-12, least), min(most - 1, 10), 14)])
    sizes = np.ldexp(rng.uniform(1, 2, exponents.size), np.round(exponents).astype(int))
    sizes = np.concatenate([sizes, [0.0, 1.0, 2.0, 100.0, 700.5, 1e-170, 1e200]])
    with np.errstate(over="ignore"):
        sizes = sizes.astype(dtype)
    x = np.unique(np.concatenate([sizes, -sizes])) + dtype(0)
    x = x[np.isfinite(x)]
    return x[:: max(1, round(1 / count))]


def fitting(x, kind):
    """Those numbers that suit an argument of a kind, and others made of them."""
    one, positive = x.dtype.type(1), x[x > 0]
    fractions = positive[positive < 1]
    match kind:
        case "real":
            return x
        case "moderate":
            size = np.abs(x.astype(float))
            return x[(size < 1e6) & (size > 1e-6)]
        case "positive":
            return positive
        case "unit":
            return np.unique(np.concatenate([fractions, -fractions, one - fractions, fractions - one]))
        case "above one":
            return np.unique(np.concatenate([one + fractions, positive[positive > 1]]))
        case "probability":
            inside = np.unique(np.concatenate([fractions, one - fractions]))
            return inside[(inside > 0) & (inside < 1)]
        case "shape":
            return positive[(positive > 1e-3) & (positive < 2e3)]
        case "order":
            return np.array([0.0, 0.5, 1.0, 2.0, 3.5, 10.0], x.dtype)
        case "exponent":
            return np.array([1.25, 2.0, 3.5, 10.0], x.dtype)
        case "degree":
            return np.array([0, 1, 2, 5])
        case "whole":
            return np.array([-1060, -20, -3, 0, 3, 20, 1000])
        case "half":
            return np.array([-1.0, -0.5], x.dtype)
        case "truth":
            return np.array([True, False])
    raise ValueError(kind)


def points(reference, dtype, count=1.0):
    """The points for a reference, as one array for each argument."""
    kinds, share = reference.at, count / reference.thin
    if len(kinds) == 1:
        columns = [fitting(line(dtype, share), kinds[0])]
        if count < FEWEST:  # not all neighbours of special numbers, but both ends
            columns = [np.unique(np.concatenate([columns[0][::4], columns[0][-3:]]))]
    else:
        columns = [fitting(sparse(dtype, min(1.0, share ** (0.5 if len(kinds) == 2 else 1 / 3))), kind) for kind in kinds]
        if kinds[0] == "shape":  # a grid of its own: where these functions live
            some = np.array([0.1, 0.5, 1.0, 3.0, 10.0, 40.0, 300.0, 1000.0])[:: 2 if share < 0.3 else 1]
            inner = np.array([1e-6, 0.01, 0.3, 0.5, 0.9, 0.999])
            columns = [(some if kind == "shape" else inner).astype(dtype) for kind in kinds]
            if kinds == ("shape", "shape"):
                columns[1] = np.concatenate([columns[1], np.array([0.01, 2.0, 20.0, 50.0, 100.0, 200.0]).astype(dtype)])
    rows = np.array(list(itertools.product(*[range(len(c)) for c in columns])))
    columns = [c[rows[:, i]] for i, c in enumerate(columns)]
    keep = np.all([np.abs(c.astype(float)) <= reference.most for c in columns], axis=0)
    return [c[keep] for c in columns]
