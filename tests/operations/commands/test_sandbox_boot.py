"""`mullion sandbox ls` of booted machines, and errors of `mullion sandbox boot`."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.spec.choices import CloudController, StorageDriver
from operations.commands import sandbox_boot
from operations.console.exits import Exit, Stop
from sandbox.boot import machine_status
from sandbox.boot.machine_status import DesiredPower, MachineStatus
from sandbox.boot.windows.hosts import HOSTS
from sandbox.cloud_state import CloudState
from tests.sandbox.boot.cloud_states import has

SAID = {"state": "ready", "phase": "ready", "step": "node-ready", "time": "2026-01-02T03:04:05Z"}
"""A status record."""
LIVES = {
    "written since the boot": ("2026-01-02T03:04:04Z", ("ready", "ready/node-ready")),
    "written before the boot": ("2026-01-02T03:04:06Z", ("absent", "")),
    "written in the second of the boot": ("2026-01-02T03:04:05Z", ("absent", "")),
}


@pytest.fixture
def cloud_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CloudState:
    """The cloud state of a booted sandbox without machines; all have the same status record."""
    cloud_state = CloudState(tmp_path / "world.db")

    @contextmanager
    def booted(name: str) -> Iterator[CloudState]:
        yield cloud_state

    monkeypatch.setattr(sandbox_boot, "_booted", booted)
    monkeypatch.setattr(sandbox_boot, "record", lambda cloud_state, instance: SAID)
    return cloud_state


@pytest.mark.parametrize("of", LIVES)
def test_ls_ignores_a_record_that_the_machine_wrote_before_its_last_boot(
    of: str, cloud_state: CloudState, capsys: pytest.CaptureFixture[str]
) -> None:
    since, expected = LIVES[of]
    has(cloud_state, **{"linux-0": "i-1"})
    machine_status.write_statuses(
        cloud_state, {"linux-0": MachineStatus("i-1", "10.20.0.9", "on", "", DesiredPower(rate="2mbit"), since)}
    )
    sandbox_boot.ls("small", as_json=True)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["machines"]["linux-0"]
    assert (found["record"], found["step"]) == expected
    assert (found["power"], found["network"], found["address"]) == ("on", "2mbit", "10.20.0.9")


def test_a_machine_whose_instance_is_deleted_is_neither_shown_nor_changed(
    cloud_state: CloudState, capsys: pytest.CaptureFixture[str]
) -> None:
    """The supervisor takes a moment to cut a machine that `up` has deleted or replaced."""
    standing = MachineStatus("i-1", "10.20.0.9", "on", "", DesiredPower())
    machine_status.write_statuses(cloud_state, {"linux-0": standing, "linux-1": replace(standing, instance="i-2")})
    has(cloud_state, **{"linux-0": "i-1", "linux-1": "i-3"})
    sandbox_boot.ls("small", as_json=True)
    assert list(json.loads(capsys.readouterr().out)["machines"]) == ["linux-0"]
    with pytest.raises(Stop, match="has no machine 'linux-1'; it has linux-0"):
        sandbox_boot.change("small", "linux-1", boots=1)


def test_a_machine_that_is_deleted_while_it_changes_is_reported_as_gone(
    cloud_state: CloudState, monkeypatch: pytest.MonkeyPatch
) -> None:
    has(cloud_state, **{"linux-0": "i-1"})
    machine_status.write_statuses(cloud_state, {"linux-0": MachineStatus("i-1", "10.20.0.9", "on", "", DesiredPower())})
    monkeypatch.setattr(sandbox_boot.time, "sleep", lambda seconds: has(cloud_state))
    with pytest.raises(Stop, match="linux-0 no longer exists: it was deleted or replaced meanwhile"):
        sandbox_boot.change("small", "linux-0", on=False)


@pytest.mark.parametrize(
    ("controller", "drivers", "reason"),
    [
        (CloudController.EXTERNAL, [], "no cloud controller that could initialise its Nodes"),
        (CloudController.NONE, [StorageDriver.SMB], "no images of storage drivers"),
    ],
)
def test_boot_refuses_a_cluster_that_could_not_become_ready(
    controller: CloudController,
    drivers: list[StorageDriver],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = SimpleNamespace(spec=SimpleNamespace(cloud_controller=controller, csi=drivers))
    (tmp_path / "world.db").touch()
    monkeypatch.setattr(sandbox_boot.stack_files, "load", lambda name: plan)
    monkeypatch.setattr(sandbox_boot, "plan_cluster", lambda name, spec: plan)
    monkeypatch.setattr(sandbox_boot.boot_overlay, "is_chosen", lambda name: True)
    monkeypatch.setattr(sandbox_boot, "cloud_state_file", lambda name: tmp_path / "world.db")
    monkeypatch.setattr(sandbox_boot, "lacking", str)
    monkeypatch.setattr(sandbox_boot.hosts, "hosts", dict)
    with pytest.raises(Stop, match=reason) as raised:
        sandbox_boot.boot("small", "20m")
    assert raised.value.code is Exit.USAGE


def test_boot_refuses_an_invalid_file_of_windows_servers_before_any_machine_boots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "hosts.yaml"
    file.write_text("web-0: {link: tap3}\n")
    monkeypatch.setenv(HOSTS, str(file))
    monkeypatch.setattr(sandbox_boot.stack_files, "load", lambda name: SimpleNamespace(spec=None))
    monkeypatch.setattr(sandbox_boot, "plan_cluster", lambda name, spec: SimpleNamespace(spec=spec))
    monkeypatch.setattr(sandbox_boot.boot_overlay, "is_chosen", lambda name: True)
    monkeypatch.setattr(sandbox_boot, "cloud_state_file", lambda name: file)
    monkeypatch.setattr(sandbox_boot, "lacking", str)
    with pytest.raises(
        Stop, match=re.escape(f"{file}: web-0.card: Field required; write what Windows calls")
    ) as raised:
        sandbox_boot.boot("small", "20m")
    assert raised.value.code is Exit.USAGE
