"""Generic functions: a plain Python function generated for its arity, in front of a table from types to targets.

A hot call is one table lookup. On a miss `resolve.py` decides, in three steps (containers, layers, kernels), and the
answer is kept until the next registration. Being real functions, generics pickle by name and serve as `__add__`.
"""

from __future__ import annotations

import functools
import inspect
import threading
import typing
import weakref
from abc import ABCMeta
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .device_kinds import On
from .entries import entry_source
from .errors import MethodError, PolyadError, RegistrationError, type_name
from .order import Signature
from .plum_types import delivered, is_signature, make_signature, promises
from .prototypes import check_empty
from .signatures import declared, parts, written

if TYPE_CHECKING:
    from .annotations import DeclareGeneric, GenericFunction, P, T

_all = weakref.WeakSet()  # every Generic, for invalidation and introspection
_all_lock = threading.Lock()  # a WeakSet cannot be listed while another thread adds to it
_owners = weakref.WeakKeyDictionary()  # implementation -> its Generics, for call_next


_NUMBERS = frozenset(map(np.dtype, "bhilqBHILQefdgFDG"))
_PLAIN = _NUMBERS | {np.dtype("?")}


class _Never:
    """A class without instances: the inline cache of an entry that has none."""


@dataclass(frozen=True)
class Method:
    """One method of a generic function: its signature, device kind and implementation."""

    generic: Any
    types: tuple
    varargs: type | None
    kind: type | None
    implementation: typing.Callable

    @property
    def signature(self):
        """The types as a `plum.Signature`, for what is built on plum; imports it."""
        return make_signature(self.types, self.varargs)

    @property
    def where(self):
        """file:line of the implementation, or the name of the library function that it is."""
        function = inspect.unwrap(getattr(self.implementation, "library_function", self.implementation))
        code = getattr(function, "__code__", None)
        if code is None:
            return f"{getattr(function, '__module__', None) or 'numpy'}.{getattr(function, '__name__', function)}"
        return f"{code.co_filename}:{code.co_firstlineno}"

    def __str__(self):
        parts = [type_name(t) for t in self.types] + ([f"*{type_name(self.varargs)}"] if self.varargs else [])
        on = f", On[{self.kind.__name__}]" if self.kind else ""
        return f"{self.generic.name}({', '.join(parts)}{on})"

    def __repr__(self):
        return f"{self}  at {self.where}"


class _Slot:
    """The methods of one signature, by device kind (None: any)."""

    __slots__ = ("methods", "signature")

    def __init__(self, signature):
        self.signature, self.methods = signature, {}


class Generic:
    """The state of one generic function: signature, methods, table and (for operations) the card.

    function: the generated entry, which is what users hold.
    arity: number of dispatched arguments, or None if variadic or a sequence.
    families: states of the generics whose methods serve many operations, this one among them; `members` are those.
    spread: the function of the arrays one by one (a sequence operation itself takes them as one list).
    table: types -> target; nested by argument for two arguments, by type for one, by tuple of types otherwise.
    """

    # put here by resolve.py, which is built on this page
    resolve: Any = None  # function(generic, types, args) -> target
    prepare: Any = None  # function(types): loads what these types need; called without a lock, since it runs foreign imports
    check: Any = None  # put here by replaced_methods.py: function(generic, name, types, varargs), refuses what no call reaches
    replaced: Any = None  # put here by replaced_methods.py: function(old, new), told of a method that takes another's place
    own_kernel: Any = None  # put here by devices: function(generic, types, args) -> kernel where no method takes arrays
    own_dtype: Any = None  # put here by devices: function(op, arrays or numbers, params) -> dtype of its result
    follow: Any = None  # put here by ad: function(generic, target) -> target that keeps to derivative rules by type
    rules = None  # mode -> the methods of such rules, once there are any (rule_methods.py)
    registered = 0  # methods registered so far, of all generic functions

    def __init__(self, prototype, sequence=False):
        self.name = getattr(prototype, "__name__", "")
        if not self.name.isidentifier():
            raise RegistrationError(f"generic: {prototype!r} needs a name of its own; declare it with def")
        self.prototype = prototype
        self.card: Any = None
        self.families = ()
        self.members = weakref.WeakSet()
        self.table = {}
        self.methods = []
        self.by_next = {}
        self.uses_abc = False
        self.lock = threading.RLock()
        self.slots = {}
        self._read_signature(prototype, sequence)
        self._make_entry()
        with _all_lock:
            _all.add(self)

    # ------------------------------------------------------------------ the entry
    def _read_signature(self, prototype, sequence):
        """Arrays are positional-only parameters (`x, y, /`, `*xs` or one sequence); the rest are static."""
        kinds = inspect.Parameter
        self.signature = inspect.signature(prototype)
        parameters = list(self.signature.parameters.values())
        self.arrays = [p.name for p in parameters if p.kind is kinds.POSITIONAL_ONLY]
        self.variadic = next((p.name for p in parameters if p.kind is kinds.VAR_POSITIONAL), None)
        self.params = [p.name for p in parameters if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)]
        self.keywords: Any = next((p.name for p in parameters if p.kind is kinds.VAR_KEYWORD), None)
        self.sequence = sequence
        self.arity = None if sequence or self.variadic else len(self.arrays)
        if not self.arrays and not self.variadic:
            raise RegistrationError(
                f"{self.name}: a generic function dispatches on its positional-only parameters; write "
                f"`def {self.name}(x, /, …)`"
            )

    def _make_entry(self):
        """Compile the entry. Its own names begin with `__`, so that parameters may be called `table` or `type`."""
        head = str(
            self.signature.replace(
                return_annotation=inspect.Signature.empty,
                parameters=[
                    p.replace(annotation=inspect.Parameter.empty, default=p.default if p.default is p.empty else _Name(p.name))
                    for p in self.signature.parameters.values()
                ],
            )
        )
        source = entry_source(self, head)
        self.source = source
        defaults = {_Name(p.name).text: p.default for p in self.signature.parameters.values()}
        self.namespace = {
            "__table": self.table, "__miss": self._miss, "__elements": self._elements,
            "__first": _Never, "__second": _Never, "__left": set(), "__right": set(), "__kernel": None,
            "__type": type, "__list": list,
            "__numbers": _NUMBERS, "__plain": _PLAIN,
            "__tuple": tuple, "__Exception": Exception, "__KeyError": KeyError, "__name__": __name__, **defaults,
        }  # fmt: skip
        exec(_compiled(source.replace(f"def {self.name}", "def __entry", 1)), self.namespace)
        entry = self.function = self.namespace.pop("__entry")
        code = entry.__code__
        entry.__code__ = code.replace(co_name=self.name, co_qualname=self.name, co_filename=f"<generic {self.name}>")
        entry.__name__ = self.name
        self.spread = (lambda *xs, **params: entry(xs, **params)) if self.sequence else entry
        prototype = self.prototype
        entry.__module__, entry.__qualname__ = prototype.__module__ or "__main__", prototype.__qualname__
        entry.__doc__, entry.__signature__ = prototype.__doc__, self.signature
        entry.generic, entry.method = self, self.method

    def bind(self, *args, **params):
        """(dispatched arguments, static parameters with their defaults) of a call; TypeError as the call raises."""
        bound = self.signature.bind(*args, **params)
        bound.apply_defaults()
        given = bound.arguments
        arrays = tuple(given[self.arrays[0]]) if self.sequence else tuple([given[name] for name in self.arrays])
        if self.variadic:
            arrays += given[self.variadic]
        statics = {name: given[name] for name in self.params}
        return arrays, {**statics, **given.get(self.keywords, {})}

    # ------------------------------------------------------------------ registration
    def method(self, implementation=None, /):
        """Register a method by its annotations: `@sin.method` above `def sin_zeros(x: Zeros, /): …`.

        `@sin.method(On[CUDA])` registers a kernel for one kind of device, `@sin.method(plum.Signature(Zeros))` a method by
        the signature in place of annotations. Annotations are classes and unions of classes, `plum.parametric` ones among
        them; `plum.ModuleType("torch", "Tensor")` stands for the class of a module that need not be imported yet.
        Returns the implementation. Raises RegistrationError for annotations that a type alone cannot decide (`Literal`,
        `list[int]`).
        """
        if isinstance(implementation, type) and issubclass(implementation, On):
            kind = implementation.kind
            return lambda function: self._register(function, kind)
        if is_signature(implementation):
            return lambda function: self._register(function, None, implementation)
        if implementation is None:
            return self.method
        return self._register(implementation, None)

    def _register(self, implementation, kind, signature=None):
        types, varargs = self._annotations(implementation) if signature is None else self._written(implementation, signature)
        if all([delivered(t) is not None for t in (*types, varargs) if t is not None]):
            self.add(implementation, types, varargs, kind)
        else:
            method = Method(self, types, varargs, kind, implementation)
            self.methods.append(method)
            promises.append(method)
        same_name = getattr(implementation, "__name__", None) == self.name
        return self.function if same_name else implementation

    def _annotations(self, implementation):
        """(types, type of the variable arguments) that an implementation declares for the dispatched arguments."""
        types, varargs = declared(self, implementation)
        Generic.check(self, getattr(implementation, "__name__", repr(implementation)), types, varargs)
        return types, varargs

    def _written(self, implementation, signature):
        """The same of a `plum.Signature`."""
        name = getattr(implementation, "__name__", repr(implementation))
        types, varargs = written(self, name, signature)
        Generic.check(self, name, types, varargs)
        return types, varargs

    def add(self, implementation, types, varargs=None, kind=None):
        """Register an implementation for a signature given as types; seen by the next call."""
        with self.lock:
            key = (types, varargs)
            slot = self.slots.get(key)
            if slot is None:
                slot = self.slots[key] = _Slot(Signature(*key))
            method = Method(self, types, varargs, kind, implementation)
            old = slot.methods.get(kind)
            if old is not None:
                Generic.replaced(old, method)  # first: where warnings are errors, nothing has changed
                self.methods.remove(old)
            slot.methods[kind] = method
            self.methods.append(method)
            Generic.registered += 1
            with suppress(TypeError):  # an object without hash or weak references: call_next will not find it
                _owners.setdefault(implementation, weakref.WeakSet()).add(self)
            self.uses_abc = self.uses_abc or any(_is_foreign_abc(t) for t in (*types, varargs))
            self.clear()

    def join(self, family):
        """Become a member of a family: a generic `family(op, *xs)` whose methods serve each member as `op`."""
        self.families = (*self.families, family.generic)
        family.generic.members.add(self)
        self.clear()

    @property
    def dense_rules(self):
        """Return whether there are derivative rules by type that a call without containers can have."""
        return any([rules.dense for rules in (self.rules or {}).values()])

    # ------------------------------------------------------------------ the table
    def clear(self):
        """Forget every resolved target, also those of the members of this family."""
        with self.lock:
            if self.table or self.by_next:
                self.namespace.update(__first=_Never, __second=_Never, __left=set(), __right=set())
                self.table.clear()
                self.by_next.clear()
        for member in list(self.members) if self.members else ():
            member.clear()

    def _miss(self, *args):
        """Resolve and remember the target for these arguments."""
        types = tuple([type(x) for x in args])
        try:
            Generic.prepare(types)
            with self.lock:
                target = Generic.resolve(self, types, args)
                self._remember(types, target)
        except PolyadError as error:
            error.__suppress_context__ = True  # that the table had no entry is no news to the reader
            raise
        return target

    def _remember(self, types, target):
        if self.arity == 1:
            self.table[types[0]] = target
        elif self.arity == 2:
            self.table.setdefault(types[0], {})[types[1]] = target
        else:
            self.table[types] = target
        self._remember_inline(types, getattr(target, "raw", None))

    def _elements(self, xs):
        """The one argument of a sequence operation as a tuple: an iterator must not be used up by the lookup."""
        try:
            elements = iter(xs)
        except TypeError as error:
            if isinstance(error, PolyadError):
                raise
            raise MethodError(
                f"{self.name} takes a list or tuple of arrays, not {type_name(type(xs))}; write {self.name}([x, y])"
            ) from None
        return tuple(elements)

    def _remember_inline(self, types, raw):
        """Let the entry call a library's function itself for plain arrays, and for an array and a Python number."""
        names, numbers = self.namespace, [t for t in types if t in (float, int)]
        if raw is None or np.ndarray not in types or any([t is not np.ndarray and t not in numbers for t in types]):
            return
        if names["__first"] is not _Never and names["__kernel"] is not raw:
            return
        if numbers:
            names["__left" if types[0] in numbers else "__right"].add(*numbers)
        elif len(types) == 2:
            names["__second"] = np.ndarray
        names["__kernel"] = raw
        names["__first"] = np.ndarray

    def __repr__(self):
        return f"<generic {self.name} with {len(self.methods)} methods>"


@functools.cache
def _compiled(source):
    """The code of an entry, which many operations have in common."""
    return compile(source, "<generic>", "exec")


class _Name:
    """A default value in generated source: printed as a name, bound in the namespace."""

    def __init__(self, name):
        self.text = f"default_{name}"

    def __repr__(self):
        return self.text


def owners(implementation):
    """The generic functions that an implementation is a method of."""
    try:
        return tuple(_owners.get(implementation, ()))
    except TypeError:  # an object without hash or weak references
        return ()


def _is_foreign_abc(hint):
    """An abstract base class whose `register` we cannot see (numbers.Number, collections.abc.*)."""
    return any(isinstance(t, ABCMeta) and type(t).register is ABCMeta.register for t in parts(hint))


@overload
def generic(prototype: None = None, /, *, sequence: bool = False) -> DeclareGeneric: ...
@overload
def generic(prototype: Callable[P, None], /, *, sequence: bool = False) -> GenericFunction[P, Any]: ...
@overload
def generic(prototype: Callable[P, T], /, *, sequence: bool = False) -> GenericFunction[P, T]: ...
def generic(prototype: Callable[..., Any] | None = None, /, *, sequence: bool = False) -> Any:
    """Declare a generic function; its methods are added with `@name.method`.

    prototype: a function whose positional-only parameters are dispatched on and whose other parameters are passed
        through. It has a docstring, but no body: one that would never run is refused. What is to run where no other method
        fits is a method too, for `object`.
    sequence: the one dispatched parameter is a list or tuple, keyed on the types of its elements.
    Returns the generic function.

    >>> import polyad as pa
    >>> @pa.generic
    ... def area(shape, /):
    ...     "Area of a plane figure."
    >>> class Square:
    ...     side = 3
    >>> @area.method
    ... def area_square(shape: Square, /):
    ...     return shape.side**2
    >>> area(Square())
    9
    """
    if prototype is None:
        return lambda function: generic(function, sequence=sequence)
    check_empty(prototype, "; for all others, `x: object`")
    return Generic(prototype, sequence).function


def clear_all():
    """Forget every resolved target of every generic function (a class became a subclass of another)."""
    for each in _live_generics():
        each.clear()


def all_generics():
    """Every generic function's state, in a stable order."""
    return sorted(_live_generics(), key=lambda g: (g.function.__module__, g.name))


def _live_generics():
    with _all_lock:
        return list(_all)
