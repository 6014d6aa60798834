"""Numbers with a unit. It has no dense form: dropping the unit is never done silently."""

import polyad as pa


class UnitError(pa.PolyadError, TypeError):
    """Units that do not fit."""


def unit(**powers):
    """A unit as a hashable product of powers: `unit(m=1, s=-2)`."""
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def product(first, second, sign=1):
    powers = dict(first)
    for name, power in second:
        powers[name] = powers.get(name, 0) + sign * power
    return unit(**powers)


@pa.array_type(leaves=("value",), static=("unit",))
class Quantity(pa.Container):
    """Array `value`, of any shape, in a unit. Not linear: a gradient by it has another unit, hence is a `Tangent`."""

    def __init__(self, value, unit=()):
        self.value, self.unit = pa.asarray(value), unit

    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)

    def to(self, unit):
        """The bare value, which must be in this unit."""
        if unit != self.unit:
            raise UnitError(f"a quantity in {self.unit} is not in {unit}")
        return self.value


def parts(xs):
    return [x.value if isinstance(x, Quantity) else x for x in xs], [x.unit if isinstance(x, Quantity) else () for x in xs]


def common_unit(op, units):
    if len(set(units)) != 1:
        raise UnitError(f"{op.__name__}: units differ: {' and '.join(map(str, units))}")
    return units[0]


SAME = (pa.add, pa.subtract, pa.maximum, pa.minimum, pa.negative, pa.positive, pa.abs, pa.astype, pa.stop_gradient)
COMPARE = (pa.equal, pa.not_equal, pa.less, pa.less_equal, pa.greater, pa.greater_equal)


@pa.claim(pa.elementwise_family, Quantity)
def quantity_elementwise(op, *xs, **params):
    """Sums and comparisons need one unit, products combine them, all else takes pure numbers."""
    values, units = parts(xs)
    if op in SAME:
        return Quantity(op(*values, **params), common_unit(op, units))
    if op in COMPARE:
        common_unit(op, units)
        return op(*values)
    if op is pa.where:
        return Quantity(op(*values), common_unit(op, units[1:]))
    if op in (pa.multiply, pa.divide):
        return Quantity(op(*values), product(*units, 1 if op is pa.multiply else -1))
    if op is pa.square:
        return Quantity(op(*values), product(*units, *units))
    if op is pa.power and isinstance(xs[1], (int, float)):
        return Quantity(op(*values), unit(**{name: power * xs[1] for name, power in units[0]}))
    common_unit(op, [*units, ()])
    return Quantity(op(*values, **params))


@pa.reduction_family.method
def quantity_reduction(op, x: Quantity, /, **params):
    y = op(x.value, **params)
    return y if y.dtype == bool else Quantity(y, x.unit)


@pa.linear_family.method
def quantity_linear(op, x: Quantity, /, *indices: pa.Array, **params):
    if op in (pa.index_add, pa.index_set):
        return NotImplemented
    return Quantity(op(x.value, *indices, **params), x.unit)


@pa.claim(pa.bilinear_family, Quantity)
def quantity_product(op, *xs, **params):
    values, units = parts(xs)
    return Quantity(op(*values, **params), product(*units))


@pa.concatenate.method
def concatenate_quantities(*xs: Quantity, axis=0):
    return Quantity(pa.concatenate([x.value for x in xs], axis=axis), common_unit(pa.concatenate, [x.unit for x in xs]))
