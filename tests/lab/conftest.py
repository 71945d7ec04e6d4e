"""Fixtures of the lab: real programs of the versions in MULLION_LAB_VERSIONS (default: the newest)."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from lab import build
from lab.programs import NOT_BUILT, Program, joining_programs, programs
from tests.lab.judge import Windows
from tests.lab.real import Real
from tests.lab.rendered import Rendered, machines

NEWEST = "1.37.1"

VERSIONS = tuple(os.environ.get("MULLION_LAB_VERSIONS", NEWEST).replace(",", " ").split())

WINPWSH = os.environ.get("MULLION_WINPWSH", "")

Find = Callable[[str, str], Path]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that use `kubernetes` for each version."""
    if "kubernetes" in metafunc.fixturenames:
        metafunc.parametrize("kubernetes", VERSIONS, scope="session")


@pytest.fixture(scope="session")
def rendered(kubernetes: str) -> tuple[Rendered, ...]:
    """Return all machines that can be planned for the version."""
    return machines(kubernetes)


@pytest.fixture(scope="session")
def program(kubernetes: str, missing: Callable[[str, str], NoReturn]) -> Find:
    """Return `program(name, os)`: the path of a real program. Tests do not build programs; `make lab` does."""
    programs_by_name = {(each.name, each.os): each for each in (*joining_programs(kubernetes), *programs(kubernetes))}

    def find(name: str, os: str) -> Path:
        wanted = programs_by_name.get((name, os))
        if wanted is None:
            minor = ".".join(kubernetes.split(".")[:2])
            pytest.skip(f"{name} {kubernetes} cannot be built: {NOT_BUILT[minor, name]}")
        return _built(wanted, kubernetes, missing)

    return find


def _built(wanted: Program, kubernetes: str, missing: Callable[[str, str], NoReturn]) -> Path:
    if not build.is_built(wanted):
        missing("lab", f"{wanted.name} {wanted.version} is not built; run: python -m lab build {kubernetes}")
    return build.place(wanted)


@pytest.fixture(scope="session")
def windows(tmp_path_factory: pytest.TempPathFactory, missing: Callable[[str, str], NoReturn]) -> Iterator[Windows]:
    """Create one Windows machine for all tests of this process, which share its disk."""
    if not WINPWSH:
        missing("winpwsh", "MULLION_WINPWSH names no winpwsh, which runs Windows programs")
    folder = tmp_path_factory.mktemp("windows")
    subprocess.run([WINPWSH, "machine", folder], check=True, capture_output=True, timeout=300)
    yield Windows(WINPWSH, folder)
    subprocess.run([WINPWSH, "stop", folder], check=False, capture_output=True, timeout=60)


@pytest.fixture(scope="session", params=["kubelet-linux", "kubelet-windows", "kube-proxy-windows"])
def real(request: pytest.FixtureRequest, program: Find, tmp_path_factory: pytest.TempPathFactory) -> Real:
    """Programs whose flags, fields and gates are in the tables."""
    name, _, os = request.param.rpartition("-")
    path = program(name, os)
    machine = request.getfixturevalue("windows") if os == "windows" else None
    return Real(name, os, path, tmp_path_factory.mktemp(name), machine)
