"""`polyad.fft`: Fourier transforms under the names of `numpy.fft` and of the array API's extension of that name."""

from .ops.fft import (  # noqa: F401  a front door: imported in order to be found here
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)

__all__ = [name for name in dir() if not name.startswith("_") and name != "ops"]
