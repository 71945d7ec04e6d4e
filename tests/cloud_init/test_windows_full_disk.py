"""A real disk of 1 MiB that is full to the last byte, under real PowerShell: what must still work."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from components.machine.bundle import CLOUD_INIT
from sandbox.boot.windows.winpwsh import Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.watched_node import LOADED
from tests.cloud_init.windows import place
from tests.conformance.windows_machine import Driver, fill, small_disk

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

WRITES = "[void](Update-Memory @{ executor = 'this one' })"
SHOWN = "[Console]::Out.WriteLine((ConvertTo-JsonText (Update-Memory)))"


@pytest.fixture
def small(machine: Machine, cloud: FakeCloud, missing: Callable[[str, str], NoReturn]) -> Iterator[Driver]:
    r"""Return a machine with the executor, whose C:\full is a small disk."""
    if os.geteuid() != 0 or not shutil.which("nsenter"):
        missing("linuxnode", "a disk of its own takes a mount namespace, which takes root, unshare and nsenter")
    place(machine, cloud, [])
    machine.cut()  # its processes would stay outside the disk's mount namespace
    with small_disk(machine) as driver:
        yield driver


def disk(small: Driver) -> Path:
    assert small.full
    return small.full


def test_the_memory_between_runs_lasts_for_the_process(small: Driver) -> None:
    known = {"boot": 7, "text": "x" * 8000}
    (disk(small) / "state.json").write_text(json.dumps(known))
    fill(disk(small))
    code, said = small.machine.pwsh(rf"{LOADED}; $State = 'C:\full'; {WRITES}; {SHOWN}; {WRITES}; {SHOWN}; exit 0")
    assert code == 0, said
    assert [json.loads(line) for line in said.splitlines()] == [{**known, "executor": "this one"}] * 2
    assert json.loads((disk(small) / "state.json").read_text()) == known, "the file is as it was"
    assert sorted(each.name for each in disk(small).iterdir()) == ["filler", "state.json"]


def test_a_large_log_is_emptied_and_old_ones_of_other_services_are_removed(small: Driver) -> None:
    for name, size in ("containerd", 400_000), ("kubelet", 200_000), ("zone", 10):
        (disk(small) / name).mkdir()
        (disk(small) / name / f"{name}.log").write_bytes(b"x" * size)
    for number in range(5):
        (disk(small) / "zone" / f"zone-{number}.log").write_bytes(b"old")
    fill(disk(small))
    small.machine.path(r"C:\rotate-logs.ps1").write_bytes((CLOUD_INIT / "windows" / "rotate-logs.ps1").read_bytes())
    held = r"$held = [IO.FileStream]::new('C:\full\kubelet\kubelet.log', 'Open', 'ReadWrite', 'None'); "
    code, said = small.machine.pwsh(rf"{held}& C:\rotate-logs.ps1 -Logs C:\full -Bytes 100000; $held.Dispose(); exit 0")
    assert code == 0, said
    sizes = {each.name: each.stat().st_size for each in disk(small).rglob("*.log")}
    assert sizes["containerd.log"] == 0, "there is no room for a copy"
    assert sizes["kubelet.log"] == 200_000, "another program has it open alone"
    assert sorted(sizes) == ["containerd.log", "kubelet.log", "zone-2.log", "zone-3.log", "zone-4.log", "zone.log"]
