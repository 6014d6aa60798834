"""NumPy's functions and methods that write into their argument, on followed values: NumPy's results, or what to write."""

import numpy as np
import pytest
from numpy_agreement import agree

import polyad as pa

X = np.array([[1.2, -0.7, 2.5], [0.4, 3.1, -1.6]])


def wrote(write):
    """The copy into which a function has written."""

    def f(x):
        y = x.copy()
        assert write(y, x) is None
        return y

    return f


WRITES = {
    "fill": lambda y, x: y.fill(x[0, 0]),
    "put": lambda y, x: y.put([0, -1, 2], x[0] * 2),
    "put one": lambda y, x: y.put([4], 7.0),
    "put few": lambda y, x: np.put(y, [[0, 1], [2, 5]], [x[0, 1], 9.0]),
    "put none": lambda y, x: np.put(y, [], []),
    "put clipped": lambda y, x: np.put(y, [5, 6, -7], x[0], mode="clip"),
    "put around": lambda y, x: np.put(y, [6, 13, -1], x[0], mode="wrap"),
    "sort": lambda y, x: y.sort(),
    "sort columns": lambda y, x: y.sort(axis=0, kind="stable"),
    "copyto": lambda y, x: np.copyto(y, x[1]),
    "copyto where": lambda y, x: np.copyto(y, 5.0, where=X > 1),
    "putmask": lambda y, x: np.putmask(y, X > 0, x[0, :2]),
    "putmask one": lambda y, x: np.putmask(y, X > 0, x[0, 0]),
    "place": lambda y, x: np.place(y, X > 0, x[0, :2]),
    "place more": lambda y, x: np.place(y, X > 3, x[0]),
    "place one": lambda y, x: np.place(y, X > 0, [x[0, 0] * 2] if type(x) is np.ndarray else x[0, :1] * 2),
    "diagonal": lambda y, x: np.fill_diagonal(y, x[0, :2]),
    "diagonal of one": lambda y, x: np.fill_diagonal(y, 3.0),
    "along": lambda y, x: np.put_along_axis(y, np.array([[2], [0]]), x[:, :1], axis=1),
    "along last": lambda y, x: np.put_along_axis(y, np.array([[2, 1], [0, 2]]), 8.0, axis=-1),
    "along columns": lambda y, x: np.put_along_axis(y, np.array([[1, 0, 1]]), x[:1] * 3, axis=0),
    "along none": lambda y, x: np.put_along_axis(y, np.array([5, 0]), x[0, :2], axis=None),
    "add at": lambda y, x: np.add.at(y, ([0, 0, 1], [1, 1, 2]), x[0]),
    "add one at": lambda y, x: np.add.at(y, 1, x[0]),
    "subtract at": lambda y, x: np.subtract.at(y, (slice(None), [0, 0]), x[:, :2]),
    "out": lambda y, x: (np.multiply(x, 2.0, out=y), None)[1],
    "out of a function": lambda y, x: (np.cumsum(x, 1, out=y), None)[1],
}


@pytest.mark.parametrize("name", WRITES)
def test_as_numpy(name):
    agree(wrote(WRITES[name]), X)


@pytest.mark.parametrize("name", [name for name in WRITES if name not in ("put one", "diagonal of one")])
def test_derivatives(name):
    pa.check_grads(wrote(WRITES[name]), (X,), order=1)


REFUSED = {
    r"np.fill_diagonal: wrap=True, and arrays of one axis": lambda x: np.fill_diagonal(x, 1.0, wrap=True),
    r"arrays of one axis, are not offered; index instead": lambda x: np.fill_diagonal(x[0], 1.0),
    r"np.multiply.at: only np.add.at and np.subtract.at are offered; use x\[i\] = f": lambda x: np.multiply.at(x, [0], 2.0),
    r"sort: order= is of arrays with fields": lambda x: x.sort(order="a"),
    r"np.add: out= has the shape \[3\], the result \[2, 3\]": lambda x: np.add(x, 1.0, out=x[0] * 1.0),
}
INTO_PLAIN = {
    "np.copyto": lambda y, x: np.copyto(y, x), "np.putmask": lambda y, x: np.putmask(y, X > 0, x),
    "np.place": lambda y, x: np.place(y, X > 0, x[0]), "np.put": lambda y, x: np.put(y, [0], x[0, 0]),
    "np.fill_diagonal": lambda y, x: np.fill_diagonal(y, x[0, 0]), "np.add.at": lambda y, x: np.add.at(y, 0, x[0]),
    "np.put_along_axis": lambda y, x: np.put_along_axis(y, np.array([[0], [0]]), x[:, :1], 1),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_says_what_to_write(text):
    with pytest.raises(pa.PolyadError, match=text):
        pa.vjp(lambda x: (REFUSED[text](x), x)[1], X)


@pytest.mark.parametrize("name", INTO_PLAIN)
def test_a_plain_array_takes_no_followed_value(name):
    """It is left as it was, and the error names the function, the array, and what to make it with."""
    y = np.zeros((2, 3))
    for under in (lambda f: pa.vjp(f, X), lambda f: pa.vmap(f)(X[None]), lambda f: pa.make_ir(f)(X)):
        with pytest.raises((pa.MutationError, pa.ConcreteValueError), match=r"polyad\.zeros|zeros_like"):
            under(lambda x: (INTO_PLAIN[name](y, x), x)[1])
    assert not y.any()
