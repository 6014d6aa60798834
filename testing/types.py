"""`check_array_type`: an array type against its dense form."""

import copy
import pickle
import warnings
from collections import Counter
from functools import cache

import numpy as np

from ..ad import grad, hvp, jvp
from ..ad.tools.check import inner, numerical_jvp
from ..dispatch import Container, DensifyError, DTypeError, PerformanceWarning, PolyadError, Tangent, densify, tree
from ..dsl import Slice, add, concatenate, make_ir, multiply, operations, ravel, vmap
from ..dsl import sum as sum_
from ..dsl.avals import aval_of
from ..dsl.axes import Stacked
from ..dsl.layers.batch_axes import stacked_tree
from .comparing import agree, inexact, naming, raises, random_like

OF_A_FAMILY = 4  # operations whose second order is checked of those that one method serves


def check_array_type(make, *, dense=None, calls=(), others=(), refuses=(), seed=0):
    """Check an array type against its dense form: a wrong method, shape, leaf, gradient or lane is found.

    make: function of a `numpy.random.Generator` that returns an instance, of equal shape each time. dense: function
    that gives an instance's plain array, for types without `.dense()`. calls: more functions of one instance, written
    for its dense form as well. others: instances of other array types to meet it. refuses: exceptions by which the type
    may refuse what its dense form can do (units that do not fit). Checked are: leaves, copies and pickles; shape and
    dtype; every operation that a method or a family of the type takes; its derivatives in both modes against finite
    differences, and their structure; second order; lanes of `vmap` against a loop; a trace against eager execution;
    equal result types of x + y and y + x. Raises AssertionError.

    >>> import numpy as np, polyad as pa
    >>> from polyad.testing import check_array_type
    >>> check_array_type(lambda rng: pa.Diagonal(rng.standard_normal(3)), calls=[lambda D: D @ D])
    """
    cls = type(make(np.random.default_rng(seed)))
    with naming(cls.__name__), densify("allow"), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        _TypeCheck(cls, make, dense, others, (*refuses,), seed).run(calls)


class _TypeCheck:
    """The checks of one array type. A call is (name, function of an instance, reference of it, kind: what it shares with
    others that are differentiated alike, None if it is not differentiable)."""

    def __init__(self, cls, make, dense, others, refuses, seed):
        self.cls, self.as_dense = cls, dense or (lambda x: x.dense())
        self.refuses = refuses if cls.densifies else (*refuses, DensifyError)
        self.rng = np.random.default_rng(seed + 20)  # numbers other than those of the draws
        self.draws = [make(np.random.default_rng(seed + k)) for k in range(3)]
        self.x, self.second = self.draws[:2]
        plain = self.plain(self.second)
        partner = self.rng.integers(1, 9, np.shape(plain)) if plain.dtype.kind in "iu" else random_like(self.rng, plain)
        self.partners = [2.0, partner, self.second, *others]
        dtypes = [leaf.dtype for leaf in tree.leaves(self.x) if inexact(leaf)]
        self.curved = Counter()  # how many calls of a kind had their second order checked
        self.varied, self.held = cache(varied), remembered(self.plain)
        self.inexact, self.precise = bool(dtypes), all(np.finfo(dtype).eps < 1e-12 for dtype in dtypes)

    def dense(self, a):
        """The dense form of an instance or of another container, from operations on its leaves."""
        return self.as_dense(a) if isinstance(a, self.cls) else a.dense() if isinstance(a, Container) else a

    def plain(self, a):
        return np.asarray(self.dense(a))[()] if isinstance(a, Container) else a

    def run(self, calls):
        self.check_parts()
        self.check_dense()
        self.check_batch_axes()
        calls = [(f"calls[{i}]", f, lambda x, f=f: f(self.plain(x)), f"calls[{i}]") for i, f in enumerate(calls)]
        for name, f, reference, kind in [*self.registered(self.x), *calls]:
            with naming(name):
                found, expected = self.check_value(f, reference, self.x)
                if expected is not None and np.all(np.isfinite(expected)):
                    self.check_trace(f, found)
                    self.check_lanes(f, reference)
                    if kind and self.inexact and self.precise and expected.dtype.kind == "f":
                        self.check_derivatives(f, np.shape(expected))
                        if self.curved[kind] < OF_A_FAMILY:
                            self.check_second_order(f, np.shape(expected))
                        self.curved[kind] += 1
        for batch in self.batches():
            for name, f, reference, _ in self.registered(batch):
                with naming(f"a batch of instances: {name}"):
                    self.check_value(f, reference, batch, (*self.refuses, PolyadError))
        if not self.inexact:
            with naming("grad of a type without floating leaves"):
                assert raises(DTypeError, grad(lambda x: 1.0), self.x), "it is not refused"
        self.check_structural_axis()
        self.check_commutative()

    # ------------------------------------------------------------------ the type itself
    def check_parts(self):
        """Leaves and static parts hold the whole value: flatten, copy and pickle lose nothing."""
        x, cls = self.x, self.cls
        with naming("leaves and static parts"):
            assert isinstance(x, Container), "declare the class with @polyad.array_type, as a polyad.Container"
            hash(x._statics())
            leaves, structure = tree.flatten(x)
            rebuilt = tree.unflatten(structure, leaves)
            lost = set(vars(x)) - set(vars(rebuilt))
            assert not lost, f"{', '.join(sorted(lost))} is lost with the leaves alone; name it in leaves or static"
            assert type(rebuilt) is cls and tree.structure(rebuilt) == structure, "unflatten gives another structure"
            for copied in (rebuilt, copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
                agree(self.plain(copied), self.plain(x), exact=True)
            assert cls.__name__ in repr(x), f"repr is {x!r}"

    def check_dense(self):
        x, expected = self.x, aval_of(self.plain(self.x))
        with naming("shape and dtype"):
            assert tuple(x.shape) == expected.shape, f"shape is {x.shape}, but the dense form has {expected.shape}"
            assert x.dtype == expected.dtype, f"dtype is {x.dtype}, but the dense form has {expected.dtype}"
        if x.linear and self.inexact:
            with naming("linear=True"):
                other = tree.map(lambda leaf: random_like(self.rng, leaf), x)
                both = tree.map(lambda a, b: a + b if inexact(a) else a, x, other)
                agree(self.plain(both), self.plain(x) + self.plain(other), rtol=1e-5, atol=1e-6)

    # ------------------------------------------------------------------ which calls
    def registered(self, x):
        """A call on x for each way to fill each method that names the type, of an operation's own or of its family."""
        found = {}
        for op in operations.values():
            generic = op.generic
            methods = [(m, m.types) for m in generic.methods]
            if op.__module__.startswith("polyad."):  # what other people's operations say of themselves is theirs to check
                methods += [(m, m.types[1:]) for family in generic.families for m in family.methods]
            for method, types in methods:
                types = (*types, method.varargs, method.varargs) if method.varargs is self.cls else types
                if self.cls in types and generic.arity in (None, len(types)):
                    for args in self.fillings(types, x):
                        for params in parameters(generic, x):
                            call = self.call_of(op, args, params, x, method)
                            found[call[0]] = call
                        for params in self.varied(generic) if x.ndim else ():
                            call = self.call_of(op, args, params, x, method)
                            if call[0] not in found and not raises(Exception, call[2], x):
                                found[call[0]] = call
        return found.values()

    def fillings(self, types, x):
        """Arguments for a signature: instances, and for `Array` a number, a dense array and other instances."""
        rows = [[]]
        for t in types:
            fits = lambda row, t=t: [p for p in self.partners if isinstance(p, t)]
            instance = lambda row: [self.second if any(a is x for a in row) else x]
            rows = [[*row, a] for row in rows for a in (instance(row) if t is self.cls else fits(row))]
        return rows

    def call_of(self, op, args, params, x, method):
        place = next(i for i, a in enumerate(args) if a is x)
        spread = op.generic.spread
        filled = lambda x: [x if i == place else a for i, a in enumerate(args)]
        differentiable = op.card.differentiable and not {"jvp", "samples"} & set(op.card.no_rule)
        single = method in op.generic.methods or op.generic.rules  # else its family's method alone decides
        kind = (op if single else "", method, tuple(map(type, args)), *params)
        shown = [type(a).__name__ for a in args] + [f"{k}={v!r}" for k, v in params.items()]
        return (
            f"{op.__name__}({', '.join(shown)}), method {getattr(method.implementation, '__name__', method)}",
            lambda x: as_one(spread(*filled(x), **params)),
            remembered(lambda x: as_one(spread(*[self.held(a) for a in filled(x)], **params))),
            kind if differentiable else None,
        )

    # ------------------------------------------------------------------ what is checked of a call
    def check_value(self, f, reference, x, refuses=None):
        """x gives what its dense form gives; both are returned. (None, None) if both raise, or the type refuses."""
        try:
            expected = reference(x)
        except (PolyadError, TypeError, ValueError, IndexError):
            assert raises(Exception, f, x), "gives a result where the dense form raises"
            return None, None
        refuses = self.refuses if refuses is None else refuses
        given = tree.leaves([x, self.second, *self.partners])
        before = [copy.copy(leaf) for leaf in given]
        try:
            found = f(x)
        except refuses:
            return None, None
        finally:
            written = [i for i, (a, b) in enumerate(zip(given, before, strict=True)) if not same_bits(a, b)]
            assert not written, "writes into its argument; a method makes new arrays"
        assert tuple(found.shape) == np.shape(expected), f"the result's shape is {found.shape}, not {np.shape(expected)}"
        agree(self.plain(found), expected, rtol=1e-9 if self.precise else 1e-5, atol=1e-11, exact=True)
        return found, expected

    def batch(self):
        """The draws as one instance, with a batch axis before the others."""
        held = tree.map(lambda *leaves: Stacked(np.stack(leaves), False), *self.draws)  # not an array yet
        return stacked_tree(held, len(self.draws), "check_array_type")

    def batches(self):
        """The batch, in a list; no batch of a type whose dense form is that of one instance, and raises for several."""
        batch = self.batch()
        try:
            found = self.plain(batch)
        except Exception:
            return []
        with naming("the dense form of a batch of instances"):
            agree(found, np.stack([self.plain(x) for x in self.draws]), exact=True)
        return [batch]

    def check_trace(self, f, expected):
        with naming("trace"):
            found = make_ir(f)(self.x)(self.x)
            assert tree.structure(found) == tree.structure(expected), "another structure than in eager execution"
            for a, b in zip(tree.leaves(found), tree.leaves(expected), strict=True):
                agree(a, b)

    def check_lanes(self, f, reference):
        with naming("vmap over a batch axis"):
            batch = self.batch()
            assert tuple(batch.shape) == (len(self.draws), *self.x.shape), f"a batch of instances has shape {batch.shape}"
            expected = np.stack([reference(x) for x in self.draws])
            agree(self.plain(vmap(f)(batch)), expected, rtol=1e-9 if self.precise else 1e-5, atol=1e-11, exact=True)

    def loss(self, f, shape):
        """A random combination of the elements of f's result, a random direction, and what a cotangent is along it."""
        weights = self.rng.standard_normal(shape)
        dx = tree.map(lambda leaf: random_like(self.rng, leaf), self.x)
        along = lambda ct: sum(inner(c, d) for c, d in zip(tree.leaves(ct), tree.leaves(dx), strict=True) if inexact(d))
        return lambda x: sum_(multiply(self.dense(f(x)), weights)), dx, along

    def check_derivatives(self, f, shape):
        """Both modes by the leaves, along a random direction."""
        x, (loss, dx, along) = self.x, self.loss(f, shape)
        slope = numerical_jvp(loss, (x,), (dx,))
        with naming("forward mode"):
            agree(jvp(loss, (x,), (dx,))[1], slope, rtol=1e-4, atol=1e-6)
        with naming("gradient"):
            g = grad(loss)(x)
            self.check_structure(g)
            agree(along(g), slope, rtol=1e-4, atol=1e-6)

    def check_second_order(self, f, shape):
        """Forward over reverse mode, along a random direction. Of what one method does for a whole family of operations it is
        checked for some, since each takes as long as all else that is checked of a call."""
        loss, dx, along = self.loss(f, shape)
        with naming("second order"):
            curve = lambda x: (loss(x) + 1.0) ** 2  # so that linear calls have one, too
            bend = numerical_jvp(lambda x: jvp(curve, (x,), (dx,))[1], (self.x,), (dx,))
            agree(along(hvp(curve, self.x, dx)), bend, rtol=1e-3, atol=1e-4)

    def check_structure(self, g):
        """A gradient has the type's structure if the type is linear, else it is a Tangent of it."""
        if self.cls.linear:
            assert tree.structure(g) == tree.structure(self.x), f"it is a {type(g).__name__}, not a {self.cls.__name__}"
        else:
            assert isinstance(g, Tangent) and g.primal_type is self.cls, f"it is a {type(g).__name__}, not a Tangent"
        for c, leaf in zip(tree.leaves(g), tree.leaves(self.x), strict=True):
            assert not inexact(leaf) or aval_of(c) == aval_of(leaf), f"a cotangent {aval_of(c)} of a leaf {aval_of(leaf)}"

    def check_batch_axes(self):
        """Mapping an axis that is not of the structure maps the dense form's, so that the structure has all its axes."""
        for x in [self.x, *self.batches()]:
            dense = self.plain(x)
            for axis in range(len(x.shape) - self.cls.structure_ndim):
                with naming(f"structure_ndim={self.cls.structure_ndim}, vmap over axis {axis} of shape {list(x.shape)}"):
                    agree(vmap(self.dense, in_axes=axis)(x), np.moveaxis(dense, axis, 0), exact=True)
                    agree(self.plain(vmap(lambda lane: lane, in_axes=axis, out_axes=axis)(x)), dense, exact=True)

    def check_structural_axis(self):
        """Mapping an axis of the structure maps the dense form."""
        if self.cls.structure_ndim and self.cls.densifies:
            with naming("vmap over an axis of the structure"):
                found = vmap(lambda row: multiply(row, 2.0), in_axes=-1)(self.x)
                agree(found, np.moveaxis(self.plain(self.x), -1, 0) * 2.0)

    def check_commutative(self):
        """x + y and y + x have one type, and so have x * y and y * x."""
        for op, partner in [(op, p) for op in (add, multiply) for p in self.partners]:
            with naming(f"{op.__name__} of {self.cls.__name__} and {type(partner).__name__}, in both orders"):
                kinds = []
                for args in ((self.x, partner), (partner, self.x)):
                    try:
                        kinds.append(type(op(*args)).__name__)
                    except (*self.refuses, PolyadError) as error:
                        kinds.append(type(error).__name__)
                assert kinds[0] == kinds[1], f"gives {kinds[0]} one way and {kinds[1]} the other"


def remembered(f):
    """f, which gives the result that it has given for an instance once more when it is asked again."""
    results = {}

    def again(x):
        if id(x) not in results:
            results[id(x)] = x, f(x)  # with x itself, so that no other has its id
        return results[id(x)][1]

    return again


def same_bits(a, b):
    """Return whether an array is as it was; numbers are."""
    return type(a) is not np.ndarray or a.tobytes() == b.tobytes()


def as_one(y):
    """Several results as one array."""
    return concatenate([ravel(part) for part in y]) if isinstance(y, tuple) else y


def parameters(generic, x):
    """Parameters to try with an operation, by their names."""
    names, ndim = generic.params, x.ndim
    if "spec" in names:
        everything = Slice((None, None, None))
        return [{"spec": s} for s in ((), (0,), (-1,) * ndim, (0,) * ndim, (everything,), (None,)) if len(s) <= max(ndim, 1)]
    if "shape" in names:
        shapes = [(2, *x.shape)] if generic.name == "broadcast_to" else [(-1,), (1, *x.shape)]
        return [{"shape": shape} for shape in shapes]
    base = [{}]
    if "keepdims" in names and "axis" in names:
        one = [{"axis": a, "keepdims": k} for a in range(-1, ndim) for k in (False, True) if ndim]
        base += [*one, *[{"axis": a, "keepdims": True} for a in (None, *[(a, ndim - 1) for a in range(ndim - 1)])]]
    return [] if any(generic.signature.parameters[p].default is generic.signature.empty for p in names) else base


def varied(generic):
    """More of them, each other than its default, for arrays that they fit: those of the card's samples, together and each by
    itself, and a dtype that is no array's own."""
    if "spec" in generic.params or "shape" in generic.params:
        return []
    found, names = [{"dtype": np.dtype("complex128")}] if "dtype" in generic.params else [], list(generic.params)
    for sample in generic.function.card.samples or ():
        xs, given = sample(np.random.default_rng(0))
        own = {**dict(zip(names, xs[len(generic.arrays) :], strict=False)), **given}  # some come by their place
        own = {k: v for k, v in own.items() if k in names and k != "dtype"}
        found += [own, *[{k: v} for k, v in own.items()]]
    for name in names:
        default = generic.signature.parameters[name].default
        if not any([name in params for params in found]) and type(default) in (bool, int):
            found.append({name: type(default)(1 - default)})
    return list({repr(params): params for params in found if params}.values())
