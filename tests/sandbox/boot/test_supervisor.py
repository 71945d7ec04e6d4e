"""Who keeps machines as their world has them: new ones are booted, gone ones are cut, and wishes are granted."""

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
    """One that notes what is done to it."""

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
    """One whose machines boot at once."""

    cloud_state: CloudState
    cloud_services: CloudServices = CLOUD_SERVICES
    net: str = "net"
    machines: dict[str, Machine] = field(default_factory=dict[str, Machine])
    done: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    windows: tuple[str, ...] = ()
    rules: str = "one"
    boots: int = 2
    """How often each machine boots; then its disk is gone."""

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
    """A cluster with firewalls and cables that note what is asked of them."""
    here = FakeCluster(CloudState(tmp_path / "world.db"))

    def note(what: str) -> Any:
        return lambda *words, **more: here.done.setdefault(what, []).append(f"{words} {more}")

    monkeypatch.setattr(firewalls, "apply", note("firewall"))
    monkeypatch.setattr(network, "connect", note("connect"))
    monkeypatch.setattr(network, "throttle", note("throttle"))
    return here


def settled(watcher: Supervisor) -> dict[str, str]:
    """Look until nothing boots any more; the machines' states."""
    for _ in range(200):
        watcher.reconcile()
        if not watcher._booting and all(each.state != "boots" for each in watcher.statuses.values()):
            break
        time.sleep(0.01)
    return {name: each.state for name, each in watcher.statuses.items()}


def test_a_machine_that_up_makes_is_booted_and_one_that_it_deletes_is_cut(cluster: FakeCluster) -> None:
    watcher = Supervisor(cluster)  # type: ignore[arg-type]
    has(cluster.cloud_state, one="i-1", two="i-2")
    assert settled(watcher) == {"one": "on", "two": "on"}
    has(cluster.cloud_state, one="i-1", two="i-3")
    assert settled(watcher) == {"one": "on", "two": "on"}
    has(cluster.cloud_state, two="i-3")
    assert settled(watcher) == {"two": "on"}
    assert cluster.done["one"] == ["boot", "cut", "remove"]
    assert cluster.done["two"] == ["boot", "cut", "remove", "boot"], "another instance of that name has another disk"
    assert machine_status.statuses(cluster.cloud_state)["two"].instance == "i-3"


def test_wishes_are_granted_once_and_said_to_be(cluster: FakeCluster) -> None:
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


def test_the_next_machine_of_a_name_has_no_wish_of_the_one_before(cluster: FakeCluster) -> None:
    """Cut, isolated or slowed, then rolled or scaled away: what comes in its place boots with its cable in."""
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


def test_when_a_machine_was_put_on_last_is_told_and_its_cut_changes_nothing_of_it(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_boot_that_fails_and_a_machine_that_cannot_boot_say_why(cluster: FakeCluster) -> None:
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


def test_a_changed_rule_reaches_the_machines_and_an_unchanged_one_is_left_alone(cluster: FakeCluster) -> None:
    watcher = Supervisor(cluster)  # type: ignore[arg-type]
    has(cluster.cloud_state, one="i-1")
    settled(watcher)
    settled(watcher)
    assert len(cluster.done["firewall"]) == 1
    cluster.rules = "two"
    settled(watcher)
    assert cluster.done["firewall"][1:] == ["('net-x', 'two') {}"]


def test_the_pause_is_short_enough_not_to_miss_a_machine_between_two_waves() -> None:
    assert supervisor.PAUSE < 1
