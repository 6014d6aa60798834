"""From inside a method to another one: `call_next` to the next less specific, `invoke` to that of other types, `step_into` to
the one that plain arrays take."""

from __future__ import annotations

from abc import get_cache_token
from typing import TYPE_CHECKING, Any

from .containers import Container
from .errors import MethodError, type_name
from .explain import ambiguous, describe_function, no_method
from .generic import owners
from .resolve import choose, claims_of, densifying, lookup, unless_declined

if TYPE_CHECKING:
    from collections.abc import Callable


def call_next(implementation: Callable[..., Any], *args: Any, **params: Any) -> Any:
    """From inside a method, call the next less specific one: `call_next(sin_mine, x)` inside `def sin_mine(x: Mine)`.

    implementation: the method itself, as `@op.method` returned it; give it a name other than the operation's. args: the
    arguments as the method got them (a method of a family got the operation first).
    Raises MethodError if there is no further method and the operation has no other way (family, body, dense form).
    """
    homes = owners(implementation)
    if len(homes) != 1:
        several = f"several generic functions ({', '.join(h.name for h in homes)})" if homes else "any generic function"
        advice = "register a function of its own with each" if homes else "name the method other than its operation"
        raise MethodError(f"call_next: {describe_function(implementation)} is {'' if homes else 'not '}a method of "
                          f"{several}; {advice}")  # fmt: skip
    (home,) = homes
    member, arrays = home, args
    if home.members and args and getattr(args[0], "generic", None) in home.members:
        member, arrays = args[0].generic, args[1:]
    types = tuple([type(x) for x in arrays])
    key = (implementation, types, get_cache_token())
    target = member.by_next.get(key)
    if target is None:
        with member.lock:
            target = member.by_next[key] = _next_target(home, member, implementation, types, arrays)
    return target(*arrays, **params)


def _next_target(home, member, implementation, types, args):
    """Search for a method among those that are wider than the given one."""
    own = [c for c in claims_of(home, types, None if home is member else member) if _implements(c, implementation)]
    if not own:
        raise no_method(member, args, f"call_next: {describe_function(implementation)} does not take these arguments")
    mine = next(c for c in own if all(c.signature <= o.signature for o in own))
    claims = claims_of(member, types)
    for family in member.families:
        claims += claims_of(family, types, member)
    claims = [c for c in claims if not _implements(c, implementation) and mine.beats(c, alone=False)]
    best = [c for c in claims if not any(o is not c and o.beats(c, alone=False) for o in claims)]
    if len(best) > 1:
        raise ambiguous(member, types, [c.signature for c in best])
    otherwise = None
    if member.card is not None and any(issubclass(t, Container) for t in types):
        otherwise = member.card.body or densifying(member, types, args)
    if best:
        target = best[0].target(types, args)
        return target if otherwise is None else unless_declined(target, otherwise)
    if otherwise is None:
        raise no_method(member, args, "call_next found no less specific method")
    return otherwise


def _implements(claim, implementation):
    return any(m.implementation is implementation for m in claim.slot.methods.values())


def invoke(function: Callable[..., Any], types: Any, *args: Any, **params: Any) -> Any:
    """Call the method that these types would choose, whatever the arguments' own types are (Julia's `invoke`).

    function: a generic function. types: tuple of classes, one per dispatched argument (for a sequence, per element).
    args, params: as for the function itself. Raises MethodError if there is no such method.
    """
    generic, types = function.generic, tuple(types)
    arrays, statics = generic.bind(*args, **params)
    slot = lookup(generic, types) if len(types) == len(arrays) else None
    if slot is None:
        raise MethodError(f"invoke: no method {generic.name}({', '.join(map(type_name, types))}) for {len(arrays)} argument(s)")
    return choose(generic, slot, types, arrays)(*arrays, **statics)


def step_into(generic: Any, types: Any) -> Any:
    """For `lift` of a `polyad.Layer`: an operation on programs is carried out as for plain arrays, on the followed values.

    So `cond` takes one branch, and `scan` and `while_loop` run step by step; each operation inside goes through the layer.
    generic, types: as `Layer.target` gets them. Returns the function that carries the operation out.
    """
    return lambda *args, **params: invoke(generic.function, types, *args, **params)
