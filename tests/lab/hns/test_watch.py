"""The network watch repairs a node on which the real flanneld.exe and kube-proxy.exe run as services.

The executor's own steps make and start the services; flanneld's is wrapped by nssm.
"""

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest

from lab import build
from lab.hns import endpoints
from lab.hns.service import policies
from lab.hns.walk import Fabric, LinuxNode, WindowsNode
from lab.programs import STAND_IN
from sandbox.boot.windows.registry import SERVICE
from sandbox.boot.windows.winpwsh import BOOKS, IDLE
from tests.awaited import until
from tests.lab.conftest import Find
from tests.lab.hns import cluster as clusters
from tests.lab.hns.cluster import CLIENT, OVERLAY, REMOTE, WEB
from tests.lab.hns.conftest import StartCluster
from tests.lab.hns.machine import API, NODE, Machine, plugin
from tests.lab.rendered import Rendered, filled

pytestmark = pytest.mark.lab

VIPS = {clusters.SERVICE, "10.96.0.1"}
"""Services that have a pod or server elsewhere too: HNS loses the endpoints of the machine's own pods."""
STATE = r"C:\ProgramData\mullion"
BOOTS = r"HKLM\SOFTWARE\mullion-boot"
BOOT = "3"
"""Number of this boot."""
METADATA = "169.254.169.254/32"
ORDER = ("flanneld", "overlay-network", "metadata-route", "source-vip", "kube-proxy")
"""Steps of the plan that make the pod network."""
WATCHED = {
    "last-boot": "stale-network",
    "pod-range": "pod-range",
    "overlay-network": "overlay-network",
    "metadata-route": "metadata-route",
    "node-registered": "node-object",
}
"""Steps of the plan that the watch reads: name -> kind."""
SERVICES = {"flanneld": r"C:\flannel\flanneld.exe", "kube-proxy": r"C:\k\kube-proxy.exe", "nssm": r"C:\k\nssm.exe"}


def _write(machine: Machine, path: str, document: Any) -> None:
    machine.windows.path(path).write_text(json.dumps(document), encoding="ascii")


def _install(machine: Machine, plan: Rendered, paths: Mapping[str, Path]) -> None:
    """Put programs and files on the machine, and what the executor left there when it finished in this boot."""
    for name, path in paths.items():
        machine.windows.install(path, SERVICES.get(name, rf"C:\k\{name}.exe"))
    for name in ("hns", "kubelet"):
        # copies: Wine names the processes of two links to one file alike, and the watch takes the kubelet for HNS
        machine.windows.path(rf"C:\k\{name}.exe").write_bytes(machine.windows.path(SERVICE).read_bytes())
    for log in ("flanneld", "kube-proxy"):
        machine.windows.path(rf"C:\var\log\{log}\x")
    _write(machine, r"C:\flannel\net-conf.json", plan.content("net-conf"))
    _write(machine, r"C:\k\kube-proxy.json", plan.file_of_kind("KubeProxyConfiguration"))
    watched = [{**filled(plan.fields(name)), "name": name, "kind": kind} for name, kind in WATCHED.items()]
    _write(machine, r"C:\mullion\plan.json", {"phases": [{"steps": watched}]})
    _write(machine, rf"{STATE}\state.json", {"cleared": {OVERLAY: int(BOOT)}, "finished": int(BOOT)})


def _commands(machine: Machine, *commands: str) -> None:
    machine.windows.path(r"C:\k\do.cmd").write_text("@echo off\r\n" + "\r\n".join(commands) + "\r\n", encoding="ascii")
    done = machine.run(["cmd.exe", "/c", r"C:\k\do.cmd"])
    assert done.code == 0, done.text


@pytest.fixture(scope="module")
def node(
    kubernetes: str,
    start: StartCluster,
    plugins: Mapping[str, Path],
    program: Find,
    plans: Mapping[str, Rendered],
    missing: Callable[[str, str], NoReturn],
) -> Iterator[clusters.Cluster]:
    """Return a node whose services the plan's steps made and started, with two pods and two Services."""
    if not build.is_built(STAND_IN):
        missing("lab", f"the stand-ins are not built; run: python -m lab join {kubernetes}")
    plan = plans["defaults"]
    with start(plan) as made:
        made.node(clusters.NAME, NODE, clusters.RANGE, {})
        made.node("linux-0", clusters.OTHER, clusters.OTHER_RANGE, clusters.PEER)
        machine = made.machine
        machine.install(plugins)
        real = {name: program(name, "windows") for name in ("flanneld", "kube-proxy", "kube-log-runner", "kubectl")}
        stand_ins = dict.fromkeys(("nssm", "crictl"), build.place(STAND_IN))
        _install(machine, plan, {**real, **stand_ins})
        inside = ["nsenter", f"--net=/run/netns/{machine.space}", machine.windows.tool, "run"]
        idle = subprocess.Popen([*inside, str(machine.windows.folder), *IDLE], stdout=subprocess.PIPE)
        try:
            # services of a machine that a later command started would hold that command's output open
            assert idle.stdout and idle.stdout.readline(), "the machine is not on"
            services = [
                f"sc.exe {words}"
                for name in ("hns", "kubelet")
                for words in (rf"create {name} binPath= C:\k\{name}.exe start= demand", f"start {name}")
            ]
            _commands(machine, f'reg.exe add "{BOOTS}" /v Id /t REG_DWORD /d {BOOT} /f', *services)
            said = machine.steps(plan, *ORDER)
            assert [line.split()[-1] for line in said] == ["True"] * len(ORDER), said
            conf = plugin(plan.content("cni-config"), made.flannel())
            made.serve_pods(conf, CLIENT, WEB, REMOTE)
            balanced(made)
            yield made
        finally:
            made.stop()
            idle.wait(60)
            if idle.stdout:
                idle.stdout.close()


def log(made: clusters.Cluster) -> str:
    """Return the logs of the executor and the programs."""
    machine = made.machine.windows
    files = [machine.path(rf"{STATE}\node.log"), *machine.path(r"C:\var\log\x").parent.glob("*/*.log")]
    return "\n".join(each.read_text(errors="replace")[-4000:] for each in files if each.exists())


def balanced(made: clusters.Cluster) -> None:
    """Wait until kube-proxy has load balancers for all Services, whose endpoints exist."""
    service = made.machine.service

    def complete() -> bool:
        known, balancers = service.objects["Endpoint"], service.all("LoadBalancer")
        used = {each for balancer in balancers for each in balancer["HostComputeEndpoints"]}
        return used <= set(known) and {vip for each in balancers for vip in each.get("FrontendVIPs") or ()} >= VIPS

    until(complete, "kube-proxy has load balancers of endpoints that exist", 120, log=lambda: log(made))


def served(made: clusters.Cluster) -> set[str]:
    """Return the addresses of Services that HNS balances."""
    return {vip for each in made.machine.service.all("LoadBalancer") for vip in each.get("FrontendVIPs") or ()}


def works(made: clusters.Cluster, plan: Rendered, pod: str) -> None:
    """Add a pod; its packets reach a pod on another node, also through a Service."""
    balanced(made)
    service = made.machine.service
    endpoint = made.machine.pod(plugin(plan.content("cni-config"), made.flannel()), pod)
    address = endpoint["IpConfigurations"][0]["IpAddress"]
    there = LinuxNode("linux-0", clusters.OTHER, clusters.OTHER_RANGE, 4096, "c6:71:81:86:b2:77")
    control = LinuxNode("control-plane", API, "10.244.0.0/24", 4096, "c6:71:81:86:b2:01")
    fabric = Fabric([WindowsNode(clusters.NAME, NODE, service, OVERLAY)], [there, control])
    walked = clusters.walk(fabric, {address: endpoint}, address, clusters.SERVICE)
    assert clusters.delivered("linux-0", address, REMOTE, 8080) in walked, walked
    assert clusters.walk(fabric, {address: endpoint}, address, REMOTE) == {
        clusters.delivered("linux-0", address, REMOTE)
    }


def test_the_plans_steps_make_services_of_the_real_programs(
    node: clusters.Cluster, plans: Mapping[str, Rendered]
) -> None:
    works(node, plans["defaults"], "first")
    node.machine.script("-Look")
    assert "pod network" not in log(node), "nothing was lost"
    suspects = json.loads(node.machine.windows.path(rf"{STATE}\state.json").read_text())["watch"]["suspects"]
    asked = ("services", "annotations", "routes", "strays", "balancers", "leases", "sandbox")
    assert suspects == {key: [] for key in asked}, "all questions were answered"


def test_a_node_cannot_forge_pod_ranges_of_others(node: clusters.Cluster) -> None:
    forged = '{}\n"linux-9" "10.244.9.0/24" "{\\"VtepMAC\\":\\"aa\\"}"'
    node.node("stolen", "10.20.0.9", "10.244.8.0/24", {"flannel.alpha.coreos.com/backend-data": forged})
    node.node("bare", "10.20.0.10", "10.244.7.0/24", {})
    rows = dict(line.split("|", 1) for line in node.machine.script("-Rows").splitlines() if "|" in line)
    assert sorted(rows) == ["bare", "linux-0", clusters.NAME, "stolen"]
    assert rows["linux-0"] == f"{clusters.OTHER_RANGE}|{clusters.PEER['flannel.alpha.coreos.com/backend-data']}"
    assert rows["bare"] == "10.244.7.0/24|"
    for name in ("stolen", "bare"):
        node.plane.call("DELETE", f"/api/v1/nodes/{name}")


def test_the_watch_restarts_flanneld_and_kube_proxy_after_a_restart_of_hns(
    node: clusters.Cluster, plans: Mapping[str, Rendered]
) -> None:
    node.machine.service.restart()
    _commands(node.machine, "sc.exe stop hns", "ping.exe -n 3 127.0.0.1 >NUL", "sc.exe start hns")
    node.machine.script("-Look")
    assert "HNS was restarted" in log(node)
    assert "the pod network works again" in log(node)
    works(node, plans["defaults"], "second")


def test_the_watch_lets_flanneld_make_a_lost_network_again(
    node: clusters.Cluster, plans: Mapping[str, Rendered]
) -> None:
    (before,) = node.machine.service.all("Network")
    node.machine.service.reboot()
    assert node.machine.service.all("Network") == []
    node.machine.script("-Look")
    (after,) = node.machine.service.all("Network")
    assert after["ID"] != before["ID"]
    assert policies(after, "RemoteSubnetRoute") == policies(before, "RemoteSubnetRoute")
    assert f"the network {OVERLAY} is gone or incomplete" in log(node)
    works(node, plans["defaults"], "third")


def test_the_watch_starts_services_that_someone_stopped_while_the_kubelet_runs(
    node: clusters.Cluster, plans: Mapping[str, Rendered]
) -> None:
    waits = "ping.exe -n 3 127.0.0.1 >NUL"
    stops = [words for name in ("kube-proxy", "flanneld", "kubelet") for words in (f"sc.exe stop {name}", waits)]
    _commands(node.machine, *stops, "sc.exe start kubelet")
    node.machine.script("-Look")
    node.machine.script("-Look")
    assert "kube-proxy and flanneld stopped although the kubelet runs" in log(node)
    works(node, plans["defaults"], "fourth")


def test_the_watch_sets_a_lost_route_again_and_restarts_nothing(node: clusters.Cluster) -> None:
    routes = node.machine.windows.path(rf"{BOOKS}\routes.json")
    kept = json.loads(routes.read_text())
    del kept[METADATA]
    routes.write_text(json.dumps(kept))
    before, calls = log(node).count("started anew"), len(node.machine.service.calls)
    node.machine.script("-Look")
    assert METADATA in json.loads(routes.read_text())
    assert log(node).count("started anew") == before
    made = [words for words in node.machine.service.calls[calls:] if "Create" in words[0] or "POST" in words]
    assert made == []


def test_services_reach_pods_whose_endpoint_kube_proxy_made_before_their_range_was_routed(
    node: clusters.Cluster, plans: Mapping[str, Rendered]
) -> None:
    service, late, vip = node.machine.service, "10.244.2.9", "10.96.0.60"
    (network,) = service.all("Network")
    with service.lock:
        kept = list(network["Policies"])
        network["Policies"][:] = [each for each in kept if each["Type"] != "RemoteSubnetRoute"]
        service.changed()
    node.serve("late", vip, {late: "linux-0"})

    def address() -> str:
        found = [each for each in service.all("Endpoint") if endpoints.address(each) == late]
        return policies(found[0], "ProviderAddress")[0]["ProviderAddress"] if found else ""

    until(lambda: address(), "kube-proxy makes the endpoint", 60, log=lambda: log(node))
    assert address() == NODE, "the real kube-proxy takes it for a public address"
    with service.lock:
        network["Policies"][:] = kept
        service.changed()
    node.machine.script("-Look")
    node.machine.script("-Look")
    assert f"load balancers send packets for {late} to a node that does not have these pods" in log(node)
    until(lambda: address() == clusters.OTHER, "kube-proxy makes the endpoint anew", 120, log=lambda: log(node))
    works(node, plans["defaults"], "fifth")


def test_a_node_with_another_pod_range_needs_another_source_vip(node: clusters.Cluster) -> None:
    """Last, because the node keeps the new range."""
    anew = "10.244.9.0/24"
    node.plane.call("DELETE", f"/api/v1/nodes/{clusters.NAME}")
    node.node(clusters.NAME, NODE, anew, {})
    waits = "ping.exe -n 3 127.0.0.1 >NUL"
    stops = [words for name in ("kube-proxy", "flanneld") for words in (f"sc.exe stop {name}", waits)]
    _commands(node.machine, *stops, "sc.exe start flanneld", "sc.exe start kube-proxy")
    refused = "Source Vip endpoint creation failed"
    until(lambda: refused in log(node), "HNS refuses the address of the old range", 120, log=lambda: log(node))
    assert not served(node)
    node.machine.script("-Look")
    assert "the executor is not started" in log(node), "here is no task of the executor"
    assert f"which is outside {anew}, the range of {OVERLAY}" in log(node)
