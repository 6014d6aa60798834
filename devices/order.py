"""Kernels of sorting and searching, for a NumPy-like library."""


def order_kernels(xp):
    """name -> function. `argsort` is always stable, and descending too, which libraries do not offer."""

    def argsort(x, axis=-1, kind=None, stable=True, descending=False):
        if not descending:
            return xp.argsort(x, axis=axis, kind="stable")
        if axis is None:
            x, axis = xp.ravel(x), 0
        backwards = xp.argsort(xp.flip(x, axis), axis=axis, kind="stable")  # equal elements in reversed order, twice
        return xp.flip(x.shape[axis] - 1 - backwards, axis)

    def sort(x, axis=-1, kind=None, stable=True, descending=False):
        if axis is None:
            x, axis = xp.ravel(x), 0
        return xp.sort(x, axis=axis) if not descending else xp.flip(sort(xp.flip(x, axis), axis), axis)

    def insertion_places(a, v, side):
        return xp.searchsorted(a, xp.asarray(v), side=side)

    return {"argsort": argsort, "sort": sort, "insertion_places": insertion_places}
