"""A real API server and controller manager with the planned flags, the agent's modules, and the sandbox's services."""

from tests.lab.agent.conftest import api, cloud, loader, module, node, root, run, served
from tests.lab.conftest import program, pytest_generate_tests

__all__ = ["api", "cloud", "loader", "module", "node", "program", "pytest_generate_tests", "root", "run", "served"]
