"""Modules of machines, and the clouds' services, for attacks on them."""

from tests.agent.conftest import module
from tests.cloud_init.conftest import cloud, execute, loader, node, programs, root

__all__ = ["cloud", "execute", "loader", "module", "node", "programs", "root"]
