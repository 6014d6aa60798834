"""What ranks compare before a collective, as text."""

import numpy as np
import pytest

from polyad.parallel.signature import END, Signature, call_site, listed

pytestmark = pytest.mark.quick


def test_a_signature_as_text():
    f8 = np.dtype("f8")
    for signature, text in [
        (END, "end of the program"),
        (Signature("allreduce", (2, 3), f8, "sum"), "allreduce(sum) of float64 with shape (2, 3)"),
        (Signature("allgatherv", (-1, 3), f8, label="rows"), "allgatherv of float64 with shape (*, 3) [rows]"),
        (Signature("bcast", (), f8, root=0, place="a.py:3"), "bcast of float64 with shape () from root 0 at a.py:3"),
    ]:
        assert str(signature) == text


def test_ranks_are_listed_up_to_a_dozen():
    assert listed([1]) == "rank 1" and listed(range(3)) == "ranks 0, 1, 2"
    assert listed(range(14)).endswith(", 11 and 2 more")


def test_the_place_is_the_innermost_line_outside_of_the_package():
    assert call_site().startswith("test_signature.py:")
