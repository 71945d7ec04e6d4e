"""Two Linux nodes of an l2bridge cluster in network namespaces, with the real plugins and the cloud's routes."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, NoReturn

import pytest

from components.node import cni
from components.plan import Machine, plan_cluster
from components.spec.models import ClusterSpec
from lab import build
from lab.programs import cluster_programs
from tests.lab.rendered import filled

pytestmark = pytest.mark.lab

LISTEN = "import socket; s = socket.create_server(('', 8080)); print('up', flush=True); print(s.accept()[1][0])"
CALL = "import socket, sys; socket.create_connection((sys.argv[1], 8080), 60)"


def plug_ins(kubernetes: str, missing: Callable[[str, str], NoReturn]) -> Path:
    """Return the folder of the three real plugins."""
    wanted = [each for each in cluster_programs(kubernetes) if each.name in ("bridge", "host-local", "portmap")]
    for each in (each for each in wanted if each.os == "linux"):
        if not build.is_built(each):
            missing("lab", f"{each.name} is not built; run: python -m lab cluster {kubernetes}")
    return build.place(wanted[0]).parent


def sh(*words: str, **more: Any) -> str:
    """Return the output of a command that must succeed."""
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=120, **more)
    assert done.returncode == 0, f"{words}: {done.stdout} {done.stderr}"
    return done.stdout


def within(space: str, *words: str) -> tuple[str, ...]:
    """Return the command for a network namespace."""
    return ("ip", "netns", "exec", space, *words)


@pytest.fixture
def space(missing: Callable[[str, str], NoReturn]) -> Iterator[Callable[[str], str]]:
    """Return `space(name)`, which creates a network namespace with forwarding."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        missing("linuxnode", "network namespaces take root and ip (iproute2)")

    def made(name: str) -> str:
        full = f"routed-{os.getpid()}-{name}"
        sh("ip", "netns", "add", full)
        undo.callback(sh, "ip", "netns", "delete", full)
        sh(*within(full, "ip", "link", "set", "lo", "up"))
        sh(*within(full, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"))
        return full

    with ExitStack() as undo:
        yield made


def attach(cloud: str, node: str, machine: Machine, nodes: IPv4Network) -> None:
    """Connect a node to the cloud's network, which is its default route and routes the node's pods to it."""
    link = f"n{machine.index}"
    sh(*within(cloud, "ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", node))
    sh(*within(cloud, "ip", "link", "set", link, "up"))
    sh(*within(node, "ip", "address", "add", f"{machine.address}/32", "dev", "eth0"))
    sh(*within(node, "ip", "link", "set", "eth0", "up"))
    gateway = str(nodes[1])
    sh(*within(node, "ip", "route", "add", gateway, "dev", "eth0"))
    sh(*within(node, "ip", "route", "add", "default", "via", gateway))
    sh(*within(cloud, "ip", "route", "add", str(machine.address), "dev", link))
    sh(*within(cloud, "ip", "route", "add", str(machine.pods), "via", str(machine.address), "dev", link, "onlink"))


def add_pod(node: str, pod: str, machine: Machine, conf: dict[str, Any], programs: Path, books: Path) -> str:
    """Add a pod with each plugin of the file, as a runtime calls them; return the pod's address."""
    result: dict[str, Any] = {}
    own = {"machine.pod_cidr": str(machine.pods)}
    for plugin in filled(conf, own)["plugins"]:
        asked = {**plugin, "name": conf["name"], "cniVersion": conf["cniVersion"]}
        if "ipam" in asked:
            asked["ipam"] = {**asked["ipam"], "dataDir": str(books / node)}
        asked |= {"prevResult": result} if result else {}
        words = {"COMMAND": "ADD", "CONTAINERID": pod, "NETNS": f"/run/netns/{pod}", "IFNAME": "eth0"}
        variables = {f"CNI_{name}": each for name, each in (words | {"PATH": str(programs)}).items()}
        output = sh(
            *within(node, str(programs / plugin["type"])), input=json.dumps(asked), env={**os.environ, **variables}
        )
        result = json.loads(output)
    return result["ips"][0]["address"].partition("/")[0]


def test_net_05_routed_pods_of_two_nodes_reach_each_other_by_their_own_addresses(
    kubernetes: str, space: Callable[[str], str], tmp_path: Path, missing: Callable[[str, str], NoReturn]
) -> None:
    document = {"cloud": "aws", "kubernetes": "1.36.4", "network": {"mode": "l2bridge"}}
    document |= {"pools": {"web": {"os": "ubuntu-24.04", "count": 2}}}
    plan = plan_cluster("dev", ClusterSpec.model_validate(document))
    programs = plug_ins(kubernetes, missing)
    conf, machines = cni.linux_bridge(plan.spec.network), plan.pools[0].machines
    cloud = space("cloud")
    sh(*within(cloud, "ip", "address", "add", f"{plan.network.cidr[1]}/32", "dev", "lo"))
    pods: list[tuple[str, str]] = []
    for machine in machines:
        node, pod = space(machine.name), space(f"pod-{machine.index}")
        attach(cloud, node, machine, plan.network.cidr)
        pods.append((pod, add_pod(node, pod, machine, conf, programs, tmp_path)))
    assert [address for _, address in pods] == [str((machine.pods or plan.network.cidr)[2]) for machine in machines]
    for (caller, address), (called, other) in (pods, pods[::-1]):
        server = subprocess.Popen(within(called, "python3", "-c", LISTEN), stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        assert server.stdout.readline() == "up\n"
        sh(*within(caller, "python3", "-c", CALL, other))
        assert server.communicate(timeout=60)[0].strip() == address, "the address was not translated on the way"
