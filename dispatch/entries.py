"""The source of the function that users call: the lookup in a generic's table, written out for its arguments.

Its own names begin with `__`, so that parameters may be called `table` or `type`. Where the library's function can be called
as it is, for plain NumPy arrays and Python numbers, the entry does so itself (`Generic._remember_inline` says which).
"""

# by number of arguments: whether the types are those, and for a boolean result whether it was made of numbers
INLINE = {
    1: ("__type({0}) is __first", "{0}.dtype in __plain"),
    2: (
        "__type({0}) is __first and (__type({1}) is __second or __type({1}) in __right) "
        "or __type({1}) is __first and __type({0}) in __left",
        "((__type({0}) in __left or {0}.dtype in __plain) and (__type({1}) in __right or {1}.dtype in __plain))",
    ),
}


def entry_source(generic, head):
    """The source of a generic's entry. head: its parameters, in parentheses."""
    params = [f"{p}={p}" for p in generic.params] + ([f"**{generic.keywords}"] if generic.keywords else [])
    first = fast = ""
    if generic.sequence:
        (xs,) = generic.arrays
        arrays, key = f"*{xs}", f"__tuple([__type(x) for x in {xs}])"
        first = f"    if __type({xs}) is not __list and __type({xs}) is not __tuple: {xs} = __elements({xs})\n"
    elif generic.variadic:
        arrays = ", ".join([*generic.arrays, f"*{generic.variadic}"])
        key = f"({_types(generic.arrays)}*[__type(x) for x in {generic.variadic}],)"
    else:
        arrays, key = ", ".join(generic.arrays), _types(generic.arrays).rstrip(", ")
    two = generic.arity == 2
    lookup = f"__table[__type({generic.arrays[0]})][__type({generic.arrays[1]})]" if two else f"__table[{key}]"
    if generic.arity in INLINE and not params:
        test, made_of = [text.format(*generic.arrays) for text in INLINE[generic.arity]]
        fast = (
            f"    if {test}:\n        try:\n            __result = __kernel({arrays})\n"
            f"            if __result.dtype in __numbers or {made_of}: return __result\n"
            "        except __Exception: pass\n"  # again on the slow path, which explains the error
        )
    if generic.variadic and generic.arrays:  # mostly there are no more: without lists of arguments
        alone = ", ".join(generic.arrays)
        call = _call(f"__table[({_types(generic.arrays)})]", alone, ", ".join([*generic.arrays, *params]))
        fast = f"    if not {generic.variadic}:\n" + call.replace("    ", "        ")
    return f"def {generic.name}{head}:\n{first}{fast}{_call(lookup, arrays, ', '.join([arrays, *params]))}"


def _types(names):
    return "".join(f"__type({name}), " for name in names)


def _call(lookup, arrays, everything):
    return (
        f"    try: __target = {lookup}\n    except __KeyError: __target = __miss({arrays})\n    return __target({everything})\n"
    )
