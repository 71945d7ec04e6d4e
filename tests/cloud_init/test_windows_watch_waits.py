"""The network watch waits while kube-proxy makes progress, and restarts flanneld to recreate lost objects."""

import json
import threading

import pytest

from lab.hns.service import Service
from sandbox.boot.windows.winpwsh import Machine
from tests.cloud_init.watched_node import (
    KUBECTL,
    LEASES,
    MADE,
    SERVICES,
    STATE,
    flannel_row,
    leases,
    log,
    looks,
    memory,
    network,
    node,
    stopped,
)
from tests.conformance import windows_hns

__all__ = ["node"]

pytestmark = [pytest.mark.sampled, pytest.mark.windows, pytest.mark.subprocess]

GROWING = "HNS has no load balancer of 10.96.0.1, the Service kubernetes: kube-proxy is still making load balancers"


# A file of the machine that is there once no load balancer is being created any more.
CREATED = rf"{STATE}\created"


def kube_proxy_makes_load_balancers(machine: Machine, hns: Service, told: threading.Event) -> None:
    """Create one load balancer a second until the watch has said that it waits, at most 100; then write CREATED."""
    with hns.lock:
        remote = windows_hns.backend(hns)
    for number in range(1, 101):
        with hns.lock:
            windows_hns.balance(hns, f"service-{number}", remote, f"10.96.1.{number}")
            hns.changed()
        if GROWING in log(machine) or told.wait(1):
            break
    machine.path(CREATED).write_text("")


def test_a_kube_proxy_that_is_still_making_load_balancers_is_restarted_only_once_it_makes_none_any_more(
    node: Machine,
) -> None:
    hns = node.hns
    assert hns
    node.path(KUBECTL).write_text('@if "%4"=="service" echo 10.96.0.1\r\n')
    known = {"boot": 3, "looks": 0, "pending": "", "shared": "", "repairs": {}}
    known["suspects"] = {"balancers": ["10.96.0.1"]}
    node.path(rf"{STATE}\state.json").write_text(json.dumps(memory(node) | {"watch": known}))
    ended = threading.Event()
    thread = threading.Thread(target=kube_proxy_makes_load_balancers, args=(node, hns, ended), daemon=True)
    thread.start()
    try:
        # the last load balancer may be created after the first look has ended, and must not count for the second
        until_created = f"while (-not (Test-Path '{CREATED}')) {{ Start-Sleep -Milliseconds 200 }}"
        before, after, _, last = looks(
            node, f"{MADE}; $BalancerLooks = 1; $ProgressSeconds = 20", f"{until_created}; $ProgressSeconds = 3"
        )
    finally:
        ended.set()
        thread.join(10)
    assert before == after, "it makes load balancers"
    assert log(node).count(GROWING) == 1
    assert {name for name in SERVICES if after[name] != last[name]} == {"kube-proxy"}
    assert "balancers" not in memory(node)["watch"]["suspects"], "its next sync has not begun to answer"


def test_a_node_without_flannels_annotations_restarts_flanneld_at_the_second_question(node: Machine) -> None:
    asked = '@if "%4"=="nodes" if "%7"=="web-0" '
    node.path(KUBECTL).write_text(asked + flannel_row("web-0", "10.244.3.0/24", "").lstrip("@"))
    rounds = looks(node, f"{MADE}; $RouteLooks = 1", "$null = 0")
    assert rounds[0] == rounds[1] == rounds[2], "one question is not enough"
    assert {name for name in SERVICES if rounds[2][name] != rounds[3][name]} == {"flanneld", "kube-proxy"}
    assert "the Node web-0 has lost flannel's annotations, which flanneld writes at its start" in log(node)
    assert "the pod network works again" in log(node)
    there = flannel_row("web-0", "10.244.3.0/24", '{"VNI":4096,"VtepMAC":""}')
    node.path(KUBECTL).write_text(asked + there.lstrip("@"))
    rounds = looks(node, "$RouteLooks = 1", "$null = 0")
    assert rounds[0] == rounds[3], "they are there again"
    node.path(KUBECTL).write_text("@exit /b 1\r\n")
    rounds = looks(node, "$RouteLooks = 1", "$null = 0")
    assert rounds[0] == rounds[3], "the API did not answer"


def test_leases_that_cannot_be_read_or_name_no_holder_do_not_end_a_look(node: Machine) -> None:
    leases(node, {"10.244.3.5": "lost", "10.244.3.6": "kept"})
    folder = node.path(LEASES)
    (folder / "10.244.3.7").write_text("")
    (folder / "10.244.3.9").write_bytes(bytes(12))
    # the file is listed, and gone when it is read
    gone = "function Get-LeaseHolder { param([string] $Path) if ($Path.EndsWith('.6')) { [IO.File]::Delete($Path) } "
    held = rf"$open = [IO.File]::Open('{LEASES}\10.244.3.5', 'Open', 'ReadWrite', 'ReadWrite, Delete')"
    written = rf"[IO.File]::WriteAllText('{LEASES}\10.244.3.8', '')"
    looks(node, f"{MADE}; $holds = ${{Function:Get-LeaseHolder}}; {gone} & $holds $Path }}; {held}", written)
    assert "the pod network: " not in log(node)
    assert stopped(node) == ["--timeout 60s stopp lost"]
    assert sorted(each.name for each in folder.iterdir()) == ["10.244.3.5", "10.244.3.8"]
    assert log(node).count("named no holder and was removed") == 2, "one is just being written"


def test_a_network_without_the_policy_host_route_restarts_flanneld_at_the_second_look(node: Machine) -> None:
    hns = node.hns
    assert hns
    with hns.lock:
        made = hns.named("Network", "flannel.4096")
        made["Policies"] = [each for each in made["Policies"] if each["Type"] != "HostRoute"]
        hns.changed()
    rounds = looks(node, f"{MADE}; $HostRouteBuild = 99999", "$null = 0", "$HostRouteBuild = 0", "$null = 0")
    assert all(each == rounds[0] for each in rounds[:-1]), (
        "Windows Server 2019 has no such policy; one look is not enough"
    )
    assert {name for name in SERVICES if rounds[0][name] != rounds[-1][name]} == {"flanneld", "kube-proxy"}
    assert "the network flannel.4096 has no policy HostRoute" in log(node)
    network(node, exists=True)
    looks(node, "$HostRouteBuild = 0")
    assert memory(node)["watch"]["repairs"] == {}, "it is well again"
