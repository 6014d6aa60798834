"""Samples that cards give: arguments on which an operation is tested, drawn from a seeded generator."""

import numpy as np


def positives(*shape):
    """Sample arrays in (0.5, 1.5)."""
    return lambda rng: rng.uniform(0.5, 1.5, shape)


def normal(*shape):
    """Sample arrays, standard normal."""
    return lambda rng: rng.standard_normal(shape)


def unit(*shape):
    """Sample arrays in (-0.9, 0.9)."""
    return lambda rng: rng.uniform(-0.9, 0.9, shape)


def above_one(*shape):
    """Sample arrays in (1.1, 2)."""
    return lambda rng: rng.uniform(1.1, 2.0, shape)


def complex_normal(*shape):
    """Sample arrays, complex normal, away from the branch cut of log and sqrt."""
    return lambda rng: rng.standard_normal(shape) * 0.5 + 1.2 + 0.7j * rng.standard_normal(shape)


def integers(*shape, low=0, high=10):
    """Sample integer arrays in [low, high)."""
    return lambda rng: rng.integers(low, high, shape)


def booleans(*shape):
    """Sample boolean arrays."""
    return lambda rng: rng.integers(0, 2, shape).astype(bool)


def distinct(*shape):
    """Sample arrays whose elements are all different, well apart."""
    return lambda rng: (rng.permutation(int(np.prod(shape))) * 0.7 - 1.0).reshape(shape)


def case(*makers, **params):
    """One sample: array makers (or plain values) for the arguments, and parameters."""
    return lambda rng: (tuple(m(rng) if callable(m) else m for m in makers), params)


def sequence_case(*makers, **params):
    """One sample for an operation on a sequence."""
    return lambda rng: ((tuple(m(rng) for m in makers),), params)
