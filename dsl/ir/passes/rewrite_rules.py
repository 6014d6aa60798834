"""Passes made of rules: for each operation a function that may give something else for its equation."""

import numpy as np

from ....dispatch import isa
from ...card import library_name, operations
from ..programs import Equation, Var
from .rewriting import replaced, single


class Rules:
    """Rules by the names of operations; called with a program, it is the pass.

    A rule takes (equation, Context) and returns None, a Var that the result is, or an Equation for the same result.
    """

    def __init__(self):
        self.rules = {}

    def rule(self, *names):
        """Decorator: the rule of these operations."""

        def register(function):
            self.rules.update(dict.fromkeys(names, function))
            return function

        return register

    def __call__(self, program):
        context = Context(program)

        def rewrite(e):
            rule = self.rules.get(library_name(e.op)) if len(e.outputs) == 1 else None
            answer = rule(e, context) if rule is not None else None
            if answer is not None and not isinstance(answer, Equation):
                return [answer]
            context.makers.update(dict.fromkeys(e.outputs, answer or e))
            return answer

        return replaced(program, rewrite)


class Context:
    """The facts known of a program's values: constants, and the equations so far."""

    def __init__(self, program):
        self.constants, self.makers = dict(program.constants), {}

    def value(self, v):
        """The number that an atom is, or that all elements of a constant are; None for others."""
        if not isinstance(v, Var):
            return v
        return single(self.constants[v]) if v in self.constants else None

    def made_by(self, v, name):
        """The equation that makes v, if it is of this operation."""
        e = self.makers.get(v) if isinstance(v, Var) else None
        return e if e is not None and library_name(e.op) == name else None


def fits(e, v):
    """Return whether the result of an equation can be v itself."""
    return isinstance(v, Var) and v.aval == e.outputs[0].aval


def equals(value, number):
    """Return whether a known value is this number, its sign included."""
    if value is None or isa(value, (bool, np.bool_)):
        return False
    return value == number and np.signbit(np.real(value)) == np.signbit(number) and np.imag(value) == 0


def again(e, name, *inputs, **params):
    """Another operation in the place of e."""
    return Equation(operations[name], list(inputs), params, e.outputs)
