"""The device for which programs are compiled, and a cache directory for these tests."""

import pytest

import polyad as pa
from polyad.devices.codegen.toolchain import library
from polyad.devices.codegen.toolchain.cache import Cache


@pytest.fixture(scope="session")
def cpu():
    return pa.devices.Device("cpu")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    before, library._state["cache"] = library._state["cache"], Cache(tmp_path_factory.mktemp("compiled"))
    yield
    library._state["cache"] = before
