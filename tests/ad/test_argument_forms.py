"""Arguments in the form of another transformation: the error says which form this one has."""

import numpy as np
import pytest

import polyad as pa

x = np.array([1.0, 2.0])


@pytest.mark.parametrize("f", [lambda x: pa.sum(x**3), lambda x: pa.sum(pa.sin(x)), lambda x: np.sum(x * 2.0 - 1.0)])
def test_hvp_with_tuples_as_jvp_has_them(f):
    with pytest.raises(pa.StructureError, match=r"hvp.*: f was called with the tuple x.*hvp\(f, x, v\), not in tuples as jvp"):
        pa.hvp(f, (x,), (x,))


def test_hvp_of_several_arguments():
    f = lambda a, b: pa.sum(a * a * b)
    with pytest.raises(pa.StructureError, match=r"hvp\(lambda xs: f\(\*xs\), \(x, y\), \(dx, dy\)\)"):
        pa.hvp(f, (x, x), (x, x))
    da, db = pa.hvp(lambda xs: f(*xs), (x, x), (x, x))
    np.testing.assert_allclose([da, db], [4.0 * x * x, 2.0 * x * x])


def test_errors_of_functions_of_arrays_stay_what_they_are():
    with pytest.raises(TypeError, match="^mine$"):
        pa.hvp(lambda x: (_ for _ in ()).throw(TypeError("mine")), x, x)


@pytest.mark.parametrize(
    "transform", [pa.grad, pa.value_and_grad, lambda f, has_aux: lambda x: pa.jvp(f, (x,), (x,), has_aux=True)]
)
@pytest.mark.parametrize("f, text", [(pa.sum, "one number of float64"), (pa.sin, r"an array of float64\[2\]")])
def test_has_aux_without_a_pair(transform, f, text):
    with pytest.raises(pa.StructureError, match=rf"must return a pair \(value, aux\), not {text}; leave has_aux out"):
        transform(f, has_aux=True)(x)


@pytest.mark.parametrize("call", [lambda op: op(2.0), lambda op: op(np.float64(2.0)), lambda op: pa.grad(op)(2.0)])
def test_a_kernel_of_arrays_alone_is_called_with_a_number(call):
    @pa.elementwise(partials=[lambda y, x: 2 * x])
    def sq(x, /):
        """x squared."""

    @sq.method
    def sq_kernel(x: np.ndarray, /):
        return x * x

    with pytest.raises(pa.MethodError, match="annotate the method with polyad.HostArray"):
        call(sq)
    with pytest.raises(pa.MethodError, match="lists and tuples are not arrays"):
        sq([2.0])
