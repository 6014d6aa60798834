"""What is at a place: in a cell, or under the name of an attribute."""

MISSING = object()


def content(cell):
    """Return what is in a cell; MISSING before it is assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def own(x):
    """The attributes that an object has of its own."""
    try:
        return vars(x)
    except TypeError:
        return {}


def found(x, name):
    """An attribute that an object or its class has, MISSING if there is none; no `__getattr__` is asked."""
    mine = own(x)
    if name in mine:
        return mine[name]
    for base in (x if isinstance(x, type) else type(x)).__mro__:
        if name in vars(base):
            return getattr(x, name, MISSING)
    return MISSING


def slots_of(cls):
    """The attributes in slots that a class adds."""
    slots = vars(cls).get("__slots__", ())
    slots = (slots,) if isinstance(slots, str) else slots
    return [s for s in slots if isinstance(s, str) and s not in ("__dict__", "__weakref__")]


def behind(part):
    """Return the function that a property, a cached property or a static method calls; anything else itself."""
    for name in ("fget", "func", "__func__"):
        part = getattr(part, name, part)
    return part
