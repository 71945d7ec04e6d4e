"""The network watch restarts services of a node whose plan is done, or starts the executor."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from sandbox.boot.windows.winpwsh import Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.watched_node import (
    BOOT,
    HNS_DIES,
    HNS_RESTARTS,
    LOADED,
    LOOK,
    MADE,
    REQUESTED,
    ROUTE,
    STATE,
    books,
    change,
    flanneld_makes_the_network,
    log,
    looks,
    memory,
    network,
    node,
    starts,
)
from tests.cloud_init.windows import until

__all__ = ["node"]

pytestmark = [pytest.mark.windows, pytest.mark.subprocess]


def test_a_restart_of_hns_restarts_flanneld_and_kube_proxy_at_most_three_times_an_hour(node: Machine) -> None:
    rounds = looks(node, MADE, "$null = 0", *[HNS_RESTARTS] * 5)
    assert rounds[0] == rounds[1] == rounds[2] == rounds[3], "nothing happened yet"
    for turn in (2, 3, 4):
        before, after = rounds[2 * turn], rounds[2 * turn + 1]
        assert before["hns"] == after["hns"]
        assert all(after[each] not in (0, before[each]) for each in ("flanneld", "kube-proxy")), f"restart {turn - 1}"
    for turn in (5, 6):
        assert rounds[2 * turn] == rounds[2 * turn + 1], "the fourth restart within an hour waits"
    assert log(node).count("HNS was restarted") == 4, "three restarts, and one line about those that wait"
    assert "3 repairs (network) within 3600 s did not help, the next one waits" in log(node)
    assert len(memory(node)["watch"]["repairs"]["network"]["made"]) == 3


def test_the_executor_is_started_when_hns_hangs_and_when_the_machine_has_lost_its_default_route(node: Machine) -> None:
    hns = node.hns
    assert hns
    looks(node, MADE)
    hns.answers.clear()
    try:
        first, last = looks(node, "$null = 0")
    finally:
        hns.answers.set()
    assert "the pod network: HNS does not answer GET /networks within 5 s" in log(node)
    assert starts(node) == 1
    (books(node) / "away.json").write_text(json.dumps({"made": hns.made, "left": -1}))
    assert looks(node, "$null = 0") == [first, last]
    assert "the pod network: the machine has no default route" in log(node)
    assert starts(node) == 2
    assert first == last, "services of the network run on"
    looks(node, *["$null = 0"] * 3)
    assert starts(node) == 3, "the fourth start within an hour waits"
    assert log(node).count("3 repairs (executor) within 3600 s did not help, the next one waits") == 1


def test_a_repair_that_is_ended_halfway_is_left_to_the_executor(node: Machine) -> None:
    looks(node, MADE)
    network(node, exists=False)
    killed = "[Diagnostics.Process]::GetCurrentProcess().Kill()"
    change(node, "watch-network", "    $own = New-TimedRun $Run $NetworkSeconds", f"    {killed}")
    node.pwsh(f"{LOADED}; {BOOT}; {LOOK}")
    assert "is gone or incomplete: services of the pod network are started anew" in log(node)
    assert starts(node) == 0
    change(node, "watch-network", f"    {killed}", "    $own = New-TimedRun $Run $NetworkSeconds")
    network(node, exists=True)
    looks(node, "$null = 0", "$null = 0")
    assert "the executor is started: the network flannel.4096 is gone or incomplete" in log(node)
    assert starts(node) == 1


def test_wmi_that_does_not_answer_is_no_restart_of_hns(node: Machine) -> None:
    looks(node, MADE)
    process = memory(node)["watch"]["process"]
    (books(node) / "wmi.json").write_text(json.dumps({"error": "Provider load failure"}))
    first, last = looks(node, "$null = 0")
    assert first == last
    assert memory(node)["watch"]["process"] == process
    assert "pod network" not in log(node)
    known = memory(node)
    known["watch"] |= {"boot": 2, "process": "9 2026-01-01T00:00:00"}
    node.path(rf"{STATE}\state.json").write_text(json.dumps(known))
    looks(node, "$null = 0")
    (books(node) / "wmi.json").unlink()
    looks(node, "$null = 0")
    assert "HNS was restarted" not in log(node), "the process of an earlier boot is none of this boot"
    looks(node, HNS_DIES)
    assert "HNS was restarted" in log(node), "a service that is stopped is a loss"


def test_a_lost_network_restarts_flanneld_first_and_then_kube_proxy_once_the_network_is_back(node: Machine) -> None:
    assert looks(node, MADE)[-1]["kube-proxy"]
    network(node, exists=False)
    threading.Thread(target=lambda: flanneld_makes_the_network(node), daemon=True).start()
    before, after = looks(node, "$null = 0")
    assert before["hns"] == after["hns"]
    assert all(after[each] not in (0, before[each]) for each in ("flanneld", "kube-proxy"))
    assert "the network flannel.4096 is gone or incomplete" in log(node)
    assert "the pod network works again" in log(node)


def answers_after(cloud: FakeCloud, kept: Path) -> None:
    """Let the metadata service answer once the route is set."""
    until(lambda: kept.exists() and ROUTE in kept.read_text(), 100)
    cloud.release()


def test_a_lost_metadata_route_is_set_again_before_the_service_is_asked_and_restarts_nothing(
    node: Machine, cloud: FakeCloud
) -> None:
    # as without the route: no answer; the look must not wait for one first
    cloud.hang("/latest/api/token")
    kept = books(node) / "routes.json"
    threading.Thread(target=lambda: answers_after(cloud, kept), daemon=True).start()
    first, second = looks(node, MADE, look=REQUESTED)
    assert first == second
    assert json.loads(kept.read_text())[ROUTE]["InterfaceIndex"] == 7
    assert cloud.asked, "the store was asked afterwards"
    kept.write_text("{}")
    third, fourth = looks(node, "$null = 0")
    assert first == third == fourth
    assert ROUTE in json.loads(kept.read_text())


@pytest.mark.parametrize(
    ("name", "content"),
    [("result.json", {"state": "failed"}), ("state.json", {"cleared": {"flannel.4096": 7}})],
    ids=["the run failed", "not in this boot"],
)
def test_the_network_is_left_to_the_executor_until_it_has_finished(
    node: Machine, name: str, content: dict[str, Any]
) -> None:
    machine_file = node.path(rf"{STATE}\{name}")
    machine_file.write_text(json.dumps(content))
    network(node, exists=False)
    first, second = looks(node, MADE)
    assert first == second
    assert "watch" not in memory(node)
