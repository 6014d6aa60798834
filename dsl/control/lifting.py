"""How a layer takes part in an operation on programs: what it gives the rule `lift` of such an operation's card.

A value of a layer is one or several values of the layer below: a value with its tangent, the lanes of a value. So the
operation is carried out below, on the programs that do for these values what the given programs do for the layer's.
"""


class Lift:
    """The services of a layer that a rule `(lift, args, **params) -> results` asks for. `run`: its execution."""

    def __init__(self, run):
        self.run = run

    def mine(self, x):
        """Return whether the layer follows x."""
        raise NotImplementedError

    def below(self, x, mine):
        """The values that stand for x one layer down, as a list; mine: as if it were followed, even if it is not."""
        raise NotImplementedError

    def above(self, parts, mine):
        """The value of the layer from those that stand for it, an iterator from which they are taken."""
        raise NotImplementedError

    def program(self, program, mine, at_least=None):
        """The program for the values one layer down, and which of its results are followed.

        mine: which arguments are. at_least: results that must be, even where the program does not make them so.
        """
        raise NotImplementedError

    def rows_below(self, x, mine):
        """As `below`, for an array of the arguments of all steps along axis 0."""
        return self.below(x, mine)

    def rows_above(self, parts, mine):
        """As `above`, for an array of the results of all steps along axis 0."""
        return self.above(parts, mine)

    def all_below(self, xs, mine):
        """The values that stand for several."""
        return [v for x, m in zip(xs, mine, strict=True) for v in self.below(x, m)]

    def all_above(self, parts, mine):
        """Several values from an iterator over what stands for them."""
        parts = iter(parts)
        return [self.above(parts, m) for m in mine]


def fixpoint(step, start):
    """The least flags with `step(flags)` within them, from `start` on: step gives (anything, flags)."""
    while True:
        result, grown = step(start)
        grown = [a or b for a, b in zip(start, grown, strict=True)]
        if grown == start:
            return result, start
        start = grown
