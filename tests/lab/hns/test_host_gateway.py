"""flanneld.exe with backend host-gw makes the bridge that plans make themselves with l2bridge: same calls of HNS."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.lab.conftest import Find
from tests.lab.hns.cluster import NAME, Cluster
from tests.lab.hns.conftest import StartCluster
from tests.lab.hns.machine import ADAPTER, NODE, Machine, output
from tests.lab.rendered import VALUES, Rendered

pytestmark = pytest.mark.lab

RANGE = VALUES["machine.pod_cidr"]


@pytest.fixture
def gateway(
    start: StartCluster,
    plans: Mapping[str, Rendered],
) -> Iterator[Cluster]:
    """Return a cluster whose machine has the planned pod range, and no network yet."""
    with start(plans["l2bridge"]) as made:
        made.node(NAME, NODE, RANGE, {})
        # the endpoint's adapter, which flanneld looks for by its address
        address = f"{RANGE.removesuffix('0/24')}2/24"
        output(["ip", "-n", made.machine.space, "address", "add", address, "dev", ADAPTER])
        yield made


def _written(machine: Machine) -> list[tuple[str, Any]]:
    """Return what calls of the first API changed: path without ids, and the document without ids; forget them."""
    found: list[tuple[str, Any]] = []
    for function, *words in machine.service.calls:
        if function == "HNSCall" and words[0] == "POST":
            _, path, text = words
            parts = [each for each in path.split("/") if len(each) != 36 and each]
            document = {key: value for key, value in json.loads(text).items() if key != "VirtualNetwork"}
            found.append(("/".join(parts), document))
    machine.service.calls.clear()
    return found


def test_the_plans_bridge_is_that_of_flannels_host_gateway(gateway: Cluster, program: Find) -> None:
    machine = gateway.machine
    assert machine.steps(gateway.plan, "hns-network") == ["hns-network False True"]
    ours = _written(machine)
    for network in machine.service.all("Network"):
        machine.call("DeleteNetwork", network["ID"])
    conf = {"Network": "10.244.0.0/16", "Backend": {"Type": "host-gw"}}
    machine.windows.path(r"C:\flannel\net-conf.json").write_text(json.dumps(conf))
    files = ["--kubeconfig-file", r"C:\k\node.conf", "--net-config-path", r"C:\flannel\net-conf.json"]
    gateway.start("flanneld", program("flanneld", "windows"), [*files, "--kube-subnet-mgr", "--iface", NODE])

    # afterwards it only enables forwarding, and keeps routes, by powershell.exe, of which Wine has an empty one
    attached = "Attached bridge endpoint cbr0_ep to host successfully"
    gateway.until(lambda: attached in gateway.log_file("flanneld").read_text(errors="replace"), "flanneld has a bridge")

    # flannel names no adapter, and HNS takes the first one: a machine with two may get its bridge on the wrong one;
    # flannel gives the endpoint no gateway, and the host then has a second default route (flannel-io/flannel#1763)
    (network, bridge), (made, endpoint), attached_to = _written(machine)
    assert ours == [
        (network, {**bridge, "NetworkAdapterName": ADAPTER}),
        (made, {**endpoint, "GatewayAddress": "0.0.0.0"}),
        attached_to,
    ]
