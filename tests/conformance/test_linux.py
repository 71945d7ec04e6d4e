"""The conformance suite against node.py."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from lab.linuxnode.image import lacking
from sandbox.services.gcp import secretmanager
from tests.cloud_init.cloud import FakeCloud, serving
from tests.conformance import linux_fork, on_linux
from tests.conformance.case import Case, cases
from tests.conformance.downloads import Downloads
from tests.conformance.downloads import serving as serving_downloads
from tests.conformance.linux_booted import BootedMachine

pytestmark = [pytest.mark.sampled, pytest.mark.subprocess]
CASES = [case for case in cases() if "linux" in case.systems]
ASKING = {
    "secret",
    "encryption-configuration",
    "service-account-keys",
    "claim",
    "founded",
    "etcd-restored",
    "bootstrap-token",
    "certificate-authority",
    "kubelet-bootstrap",
}
"""Step kinds that call the cloud."""
OF_CLOUDS = [
    case
    for case in CASES
    if {step["kind"] for step in case.steps} & ASKING
    and not any(run.cut or run.name == "step-invalid" for run in case.runs)
]
ELSEWHERE = [
    pytest.param(case, cloud, id=f"{case.name}-{cloud}", marks=[pytest.mark.soak] if (number + place) % 2 else [])
    for number, case in enumerate(OF_CLOUDS)
    for place, cloud in enumerate(("gcp", "azure"))
]
"""Cases in the two other clouds; `make test` takes one cloud for each case."""


@pytest.fixture(scope="module")
def downloads() -> Iterator[Downloads]:
    """Start the download server."""
    with serving_downloads() as here:
        yield here


@pytest.fixture
def cloud(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[FakeCloud]:
    """Return the metadata, stores and secrets of one case, on AWS unless the test names a cloud."""
    (tmp_path / "cloud").mkdir()
    with serving(tmp_path / "cloud", cloud=getattr(request, "param", "aws")) as here:
        yield here


@pytest.fixture(scope="module", autouse=True)
def root(missing: Callable[[str, str], NoReturn]) -> Iterator[None]:
    """Require root."""
    reason = on_linux.why_not()
    if reason:
        missing("linuxnode", reason)
    yield
    linux_fork.stop()


@pytest.fixture(scope="module")
def booted(
    missing: Callable[[str, str], NoReturn], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BootedMachine]:
    """Return the machine with real systemd."""
    if why := lacking():
        missing("linuxnode", why)
    machine = BootedMachine(tmp_path_factory.mktemp("booted"))
    yield machine
    machine.close()


@pytest.mark.parametrize("case", [case for case in CASES if case.machine], ids=lambda case: case.name)
def test_on_a_booted_machine(case: Case, booted: BootedMachine, downloads: Downloads, cloud: FakeCloud) -> None:
    problems = on_linux.play_booted(case, booted, downloads, cloud)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_linux(case: Case, tmp_path: Path, downloads: Downloads, cloud: FakeCloud) -> None:
    problems = on_linux.play(case, tmp_path / "machine", downloads, cloud)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(("case", "cloud"), ELSEWHERE, indirect=["cloud"])
def test_on_linux_in_another_cloud(
    case: Case, tmp_path: Path, downloads: Downloads, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs follow each other without the lag of Google's `latest` (tests/cloud_init/test_join_secret.py)."""
    monkeypatch.setattr(secretmanager, "LAG_SECONDS", 0.0)
    problems = on_linux.play(case, tmp_path / "machine", downloads, cloud)
    assert not problems, "\n".join(problems)
