"""Clusters of real machines."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NoReturn

import pytest

from lab import cluster as programs
from lab.linuxnode.image import lacking
from operations.engine.locate import Engine
from sandbox.boot.network import BootedCluster
from tests.lab.cluster.running import running

Cluster = Callable[..., BootedCluster]


@pytest.fixture(scope="module")
def built(kubernetes: str, missing: Callable[[str, str], NoReturn]) -> str:
    """The version whose programs for both systems are built, on a host where machines boot."""
    if why := lacking():
        missing("linuxnode", why)
    if not programs.is_built(kubernetes):
        missing("lab", f"there is no cluster of {kubernetes}; run: python -m lab cluster {kubernetes}")
    return kubernetes


@pytest.fixture(scope="module")
def cluster(
    missing: Callable[[str, str], NoReturn], engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Give `cluster(stack, kubernetes, *later)`: a stack's cloud, in which machines boot when a test says so.

    later: versions that its machines can download too. No Windows machine boots in it.
    """
    if why := lacking():
        missing("linuxnode", why)
    with ExitStack() as ends:

        def make(stack: str, *versions: str) -> BootedCluster:
            for each in versions:
                if not programs.is_built(each, programs.LINUX):
                    older = next((newest for newest, way in programs.BEFORE.items() if each in way), "")
                    wanted = f"before {older}" if older else f"cluster {each}"
                    missing("lab", f"there is no cluster of {each}; run: python -m lab {wanted}")
            return ends.enter_context(running(tmp_path_factory.mktemp("cluster") / stack, stack, *versions))

        yield make
