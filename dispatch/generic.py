"""Generic functions: a plain Python function generated for its arity, in front of a table from types to targets.

A hot call is one table lookup. On a miss `resolve.py` decides, in three steps (containers, layers, kernels), and the
answer is kept until the next registration. Being real functions, generics pickle by name and serve as `__add__`.
"""

import inspect
import threading
import typing
import weakref
from dataclasses import dataclass

import numpy as np
import plum

from .errors import RegistrationError, type_name
from .kinds import On

_all = weakref.WeakSet()  # every Generic, for invalidation and introspection


_INLINE = ("type({0}) is first", "(type({0}) is second or type({0}) is number)")


class _Never:
    """A class without instances: the inline cache of an entry that has none."""


@dataclass(frozen=True)
class Method:
    """One method of a generic function: its signature, device kind and implementation."""

    generic: "Generic"
    types: tuple
    varargs: type | None
    kind: type | None
    implementation: typing.Callable

    @property
    def where(self):
        """file:line of the implementation, or the name of the library function that it is."""
        function = inspect.unwrap(getattr(self.implementation, "raw", self.implementation))
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
    """What plum holds for one signature: the implementations by device kind (None: any)."""

    def __init__(self, name):
        self.__name__ = self.__qualname__ = name
        self.__module__, self.__doc__ = __name__, None
        self.methods = {}

    def __call__(self, *args, **params):
        raise AssertionError("a slot is never called; its methods are")


class Generic:
    """The state of one generic function: signature, methods, table and (for operations) the card.

    function: the generated entry, which is what users hold.
    arity: number of dispatched arguments, or None if variadic or a sequence.
    table: types -> target; nested by argument for two arguments, by type for one, by tuple of types otherwise.
    """

    resolve = None  # function(generic, types, args) -> target, put here by resolve.py, which is built on this page

    def __init__(self, prototype, sequence=False):
        self.name = prototype.__name__
        self.prototype = prototype
        self.card = None
        self.families = ()
        self.table = {}
        self.methods = []
        self.by_next = {}
        self.uses_abc = False
        self.lock = threading.RLock()
        self.slots = {}
        self.plum = plum.Function(_stub(self.name))
        self._read_signature(prototype, sequence)
        self._make_entry()
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
        self.sequence = sequence
        self.arity = None if sequence or self.variadic else len(self.arrays)
        if not self.arrays and not self.variadic:
            raise RegistrationError(
                f"{self.name}: a generic function dispatches on its positional-only parameters; write "
                f"`def {self.name}(x, /, …)`"
            )

    def _make_entry(self):
        head = str(self.signature.replace(return_annotation=inspect.Signature.empty, parameters=[
            p.replace(annotation=inspect.Parameter.empty, default=p.default if p.default is p.empty else _Name(p.name))
            for p in self.signature.parameters.values()
        ]))
        statics = ", ".join(f"{p}={p}" for p in self.params)
        if self.sequence:
            arrays, key = f"*{self.arrays[0]}", f"tuple([type(x) for x in {self.arrays[0]}])"
        elif self.variadic:
            arrays = ", ".join([*self.arrays, f"*{self.variadic}"])
            key = "(" + "".join(f"type({a}), " for a in self.arrays) + f"*[type(x) for x in {self.variadic}])"
        else:
            arrays = ", ".join(self.arrays)
            key = ", ".join(f"type({a})" for a in self.arrays)
        lookup = f"table[type({self.arrays[0]})][type({self.arrays[1]})]" if self.arity == 2 else f"table[{key}]"
        call = ", ".join(part for part in (arrays, statics) if part)
        fast = ""
        if self.arity in (1, 2) and not self.params:
            test = " and ".join(_INLINE[i].format(a) for i, a in enumerate(self.arrays))
            fast = (
                f"    if {test}:\n        try:\n            result = kernel({arrays})\n"
                "            if result.dtype is not OBJECT: return result\n"
                "        except Exception: pass\n"  # again on the slow path, which explains the error
            )
        source = (
            f"def {self.name}{head}:\n{fast}    try: target = {lookup}\n"
            f"    except KeyError: target = miss({arrays})\n    return target({call})\n"
        )
        self.source = source
        defaults = {_Name(p.name).text: p.default for p in self.signature.parameters.values()}
        self.namespace = {
            "table": self.table, "miss": self._miss, "first": _Never, "second": _Never, "number": _Never, "kernel": None,
            "OBJECT": np.dtype("O"), "__builtins__": __builtins__, **defaults,
        }  # fmt: skip
        exec(compile(source, f"<generic {self.name}>", "exec"), self.namespace)
        entry = self.function = self.namespace[self.name]
        prototype = self.prototype
        entry.__module__, entry.__qualname__ = prototype.__module__, prototype.__qualname__
        entry.__doc__, entry.__signature__ = prototype.__doc__, self.signature
        entry.generic, entry.method = self, self.method

    # ------------------------------------------------------------------ registration
    def method(self, implementation=None, /):
        """Register a method by its annotations: `@sin.method` above `def sin_zeros(x: Zeros, /): …`.

        `@sin.method(On[CUDA])` registers a kernel for one kind of device. Returns the implementation.
        Raises RegistrationError for annotations that a type alone cannot decide (`Literal`, `list[int]`).
        """
        if isinstance(implementation, type) and issubclass(implementation, On):
            kind = implementation.kind
            return lambda function: self._register(function, kind)
        if implementation is None:
            return self.method
        return self._register(implementation, None)

    def _register(self, implementation, kind):
        types, varargs = self._annotations(implementation)
        self.add(implementation, types, varargs, kind)
        same_name = getattr(implementation, "__name__", None) == self.name
        return self.function if same_name else implementation

    def _annotations(self, implementation):
        parameters = list(inspect.signature(implementation).parameters.values())
        hints = typing.get_type_hints(implementation) if getattr(implementation, "__annotations__", None) else {}
        types, varargs = [], None
        for p in parameters:
            hint = hints.get(p.name, object)
            if p.kind is p.VAR_POSITIONAL:
                varargs = self._checked(hint, p.name)
                break
            if p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) or (self.arity is not None and len(types) == self.arity):
                break
            if self.arity is None and p.name in self.params:
                break
            types.append(self._checked(hint, p.name))
        if self.arity is not None and varargs is None and len(types) != self.arity:
            raise RegistrationError(
                f"{self.name} takes {self.arity} array argument(s), but {implementation.__name__} declares {len(types)}"
            )
        return tuple(types), varargs

    def _checked(self, hint, name):
        if hint is typing.Any:
            return object
        if hint is None or not plum.is_faithful(hint):
            raise RegistrationError(
                f"{self.name}: the annotation of {name!r}, {hint!r}, is not decided by type({name}) alone, and one such "
                "method would make every call of this function slow; annotate a class (or a union of classes) and "
                "test the value inside the method"
            )
        return hint

    def add(self, implementation, types, varargs=None, kind=None):
        """Register an implementation for a signature given as types; seen by the next call."""
        with self.lock:
            key = (types, varargs)
            slot = self.slots.get(key)
            if slot is None:
                slot = self.slots[key] = _Slot(self.name)
                signature = plum.Signature(*types) if varargs is None else plum.Signature(*types, varargs=varargs)
                self.plum.register(slot, signature=signature, precedence=None)
            method = Method(self, types, varargs, kind, implementation)
            old = slot.methods.get(kind)
            if old is not None:
                self.methods.remove(old)
            slot.methods[kind] = method
            self.methods.append(method)
            self.uses_abc = self.uses_abc or any(_is_foreign_abc(t) for t in (*types, varargs))
            self.clear()

    # ------------------------------------------------------------------ the table
    def clear(self):
        """Forget every resolved target."""
        with self.lock:
            self.namespace.update(first=_Never, second=_Never, number=_Never)
            self.table.clear()
            self.by_next.clear()

    def _miss(self, *args):
        """Resolve and remember the target for these arguments."""
        types = tuple([type(x) for x in args])
        with self.lock:
            target = Generic.resolve(self, types, args)
            if self.arity == 1:
                self.table[types[0]] = target
            elif self.arity == 2:
                self.table.setdefault(types[0], {})[types[1]] = target
            else:
                self.table[types] = target
            self._remember_inline(types, getattr(target, "raw", None))
        return target

    def _remember_inline(self, types, raw):
        """Let the entry call a library's function itself for plain arrays, and for an array and a float."""
        if raw is None or types[0] is not np.ndarray or types[-1] not in (np.ndarray, float):
            return
        if self.namespace["first"] is not _Never and self.namespace["kernel"] is not raw:
            return
        self.namespace["kernel"] = raw
        if len(types) == 2:
            self.namespace["second" if types[1] is np.ndarray else "number"] = types[1]
        self.namespace["first"] = np.ndarray

    def __repr__(self):
        return f"<generic {self.name} with {len(self.methods)} methods>"


class _Name:
    """A default value in generated source: printed as a name, bound in the namespace."""

    def __init__(self, name):
        self.text = f"default_{name}"

    def __repr__(self):
        return self.text


def _stub(name):
    def stub(*args):
        raise AssertionError

    stub.__name__ = stub.__qualname__ = name
    return stub


def _is_foreign_abc(hint):
    """An abstract base class whose `register` we cannot see (numbers.Number, collections.abc.*)."""
    from abc import ABCMeta

    parts = typing.get_args(hint) or (hint,)
    return any(isinstance(t, ABCMeta) and "register" not in vars(type(t)) and type(t) is ABCMeta for t in parts)


def generic(prototype=None, /, *, sequence=False):
    """Declare a generic function; its methods are added with `@name.method`.

    prototype: a function whose positional-only parameters are dispatched on and whose other parameters are passed
        through. Its body is not used, its docstring is.
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
    return Generic(prototype, sequence).function


def clear_all():
    """Forget every resolved target of every generic function (a class became a subclass of another)."""
    for each in list(_all):
        each.clear()


def all_generics():
    """Every generic function's state, in a stable order."""
    return sorted(_all, key=lambda g: (g.prototype.__module__, g.name))
