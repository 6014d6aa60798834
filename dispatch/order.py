"""Which of two types, and of two signatures, is the narrower one. Types are classes and unions of classes."""

from dataclasses import dataclass

from .signatures import parts


def is_narrower(s, t):
    """Return whether every s is a t; as ABCs say it now, so that the answer is not kept."""
    return s is t or t is object or all([issubclass(a, parts(t)) for a in parts(s)])


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of a call or a method.

    types: a class or a union of classes for each array. varargs: that of any number of further ones, or None.
    """

    types: tuple
    varargs: type | None = None

    def expand(self, n):
        """The types of n arguments; fewer or more if there are no variable ones to make up the number."""
        return self.types if self.varargs is None else self.types + (self.varargs,) * (n - len(self.types))

    def __le__(self, other):
        """Return whether this signature is as narrow as another: each of its types is.

        Of equal types those without variable arguments are narrower, else those that name more of them one by one. Variable
        arguments are compared with each other alone: f(int, *int) is narrower than f(Number), though it takes more calls.
        """
        n = max(len(self.types), len(other.types))
        mine, others = self.expand(n), other.expand(n)
        if len(mine) != len(others) or not all(map(is_narrower, mine, others)):
            return False
        if self.varargs is None:
            return True
        if other.varargs is None:
            return not all(map(is_narrower, others, mine))
        fewer = len(self.types) < len(other.types) and is_narrower(other.varargs, self.varargs)
        return is_narrower(self.varargs, other.varargs) and not (fewer and all(map(is_narrower, others, mine)))

    def __lt__(self, other):
        return self <= other and not other <= self


def narrowest(candidates, signature=lambda candidate: candidate.signature):
    """Those of the candidates than which no other one is narrower."""
    return [c for c in candidates if not any([o is not c and signature(o) < signature(c) for o in candidates])]
