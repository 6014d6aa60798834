"""NumPy's Fourier transforms."""

from numpy.fft import *
