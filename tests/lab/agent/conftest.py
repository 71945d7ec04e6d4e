"""A real API server for the agent, on loopback: etcd, kube-apiserver and kube-controller-manager as processes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

from lab import build
from lab.programs import cluster_programs
from tests.agent.conftest import module, run
from tests.cloud_init.conftest import cloud, loader, node, root
from tests.lab.agent import simulated
from tests.lab.agent.served import Served
from tests.lab.agent.sign_in import ready
from tests.lab.conftest import Find

__all__ = ["cloud", "loader", "module", "node", "root", "run"]

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")


@pytest.fixture(scope="session")
def served(
    kubernetes: str, program: Find, missing: Callable[[str, str], NoReturn], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """Return the API of one cluster, set up by kubeadm."""
    paths = {"kubeadm": program("kubeadm", "linux")} | {name: built(name, kubernetes, missing) for name in PROGRAMS}
    processes = Served(paths, kubernetes, tmp_path_factory.mktemp("served"))
    try:
        processes.start()
        yield processes
    finally:
        processes.stop()


@pytest.fixture(scope="session")
def sign_in(served: Served) -> Served:
    """Return the API once people can sign in by its issuer."""
    ready(served)
    return served


@pytest.fixture
def kubelets(served: Served, program: Find, tmp_path: Path) -> Iterator[None]:
    """Run kwok during the test: it reports the Nodes with its label as healthy, as their kubelets would."""
    with simulated.kubelets(program("kwok", "linux"), served.administrator, tmp_path):
        yield


@pytest.fixture
def etcdctl(kubernetes: str, missing: Callable[[str, str], NoReturn]) -> Path:
    """Return etcdctl, which is in etcd's image."""
    return built("etcdctl", kubernetes, missing)


def built(name: str, kubernetes: str, missing: Callable[[str, str], NoReturn]) -> Path:
    """Return the path of a built cluster program."""
    wanted = next(each for each in cluster_programs(kubernetes) if (each.name, each.os) == (name, "linux"))
    if not build.is_built(wanted):
        missing("lab", f"{name} is not built; run: python -m lab cluster {kubernetes}")
    return build.place(wanted)


@pytest.fixture
def api(served: Served, module: Callable[[str], ModuleType]) -> Any:
    """Return the API as the agent calls it: with kubeadm's own kubeconfig."""
    return module("api").from_kubeconfig(Path(served.administrator))
