"""Running CUDA sources by CuPy: arguments checked, results allocated, kernels put on the current stream. Nothing waits."""

import numpy as np

from ...dispatch import DeviceMismatchError, isa

# CuPy adds options of its own; among them is -ftz=true: float32 numbers below the normal ones count as zero, as in all of its
# kernels
OPTIONS = ("--fmad=false",)


class Runner:
    """function(*arrays) -> list of results, for a KernelSource. The arrays lie in rows on the current device."""

    def __init__(self, source):
        self.source, self.functions = source, None

    def __call__(self, *arrays):
        import cupy  # pyright: ignore[reportMissingImports]

        source = self.source
        if self.functions is None:
            self.functions = self.compiled(cupy)
        space = {f"x{k}": x for k, x in enumerate(arrays)}
        results = [cupy.empty(v.aval.shape, v.aval.dtype) for v in source.outputs]
        space.update((f"y{k}", y) for k, y in enumerate(results))
        for launch, function in zip(source.launches, self.functions, strict=True):
            for name, dtype, size, zeros in launch.fresh:
                space[name] = (cupy.zeros if zeros else cupy.empty)(size, dtype)
            function(launch.blocks, (launch.threads,), tuple([space[name] for name in launch.arguments]))
            for name in launch.done:  # CuPy gives the memory to what comes next on this stream
                del space[name]
        return results

    def compiled(self, cupy):
        """The kernels, compiled for the current device (CuPy keeps them, and compiles for other devices as they come).

        Raises what CuPy raises."""
        if not self.source.launches:
            return []
        module = cupy.RawModule(code=self.source.text, options=OPTIONS)
        return [module.get_function(launch.name) for launch in self.source.launches]


def device_number(cupy, arrays, otherwise):
    """The number of the device on which arrays lie. otherwise: that where there are none. Raises DeviceMismatchError."""
    numbers = {x.device.id for x in arrays if isa(x, cupy.ndarray)}
    if len(numbers) > 1:
        places = ", ".join(f"cuda:{n}" for n in sorted(numbers))
        raise DeviceMismatchError(f"a compiled program was called with arrays on {places}; move them with polyad.to_device")
    return next(iter(numbers), otherwise)


def checked(cupy, x, aval):
    """An argument of a program. Raises TypeError where the program is for other shapes or dtypes, and DeviceMismatchError for
    arrays on the host."""
    if isa(x, cupy.ndarray):
        y, fits = x, x.dtype == aval.dtype
    elif isa(x, np.ndarray) and x.ndim:
        raise DeviceMismatchError("a program compiled for CUDA was called with an array on cpu; move it with polyad.to_device")
    else:
        y = np.asarray(x)
        number = not isa(x, (np.ndarray, np.generic))  # a Python number is of any dtype that holds it
        fits = y.dtype == aval.dtype or (number and np.can_cast(y.dtype, aval.dtype, "same_kind"))
    if y.shape != aval.shape or not fits:
        said = f"a compiled program for {aval.dtype}{list(aval.shape)} was called with {y.dtype}{list(y.shape)}"
        raise TypeError(f"{said}; trace it again")
    return x


def taken(cupy, x, aval):
    """A value as kernels take it: an array of this dtype on the current device, in rows."""
    if not isa(x, cupy.ndarray):
        return cupy.full(aval.shape, x, aval.dtype)
    if x.dtype != aval.dtype:
        x = x.astype(aval.dtype)
    return x if x.flags.c_contiguous else cupy.ascontiguousarray(x)
