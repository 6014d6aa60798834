"""Every operation on sharded arrays, against what it gives for whole ones: the samples of the cards, in all layouts."""

import itertools
import warnings

import numpy as np

import polyad as pa
from polyad.dispatch import is_container, tree
from polyad.dsl.card import operations

P = pa.PartitionSpec
APART = ("to_device", "random_bits")  # their result is no function of the numbers alone
PROGRAMS = ("pure_call", "effect_call", "choice", "steps_of", "call", "loop", "custom_call", "hook_all", "grad_hook")


def specs_of(x, mesh, partial=True):
    """All ways in which up to two axes of a mesh may cut an array; None for a plain one."""
    names, found = mesh.axis_names, [None]
    choices = [(name,) for name in names] + ([(names,), names, names[::-1]] if len(names) > 1 else [])
    for choice in choices:
        for axes in itertools.permutations(range(x.ndim), len(choice)):
            parts = [None] * x.ndim
            for axis, part in zip(axes, choice, strict=True):
                parts[axis] = part
            found.append(P(*parts))
    if partial and x.ndim and x.dtype.kind in "fc":
        found.append(P(partial=names[0]))
        found += [P(names[1], partial=names[0])] if len(names) > 1 else []
    return found


def placed(x, spec, mesh):
    """A plain array as a Sharded one of this spec; None: as it is."""
    return x if spec is None else pa.redistribute(pa.shard(x, P(), mesh), spec)


def chosen(arrays, mesh, most, rng, partial):
    """Some combinations of specs for arrays, at least one of which is not None."""
    ways = [way for way in itertools.product(*[specs_of(x, mesh, partial) for x in arrays]) if any(way)]
    return ways if len(ways) <= most else [ways[k] for k in rng.choice(len(ways), most, replace=False)]


def samples_of(names, first=None):
    """(name, operation, number of the sample, leaves of its arguments, their structure, parameters) of these operations; of
    each the `first` samples only, if given."""
    for name, op in operations.items():
        if (names is not None and name not in names) or op.card.collective or name in APART:
            continue
        for i, sample in enumerate(op.card.samples[:first]):
            made = sample(np.random.default_rng(1))
            args, params = made if isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], dict) else (made, {})
            yield name, op, i, *tree.flatten(args), params


def same_values(found, right, what):
    """Check values, shapes and dtypes of two trees."""
    found, right = tree.leaves(pa.gather(found)), tree.leaves(right)
    assert len(found) == len(right), what
    for a, b in zip(found, right, strict=True):
        assert np.shape(a) == np.shape(b), (what, np.shape(a), np.shape(b))
        assert np.ndim(b) == 0 or np.asarray(a).dtype == np.asarray(b).dtype, (what, a.dtype, b.dtype)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-8, atol=1e-9, err_msg=str(what))


def check_values(names, mesh, most=4, first=None):
    """Check each sample of the operations in at most so many combinations of layouts; how many were checked."""
    rng, count = np.random.default_rng(mesh.size), 0
    for name, op, i, leaves, structure, params in samples_of(names, first):
        places = [k for k, x in enumerate(leaves) if isinstance(x, np.ndarray) and x.ndim]
        with quiet():
            right = op(*tree.unflatten(structure, leaves), **params)
            for way in chosen([leaves[k] for k in places], mesh, most, rng, True) if places else ():
                given = list(leaves)
                for k, spec in zip(places, way, strict=True):
                    given[k] = placed(leaves[k], spec, mesh)
                same_values(op(*tree.unflatten(structure, given), **params), right, (name, i, params, way))
                count += 1
    return count


def check_derivatives(names, mesh, most=2, first=None):
    """Check gradients and their derivatives along a direction, which have the layout of the argument; how many."""
    rng, count = np.random.default_rng(mesh.size), 0
    for name, op, i, leaves, structure, params in samples_of(names, first):
        places = [k for k, x in enumerate(leaves) if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.ndim]
        if not places or name in PROGRAMS:
            continue
        loss = weighted_sum(op, leaves, places, structure, params)
        slope = pa.grad(loss, tuple(range(len(places))))
        xs = [leaves[k] for k in places]
        pushed = lambda *xs, slope=slope: pa.jvp(slope, xs, tuple([pa.sin(x) for x in xs]))[1]
        with quiet():
            right, second = slope(*xs), pushed(*xs)
            for way in chosen(xs, mesh, most, rng, False):
                given = [placed(x, spec, mesh) for x, spec in zip(xs, way, strict=True)]
                found = slope(*given)
                same_values(found, right, (name, i, params, way, "gradient"))
                assert all(a.layout == b.layout for a, b in zip(found, given, strict=True) if isinstance(b, pa.Sharded))
                same_values(pushed(*given), second, (name, i, params, way, "second"))
                count += 1
    return count


def weighted_sum(op, leaves, places, structure, params):
    """A number made of all results of an operation, as a function of some leaves of its arguments."""

    def loss(*xs):
        given = list(leaves)
        for k, x in zip(places, xs, strict=True):
            given[k] = x
        total = 0.0
        for y in tree.flatten(op(*tree.unflatten(structure, given), **params), is_container)[0]:
            kind = getattr(y, "dtype", np.dtype(float)).kind
            if kind in "fc":
                weights = np.cos(np.arange(int(np.prod(np.shape(y))))).reshape(np.shape(y))
                total = total + pa.sum(pa.real(y) * weights)
                total = total + (pa.sum(pa.imag(y) * weights) * 0.3 if kind == "c" else 0.0)
        return total

    return loss


class quiet:
    """Allow what becomes dense, and warnings of numbers."""

    def __enter__(self):
        self.around = [pa.densify("allow"), np.errstate(all="ignore"), warnings.catch_warnings()]
        for each in self.around:
            each.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *error):
        for each in reversed(self.around):
            each.__exit__(*error)
