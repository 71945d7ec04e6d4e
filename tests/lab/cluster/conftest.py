"""Clusters of real machines."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NoReturn

import pytest

from operations.engine import Engine
from sandbox.boot.site import Site
from tests.lab.cluster.running import running
from tools.lab import cluster as programs
from tools.linuxnode.image import lacking

Cluster = Callable[[str, str], Site]


@pytest.fixture(scope="module")
def cluster(
    missing: Callable[[str, str], NoReturn], engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Give `cluster(stack, kubernetes)`: a stack's cloud, in which machines boot when a test says so."""
    if why := lacking():
        missing("linuxnode", why)
    with ExitStack() as ends:

        def make(stack: str, kubernetes: str) -> Site:
            if not programs.is_built(kubernetes):
                missing("lab", f"there is no cluster of {kubernetes}; run: python -m tools.lab cluster {kubernetes}")
            return ends.enter_context(running(tmp_path_factory.mktemp("cluster") / stack, stack, kubernetes))

        yield make
