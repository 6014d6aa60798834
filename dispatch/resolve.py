"""How a call finds its method: containers first, then layers, then kernels.

1. A container among the arguments: the most specific of the operation's own methods and those of its family, else the
   body of a composite operation, else densify (guarded). A method that returns NotImplemented says "not me".
2. A layer among them and no container: the deepest layer carries the call out.
3. Neither: the kernel for the types and the device.
A generic function without a card (a user's own) has no rules, so its methods take containers and layers alike.
"""

from abc import get_cache_token
from functools import partial
from threading import RLock

import numpy as np

from .arrays import Array
from .containers import Container, densified
from .device_kinds import common_device, lookup_device_of, lookup_kind, mixed_devices
from .errors import AmbiguousMethodError, MissingRuleError, ShapeError, type_name
from .explain import ambiguous, no_method
from .generic import Generic
from .layers import Array, Layer, current_depth, settled, snapshot
from .order import Signature, narrowest
from .plum_types import deliver, promises
from .signatures import parts
from .targets import bounded, captured, several

DERIVATIVES = frozenset(("jvp", "vjp", "vjp_all"))  # rules that a composite's derivative has in place of its body's
_OURS = __name__.partition(".")[0] + "."
lazy_libraries = {}  # top-level module of an array class -> function that registers its kernels
_loading = RLock()


def resolve(generic, types, args):
    """The target for arguments of these types; `args` are used for messages only."""
    token = get_cache_token()  # from before the search, during which another thread may register
    if generic.card is not None:
        for t in types:
            if issubclass(t, np.ndarray) and t is not np.ndarray:
                _refuse_unlike(generic, t, args)
        if generic.sequence and not types:
            raise ShapeError(f"{generic.name}: the list of arrays is empty; give at least one")
        if any(issubclass(t, Container) for t in types):
            target = container_target(generic, types, args)
            target = Generic.follow(generic, target) if generic.rules else target
            return guarded(generic, target, token, any([family.uses_abc for family in generic.families]))
        if any(issubclass(t, Layer) for t in types):
            return layer_target(generic, types)
    return guarded(generic, kernel_target(generic, types, args), token)


UNLIKE_ARRAYS = {
    "MaskedArray": "masked arrays have rules of their own: x.filled(value), or polyad.where with the mask",
    "matrix": "np.matrix has rules of its own: np.asarray(x)",
}


def _refuse_unlike(generic, t, args):
    """Subclasses of NumPy's whose functions give other numbers or shapes than those of arrays."""
    for base in t.__mro__:
        if base.__name__ in UNLIKE_ARRAYS and base.__module__.partition(".")[0] == "numpy":
            raise no_method(generic, args, UNLIKE_ARRAYS[base.__name__])


def lookup(generic, types):
    """The slot of the most specific method for these types, or None; AmbiguousMethodError if there are several."""
    exact = generic.slots.get((types, None))
    if exact is not None:
        return exact
    called = Signature(types)
    applicable = [slot for slot in list(generic.slots.values()) if called <= slot.signature]
    best = narrowest(applicable) or applicable
    if len(best) > 1:
        raise ambiguous(generic, types, [slot.signature for slot in best])
    return best[0] if best else None


# ---------------------------------------------------------------------- 1. containers
def container_target(generic, types, args):
    """The container's method, and behind it what happens if it returns NotImplemented."""
    if not all(issubclass(t, Array) for t in types):
        slot = lookup(generic, types)
        if slot is None:
            raise no_method(generic, args)
        return choose(generic, slot, types, args)
    otherwise = generic.card.body or densifying(generic, types, args)
    claim = container_claim(generic, types)
    if claim is not None and claim.family is not None:
        otherwise = _own_or(generic, types, args, otherwise, claim)
    return otherwise if claim is None else unless_declined(claim.target(types, args), otherwise)


def _own_or(generic, types, args, otherwise, claim):
    """The operation's own method, for calls that its family's claim declines; a clash among own methods is an error only
    then, and none where the claim was made for just these array types (`combine_rule`)."""
    try:
        own = container_claim(generic, types, with_families=False)
    except AmbiguousMethodError as clash:
        if claim.names_all(types):
            return otherwise
        message = str(clash)

        def refuse(*args, **params):
            raise AmbiguousMethodError(message)

        return refuse
    return otherwise if own is None else unless_declined(own.target(types, args), otherwise)


class _Claim:
    """A method that could take a call: its signature, and its family if it is not the operation's own."""

    def __init__(self, generic, slot, signature, family=None):
        self.generic, self.slot, self.signature, self.family = generic, slot, signature, family

    def beats(self, other, alone):
        """Return whether this claim goes before another. Own methods are those of the family with the operation fixed, so of
        two equal signatures the own one wins; with one container type in the call its own methods always do."""
        if alone and self.family is not other.family:
            return self.family is None
        if self.signature < other.signature:
            return True
        return self.signature <= other.signature and self.family is None and other.family is not None

    def names_all(self, types):
        """Return whether the signature names an array type wherever the call has one."""
        declared = self.signature.expand(len(types))
        return all([all([issubclass(p, Container) for p in parts(d)]) for t, d in zip(types, declared, strict=True)
                    if issubclass(t, Container)])  # fmt: skip

    def target(self, types, args):
        if self.family is None:
            return choose(self.generic, self.slot, types, args)
        return partial(self.slot.methods[None].implementation, self.generic.function)


def container_claim(generic, types, with_families=True):
    """The claim that wins a call with containers, or None; AmbiguousMethodError if several claim it equally."""
    claims = claims_of(generic, types)
    if with_families:
        for family in generic.families:
            claims += claims_of(family, types, generic)
    if len(claims) > 1:
        alone = len({t for t in types if issubclass(t, Container)}) == 1
        claims = [c for c in claims if not any(o is not c and o.beats(c, alone) for o in claims)]
    if len(claims) > 1:
        raise ambiguous(generic, types, [c.signature for c in claims])
    return claims[0] if claims else None


def claims_of(generic, types, member=None):
    """The applicable methods of a generic, or of a family, whose methods take the operation first."""
    called, skip, found = Signature(types), member is not None, []
    for (declared, varargs), slot in list(generic.slots.items()):
        signature = Signature(declared[1:], varargs) if skip else slot.signature
        if called <= signature:
            found.append(_Claim(member or generic, slot, signature, generic if skip else None))
    return found


def unless_declined(method, otherwise):
    def run(*args, **params):
        result = method(*args, **params)
        return otherwise(*args, **params) if result is NotImplemented else result

    return run


def densifying(generic, types, args):
    """Call again with the containers dense; refused or announced according to `polyad.densify`."""
    refusing = [t for t in types if issubclass(t, Container) and not t.densifies]
    if refusing:

        def refuse(*args, **params):
            raise no_method(generic, args, f"{type_name(refusing[0])} has no dense form")

        return refuse
    spread = generic.function if not generic.sequence else lambda *xs, **params: generic.function(xs, **params)

    def run(*args, **params):
        return spread(*[densified(x, generic.name) if isinstance(x, Container) else x for x in args], **params)

    told = ", ".join([type_name(t) for t in types if issubclass(t, Container)])
    run.told = f"no method of its own: on the dense form of {told}, guarded by polyad.densify"
    return run


# ---------------------------------------------------------------------- 2. layers
def layer_target(generic, types):
    """The deepest layer's target; values that nothing follows any more are replaced by what they hold first."""
    lasting = [i for i, t in enumerate(types) if issubclass(t, Layer) and t.lasting]
    target = _deepest_target(generic, types)
    if not lasting:
        return target
    spread = generic.spread

    def run(*args, **params):
        for i in lasting:
            if not args[i].followed:
                return spread(*[settled(a) for a in args], **params)
        return target(*args, **params)

    return run


def _deepest_target(generic, types):
    """The deepest layer's target; composite operations are followed through their body."""
    layers = {t for t in types if issubclass(t, Layer)}
    depth = max(t.depth for t in layers)
    top = {t for t in layers if t.depth == depth}
    winner = next((t for t in top if all(t is o or t.companion is _kind_of(o) for o in top)), None)
    if winner is None:
        return _met(types, depth)
    shared = getattr(generic.card, "view", None)
    if generic.card.body is not None and not winner.keeps_composites:
        ruled = generic.dense_rules or not DERIVATIVES.isdisjoint(generic.card.rules)
        body = Generic.follow(generic, generic.card.body) if ruled else generic.card.body
        body = _while_open(types, depth, body)  # the body may return an argument as it is
        if shared:
            return shared(generic, body)
        return _apart(body) if getattr(generic.card, "numpy", ()) else body
    target = _layer_rule(generic, types, winner)
    if len({t.depth for t in layers}) > 1:
        return _while_open(types, depth, _of_snapshots(types, depth, target))
    return shared(generic, target) if shared and len(types) == 1 else target


def _of_snapshots(types, depth, target):
    """The target, with arguments of outer transformations as they are now: the deepest layer may keep them."""
    outer = [issubclass(t, Layer) and t.depth < depth for t in types]
    return lambda *args, **params: target(*[snapshot(a) if o else a for a, o in zip(args, outer, strict=True)], **params)


def _apart(body):
    """The body of an operation whose results are new arrays in NumPy: they share their elements with no argument, even
    if the body's last step returned a view or an argument."""

    def alone(y, args):
        if Layer not in type(y).__mro__:
            return y
        return snapshot(y) if hasattr(y, "memory") or any([y is a for a in args]) else y

    def run(*args, **params):
        y = body(*args, **params)
        return several(y, [alone(part, args) for part in y]) if isinstance(y, tuple) else alone(y, args)

    return run


def _met(types, depth):
    """Values of two kinds of transformation at one depth: one of them has ended, or belongs to another thread."""
    places = [i for i, t in enumerate(types) if issubclass(t, Layer) and t.depth == depth]

    def refuse(*args, **params):
        first, *others = [args[i].run for i in places]
        raise first.foreign(next((run for run in others if run is not first), first))

    return refuse


def _while_open(types, depth, target):
    """The target, for values that are all in use. The deepest layer checks its own and takes others as constants, so
    it is here that a constant of a transformation that ended is noticed, and a value of a deeper transformation in a
    thread that does not know of it."""
    places = [i for i, t in enumerate(types) if issubclass(t, Layer)]
    (deepest, *_) = [i for i in places if types[i].depth == depth]

    def run(*args, **params):
        for i in places:
            if args[i].run.closed:
                raise args[i].run.leaked()
        if current_depth() < depth:
            raise args[deepest].run.elsewhere()
        return target(*args, **params)

    return run


def _layer_rule(generic, types, winner):
    lift = winner.lift if "lift" in generic.card.rules else None  # of operations on programs
    layered = generic.card.rules.get("layered")
    target = None if layered is None else layered(winner, types)
    if target is None:
        target = (winner.target if lift is None else lift)(generic, types)
    if target is None:
        raise MissingRuleError(
            f"{generic.name} has no rule for {type_name(winner)}; add @{generic.name}.rule(…) under its declaration"
        )
    if not winner.__module__.startswith(_OURS):
        target = bounded(generic, winner, target)
    if not winner.sees_inner:
        whose = next(i for i, t in enumerate(types) if issubclass(t, Layer) and t.depth == winner.depth)
        target = captured(generic, whose, target)
    neutral = generic.card.rules.get("neutral")
    if neutral is None:
        return target
    return lambda *args, **params: (neutral if params["axis_name"].depth > winner.depth else target)(*args, **params)


def _kind_of(cls):
    return cls.__mro__[1]


# ---------------------------------------------------------------------- 3. kernels
def kernel_target(generic, types, args):
    """The method for the types, then for the device kind."""
    slot = lookup(generic, types)
    if slot is not None:
        return choose(generic, slot, types, args)
    if generic.card is not None:
        common_device(generic.name, args)  # a mixture of devices has no method: say that rather
        if all(issubclass(t, Array) for t in types):
            otherwise = generic.card.body or generic.card.rules.get("neutral")
            otherwise = otherwise or Generic.own_kernel and Generic.own_kernel(generic, types, args)
            if otherwise is not None:
                return otherwise
    raise no_method(generic, args, types=types)


def choose(generic, slot, types, args):
    """Among the methods of one signature, the one for the device kind of the arguments."""
    methods = slot.methods
    asked = generic.card is not None and any(lookup_device_of(t) for t in types)
    if asked or (len(methods) > 1 and any(lookup_device_of(t) for t in types)):
        return _placed(generic, methods)
    kinds = {lookup_kind(t): x for t, x in zip(types, args, strict=True) if lookup_kind(t) is not None}
    if generic.card is not None and len(kinds) > 1:
        (k1, x1), (k2, x2) = list(kinds.items())[:2]
        raise mixed_devices(generic.name, x1, k1, x2, k2)
    return _by_kind(generic, methods, next(iter(kinds), None), args, types)


def _by_kind(generic, methods, kind, args, types=None):
    method = methods.get(kind) or methods.get(None)
    if method is None:
        found = ", ".join(f"On[{k.__name__}]" for k in methods)
        raise no_method(generic, args, f"there is a method for these types, but only for {found}", types)
    return method.implementation


def _placed(generic, methods):
    """A target that looks the device up at each call: the class lives on several devices."""
    name = generic.name

    def run(*args, **params):
        device = common_device(name, args)
        kind = device if device is None or isinstance(device, type) else device.kind
        return _by_kind(generic, methods, kind, args)(*args, **params)

    if len(methods) == 1:  # for introspection: which one it will be
        run.__wrapped__ = next(iter(methods.values())).implementation
    return run


def guarded(generic, target, token, asked=False):
    """With abstract base classes of others in the signatures, notice that a class was registered with one.

    asked: whether such a class stands in a signature of another generic function that was looked at.
    """
    if not (generic.uses_abc or asked):
        return target
    spread = generic.function if not generic.sequence else lambda *xs, **params: generic.function(xs, **params)

    def check(*args, **params):
        if get_cache_token() != token:
            generic.clear()
            return spread(*args, **params)
        return target(*args, **params)

    return check


def load_library(types):
    """Have the kernels for these types registered. Other threads wait for the first one to finish."""
    for t in types:
        root = t.__module__.partition(".")[0]
        if root in lazy_libraries:
            with _loading:
                load = lazy_libraries.get(root)
                if load is None or load is _nothing:
                    continue
                lazy_libraries[root] = _nothing  # loading calls operations on such arrays itself
                try:
                    load()
                except BaseException:
                    lazy_libraries[root] = load
                    raise
                del lazy_libraries[root]


def _nothing():
    pass


Generic.resolve = staticmethod(resolve)


def prepare(types):
    """Have the kernels for these types registered, and the methods for types that were promised."""
    load_library(types)
    if promises:
        deliver()


Generic.prepare = staticmethod(prepare)
