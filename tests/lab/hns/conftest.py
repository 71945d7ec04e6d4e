"""Fixtures: machines with the lab's networking API, and the real plug-ins on them."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import pytest

from lab.hns import dlls
from lab.hns.service import BUILDS
from tests.lab.conftest import WINPWSH, Find
from tests.lab.hns.machine import Machine, machine
from tests.lab.rendered import Rendered

Missing = Callable[[str, str], NoReturn]


@pytest.fixture(scope="session")
def api(missing: Missing) -> str:
    """Return winpwsh, if machines and DLLs can be had."""
    if not WINPWSH:
        missing("winpwsh", "MULLION_WINPWSH names no winpwsh, which runs Windows programs")
    if not dlls.is_built():
        missing("lab", "the DLLs of Windows' networking are not built; run: python -m lab build 1.37.1")
    return WINPWSH


@pytest.fixture(scope="session")
def plugins(program: Find) -> Mapping[str, Path]:
    """Return the real CNI plug-ins."""
    return {name: program(name, "windows") for name in ("win-bridge", "win-overlay", "host-local")}


@pytest.fixture(scope="module")
def bare(api: str, plugins: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Return a machine of Windows Server 2022 with the plug-ins and no network."""
    with machine(api, tmp_path_factory.mktemp("machine"), BUILDS["windows-2022"]) as made:
        made.install(plugins)
        yield made


@pytest.fixture(scope="session")
def plans(rendered: tuple[Rendered, ...]) -> Mapping[str, Rendered]:
    """Return the plans of Windows Server 2022 by variant."""
    return {each.variant: each for each in rendered if each.pool == "windows" and each.os == "windows-2022"}
