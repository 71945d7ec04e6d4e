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
"""Ends the cluster of this process. pytest-rerunfailures repeats a failed set-up without ending its fixtures: the next
cluster ends the previous one, for whose lock it would otherwise wait forever."""


@pytest.fixture(scope="module")
def built(kubernetes: str, missing: Callable[[str, str], NoReturn]) -> str:
    """Return the version, if its programs for both systems are built and this host can boot machines."""
    if why := lacking():
        missing("linuxnode", why)
    if not programs.is_built(kubernetes):
        missing("lab", f"there is no cluster of {kubernetes}; run: python -m lab cluster {kubernetes}")
    return kubernetes


@pytest.fixture(scope="module")
def cluster(
    missing: Callable[[str, str], NoReturn], engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Return `cluster(stack, kubernetes, *later)`: a stack's cloud, in which tests boot the machines. later: more
    versions that its machines can download. No Windows machine boots in it."""
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
