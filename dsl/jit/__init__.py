"""`jit`: a function becomes a tree of compiled segments, one path for each way that its Python code takes."""

from .explain import explain, programs, source
from .disable import disable_jit
from .wrapper import jit

jit.explain, jit.programs, jit.source = explain, programs, source
__all__ = ["disable_jit", "explain", "jit", "programs", "source"]
