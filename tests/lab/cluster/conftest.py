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

OPEN = ExitStack()
"""Ends the cluster of this process. pytest-rerunfailures forgets a failed set-up without ending its fixtures: the next
cluster ends the one that was left, whose lock it would otherwise wait for without end."""


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

    def make(stack: str, *versions: str) -> BootedCluster:
        OPEN.close()
        for version in versions:
            if not programs.is_built(version, programs.LINUX):
                older = next((newest for newest, way in programs.BEFORE.items() if version in way), "")
                wanted = f"before {older}" if older else f"cluster {version}"
                missing("lab", f"there is no cluster of {version}; run: python -m lab {wanted}")
        return OPEN.enter_context(running(tmp_path_factory.mktemp("cluster") / stack, stack, *versions))

    with OPEN:
        yield make
