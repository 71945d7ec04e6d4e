"""Fixtures: machines with the lab's networking API, and the real plug-ins on them."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn, Protocol

import pytest

from lab import build
from lab.hns import dlls
from lab.hns.service import BUILDS
from lab.programs import joining_programs
from tests.lab.conftest import WINPWSH, Find
from tests.lab.hns.cluster import Cluster, cluster
from tests.lab.hns.machine import Machine, machine
from tests.lab.rendered import Rendered, Variant, of_variant

Missing = Callable[[str, str], NoReturn]


class StartCluster(Protocol):
    """Starts a control plane and one Windows machine with a plan; ends both when the context is left."""

    def __call__(self, plan: Rendered, build: str = ...) -> AbstractContextManager[Cluster]: ...


@pytest.fixture(scope="session")
def api(missing: Missing) -> str:
    """Return winpwsh, if machines and DLLs can be had."""
    if not WINPWSH:
        missing("winpwsh", "MULLION_WINPWSH names no winpwsh, which runs Windows programs")
    if os.geteuid() != 0 or not shutil.which("ip"):
        missing("linuxnode", "network namespaces need root and iproute2")
    if not dlls.is_built():
        missing("lab", "the DLLs of Windows' networking are not built; run: python -m lab build 1.37.1")
    return WINPWSH


@pytest.fixture(scope="session")
def plugins(program: Find) -> Mapping[str, Path]:
    """Return the real CNI plug-ins."""
    return {name: program(name, "windows") for name in ("win-bridge", "win-overlay", "host-local")}


@pytest.fixture(scope="session")
def served(kubernetes: str, program: Find, missing: Missing) -> Mapping[str, Path]:
    """Return the programs of a control plane."""
    paths = {name: program(name, "linux") for name in ("kubeadm", "kube-apiserver", "kube-controller-manager")}
    for linux_program in joining_programs(kubernetes):
        if linux_program.os == "linux" and linux_program.name not in paths:
            if not build.is_built(linux_program):
                missing(
                    "lab",
                    f"{linux_program.name} {linux_program.version} is not built; run: python -m lab join {kubernetes}",
                )
            paths[linux_program.name] = build.place(linux_program)
    return paths


@pytest.fixture(scope="module")
def bare(api: str, plugins: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Return a machine of Windows Server 2022 with the plug-ins and no network."""
    with machine(api, tmp_path_factory.mktemp("machine"), BUILDS["windows-2022"]) as made:
        made.install(plugins)
        yield made


@pytest.fixture(scope="session")
def start(
    kubernetes: str, api: str, served: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> StartCluster:
    """Return a function that starts a cluster with one Windows machine, of the build that it is given, with a plan."""

    def started(plan: Rendered, build: str = "windows-2022") -> AbstractContextManager[Cluster]:
        return cluster(served, api, tmp_path_factory.mktemp("cluster"), BUILDS[build], plan, kubernetes)

    return started


WITHOUT_DSR: Mapping[str, Any] = {"kube_proxy": {"dsr": False}}

MORE = (
    Variant("overlay-no-dsr", {}, WITHOUT_DSR),
    Variant("l2bridge-no-dsr", {"network": {"mode": "l2bridge"}}, WITHOUT_DSR),
    Variant("l2bridge-docker", {"network": {"mode": "l2bridge"}}, {"runtime": "docker"}),
)


@pytest.fixture(scope="session")
def all_plans(rendered: tuple[Rendered, ...], kubernetes: str) -> Mapping[tuple[str, str], Rendered]:
    """Return the plans of Windows machines by operating system and variant."""
    more = [each for variant in MORE for each in of_variant(kubernetes, variant)]
    return {(each.os, each.variant): each for each in (*rendered, *more) if each.pool == "windows"}


@pytest.fixture(scope="session")
def plans(all_plans: Mapping[tuple[str, str], Rendered], kubernetes: str) -> Mapping[str, Rendered]:
    """Return the plans of Windows Server 2022 by variant."""
    found = {variant: each for (os, variant), each in all_plans.items() if os == "windows-2022"}
    if not found:
        pytest.skip(f"Kubernetes {kubernetes} does not run on Windows Server 2022")
    return found
