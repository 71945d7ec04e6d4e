"""The real kube-proxy.exe on both known builds of Windows Server 2025 while the pods of a Service change.

HNS 15.4 accepts changes of load balancers and keeps the old endpoints; 15.5 changes them.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lab.hns import endpoints
from tests.lab.conftest import Find
from tests.lab.hns.cluster import NAME, OTHER, SERVICE, SLICES, Cluster
from tests.lab.hns.conftest import StartCluster
from tests.lab.hns.machine import NODE
from tests.lab.rendered import VALUES, Rendered

pytestmark = pytest.mark.lab

FIRST, SECOND = "10.244.5.7", "10.244.5.8"
"""Pods of the Linux node."""


@pytest.fixture(scope="module", params=["windows-2025-15.4", "windows-2025"])
def proxied(
    request: pytest.FixtureRequest,
    start: StartCluster,
    plugins: Mapping[str, Path],
    program: Find,
    all_plans: Mapping[tuple[str, str], Rendered],
) -> Iterator[Cluster]:
    """Return a cluster with a bridge, a Service with the pod FIRST, and kube-proxy."""
    plan = all_plans.get(("windows-2025", "l2bridge"))
    if plan is None:
        pytest.skip("this Kubernetes does not run on Windows Server 2025")
    with start(plan, request.param) as made:
        made.node(NAME, NODE, VALUES["machine.pod_cidr"], {})
        made.node("linux-0", OTHER, "10.244.5.0/24", {})
        made.machine.install(plugins)
        assert made.machine.steps(plan, "hns-network") == ["hns-network False True"]
        made.serve("web", SERVICE, {FIRST: "linux-0"})
        made.start_proxy(plan, program("kube-proxy", "windows"), (SERVICE,))
        yield made


def backends(made: Cluster) -> set[str]:
    """Return the addresses of the Service's pods in HNS."""
    service = made.machine.service
    balancers = [each for each in service.all("LoadBalancer") if each.get("FrontendVIPs") == [SERVICE]]
    used = [each for balancer in balancers for each in balancer["HostComputeEndpoints"]]
    return {endpoints.address(service.get("Endpoint", each)) for each in used}


def test_a_services_load_balancer_follows_its_pods(proxied: Cluster) -> None:
    assert backends(proxied) == {FIRST}
    ready = {"nodeName": "linux-0", "conditions": {"ready": True, "serving": True}}
    proxied.plane.call("PATCH", f"{SLICES}/web", {"endpoints": [{"addresses": [SECOND], **ready}]})
    proxied.until(lambda: backends(proxied) == {SECOND}, "the load balancer has the new pod")

    service = proxied.machine.service
    modified = any(words[0] == "ModifyLoadBalancer" for words in service.calls)
    assert modified == service.build.modifies
    assert service.refusals == []
