"""One Windows machine that parses the scripts of all tests of this folder."""

from collections.abc import Iterator

import pytest

from sandbox.boot.windows.winpwsh import Machine, new_machine
from tests.cloud_init.conftest import pytest_configure, winpwsh

__all__ = ["parser", "pytest_configure", "winpwsh"]


@pytest.fixture(scope="session")
def parser(winpwsh: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Yield a machine whose PowerShell parses scripts."""
    machine = new_machine(winpwsh, tmp_path_factory.mktemp("parser") / "machine")
    yield machine
    machine.cut()
