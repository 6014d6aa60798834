"""What to use instead of NumPy's functions without an operation: for each name, of each group, and none for the others."""

import re

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.numpy_calls.alternatives import ALTERNATIVES, BITS, FIELDS, FILES, TEXT, alternative


def test_each_name_is_numpys():
    for name in ALTERNATIVES:
        found = np
        for part in name.split("."):
            found = getattr(found, part)
        assert callable(found), name


def test_what_they_name_of_ours_is_there():
    for text in ALTERNATIVES.values():
        for name in re.findall(r"polyad\.([a-z_]+(?:\.[a-z_]+)?)\b", text):
            found = pa
            for part in name.split("."):
                found = getattr(found, part, None)
            assert found is not None or name == "s", f"{name} in {text!r}"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("packbits", BITS),
        ("save", FILES),
        ("strings.upper", TEXT),
        ("char.add", TEXT),
        ("isupper", TEXT),
        ("lib.recfunctions.merge_arrays", FIELDS),
        ("polynomial.polynomial.polyval", "polyad.polyval, whose coefficients begin with the highest power, "
         "or polyad.einsum with polyad.vander"),
        ("divmod.outer", "polyad.floor_divide and polyad.remainder"),
        ("spacing.at", "polyad.nextafter(x, inf) - x"),
        ("sin", None),
        ("add.reduce", None),
    ],
)  # fmt: skip
def test_by_group(name, expected):
    assert alternative(name) == expected


def test_the_alternatives_give_what_the_function_gives():
    x = np.array([0.3, 2.0, 1e3])
    np.testing.assert_array_equal(pa.nextafter(x, np.inf) - x, np.spacing(x))
    a = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(pa.vmap(pa.cumsum, in_axes=1, out_axes=1)(a), np.apply_along_axis(np.cumsum, 0, a))
    degree = 2
    y = 3 * x**2 - x + 1
    np.testing.assert_allclose(pa.linalg.lstsq(pa.vander(x, degree + 1), y)[0], np.polyfit(x, y, degree), atol=1e-6)
