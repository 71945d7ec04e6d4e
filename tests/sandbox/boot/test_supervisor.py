"""The supervisor: boots new machines, stops deleted ones, applies desired power."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lab.linuxnode import network
from sandbox.aws.boot_services import CLOUD_SERVICES
from sandbox.boot import firewalls, machine_status, supervisor
from sandbox.boot.cloud_services import CloudServices
from sandbox.boot.machine_status import DesiredPower
from sandbox.boot.supervisor import Supervisor
from sandbox.cloud_state import CloudState
from sandbox.records import Record
from tests.sandbox.boot.cloud_states import has


@dataclass
class Machine:
    """A machine that records calls."""

    done: list[str]
    boots: int
    space: str = "net-x"

    def boot(self) -> None:
        self.done.append("boot")
        if self.done.count("boot") > self.boots:
            raise RuntimeError("no disk")

    def cut(self) -> None:
        self.done.append("cut")


@dataclass
class FakeCluster:
    """A cluster whose machines boot at once."""

    cloud_state: CloudState
    cloud_services: CloudServices = CLOUD_SERVICES
    net: str = "net"
    machines: dict[str, Machine] = field(default_factory=dict[str, Machine])
    done: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    windows: tuple[str, ...] = ()
    rules: str = "one"
    boots: int = 2
    """Number of boots of each machine before a boot fails."""

    def not_bootable(self, record: Record) -> str:
        return "nothing runs it" if record.id in self.windows else ""

    def machine(self, name: str) -> Machine:
        self.machines[name] = Machine(self.done.setdefault(name, []), self.boots)
        return self.machines[name]

    def remove(self, name: str) -> None:
        self.done[name].append("remove")
        del self.machines[name]

    def firewall(self, record: Record) -> str:
        return self.rules


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """A cluster that records calls of firewalls and cables."""
    fake = FakeCluster(CloudState(tmp_path / "world.db"))

    def note(what: str) -> Any:
        return lambda *words, **more: fake.done.setdefault(what, []).append(f"{words} {more}")

    monkeypatch.setattr(firewalls, "apply", note("firewall"))
    monkeypatch.setattr(network, "connect", note("connect"))
    monkeypatch.setattr(network, "throttle", note("throttle"))
    return fake


def settled(watcher: Supervisor) -> dict[str, str]:
    """Reconcile until no machine boots; return the machines' states."""
    for _ in range(200):
        watcher.reconcile()
        if not watcher._booting and all(each.state != "boots" for each in watcher.statuses.values()):
            break
        time.sleep(0.01)
    return {name: each.state for name, each in watcher.statuses.items()}


def test_the_supervisor_boots_created_machines_and_stops_deleted_ones(cluster: FakeCluster) -> None:
    watcher = Supervisor(cluster)  # type: ignore[arg-type]
    has(cluster.cloud_state, one="i-1", two="i-2")
    assert settled(watcher) == {"one": "on", "two": "on"}
    has(cluster.cloud_state, one="i-1", two="i-3")
    assert settled(watcher) == {"one": "on", "two": "on"}
    has(cluster.cloud_state, two="i-3")
    assert settled(watcher) == {"two": "on"}
    assert cluster.done["one"] == ["boot", "cut", "remove"]
    assert cluster.done["two"] == ["boot", "cut", "remove", "boot"], (
        "another instance of the same name has another disk"
    )
    assert machine_status.statuses(cluster.cloud_state)["two"].instance == "i-3"


def test_a_look_at_a_cloud_that_has_not_changed_reads_nothing(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher, reads = Supervisor(cluster), list[str]()  # type: ignore[arg-type]
    others = CloudState(tmp_path / "world.db")
    has(others, one="i-1")
    whole = Supervisor.reconcile
    monkeypatch.setattr(Supervisor, "reconcile", lambda self: (reads.append("all"), whole(self)))
    for _ in range(200):
        watcher.look()
        if watcher.statuses["one"].state == "on":
            break
        time.sleep(0.01)
    read = len(reads)
    for _ in range(5):
        watcher.look()
    assert (len(reads), watcher.statuses["one"].state) == (read, "on")
    wanted = machine_status.set_desired_power(others, "one", on=False)
    watcher.look()
    assert (len(reads), watcher.statuses["one"].desired) == (read + 1, wanted)
    others.close()


def test_the_supervisor_applies_desired_power_once_and_reports_it(cluster: FakeCluster) -> None:
    watcher = Supervisor(cluster)  # type: ignore[arg-type]
    has(cluster.cloud_state, one="i-1")
    settled(watcher)
    for changes in ({"boots": 1, "on": True}, {"on": False}, {"connected": False, "rate": "1mbit"}):
        wanted = machine_status.set_desired_power(cluster.cloud_state, "one", **changes)
        settled(watcher)
        settled(watcher)
        assert machine_status.statuses(cluster.cloud_state)["one"].desired == wanted
    assert cluster.done["one"] == ["boot", "cut", "boot", "cut"]
    assert machine_status.statuses(cluster.cloud_state)["one"].state == "off"
    assert cluster.done["connect"] == ["('net', 'i-1') {'connected': False}"]
    assert cluster.done["throttle"] == ["('net', 'i-1', '1mbit') {}"]


def test_a_successor_of_the_same_name_has_the_default_power(cluster: FakeCluster) -> None:
    """A machine that was cut, isolated or throttled is replaced: its successor boots with its cable in."""
    watcher = Supervisor(cluster)  # type: ignore[arg-type]
    has(cluster.cloud_state, one="i-1", two="i-2")
    settled(watcher)
    for name in ("one", "two"):
        machine_status.set_desired_power(cluster.cloud_state, name, on=False, connected=False, rate="1mbit")
    assert settled(watcher) == {"one": "off", "two": "off"}
    has(cluster.cloud_state, one="i-3", two="i-2")
    assert settled(watcher) == {"one": "on", "two": "off"}
    assert machine_status.statuses(cluster.cloud_state)["one"].desired == DesiredPower()
    assert "('net', 'i-3')" not in str(cluster.done)


def test_a_status_has_the_time_of_the_last_power_on(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = Supervisor(cluster)  # type: ignore[arg-type]
    has(cluster.cloud_state, one="i-1")
    cluster.boots, told = 3, list[str]()
    for second, changes in enumerate(({}, {"boots": 1}, {"on": False}, {"on": True}, {"connected": False})):
        monkeypatch.setattr(supervisor, "now", lambda second=second: f"2026-01-02T03:04:0{second}Z")
        if changes:
            machine_status.set_desired_power(cluster.cloud_state, "one", **changes)
        settled(watcher)
        told.append(machine_status.statuses(cluster.cloud_state)["one"].since)
    assert told == [f"2026-01-02T03:04:0{second}Z" for second in (0, 1, 1, 3, 3)]


def test_a_status_has_the_reason_if_a_machine_fails_or_cannot_boot(cluster: FakeCluster) -> None:
    cluster.windows = ("i-w",)
    watcher = Supervisor(cluster)  # type: ignore[arg-type]
    has(cluster.cloud_state, one="i-1", web="i-w")
    settled(watcher)
    for _ in range(2):
        machine_status.set_desired_power(cluster.cloud_state, "one", boots=1)
        settled(watcher)
    assert {name: (each.state, each.why) for name, each in machine_status.statuses(cluster.cloud_state).items()} == {
        "one": ("failed", "no disk"),
        "web": ("not booted", "nothing runs it"),
    }


def test_the_supervisor_loads_changed_firewall_rules_only(cluster: FakeCluster) -> None:
    watcher = Supervisor(cluster)  # type: ignore[arg-type]
    has(cluster.cloud_state, one="i-1")
    settled(watcher)
    settled(watcher)
    assert len(cluster.done["firewall"]) == 1
    cluster.rules = "two"
    settled(watcher)
    assert cluster.done["firewall"][1:] == ["('net-x', 'two') {}"]


def test_the_supervisor_reads_the_cloud_state_more_often_than_waves_follow() -> None:
    assert supervisor.PAUSE < 1
