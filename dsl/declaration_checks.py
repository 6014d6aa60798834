"""The forms of what others declare: a card's facts and the rules of an operation, looked at when they are given.

A rule in the wrong form would fail at the first derivative, far from where it is written. The operations of the library itself
are looked at by a test instead.
"""

import inspect
from string import Formatter

from ..dispatch import RegistrationError, describe, isa

# What stands before the arrays in a call of a rule; those not named here are for the engines to say.
LEADING = {
    "shape": (), "jvp": ("dxs", "y"), "vjp": ("ct", "y"), "transpose": ("ct", "y"), "vjp_all": ("ct", "y"),
    "accumulate": ("total", "ct", "y"), "add_to": ("total", "ct", "y"), "taylor": ("k", "y"),
}  # fmt: skip
ONE_EACH = ("vjp", "transpose")  # a list with a function for each array, or one of the array's number before all else


def misfit(function, count, keywords=()):
    """The parameters of a function that cannot be called with so many arguments and these keywords, as text; else None."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a builtin, or what is no function
        return None
    try:
        signature.bind(*range(count), **dict.fromkeys(keywords))
    except TypeError:
        return str(signature)
    return None


def place_text(function):
    """file:line of a function, with a space before, or nothing where it shows none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code else ""


def _spelled(leading, generic, arrays=True):
    """The parameters of a rule as they are to be written."""
    names = [f"*{name}" if generic.sequence else name for name in generic.arrays] if arrays else []
    leading = ["z" if part in names else part for part in leading]  # the value, y, where an array has that name
    parts = [*leading, *names, *([f"*{generic.variadic}"] if generic.variadic and arrays else [])]
    starred = any([p.startswith("*") for p in parts])
    return ", ".join([*parts, *([] if starred or not generic.params else ["*"]), *generic.params])


def spelled_rule(which, generic):
    """The parameters of the function of a rule for one array, as they are to be written."""
    return _spelled(LEADING[which], generic)


def _arity_to_try(generic):
    """A number of arrays to try."""
    return generic.arity if generic.arity is not None else len(generic.arrays) + 1


def check_facts(name, facts):
    """Check what a declaration says beside its kind and its partials. Raises RegistrationError."""
    texts = lambda value: isinstance(value, (tuple, list)) and all([isinstance(v, str) for v in value])
    kernel, numpy, c, samples = [facts.get(key) for key in ("kernel", "numpy", "c", "samples")]
    if kernel is not None and not isinstance(kernel, str):
        raise RegistrationError(
            f"{name}: kernel is the operation's name in NumPy-like libraries, not {describe(kernel)}{_of(kernel)}; leave it "
            f"out, and register the function below the declaration: @{name}.method above "
            f"`def {name}_kernel(x: polyad.HostArray, /)`"
        )
    if numpy is not None and not texts(numpy):
        given = repr(numpy) if isinstance(numpy, str) else describe(numpy)
        raise RegistrationError(f"{name}: numpy is a tuple of names of NumPy's functions, such as ('{name}',), not {given}")
    if c is not None and not isinstance(c, (str, dict)):
        raise RegistrationError(
            f"{name}: c is an expression of C as text, such as 'sin({{0}})', or a dict of them by kinds of dtypes, not "
            f"{describe(c)}{_of(c)}"
        )
    if samples is not None and not (isinstance(samples, (tuple, list)) and all(map(callable, samples))):
        raise RegistrationError(
            f"{name}: samples is a list of functions rng -> array, or -> (arguments, parameters), such as "
            f"[lambda rng: rng.standard_normal(3)], not {describe(samples)}"
        )


def check_c(name, generic, kind, c):
    """The C expression of an operation. Raises RegistrationError."""
    if kind != "elementwise" or generic.arity is None:
        raise RegistrationError(
            f"{name}: c is the expression of an elementwise operation of a fixed number of arrays; leave it out, and say by "
            f"polyad.lowering({name}, …) how C is made of it"
        )
    known = [*map(str, range(generic.arity)), *generic.params]
    texts, named = c.items() if isinstance(c, dict) else [("f", c)], set()
    for kinds, text in texts:
        if not isinstance(kinds, str) or not kinds or set(kinds) - set("biufc"):
            raise RegistrationError(
                f"{name}: c is a dict whose keys are letters of b, i, u, f and c, kinds of dtypes, not {kinds!r}"
            )
        if not isinstance(text, str):
            raise RegistrationError(f"{name}: c is {describe(text)} for the kinds {kinds!r}; write an expression of C as text")
        try:
            parts = list(Formatter().parse(text))
        except ValueError as error:
            raise RegistrationError(
                f"{name}: c={text!r} is no template ({error}); write braces of C twice, {{{{ and }}}}"
            ) from None
        for _, field, form, conversion in parts:
            if field is not None and (form or conversion):
                written = f"{{{field}{'!' + conversion if conversion else ''}{':' + form if form else ''}}}"
                raise RegistrationError(f"{name}: c={text!r} formats {written}; values are C, not text: write {{{field}}}")
            if field is not None and field not in known:
                shown = ", ".join([f"{{{x}}}" for x in known])
                raise RegistrationError(f"{name}: c={text!r} names {{{field}}}; its arrays and parameters are {shown}")
        named.update([field for _, field, *_ in parts])
        _check_one_expression(name, text, "".join([literal for literal, *_ in parts]))
    for parameter in generic.params:
        if parameter not in named:
            raise RegistrationError(
                f"{name}: c={c!r} does not name its parameter {parameter}; write {{{parameter}}} where its value "
                f"stands, or leave c out, and register a kernel with @{name}.method"
            )


def _check_one_expression(name, text, c):
    """One expression of C: its parentheses close, outside of them is no comma or semicolon. Raises RegistrationError."""
    depth = 0
    for char in c:
        depth += (char in "([{") - (char in ")]}")
        if depth < 0:
            break
        if depth == 0 and char in ",;":
            raise RegistrationError(
                f"{name}: c={text!r} has a {'comma' if char == ',' else 'semicolon'} outside of parentheses, but it is one "
                "expression with one value; for several results write an operation for each"
            )
    if depth:
        raise RegistrationError(f"{name}: c={text!r} has parentheses that do not match")


def _of(value):
    return place_text(value) if callable(value) else ""


def check_known(name, facts, known):
    """Names of facts. Raises RegistrationError."""
    for key in facts:
        if key not in known:
            raise RegistrationError(f"{name}: a card has no {key!r}; it may say {', '.join(sorted(known))}")


def check_partials(name, generic, partials):
    """One partial derivative for each array, a function (y, *xs) or 1, -1 or None. Raises RegistrationError."""
    form = f"partials=[…] with one for each of its {_arity_to_try(generic)} array(s) ({', '.join(generic.arrays)})"
    if not isinstance(partials, (tuple, list)):
        raise RegistrationError(f"{name}: partials is {describe(partials)}{_of(partials)}, not a list; write {form}")
    if generic.arity is None or len(partials) != generic.arity:
        raise RegistrationError(f"{name}: it has {len(partials)} partial derivative(s); write {form}, None where there is none")
    for i, slope in enumerate(partials):
        written = f"a function ({_spelled(['y'], generic)}) of the value and the arrays"
        if callable(slope):
            found = misfit(slope, 1 + generic.arity, generic.params)
            if found is not None:
                raise RegistrationError(
                    f"{name}: partials[{i}]{place_text(slope)} takes {found}; write {written}, as operations of these"
                )
        elif slope is not None and not (isa(slope, (int, float)) and slope in (1, -1)):
            raise RegistrationError(f"{name}: partials[{i}] is {describe(slope)}; give {written}, 1, -1, or None")


def check_rule(op, which, rule):
    """A rule of an operation. Raises RegistrationError."""
    generic, name, card = op.generic, op.__name__, op.card
    if which == "batch" and "axis_name" not in generic.params:
        return _check_one(name, which, rule, ("size", "xs", "batched"), generic, 0)
    if which not in LEADING:
        return None
    leading, count = LEADING[which], _arity_to_try(generic)
    if which not in ONE_EACH or callable(rule):
        return _check_one(name, which, rule, ("i", *leading) if which in ONE_EACH else leading, generic, count)
    if not isinstance(rule, (tuple, list)):
        raise RegistrationError(f"{name}: its rule {which!r} is {describe(rule)}; {_rule_list(name, which, generic)}")
    arrays = count if which == "vjp" or card.linear is None else len(card.linear)
    if generic.arity is not None and len(rule) != arrays:
        raise RegistrationError(
            f"{name}: its rule {which!r} has {len(rule)} function(s) for {arrays} array(s); {_rule_list(name, which, generic)}"
            ", None where there is no derivative"
        )
    for one in rule:
        if one is not None:
            _check_one(name, which, one, leading, generic, count)
    return None


def _check_one(name, which, rule, leading, generic, count):
    """One function. Raises RegistrationError."""
    written = _spelled(leading, generic, arrays=count > 0)
    if not callable(rule):
        raise RegistrationError(f"{name}: its rule {which!r} is {describe(rule)}; it must be a function ({written})")
    found = misfit(rule, len(leading) + count, generic.params)
    if found is not None:
        above = f"write `@{name}.rule({which!r})` above `def {which}({written})`"
        way = _rule_list(name, which, generic) if which in ONE_EACH else above
        raise RegistrationError(
            f"{name}: its rule {which!r}{place_text(rule)} takes {found}, but is called with ({written}); {way}"
        )


def _rule_list(name, which, generic):
    return f"write {name}.rule({which!r})([…]) with one function ({spelled_rule(which, generic)}) for each array"
