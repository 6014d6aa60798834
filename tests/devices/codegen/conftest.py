"""The device for which programs are compiled."""

import pytest

import polyad as pa


@pytest.fixture(scope="session")
def cpu():
    return pa.devices.Device("cpu")
