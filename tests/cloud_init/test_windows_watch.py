"""The network watch restarts services of a node whose plan is done, or starts the executor."""

import json
import threading
from pathlib import Path

import pytest

from sandbox.boot.windows.winpwsh import Machine
from tests.cloud_init.cloud import FakeCloud
from tests.cloud_init.watched_node import (
    BOOT,
    HNS_DIES,
    HNS_RESTARTS,
    KUBE_PROXY,
    KUBELET_STARTS,
    LEASES,
    LOADED,
    LOOK,
    MADE,
    REQUESTED,
    ROUTE,
    STATE,
    books,
    change,
    flanneld_makes_the_network,
    leases,
    log,
    looks,
    memory,
    network,
    node,
    starts,
    stopped,
)
from tests.cloud_init.windows import until
from tests.conformance.windows_programs import SERVICE

__all__ = ["node"]

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]


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
        slow = looks(node, "$null = 0")
        assert "the pod network: HNS does not answer GET /networks within 5 s" in log(node)
        assert starts(node) == 0, "it may only be slow"
        first, last = looks(node, "$null = 0")
    finally:
        hns.answers.set()
    assert slow == [first, last]
    assert starts(node) == 1
    (books(node) / "away.json").write_text(json.dumps({"made": hns.made, "left": -1}))
    assert looks(node, "$null = 0") == [first, last]
    assert "the pod network: the machine has no default route" in log(node)
    assert starts(node) == 2
    assert first == last, "services of the network run on"
    looks(node, *["$null = 0"] * 3)
    assert starts(node) == 3, "the fourth start within an hour waits"
    assert log(node).count("3 repairs (executor) within 3600 s did not help, the next one waits") == 1
    assert memory(node)["watch"]["pending"]
    (books(node) / "away.json").unlink()
    looks(node, "$null = 0")
    assert memory(node)["watch"]["pending"] == "", "the route came back, although the executor has to wait"


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
    process = memory(node)["hns_process"]
    broken = {"error": "Provider load failure", "cmdlets": ["Get-CimInstance"]}
    (books(node) / "wmi.json").write_text(json.dumps(broken))
    first, last = looks(node, "$null = 0")
    assert first == last
    assert memory(node)["hns_process"] == process
    assert "pod network" not in log(node)
    (books(node) / "wmi.json").unlink()
    looks(node, HNS_DIES)
    assert "HNS was restarted" in log(node), "a service that is stopped is a loss"


def test_wmi_that_hangs_ends_the_look_and_the_next_run_leaves_time_for_requests(node: Machine) -> None:
    looks(node, MADE)
    change(node, r"modules\deadline", "$QuerySeconds = 120", "$QuerySeconds = 4")
    hung = books(node) / "wmi.json"
    hung.write_text(json.dumps({"hangs": True, "error": "", "cmdlets": ["Get-NetRoute"]}))
    code, _ = node.pwsh(f"{LOADED}; {BOOT}; {LOOK}", 60)
    assert code != 0, "the process was ended"
    first, last = looks(node, "$null = 0")
    assert first == last
    assert log(node).count("a call of the network watch did not return in time") == 1
    assert starts(node) == 0
    assert node.pwsh(f"{LOADED}; {BOOT}; {LOOK}", 60)[0] != 0, "the run after that looks again"
    hung.unlink()
    looks(node, "$null = 0", "$null = 0")
    assert log(node).count("a call of the network watch did not return") == 2
    assert starts(node) == 0


def test_an_executor_that_a_hanging_query_ended_is_started_again_at_most_three_times_an_hour(node: Machine) -> None:
    looks(node, MADE)
    change(node, r"modules\deadline", "$QuerySeconds = 120", "$QuerySeconds = 4")
    hung = books(node) / "wmi.json"
    hung.write_text(json.dumps({"hangs": True, "error": "", "cmdlets": ["Get-NetRoute"]}))
    for _ in range(4):
        assert node.node()[0] not in (0, 1, 2), "the process was ended"
        looks(node, "$null = 0")
    assert log(node).count("a call of the executor did not return in time") == 4
    assert starts(node) == 3
    hung.unlink()
    looks(node, "$null = 0")
    assert log(node).count("a call of the executor did not return") == 4
    assert starts(node) == 3, "nothing was ended any more"


def test_a_repair_that_the_deadline_ended_has_the_next_run_start_the_executor(node: Machine) -> None:
    ended = "[void][IO.Directory]::CreateDirectory($HungWatch)"
    pending = "$record = Get-WatchRecord; $record['pending'] = 'the network is lost'; "
    looks(node, MADE, ended)
    assert starts(node) == 0, "no repair was under way"
    looks(node, f"{pending} [void](Update-Memory @{{ watch = $record }}); {ended}", "$null = 0")
    assert starts(node) == 1


def test_hns_is_compared_with_the_process_that_kube_proxy_was_started_for(node: Machine) -> None:
    looks(node, f"{MADE}; {KUBE_PROXY}; {HNS_RESTARTS}")
    assert log(node).count("HNS was restarted") == 1, "a restart before the first look"
    looks(node, f"{HNS_RESTARTS}; {KUBE_PROXY}")
    assert log(node).count("HNS was restarted") == 1, "kube-proxy was started for this process"


def test_services_of_the_network_that_are_stopped_start_at_the_second_look_if_the_kubelet_runs(node: Machine) -> None:
    node.path(r"C:\k\kubelet.exe").write_bytes(node.path(SERVICE).read_bytes())
    kubelet = r"sc.exe create kubelet binPath= C:\k\kubelet.exe start= demand | Out-Null"
    stops = "foreach ($name in 'kube-proxy', 'flanneld') { Stop-PlannedService (New-TimedRun @{} 20) $name }"
    rounds = looks(node, f"{MADE}; {kubelet}; {stops}", "$null = 0", "sc.exe start kubelet | Out-Null", "$null = 0")
    first, waits, last = rounds[0], rounds[-3], rounds[-1]
    assert not first["flanneld"] and not first["kube-proxy"]
    assert all(each == first for each in rounds[:4]), "the kubelet does not run"
    assert waits == first, "one look is not enough"
    assert last["hns"] == first["hns"]
    assert last["flanneld"] and last["kube-proxy"]
    assert "kube-proxy and flanneld stopped although the kubelet runs" in log(node)


def test_a_loss_that_is_over_at_the_second_question_restarts_nothing(node: Machine) -> None:
    (books(node) / "adapters.json").write_text(json.dumps({"names": ["Ethernet"]}))
    back = r"function Start-Sleep { [IO.File]::Delete('C:\fakes\adapters.json') }"
    first, last = looks(node, f"{MADE}; {back}")
    assert first == last
    assert "is gone or incomplete" not in log(node)


def test_a_metadata_route_that_windows_refuses_does_not_end_the_look(node: Machine) -> None:
    network(node, exists=False)
    threading.Thread(target=lambda: flanneld_makes_the_network(node), daemon=True).start()
    looks(node, f"{MADE}; function New-NetRoute {{ throw 'Instance MSFT_NetRoute already exists' }}")
    assert "routes to the cloud's services: Instance MSFT_NetRoute already exists" in log(node)
    assert "the pod network works again" in log(node)


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


@pytest.mark.parametrize("finished", [None, 2], ids=["not finished", "in another boot"])
def test_the_network_is_left_to_the_executor_until_it_has_finished(node: Machine, finished: int | None) -> None:
    node.path(rf"{STATE}\state.json").write_text(json.dumps(memory(node) | {"finished": finished}))
    network(node, exists=False)
    first, second = looks(node, MADE)
    assert first == second
    assert memory(node)["watch"]["looks"] == 0


def test_while_the_kubelet_is_stopped_a_look_starts_no_service_that_would_start_it(node: Machine) -> None:
    program = node.path(r"C:\k\kubelet.exe")
    program.write_bytes(node.path(SERVICE).read_bytes())
    leases(node, {"10.244.3.5": "lost"})
    made = rf"{MADE}; sc.exe create kubelet binPath= C:\k\kubelet.exe start= demand | Out-Null; {KUBELET_STARTS}"
    looks(node, made)
    # Windows stops these with the kubelet
    stops = "; ".join(f"sc.exe stop {each} | Out-Null" for each in ("kube-proxy", "flanneld", "kubelet"))
    ended = "while (Get-Process kubelet, flanneld, kube-proxy -EA Ignore) { Start-Sleep -Milliseconds 50 }"
    rounds = looks(node, f"{stops}; {ended}; {HNS_RESTARTS}", "$null = 0")
    assert all(each["flanneld"] == each["kube-proxy"] == 0 for each in rounds)
    assert stopped(node) == [], "no kubelet would replace the sandbox"
    *_, last = looks(node, KUBELET_STARTS)
    assert last["flanneld"] and last["kube-proxy"]
    assert log(node).count("HNS was restarted") == 1


def test_an_address_of_kube_proxy_outside_the_networks_range_starts_the_executor(node: Machine) -> None:
    leases(node, {"10.244.3.2": "kube-proxy"})
    looks(node, MADE)
    assert starts(node) == 0
    (node.path(LEASES) / "10.244.3.2").rename(node.path(LEASES) / "10.244.9.2")
    first, last = looks(node, "$null = 0")
    assert first == last, "no restart gives kube-proxy another address"
    assert starts(node) == 1
    said = "kube-proxy has the address 10.244.9.2, which is outside 10.244.3.0/24, the range of flannel.4096"
    assert said in log(node)
