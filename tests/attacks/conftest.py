"""A real API server and controller manager with the planned flags, modules of machines, and the clouds' services."""

from tests.cloud_init.conftest import execute, programs
from tests.lab.agent.conftest import api, cloud, loader, module, node, root, run, served, sign_in
from tests.lab.conftest import program, pytest_generate_tests

__all__ = [
    "api",
    "cloud",
    "execute",
    "loader",
    "module",
    "node",
    "program",
    "programs",
    "pytest_generate_tests",
    "root",
    "run",
    "served",
    "sign_in",
]
