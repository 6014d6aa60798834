"""The tree of exceptions: each is what Python or NumPy raises for such a fault; and how types and values are shown."""

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import errors

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("call", "error", "usual"),
    [
        (lambda: pa.sum(np.ones(2), axis=3), pa.AxisError, (ValueError, IndexError, np.exceptions.AxisError)),
        (lambda: pa.matmul(np.ones(2), np.ones(3)), pa.ShapeError, (ValueError,)),
        (lambda: pa.linalg.inv(np.zeros((2, 2))), pa.LinAlgError, (ValueError, np.linalg.LinAlgError)),
        (lambda: pa.sin("x"), pa.MethodError, (TypeError,)),
        (lambda: pa.grad(np.sin)(1), pa.DTypeError, (TypeError,)),
        (lambda: pa.grad(lambda x: float(x) * x)(1.0), pa.ConcreteValueError, (TypeError,)),
        (lambda: pa.psum(1.0, "nowhere"), pa.AxisNameError, (NameError,)),
        (lambda: pa.tree.map(np.add, [1], [1, 2]), pa.StructureError, (ValueError,)),
    ],
)
def test_errors_are_what_python_or_numpy_raise(call, error, usual):
    with pytest.raises(error) as caught:
        call()
    assert all(isinstance(caught.value, kind) for kind in usual)


def test_the_page_shows_the_whole_tree():
    kinds = [x for x in vars(errors).values() if isinstance(x, type) and issubclass(x, (pa.PolyadError, Warning))]
    assert len(kinds) > 20
    for kind in kinds:
        assert issubclass(kind, (errors.PolyadError, errors.PolyadWarning)), kind
        assert kind.__doc__ and getattr(pa, kind.__name__) is kind  # public


def test_types_are_shown_with_their_module_where_they_are_strangers():
    class Own: ...

    assert errors.type_name(float) == "float" and errors.type_name(np.ndarray) == "ndarray"
    assert errors.type_name(pa.Container) == "Container"
    assert errors.type_name(Own).endswith(
        "test_errors.test_types_are_shown_with_their_module_where_they_are_strangers.<locals>.Own"
    )
    assert errors.type_name(int | None) == "int | NoneType"


def test_values_are_shown_by_type_dtype_and_shape():
    class Broken:
        shape = dtype = property(lambda self: 1 / 0)

    assert errors.describe(np.full((2, 3), 7.0, np.float32)) == "ndarray(float32[2, 3])"
    assert errors.describe(7.5) == "float" and errors.describe(np.float64) == "type"
    assert errors.describe(Broken()).endswith("Broken")
