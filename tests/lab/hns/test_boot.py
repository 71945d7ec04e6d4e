"""A boot loses flanneld's network; flanneld makes it again, also on Windows Server 2019, which has no HostRoute."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lab.hns.errors import Code
from lab.hns.networks import management_address
from lab.hns.service import Object, policies
from tests.lab.conftest import Find
from tests.lab.hns.cluster import NAME, Cluster
from tests.lab.hns.conftest import StartCluster
from tests.lab.hns.machine import plugin
from tests.lab.rendered import Rendered

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def older(
    start: StartCluster,
    plugins: Mapping[str, Path],
    program: Find,
    plans: Mapping[str, Rendered],
) -> Iterator[Cluster]:
    """Return a cluster whose machine is Windows Server 2019, after flanneld's first start."""
    with start(plans["defaults"], "windows-2019") as made:
        made.join_overlay(plugins, program("flanneld", "windows"))
        yield made


def _kept(network: Object) -> tuple[object, ...]:
    """Return what a boot may not change: all but ids, and the router's MAC, which HNS makes from the id here."""
    return network["Name"], network["Ipams"], management_address(network), policies(network, "RemoteSubnetRoute")


def test_flanneld_makes_its_network_again_after_a_boot(
    older: Cluster, program: Find, plans: Mapping[str, Rendered]
) -> None:
    service, conf = older.machine.service, plugin(plans["defaults"].content("cni-config"), older.flannel())
    older.machine.pod(conf, "before")
    (first,) = service.all("Network")
    assert policies(first, "HostRoute") == []
    assert [each.split()[0] for each in service.refusals] == [Code.INVALID_POLICY_TYPE.name]

    older.stop()
    service.reboot()
    assert service.all("Network") == service.all("Endpoint") == []
    older.flanneld(program("flanneld", "windows"))

    (second,) = service.all("Network")
    assert second["ID"] != first["ID"]
    assert _kept(second) == _kept(first)
    said = older.plane.call("GET", f"/api/v1/nodes/{NAME}")["metadata"]["annotations"]
    router = policies(second, "DrMacAddress")[0]["Address"].replace("-", ":").lower()
    assert router in said["flannel.alpha.coreos.com/backend-data"]
    assert older.machine.pod(conf, "after")["HostComputeNetwork"] == second["ID"]
