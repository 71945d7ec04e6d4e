"""The network watch finds lost routes, load balancers and endpoints of a node whose plan is done."""

import json

import pytest

from sandbox.boot.windows.winpwsh import Machine
from tests.cloud_init.watched_node import (
    BOOT,
    CRICTL,
    CRICTL_CALLS,
    KUBECTL,
    LOADED,
    MADE,
    SERVICES,
    STATE,
    books,
    endpoints,
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

UNNAMED = (
    "{made}; $send = ${{Function:Send-HnsRequest}}; function Send-HnsRequest {{ & $send @args; "
    "if ($args[1] -eq 'endpoints') {{ @{{ ID = '1'; IPAddress = '10.244.3.7'; Name = 'first' }}, "
    "@{{ ID = '2'; IPAddress = '10.244.3.7' }} | ForEach-Object {{ [pscustomobject] $_ }} }} }}"
)
"""HNS lists two endpoints with one address, of which one has no name; the imitation names each."""


def test_a_sandbox_without_its_endpoint_is_stopped_at_the_second_look_and_shared_addresses_are_reported(
    node: Machine,
) -> None:
    leases(node, {"10.244.3.2": "kube-proxy", "10.244.3.5": "lost", "10.244.3.6": "kept", "10.244.3.7": "kept-too"})
    endpoints(node, {"a": "10.244.3.6", "b": "10.244.3.7", "c": "10.244.3.7"})
    first, *_ = looks(node, MADE)
    assert stopped(node) == []
    assert "several HNS endpoints have one address, drain this node: 10.244.3.7: b, c" in log(node)
    *_, last = looks(node, "$null = 0")
    assert stopped(node) == ["--timeout 60s stopp lost"]
    assert "no endpoint with the address 10.244.3.5 of sandbox lost" in log(node)
    looks(node, "$null = 0")
    assert log(node).count("drain this node") == 1
    assert first == last, "services of the network run on"


def test_lost_sandboxes_are_found_beside_endpoints_that_hns_shows_without_a_name(node: Machine) -> None:
    leases(node, {"10.244.3.5": "lost"})
    looks(node, UNNAMED.format(made=MADE), "$null = 0")
    assert "several HNS endpoints have one address, drain this node: 10.244.3.7: first, 2" in log(node)
    assert stopped(node) == ["--timeout 60s stopp lost"]


def test_sandboxes_that_crictl_cannot_stop_are_given_up_and_do_not_hold_a_look_up(node: Machine) -> None:
    leases(node, {"10.244.3.5": "one", "10.244.3.6": "two"})
    node.path(CRICTL).write_text(f"@echo %* >> {CRICTL_CALLS}\r\n@exit /b 1\r\n")
    looks(node, f"{MADE}; $LookSeconds = 0", "$null = 0")
    assert len(stopped(node)) == 1, "the second one is left to the next look"
    looks(node, "$LookSeconds = 0", *["$null = 0"] * 6)
    assert sorted(stopped(node)) == 3 * ["--timeout 60s stopp one"] + 3 * ["--timeout 60s stopp two"]
    assert log(node).count("of sandbox one: the kubelet makes a new one") == 1, "a leaked lease is announced once"
    assert log(node).count("of sandbox one: 3 repairs (sandbox one) did not help, no more follow") == 1


def test_endpoints_of_other_nodes_with_a_wrong_address_are_made_again_at_the_second_look(node: Machine) -> None:
    network(node, exists=True, routed=["10.244.200.0/24", "10.244.201.0/24"])
    hns = node.hns
    assert hns
    with hns.lock:
        right, wrong, unused = (windows_hns.backend(hns) for _ in range(3))
        for endpoint, address in ((wrong, "10.244.201.8"), (unused, "10.244.201.9")):
            endpoint["IpConfigurations"] = [{"IpAddress": address}]
            endpoint["Policies"] = [{"Type": "ProviderAddress", "Settings": {"ProviderAddress": "10.20.1.4"}}]
        windows_hns.balance(hns, "right", right, "10.96.0.20")
        hns.changed()
    first, second = looks(node, MADE, "$null = 0")[1::2]
    assert first == second, "nothing uses the wrong ones"
    with hns.lock:
        windows_hns.balance(hns, "wrong", wrong, "10.96.0.21")
        hns.changed()
    third, fourth = looks(node, "$null = 0", "$null = 0")[1::2]
    assert third == first, "one look is not enough"
    assert {name for name in SERVICES if fourth[name] != third[name]} == {"kube-proxy"}
    assert "load balancers send packets for 10.244.201.8 to a node that does not have these pods" in log(node)
    assert [each["ID"] for each in hns.all("Endpoint")] == [right["ID"]]
    assert hns.all("LoadBalancer") == [], "kube-proxy makes them again"
    looks(node, "$null = 0")
    assert memory(node)["watch"]["repairs"] == {}, "it is well again"


def test_load_balancers_that_hns_lost_make_kube_proxy_start_anew_at_the_second_question(node: Machine) -> None:
    hns = node.hns
    assert hns
    node.path(KUBECTL).write_text('@if "%4"=="service" echo 10.96.0.1\r\n')
    with hns.lock:
        windows_hns.balance(hns, "kubernetes", windows_hns.backend(hns), "10.96.0.1")
        hns.changed()
    (kept,) = hns.all("LoadBalancer")
    first, second = looks(node, f"{MADE}; $BalancerLooks = 1", "$null = 0")[1::2]
    assert first == second, "the load balancer is there"
    with hns.lock:
        hns.objects["LoadBalancer"] = {}
    third, fourth = looks(node, "$BalancerLooks = 1", "$null = 0")[1::2]
    assert third == first, "one question without it is not enough"
    assert {name for name in SERVICES if fourth[name] != third[name]} == {"kube-proxy"}
    assert "HNS has no load balancer of 10.96.0.1, the Service kubernetes: services of the pod network" in log(node)
    with hns.lock:
        hns.objects["LoadBalancer"] = {kept["ID"]: kept}
    looks(node, "$BalancerLooks = 1")
    assert memory(node)["watch"]["repairs"] == {}, "it is well again"


def test_load_balancers_are_asked_for_although_routes_were_given_up(node: Machine) -> None:
    node.path(KUBECTL).write_text(
        '@if "%4"=="service" (echo 10.96.0.1) else '
        + flannel_row("linux-1", "10.244.2.0/24", '{"VtepMAC":"0e:2a:00:00:00:02"}').lstrip("@")
    )
    known = memory(node) | {"watch": {"boot": 3, "looks": 0, "pending": "", "shared": ""}}
    repairs = {"routes 10.244.2.0/24": {"made": [1, 1, 1], "waits": True}}
    known["watch"] |= {"repairs": repairs, "suspects": {"routes": ["10.244.2.0/24"], "balancers": ["10.96.0.1"]}}
    node.path(rf"{STATE}\state.json").write_text(json.dumps(known))
    before, after = looks(node, MADE)
    assert "HNS has no load balancer of 10.96.0.1" in log(node)
    assert {name for name in SERVICES if before[name] != after[name]} == {"kube-proxy"}


def test_wmi_that_fails_and_forwarding_that_is_off_delete_no_endpoint_of_the_host(node: Machine) -> None:
    network(node, exists=False)
    hns = node.hns
    assert hns
    step = "@{ kind = 'hns-network'; network = 'cbr0'; subnet = '10.244.3.0/24'; endpoint = 'cbr0_ep' }"
    run = "New-TimedRun (New-Run @{ machine = @{}; facts = @{} } $false) 20"
    begin = f"{LOADED}; {BOOT}; $run = {run}; $step = {step}"
    state = "[Console]::Out.WriteLine([string] (Test-HnsNetworkStep $run $step))"
    code, said = node.pwsh(f"{begin}; Set-HnsNetworkStep $run $step; {state}; $global:LASTEXITCODE = 0")
    assert (code, said.split()) == (0, ["True"]), said
    (made,) = hns.all("Endpoint")
    broken = {"error": "Provider load failure", "cmdlets": ["Get-NetIPAddress", "Get-NetAdapter", "Get-NetIPInterface"]}
    for cmdlet in broken["cmdlets"]:
        (books(node) / "wmi.json").write_text(json.dumps({**broken, "cmdlets": [cmdlet]}))
        asked = f"try {{ {state} }} catch {{ [Console]::Out.WriteLine($_.Exception.Message) }}"
        code, said = node.pwsh(f"{begin}; {asked}; $global:LASTEXITCODE = 0")
        assert said.strip() == "Provider load failure", cmdlet
    (books(node) / "wmi.json").unlink()
    (books(node) / "forwarding.json").write_text("{}")
    code, said = node.pwsh(f"{begin}; {state}; Set-HnsNetworkStep $run $step; {state}; $global:LASTEXITCODE = 0")
    assert (code, said.split()) == (0, ["False", "True"]), said
    assert [each["ID"] for each in hns.all("Endpoint")] == [made["ID"]]


def test_lost_and_old_routes_to_pods_restart_flanneld_and_kube_proxy_at_the_second_question(node: Machine) -> None:
    two = ["10.244.7.0/24", "10.244.7.0/24 0e:2a:00:00:00:07"]
    network(node, exists=True, routed=["10.244.1.0/24", "10.244.6.0/24", *two])
    backend = '{"VNI":4096,"VtepMAC":"%s"}'
    rows = (
        ("web-0", "10.244.3.0/24", backend % "00:15:5d:aa:bb:cc"),
        ("linux-0", "10.244.1.0/24", backend % "0e:2a:00:00:00:01"),
        ("linux-1", "10.244.2.0/24", backend % "0e:2a:00:00:00:02"),
        ("linux-2", "10.244.6.0/24", backend % "0e:2a:00:00:00:06"),
        ("linux-3", "10.244.7.0/24", backend % "0e:2a:00:00:00:07"),
        ("web-1", "10.244.4.0/24", backend % ""),
        ("web-2", "10.244.5.0/24", ""),
        ("web-3", "10.244.9.0/24", backend % "aa"),
    )
    said = "".join(flannel_row(*row) for row in rows)
    node.path(KUBECTL).write_text(said)
    rounds = looks(node, MADE, *["$null = 0"] * 5)
    assert all(each == rounds[0] for each in rounds[:-1]), "other looks do not ask the API"
    assert rounds[-1]["hns"] == rounds[0]["hns"]
    for each in ("flanneld", "kube-proxy"):
        assert rounds[-1][each] not in (0, rounds[0][each]), f"{each}, which Windows stops with flanneld, runs again"
    lost = "10.244.2.0/24, 10.244.6.0/24, 10.244.7.0/24"
    assert f"the network flannel.4096 has no route to pods of {lost}, or an old one: " in log(node)
    rounds = looks(node, "$RouteLooks = 1", *["$null = 0"] * 2)
    assert rounds[0] != rounds[1] != rounds[3] == rounds[5], "the third repair is the last one"
    for given_up in lost.split(", "):
        said_once = f"of {lost}, or an old one: 3 repairs (routes {given_up}) did not help, no more follow"
        assert log(node).count(said_once) == 1
    node.path(KUBECTL).write_text(said.replace('@echo "linux-3"', "@rem "))
    *_, last = looks(node, "$RouteLooks = 1")
    assert last == rounds[5], "the others stay given up once one range is well"
    changed = ("web-1", "10.244.4.0/24", backend % "00:15:5d:aa:bb:dd")
    node.path(KUBECTL).write_text(said.replace(flannel_row(*rows[5]), flannel_row(*changed)))
    rounds = looks(node, "$RouteLooks = 1", "$null = 0")
    assert rounds[1] == last != rounds[3], "another range is another loss"
    assert "network" not in memory(node)["watch"]["repairs"], "other repairs have their own number"
