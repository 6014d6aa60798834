"""Python functions called from inside transformed code: `debug_print`, `callback`, `io_callback`.

Each effect happens once per executed step, in the order of the code, whatever transformations are around: eagerly where it
stands; under derivatives in the forward computation (for the walk back see `grad_hook`); in a trace when the program runs;
under `vmap` for one lane after the other, once if its arguments are the same in all lanes, and not again for lanes that run
the function a second time because they answered Python differently.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dispatch import ConcreteValueError, DTypeError, StructureError, describe, isa, tree
from .avals import Aval, aval_of, dtype_of
from .ops.effects import Caller, effect_call, name_of, pure_call

if TYPE_CHECKING:
    from collections.abc import Callable


def callback(f: Callable[..., Any], result: Any, *args: Any, lanes: str = "each") -> Any:
    """`f(*args)` for a pure Python function of NumPy arrays: how to call SciPy or a simulator from inside a transformation.

    f: function of NumPy arrays (or trees of them), a function of its arguments alone: a program may leave out a call whose
    result is unused. result: what it returns: an Aval (or an array that has its shape and dtype), or a tree of them.
    args: arrays or trees. lanes: under `vmap`, "each" (one call per lane), or "all": one call, with the lanes as axis 0 of
    every argument and of every result. Returns arrays as `result` says, on the device of the arguments. It has no
    derivative: give one by custom_jvp or custom_vjp. Raises StructureError, ShapeError, DTypeError, MissingRuleError.

    >>> import numpy as np, polyad as pa
    >>> pa.vmap(lambda x: pa.callback(np.linalg.norm, pa.Aval((), float), x))(np.eye(2) * 3)
    array([3., 3.])
    """
    return _called(pure_call, "callback", f, result, args, lanes)


def io_callback(f: Callable[..., Any], result: Any, *args: Any, lanes: str = "each") -> Any:
    """`f(*args)` for a Python function that does something beside its result: writes to a file, keeps a state, draws.

    As `callback`, but it is called once per executed step, in order, and not left out where its result is unused.
    result: None if there is none.

    >>> import numpy as np, polyad as pa
    >>> seen = []
    >>> pa.vmap(lambda x: (pa.io_callback(seen.append, None, x), x * 2)[1])(np.arange(3.0))
    array([0., 2., 4.])
    >>> [float(x) for x in seen]
    [0.0, 1.0, 2.0]
    """
    return _called(effect_call, "io_callback", f, result, args, lanes)


def debug_print(text: str, *args: Any, **named: Any) -> None:
    """Print `text.format(*args, **named)` when this step is executed: under derivatives, `vmap` and in programs too.

    text: with fields as of `str.format`; a format for numbers (`{:.3f}`) holds for each element of an array. args, named:
    arrays or trees, or anything else that prints. Under `vmap` each lane prints its own line, in order.
    Raises StructureError where the fields and the arguments do not fit, DTypeError for a text that is none.

    >>> import polyad as pa
    >>> float(pa.grad(lambda x: (pa.debug_print("x = {:.1f}", x), x * x)[1])(3.0))
    x = 3.0
    6.0
    """
    if not isinstance(text, str):
        raise DTypeError(f"debug_print: the first argument is the text, such as 'x = {{}}', not {describe(text)}")
    _check_fields(text, len(args), named)
    _called(effect_call, "debug_print", Print(text, len(args), tuple(named)), None, (*args, *named.values()), "each")


def _called(op, name, f, result, args, lanes):
    if lanes not in ("each", "all"):
        raise StructureError(f'{name}: lanes is "each" or "all", not {lanes!r}')
    if not callable(f):
        raise DTypeError(f"{name}: {describe(f)} is not a function; the first argument is the function to call")
    wanted, shape = tree.flatten(result, lambda x: isinstance(x, Aval) or hasattr(x, "dtype"))
    avals = tuple([_announced(name, a) for a in wanted])
    leaves, structure = tree.flatten(args)
    dynamic = [i for i, x in enumerate(leaves) if _is_array(x)]
    plain = len(dynamic) == len(leaves) >= (not isinstance(f, Print)) and structure == tree.structure((0,) * len(args))
    if not (plain and (shape is tree.LEAF or not wanted)):
        f = OfTrees(f, name_of(f), structure, leaves, dynamic, shape if wanted else None)
    xs = [leaves[i] for i in dynamic] or [np.zeros(())[()]]  # one at least, by which transformations see the call
    results = op(*xs, f=f, result=avals, lanes=lanes)
    return tree.unflatten(shape, list(results)) if wanted else None


def _is_array(x):
    try:
        return dtype_of(x).kind in "biufc"
    except (TypeError, ValueError, AttributeError):
        return False


def _announced(name, x):
    if not isinstance(x, Aval):
        if not _is_array(x):
            raise DTypeError(f"{name}: result is {describe(x)}; give an Aval, polyad.Aval((3,), float), or a tree of them")
        x = aval_of(x)
    shape = (x.shape,) if isa(x.shape, int) else tuple(x.shape)
    return Aval(shape, np.dtype(x.dtype))


class OfTrees(Caller):
    """A function of trees as one of the arrays among their leaves. result: the structure of what it returns, None for none."""

    def __init__(self, f, name, structure, leaves, dynamic, result):
        self.f, self.__name__, self.structure, self.dynamic, self.result = f, name, structure, dynamic, result
        self.leaves = [None if i in dynamic else x for i, x in enumerate(leaves)]

    def __call__(self, *xs):
        full = list(self.leaves)
        for i, x in zip(self.dynamic, xs):  # one more where there are none
            full[i] = x
        y = self.f(*tree.unflatten(self.structure, full))
        if self.result is None:
            return None
        return tree.match(self.result, y, f"callback of {self.__name__}: its result")

    def as_code(self, source):
        raise ConcreteValueError(
            f"callback of {self.__name__}: a call with trees of arrays has no source; call it with arrays, for one array"
        )

    def __repr__(self):
        return f"OfTrees({self.__name__})"


# ---------------------------------------------------------------------- printing
class Print(Caller):
    """The function that `debug_print` calls. count: how many arguments are without a name; names: of the others."""

    __name__ = "debug_print"

    def __init__(self, text, count, names=()):
        self.text, self.count, self.names = text, count, tuple(names)

    def __call__(self, *args):  # one more where there are none
        args = [Shown(x) if isa(x, np.ndarray) and x.ndim else x for x in args]
        print(self.text.format(*args[: self.count], **dict(zip(self.names, args[self.count :]))))

    def as_code(self, source):
        """This as a Python expression."""
        return f"pa.dsl.effects.Print({self.text!r}, {self.count}, {self.names!r})"

    def __repr__(self):
        return f"Print({self.text!r})"


class Shown:
    """An array as `str.format` meets it: a format applies to each element, all else is the array's."""

    def __init__(self, array):
        self.array = array

    def __format__(self, spec):
        if not spec:
            return str(self.array)
        return np.array2string(self.array, formatter={"all": lambda v: format(v, spec)})

    def __getattr__(self, name):
        return getattr(self.array, name)

    def __getitem__(self, key):
        return self.array[key]

    def __str__(self):
        return str(self.array)

    def __repr__(self):
        return repr(self.array)


def _check_fields(text, count, named):
    """The fields of the text are the arguments, each of which is printed."""
    used, automatic = set(), 0
    try:
        fields = [field for _, field, _, _ in _parsed(text)]
    except ValueError as error:
        raise StructureError(f"debug_print: {text!r} is no format text ({error}); write {{{{ and }}}} for braces") from error
    for field in fields:
        head = field.split(".")[0].split("[")[0]
        if head == "":
            head, automatic = automatic, automatic + 1
        used.add(int(head) if str(head).isdigit() else head)
    given = {*range(count), *named}
    missing, spare = sorted(map(str, used - given)), sorted(map(str, given - used))
    if missing or spare:
        what = [f"the field(s) {', '.join(missing)} have no argument"] * bool(missing)
        what += [f"the argument(s) {', '.join(spare)} have no field"] * bool(spare)
        raise StructureError(f"debug_print: in {text!r} {' and '.join(what)}; write one {{}} for each argument")


def _parsed(text):
    for literal, field, spec, conversion in string.Formatter().parse(text):
        if field is not None:
            yield literal, field, spec, conversion
            yield from _parsed(spec or "")
