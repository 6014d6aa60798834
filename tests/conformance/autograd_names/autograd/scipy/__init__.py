"""SciPy's functions that autograd knows."""

from . import integrate, linalg, signal, special, stats
