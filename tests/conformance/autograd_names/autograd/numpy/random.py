"""NumPy's random numbers, which nothing follows."""

from numpy.random import *
