"""The conformance suite against node.ps1, on one Windows machine for all cases of a test worker."""

import itertools
import os
import random
import shutil
from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest

from lab.hns.service import BUILDS, Service
from sandbox.boot.windows.winpwsh import networking, new_machine
from tests.cloud_init.cloud import FakeCloud, serving
from tests.conformance import on_windows
from tests.conformance.case import Case, cases
from tests.conformance.downloads import Downloads
from tests.conformance.downloads import serving as serving_downloads
from tests.conformance.windows_machine import Driver, small_disk
from tests.seed import SEED

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]
CASES = [case for case in cases() if "windows" in case.systems]
TLS = ("$tls", "$fartls")
"""Wine 8 ends every TLS handshake of .NET's HTTP client, good or bad (0x80090302):
tests/cloud_init/test_windows_certificates.py tests our own part with real certificate chains."""
NUMBERS = itertools.count()
SAMPLED = 6
"""Number of cases with cuts, drawn at random, that `make test` plays: each takes about ten seconds on Wine. `make
soak`, and Linux in every run, play them all."""


def takes_tls(case: Case) -> bool:
    """Return whether the case downloads by https."""
    return any(each in case.model_dump_json() for each in TLS)


def fills_a_disk(case: Case) -> bool:
    """Return whether a disk is full in one of its runs."""
    return any(run.disk for run in case.runs)


def is_cut(case: Case) -> bool:
    """Return whether the power goes in one of its runs."""
    return any(run.cut for run in case.runs)


PLAIN = [case for case in CASES if not takes_tls(case) and not fills_a_disk(case)]


@pytest.fixture(scope="module")
def downloads() -> Iterator[Downloads]:
    """Start the download server."""
    with serving_downloads() as here:
        yield here


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeCloud]:
    """Return metadata, stores and secrets."""
    with serving(tmp_path_factory.mktemp("cloud")) as here:
        yield here


@pytest.fixture(scope="module")
def driver(winhns: str, tmp_path_factory: pytest.TempPathFactory, cloud: FakeCloud) -> Iterator[Driver]:
    """Return a machine with the executor."""
    machine = new_machine(winhns, tmp_path_factory.mktemp("windows") / "machine")
    on_windows.install(machine, cloud)
    windows = Driver(machine)
    with networking(machine, Service(BUILDS["windows-2019"], {"Ethernet": "10.20.1.4"})):
        yield windows
        windows.kill()


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.soak] * is_cut(case), id=case.name) for case in PLAIN]
)
def test_on_windows(case: Case, driver: Driver, downloads: Downloads, cloud: FakeCloud) -> None:
    problems = on_windows.play(case, driver, downloads, cloud, next(NUMBERS))
    assert not problems, "\n".join(problems)


def test_a_sample_of_cases_with_cuts_on_windows(driver: Driver, downloads: Downloads, cloud: FakeCloud) -> None:
    for case in random.Random(SEED).sample([case for case in PLAIN if is_cut(case)], SAMPLED):
        print(f"MULLION_SEED={SEED}: {case.name}")  # noqa: T201 - shown where it fails
        problems = on_windows.play(case, driver, downloads, cloud, next(NUMBERS))
        assert not problems, "\n".join([case.name, *problems])


@pytest.fixture(scope="module")
def small(
    winhns: str, tmp_path_factory: pytest.TempPathFactory, cloud: FakeCloud, missing: Callable[[str, str], NoReturn]
) -> Iterator[Driver]:
    """Return a machine with the executor and a small disk, for all cases that fill it."""
    if os.geteuid() != 0 or not shutil.which("nsenter"):
        missing("linuxnode", "a disk of its own takes a mount namespace, which takes root, unshare and nsenter")
    machine = new_machine(winhns, tmp_path_factory.mktemp("small") / "machine")
    on_windows.install(machine, cloud)
    service = Service(BUILDS["windows-2019"], {"Ethernet": "10.20.1.4"})
    with networking(machine, service), small_disk(machine) as driver:
        yield driver


@pytest.mark.parametrize("case", [case for case in CASES if fills_a_disk(case)], ids=lambda case: case.name)
def test_on_a_small_disk(case: Case, small: Driver, downloads: Downloads, cloud: FakeCloud) -> None:
    """Play the case on a real disk that is full to the last byte."""
    assert small.full is not None
    for left in small.full.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    problems = on_windows.play(case, small, downloads, cloud, next(NUMBERS))
    assert not problems, "\n".join(problems)
