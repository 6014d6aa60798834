"""What a method is registered for: the types that its annotations say, and whether such a call can ever reach it."""

import inspect
import types
import typing
from abc import ABCMeta

from .errors import RegistrationError, type_name
from .plum_types import delivered, plain_class, read_signature


def declared(generic, implementation):
    """(types, type of the variable arguments) that an implementation declares for the dispatched arguments of a generic.

    Raises RegistrationError for annotations that a type alone cannot decide, and for a method that no call could reach.
    """
    name = getattr(implementation, "__name__", repr(implementation))
    try:
        parameters = list(inspect.signature(implementation).parameters.values())
    except (TypeError, ValueError):
        raise RegistrationError(
            f"{generic.name}: {name} shows no signature to dispatch on; wrap it in an annotated function"
        ) from None
    slash = any([p.kind is p.POSITIONAL_ONLY for p in parameters])
    found, varargs, rest = [], None, []
    for p in parameters:
        if rest or p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) or _is_static(generic, p, len(found), slash):
            rest.append(p)
        elif p.kind is p.VAR_POSITIONAL:
            varargs = _type_of(generic, implementation, p)
            rest.append(p)
        else:
            found.append(_type_of(generic, implementation, p))
    _check_count(generic, name, found, varargs, rest)
    _check_parameters(generic, name, rest)
    return tuple(found), varargs


def written(generic, name, signature):
    """The same of a `plum.Signature` in place of annotations."""
    types, varargs = read_signature(f"{generic.name}: {name}", signature)
    found = tuple([_checked(generic, hint, f"argument {i}") for i, hint in enumerate(types)])
    _check_count(generic, name, found, varargs, [])
    return found, None if varargs is None else _checked(generic, varargs, "further arguments")


def _is_static(generic, p, place, slash):
    """Return whether a parameter is none of the dispatched ones: what follows a written `/`, or has a default, is none
    either."""
    if generic.arity is not None:
        return place == generic.arity
    by_keyword = p.kind is p.POSITIONAL_OR_KEYWORD and (slash or p.default is not p.empty)
    return p.name in generic.params or by_keyword


def _check_count(generic, name, found, varargs, rest):
    """As many arrays as a call gives. A sequence's are the elements of its one list."""
    given = [p.name for p in rest if p.kind is p.POSITIONAL_ONLY]
    if generic.arity is not None and (given or varargs is None and len(found) != generic.arity):
        raise RegistrationError(
            f"{generic.name} takes {generic.arity} array argument(s), but {name} declares {len(found) + len(given)}"
            + (f"; a call never gives {', '.join(given)}: write static parameters after the /" if given else "")
        )
    if generic.sequence and varargs is None and len(found) == 1:
        (xs,) = generic.arrays
        raise RegistrationError(
            f"{generic.name} is chosen by the types of the elements of its list, which its methods get one by one; {name} "
            f"takes one argument, {type_name(found[0])}: write `def {name}(*{xs}: {type_name(found[0])}, …)`"
        )


def _check_parameters(generic, name, rest):
    """The static parameters of a call, which come by keyword. Those of a family's methods are its members'."""
    taken = {p.name for p in rest if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    lacking = [p for p in generic.params if p not in taken]
    if lacking and not any(p.kind is p.VAR_KEYWORD for p in rest):
        raise RegistrationError(
            f"{generic.name} passes its parameter(s) {', '.join(lacking)} by keyword, but {name} does not take them; "
            "add them to its signature, or **params"
        )
    if generic.members and not taken and not any(p.kind is p.VAR_KEYWORD for p in rest):
        raise RegistrationError(
            f"{generic.name} hands over the parameters of each operation by keyword, but {name} takes none; add **params"
        )
    needed = [p.name for p in rest if p.name in taken - set(generic.params) and p.default is p.empty]
    if needed and not (generic.keywords or generic.members):
        passed = f" ({generic.name} passes {', '.join(generic.params)})" if generic.params else ""
        raise RegistrationError(
            f"{generic.name}: {name} needs the parameter(s) {', '.join(needed)}, which no call passes; give a default, or "
            f"leave them out{passed}"
        )


def check_reached(generic, name, types, varargs, container):
    """A method of a family is asked for array types alone: one of the types that follow the operation is one, or may be.

    container: the base class of array types.
    """
    if not generic.members or any([delivered(t) is None for t in (*types, varargs) if t is not None]):
        return
    following = [t for hint in (*types[1:], varargs) if hint is not None for t in parts(hint)]
    known = _below(container)
    if not any([issubclass(c, t) for t in following if isinstance(t, type) for c in known]):
        shown = ", ".join(map(type_name, following)) or "no array at all"
        raise RegistrationError(
            f"{generic.name} serves array types (polyad.Container) only, and {name} takes {shown}: it would never run; "
            "declare the class with @polyad.array_type, or register with each operation, such as @polyad.sin.method"
        )


def _below(cls):
    found = [cls]
    for c in found:
        found += [s for s in type.__subclasses__(c) if s not in found]
    return found


def parts(hint):
    """The classes of a union, or the one class."""
    return typing.get_args(hint) or (hint,)


def _type_of(generic, implementation, parameter):
    """The annotation of a parameter as a class or a union of classes."""
    hint, name = parameter.annotation, parameter.name
    if hint is parameter.empty:
        return object
    return _checked(generic, _evaluated(generic, implementation, hint, name) if isinstance(hint, str) else hint, name)


def _checked(generic, hint, name):
    """An annotation as a class or a union of classes; types that plum promises stand for themselves until they exist."""
    if hint is typing.Any:
        return object
    if hint is None:
        return type(None)
    if not typing.get_args(hint):
        hint = typing.get_origin(hint) or hint  # typing.Callable is collections.abc.Callable
    if not _decided_by_type(hint):
        raise RegistrationError(
            f"{generic.name}: the annotation of {name!r}, {hint!r}, is not decided by type({name}) alone, and one "
            "such method would make every call of this function slow; annotate a class (or a union of classes) and "
            "test the value inside the method"
        )
    found = delivered(hint)
    return hint if found is None else found


def _evaluated(generic, implementation, text, name):
    """A postponed annotation; only those that are dispatched on are evaluated, and return types never."""
    scope = getattr(inspect.unwrap(implementation), "__globals__", {})
    try:
        return typing.get_type_hints(types.SimpleNamespace(__annotations__={name: text}), scope)[name]
    except Exception as error:
        raise RegistrationError(
            f"{generic.name}: the annotation of {name!r}, {text!r}, cannot be evaluated where the method is defined "
            f"({error}); name a class of the module's top level, or register without postponed annotations"
        ) from error


def _decided_by_type(hint):
    """Return whether isinstance(x, hint) follows from type(x): classes, unless their metaclass has its own idea."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return all(_decided_by_type(part) for part in parts(hint))
    if not isinstance(hint, type) or typing.get_origin(hint) is not None:
        return False
    decided = type(plain_class(hint)).__instancecheck__ in (type.__instancecheck__, ABCMeta.__instancecheck__)
    return getattr(hint, "__faithful__", decided)  # the name by which plum asks the same of a class
