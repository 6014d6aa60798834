"""How a call finds its method: containers first, then layers, then kernels.

1. A container among the arguments: the most specific method by plum, else a method of the operation's family, else the
   body of a composite operation, else densify (guarded).
2. A layer among them and no container: the deepest layer carries the call out.
3. Neither: the kernel for the types and the device.
A generic function without a card (a user's own) has no rules, so its methods take containers and layers alike.
"""

from abc import get_cache_token

import plum

from .containers import Container, densified
from .errors import (
    AmbiguousMethodError,
    LeakedLayerError,
    MethodError,
    MissingRuleError,
    describe,
    type_name,
)
from .generic import Generic, all_generics
from .kinds import common_device, lookup_device_of, lookup_kind, mixed_devices
from .layers import Array, Layer

lazy_libraries = {}  # top-level module of an array class -> function that registers its kernels


def resolve(generic, types, args):
    """The target for arguments of these types; `args` are used for messages only."""
    _load_library(types)
    if generic.card is not None:
        if any(issubclass(t, Container) for t in types):
            return guarded(generic, container_target(generic, types, args))
        if any(issubclass(t, Layer) for t in types):
            return layer_target(generic, types)
    return guarded(generic, kernel_target(generic, types, args))


def lookup(generic, types):
    """The slot of the most specific method for these types, or None; AmbiguousMethodError if there are several."""
    try:
        return generic.plum.resolve_method(plum.Signature(*types))[0]
    except plum.NotFoundLookupError:
        return None
    except plum.AmbiguousLookupError as error:
        raise ambiguous(generic, types, [m.signature for m in error.methods]) from None


# ---------------------------------------------------------------------- 1. containers
def container_target(generic, types, args):
    """Own method, family method, composite body, dense."""
    slot = lookup(generic, types)
    if slot is not None:
        return choose(generic, slot, types, args)
    dense = densifying(generic, types, args)
    for family in generic.families:
        found = lookup(family, types)
        if found is not None:
            return _family_target(generic, found.methods[None].implementation, dense)
    if generic.card.body is not None:
        return generic.card.body
    return dense


def _family_target(generic, method, otherwise):
    function = generic.function

    def run(*args, **params):
        result = method(function, *args, **params)
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

    return run


# ---------------------------------------------------------------------- 2. layers
def layer_target(generic, types):
    """The deepest layer's target; composite operations are followed through their body."""
    layers = {t for t in types if issubclass(t, Layer)}
    depth = max(t.depth for t in layers)
    top = {t for t in layers if t.depth == depth}
    winner = next((t for t in top if all(t is o or t.companion is _kind(o) for o in top)), None)
    if winner is None:
        names = " and ".join(sorted(t.__name__ for t in top))

        def mixed(*args, **params):
            raise LeakedLayerError(
                f"{generic.name}: values of two transformations of the same depth met ({names}); one of them has "
                "ended, or runs in a thread that was started without contextvars.copy_context().run"
            )

        return mixed
    if generic.card.body is not None and not winner.keeps_composites:
        return generic.card.body
    target = winner.target(generic, types)
    if target is None:
        raise MissingRuleError(
            f"{generic.name} has no rule for {type_name(winner)}; add @{generic.name}.rule(…) under its declaration"
        )
    neutral = generic.card.rules.get("neutral")
    if neutral is None:
        return target
    return lambda *args, **params: (neutral if params["axis"].depth > depth else target)(*args, **params)


def _kind(cls):
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
            if otherwise is not None:
                return otherwise
    raise no_method(generic, args)


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
    return _by_kind(generic, methods, next(iter(kinds), None), args)


def _by_kind(generic, methods, kind, args):
    method = methods.get(kind) or methods.get(None)
    if method is None:
        found = ", ".join(f"On[{k.__name__}]" for k in methods)
        raise no_method(generic, args, f"there is a method for these types, but only for {found}")
    return method.implementation


def _placed(generic, methods):
    """A target that looks the device up at each call: the class lives on several devices."""
    name = generic.name

    def run(*args, **params):
        device = common_device(name, args)
        kind = device if device is None or isinstance(device, type) else device.kind
        return _by_kind(generic, methods, kind, args)(*args, **params)

    return run


def guarded(generic, target):
    """With abstract base classes of others in the signatures, notice that a class was registered with one."""
    if not generic.uses_abc:
        return target
    token = get_cache_token()
    spread = generic.function if not generic.sequence else lambda *xs, **params: generic.function(xs, **params)

    def check(*args, **params):
        if get_cache_token() != token:
            generic.clear()
            return spread(*args, **params)
        return target(*args, **params)

    return check


def _load_library(types):
    for t in types:
        root = t.__module__.partition(".")[0]
        if root in lazy_libraries:
            lazy_libraries.pop(root)()


# ---------------------------------------------------------------------- errors
def no_method(generic, args, hint=None):
    """`MethodError` with the three closest methods, their mismatches marked, and a hint."""
    lines = [f"no method {generic.name}({', '.join(describe(x) for x in args)})"]
    closest = sorted(generic.methods, key=lambda m: _distance(m, args))[:3]
    for method in closest:
        lines.append(f"  closest: {_marked(method, args)}  at {method.where}")
    lines.append(f"  hint: {hint or _hint(generic, args)}")
    return MethodError("\n".join(lines))


def _expected(method, n):
    types = list(method.types)
    return types + [method.varargs] * (n - len(types)) if method.varargs else types


def _matches(x, hint):
    return plum.Signature(type(x)) <= plum.Signature(hint)


def _distance(method, args):
    expected = _expected(method, len(args))
    return abs(len(expected) - len(args)) + sum(not _matches(x, t) for x, t in zip(args, expected, strict=False))


def _marked(method, args):
    expected = _expected(method, len(args))
    parts = []
    for i, t in enumerate(expected):
        fits = i < len(args) and _matches(args[i], t)
        parts.append(type_name(t) if fits else f"!{type_name(t)}")
    return f"{method.generic.name}({', '.join(parts)})"


def _hint(generic, args):
    if any(isinstance(x, (list, tuple)) for x in args):
        return "lists and tuples are not arrays: convert with polyad.asarray(…)"
    if any(isinstance(x, str) or x is None for x in args):
        return "the operation takes arrays and numbers only"
    if not generic.methods:
        return f"register one with @{generic.name}.method"
    return f"register one for this type with @{generic.name}.method, or convert the argument"


def ambiguous(generic, types, signatures):
    """`AmbiguousMethodError` naming the method that would decide."""
    candidates = [_expand(s, len(types)) for s in signatures]
    meet = []
    for column in zip(*candidates, strict=True):
        best = column[0]
        for t in column[1:]:
            best = t if plum.Signature(t) <= plum.Signature(best) else best
        meet.append(type_name(best))
    shown = "\n".join(f"  candidate: {generic.name}({', '.join(map(type_name, c))})" for c in candidates)
    return AmbiguousMethodError(
        f"{generic.name}({', '.join(map(type_name, types))}) is ambiguous\n{shown}\n"
        f"  hint: define {generic.name}({', '.join(meet)}), or polyad.combine_rule for the whole family"
    )


def _expand(signature, n):
    return signature.expand_varargs(n)


def call_next(implementation, *args, **params):
    """From inside a method, call the next less specific one: `call_next(sin_mine, x)` inside `def sin_mine(x: Mine)`.

    implementation: the method itself, as `@op.method` returned it.
    Raises MethodError if there is no further method and the operation has no other way (family, body, dense form).
    """
    types = tuple([type(x) for x in args])
    for generic in all_generics():
        own = next((m for m in generic.methods if m.implementation is implementation), None)
        if own is not None:
            break
    else:
        raise MethodError(f"call_next: {implementation!r} is not a method of any generic function")
    key = (implementation, types)
    target = generic.by_next.get(key)
    if target is None:
        target = generic.by_next[key] = _next_target(generic, own, types, args)
    return target(*args, **params)


def _next_target(generic, own, types, args):
    mine = _signature(own)
    wider = [m for m in generic.methods if m is not own and mine < _signature(m) and m.kind in (None, own.kind)]
    called = plum.Signature(*types)
    wider = [m for m in wider if called <= _signature(m)]
    best = [m for m in wider if not any(_signature(o) < _signature(m) for o in wider)]
    if len(best) > 1:
        raise ambiguous(generic, types, [_signature(m) for m in best])
    if best:
        return best[0].implementation
    if generic.card is not None and any(issubclass(t, Container) for t in types):
        return generic.card.body or densifying(generic, types, args)
    raise no_method(generic, args, "call_next found no less specific method")


def _signature(method):
    extra = {} if method.varargs is None else {"varargs": method.varargs}
    return plum.Signature(*method.types, **extra)


def invoke(function, types, *args, **params):
    """Call the method that these types would choose, whatever the arguments' own types are (Julia's `invoke`).

    function: a generic function. types: tuple of classes, one per dispatched argument.
    Raises MethodError if there is no such method.
    """
    generic = function.generic
    slot = lookup(generic, tuple(types))
    if slot is None:
        raise MethodError(f"invoke: no method {generic.name}({', '.join(map(type_name, types))})")
    return choose(generic, slot, tuple(types), args)(*args, **params)


Generic.resolve = staticmethod(resolve)
