"""Reductions: each by its sign, in nests that other passes share."""

from ....dsl import operations
from ...lowering import Sign, lowering

SIGNS: dict[str, Sign] = {"sum": "+", "prod": "*", "max": "max", "min": "min", "all": "&", "any": "|"}
for name, sign in SIGNS.items():
    lowering(operations[name], reduce=sign)
