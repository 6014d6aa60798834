"""Where things run: devices, transfer, and the kernels of each array library."""

from . import host
