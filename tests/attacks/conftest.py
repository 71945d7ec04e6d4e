"""A real API server and controller manager with the planned flags, modules of machines, and the clouds' services."""

import re
from collections.abc import Iterator

import pytest

from tests.attacks.stack_files import REPORTED
from tests.cloud_init.conftest import execute, machine, programs, pytest_configure, winhns, winpwsh
from tests.lab.agent.conftest import api, cloud, loader, module, node, root, run, served, sign_in
from tests.lab.conftest import program, pytest_generate_tests

__all__ = [
    "api",
    "cloud",
    "execute",
    "loader",
    "machine",
    "module",
    "node",
    "program",
    "programs",
    "pytest_configure",
    "pytest_generate_tests",
    "root",
    "run",
    "served",
    "sign_in",
    "winhns",
    "winpwsh",
]

NAMED = re.compile(r"Refused by: checks? (.+?)(?:[,;.]\s|\.?$)", re.DOTALL)
"""The checks that a docstring names."""


@pytest.fixture(autouse=True)
def _named_checks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Demand that a stack file which is refused by a check shows the id of one that the docstring names."""
    REPORTED.clear()
    yield
    named = NAMED.search(request.function.__doc__ or "")
    if named and REPORTED:
        assert REPORTED & set(re.findall(r"[a-z]+(?:-[a-z]+)+", named[1])), (named[1], REPORTED)
