"""What `debug_nans` says of a call."""

import pytest

import polyad as pa


def caught(f, *args, inf=False):
    """The text of the NaNError of f(*args)."""
    with pa.debug_nans(inf=inf), pytest.raises(pa.NaNError) as info:
        f(*args)
    return str(info.value)
