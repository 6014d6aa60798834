"""Reductions: each by its sign, in nests that other passes share."""

from ....dsl import operations
from ...lowering import lowering

lowering(operations["sum"], reduce="+")
lowering(operations["prod"], reduce="*")
lowering(operations["max"], reduce="max")
lowering(operations["min"], reduce="min")
lowering(operations["all"], reduce="&")
lowering(operations["any"], reduce="|")
