"""Fixtures of this folder: stand-in programs, and the network of the machines."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from lab import build
from lab.linuxnode.image import lacking
from lab.programs import STAND_IN
from tests.cloud_init.conftest import pytest_configure, winhns, winpwsh
from tests.windows_plans.site import NodeNetwork, node_network

__all__ = ["pytest_configure", "winhns", "winpwsh"]


@pytest.fixture(scope="session")
def standins(missing: Callable[[str, str], NoReturn]) -> Path:
    """Build the program of all stand-ins with Go: once, in about a minute."""
    try:
        return build.build(STAND_IN, build.say)
    except build.NotBuilt as why:
        missing("standins", str(why))


@pytest.fixture(scope="session")
def place(missing: Callable[[str, str], NoReturn], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeNetwork]:
    """Return a network with the cloud, the publishers and an API server."""
    if why := lacking():
        missing("linuxnode", why)
    with node_network(tmp_path_factory.mktemp("site")) as here:
        yield here
