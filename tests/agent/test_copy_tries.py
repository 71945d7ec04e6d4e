"""Copies that take longer than the Lease lasts, or fail: one machine tries at a time, seldom, and all report it."""

import importlib
import itertools
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

import pytest

from tests.agent.cluster import Cluster
from tests.agent.test_copies import HOUR, add, config, copied, copies
from tests.agent.test_measures import values
from tests.agent.test_rounds import MEMORY, start
from tests.cloud_init.cloud import FakeCloud

__all__ = ["add", "config", "copies", "start"]

NOW = 1_800_000_000.0


class Agents:
    """Agents that look at the copies in turn. now: their clocks."""

    def __init__(self, copies: ModuleType, run: Any, config: dict[str, Any], cluster: Cluster) -> None:
        self.copies: Any = copies
        self.run, self.config, self.cluster, self.now = run, config, cluster, NOW
        self.takes = 0.0
        """Seconds until a try fails."""
        self.tried = list[tuple[str, float]]()
        """Machine, and seconds since the begin, of each try."""

    def look(self, machine: str, seconds: float = 0) -> Any:
        """Have a machine's agent look that many seconds later; return what the status record says, or the error."""
        self.now += seconds
        self.run.told["machine"]["name"], said = machine, dict[str, Any]()
        try:
            self.copies.Copies().reconcile(self.run, self.config, self.cluster, self.now, said)
        except Exception as error:
            assert "count" in said["copies"], "the metrics know the newest copy although a copy fails"
            return f"{error}"
        return said["copies"]

    def fail(self, *_: Any) -> None:
        self.tried.append((self.run.told["machine"]["name"], self.now - NOW))
        self.now += self.takes
        raise OSError("the way is too slow")


@pytest.fixture
def agents(
    copies: ModuleType, run: Any, config: dict[str, Any], cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> Agents:
    made = Agents(copies, run, config, cluster)
    monkeypatch.setattr(importlib.import_module("agent.attempts").time, "time", lambda: made.now)
    return made


def test_no_other_machine_copies_what_one_is_copying(
    agents: Agents, cloud: FakeCloud, add: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After 60 seconds without a renewal another agent has the Lease, and looks while the first is still at it."""
    key, copy, others = add(NOW - HOUR), agents.copies.copy, list[Any]()

    def slow(*given: Any) -> Any:
        monkeypatch.setattr(agents.copies, "copy", agents.fail)
        others.extend((agents.look("control-plane-1", 61), agents.look("control-plane-2", 239)))
        monkeypatch.setattr(agents.copies, "copy", copy)
        agents.run.told["machine"]["name"] = "control-plane-0"
        return copy(*given)

    monkeypatch.setattr(agents.copies, "copy", slow)
    assert agents.look("control-plane-0") == {"count": 1, "newest": key}
    assert others == [{"count": 0, "newest": ""}] * 2
    assert agents.tried == []
    later = add(NOW)
    assert agents.look("control-plane-1", 5)["newest"] == later, "a try that succeeded lets nobody wait"
    assert set(copied(cloud)) == {f"shop/{key}", f"shop/{later}"}


def test_a_machine_that_was_lost_while_it_copied_is_waited_for_once(agents: Agents, add: Callable[..., str]) -> None:
    key, copy = add(NOW - HOUR), agents.copies.copy

    def killed(*_: Any) -> None:
        raise SystemExit

    agents.copies.copy = killed
    with pytest.raises(SystemExit):
        agents.look("control-plane-0")
    agents.copies.copy = copy
    assert agents.look("control-plane-1", 314)["count"] == 0
    assert agents.look("control-plane-1", 1) == {"count": 1, "newest": key}


def test_a_copy_that_fails_is_tried_at_growing_intervals_and_every_active_agent_reports_it(
    agents: Agents, add: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add(NOW - HOUR)
    monkeypatch.setattr(agents.copies, "copy", agents.fail)
    for number in range(700):  # six hours; another agent has the Lease from time to time
        said = agents.look(f"control-plane-{number // 20 % 3}", 30 if number else 0)
        assert "the way is too slow" in said, "the alert needs it for 15 minutes without a break"
    moments = [at for _, at in agents.tried]
    assert [later - at for at, later in itertools.pairwise(moments)] == [330, 600, 1200, 2400, *[3600] * 4]
    assert {machine for machine, _ in agents.tried} > {"control-plane-0"}


def test_the_pause_begins_when_a_try_fails_not_when_it_begins(
    agents: Agents, add: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a try that its time limit ends would be repeated at once."""
    add(NOW - HOUR)
    agents.takes = 300.0
    monkeypatch.setattr(agents.copies, "copy", agents.fail)
    agents.look("control-plane-0")
    assert "not tried again before" in agents.look("control-plane-0", 314)
    assert len(agents.tried) == 1
    agents.look("control-plane-0", 1)
    assert [at for _, at in agents.tried] == [0, 615]


def test_an_agent_that_can_never_list_the_copies_says_that_it_knows_none(
    copies: ModuleType, run: Any, config: dict[str, Any], cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would write no time of a copy, and the alert about old copies would end."""

    def refused(*_: Any) -> NoReturn:
        raise OSError("403")

    said = dict[str, Any]()
    monkeypatch.setattr(copies.snapshots, "stored", refused)
    with pytest.raises(OSError, match="403"):
        copies.Copies().reconcile(run, config, cluster, NOW, said)
    assert said == {"copies": {"count": 0, "newest": ""}}
    said["copies"] = {"count": 3, "newest": "known"}
    with pytest.raises(OSError, match="403"):
        copies.Copies().reconcile(run, config, cluster, NOW, said)
    assert said["copies"]["newest"] == "known"


@pytest.mark.parametrize(
    "written", ["{", "[]", '{"at": "x", "tries": []}', '{"at": 9999999999, "tries": 99}', '{"at": -1, "tries": -9}']
)
def test_a_value_that_no_agent_wrote_delays_nothing(
    agents: Agents, cluster: Cluster, add: Callable[..., str], written: str
) -> None:
    cluster.add(MEMORY.rpartition("/")[0], "mullion-agent", data={"copying": written})
    key = add(NOW - HOUR)
    assert agents.look("control-plane-0") == {"count": 1, "newest": key}


def test_the_metrics_tell_the_newest_copy_and_that_the_agent_is_active_before_it_copies(
    start: Callable[[], Any],
    cluster: Cluster,
    cloud: FakeCloud,
    config: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise three agents that copy in turn would all say that they have no Lease (MullionNoActiveAgent)."""
    cluster.node("control-plane-0")
    running, module, seen = start(), importlib.import_module("agent.copies"), list[dict[str, float]]()
    file = running.root / "etc/mullion/agent.json"
    document = json.loads(file.read_text())
    document["snapshots"]["copies"] = config["snapshots"]["copies"]
    file.write_text(json.dumps(document))
    copy = module.copy

    def watched(*given: Any) -> Any:
        seen.append(values(running.root))
        return copy(*given)

    monkeypatch.setattr(module, "copy", watched)
    running.round()
    assert seen and seen[0]["mullion_agent_active"] == 1
    told = values(running.root)
    assert told["mullion_copy_newest_timestamp_seconds"] == told["mullion_snapshot_newest_timestamp_seconds"] > NOW / 2
    for key in [key for key in cloud.objects if key.startswith("/status/shop/")]:
        del cloud.objects[key]
    monkeypatch.setattr(module, "copy", lambda *_: 1 / 0)
    running.next.clear()
    running.round()
    assert values(running.root)["mullion_copy_newest_timestamp_seconds"] == 0, "no copy: its age is endless"
    running.lease.hold = lambda api: False
    running.round()
    assert "mullion_copy_newest_timestamp_seconds" not in values(running.root)
