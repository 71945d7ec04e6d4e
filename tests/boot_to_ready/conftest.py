"""One lab for all tests of this folder: a cluster, its cloud services, its network."""

from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest

from lab.linuxnode.image import lacking
from operations.engine.locate import Engine
from tests.boot_to_ready.lab import Lab, lab
from tests.cloud_init.conftest import pytest_configure, winpwsh

__all__ = ["pytest_configure", "winpwsh"]


@pytest.fixture(scope="session")
def site(
    missing: Callable[[str, str], NoReturn], engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lab]:
    """Create the lab."""
    if why := lacking():
        missing("linuxnode", why)
    with lab(tmp_path_factory.mktemp("lab")) as here:
        yield here
