"""Reductions: each by its sign, in nests that other passes share."""

from ....dsl import operations
from ...lowering import lowering

for name, sign in (("sum", "+"), ("prod", "*"), ("max", "max"), ("min", "min"), ("all", "&"), ("any", "|")):
    lowering(operations[name], reduce=sign)
