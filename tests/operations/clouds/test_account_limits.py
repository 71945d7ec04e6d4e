"""Account limits: what the plan counts is what the recorded resources take, by the sandbox's own tables of sizes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from components.catalogue.account_limits import (
    ACCOUNTS,
    ADDRESSES,
    ENDPOINTS,
    EVERYWHERE,
    FIREWALLS,
    NETWORKS,
    SSD,
    STATIC,
    VCPUS,
)
from components.plan import plan_cluster
from components.stack_files.stack import CLUSTER, read_stack
from operations.clouds.account_limits import account_limits
from operations.recorder.recorder import Recording, record
from sandbox.aws import offerings
from sandbox.azure import regions as azure
from sandbox.gcp import regions as gcp
from tests.components.recorded_wiring import config, of, plan, recording
from tools.golden.cases import without_egress

STACKS = ("aws-dev", "aws-ci", "aws-prod", "azure-dev", "azure-ci", "azure-prod", "gcp-dev", "gcp-ci", "gcp-prod")


def _sizes(found: Recording) -> int:
    by_size: dict[str, tuple[Callable[[dict[str, Any]], str], Callable[[str], int | None]]] = {
        "aws:ec2/instance:Instance": (lambda inputs: inputs["instanceType"], offerings.vcpus),
        "azure-native:compute:VirtualMachine": (lambda inputs: inputs["hardwareProfile"]["vmSize"], azure.vcpus),
        "gcp:compute/instance:Instance": (lambda inputs: inputs["machineType"], gcp.vcpus),
    }
    return sum(
        vcpus(size(one.inputs)) or 0 for type_, (size, vcpus) in by_size.items() for one in of(found, type_).values()
    )


def _disks(found: Recording) -> int:
    machines = of(found, "gcp:compute/instance:Instance").values()
    disks = [machine.inputs["bootDisk"]["initializeParams"] for machine in machines]
    disks += [disk.inputs for disk in of(found, "gcp:compute/disk:Disk").values()]
    return sum(disk["size"] for disk in disks if disk["type"].startswith("pd-"))


def _addresses(found: Recording) -> int:
    plain = ("aws:ec2/eip:Eip", "azure-native:network:PublicIPAddress", "gcp:compute/routerNat:RouterNat")
    public = [
        one
        for one in of(found, "gcp:compute/instance:Instance").values()
        if one.inputs["networkInterfaces"][0].get("accessConfigs")
    ]
    return sum(len(of(found, type_)) for type_ in plain) + _reserved(found) + len(public)


def _reserved(found: Recording) -> int:
    addresses = of(found, "gcp:compute/address:Address").values()
    return sum(one.inputs["addressType"] == "EXTERNAL" for one in addresses)


def _endpoints(found: Recording) -> int:
    endpoints = of(found, "aws:ec2/vpcEndpoint:VpcEndpoint").values()
    return sum(each.inputs.get("vpcEndpointType") == "Interface" for each in endpoints)


def test_a_plan_counts_the_interface_endpoints_that_it_builds() -> None:
    settings = without_egress("aws")
    planned = plan_cluster("aws-prod", read_stack("aws-prod", settings).spec)
    [needed] = [row["needed"] for row in account_limits(planned) if row["what"] == ENDPOINTS]
    assert needed == _endpoints(record("aws-prod", settings)) > 0


@pytest.mark.parametrize("stack", STACKS)
def test_a_plan_counts_what_the_resources_take(stack: str) -> None:
    found = recording(stack)
    counted = {VCPUS: _sizes(found), ADDRESSES: _addresses(found), SSD: _disks(found)}
    counted |= {EVERYWHERE: counted[VCPUS], STATIC: _reserved(found)}
    counted[NETWORKS] = sum(len(of(found, type_)) for type_ in ("aws:ec2/vpc:Vpc", "gcp:compute/network:Network"))
    counted[FIREWALLS] = len(of(found, "gcp:compute/firewall:Firewall"))
    counted[ENDPOINTS] = _endpoints(found)
    counted[ACCOUNTS] = len(of(found, "gcp:serviceaccount/account:Account"))
    rows = account_limits(plan(stack))
    assert {row["what"]: row["needed"] for row in rows} == {row["what"]: counted[row["what"]] for row in rows}
    assert counted[VCPUS] > 0


def test_each_public_load_balancer_on_google_cloud_takes_a_reserved_address() -> None:
    cluster, linux = config("gcp-dev")[CLUSTER], {"os": "ubuntu-24.04", "count": 1}
    front = {"pools": ["linux"], "ports": [{"port": 30080, "node_port": 30080}], "allow": ["0.0.0.0/0"]}
    inside = {**front, "internal": True, "allow": ["10.0.0.0/8"]}
    ingress = {"load_balancers": {"front": front, "inside": inside}}
    settings = {**config("gcp-dev"), CLUSTER: {**cluster, "pools": {"linux": linux}, "ingress": ingress}}
    planned = plan_cluster("gcp-dev", read_stack("gcp-dev", settings).spec)
    [needed] = [row["needed"] for row in account_limits(planned) if row["what"] == STATIC]
    assert needed == _reserved(record("gcp-dev", settings)) == 1 + planned.endpoint.public


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_an_existing_network_takes_none_of_the_limit(cloud: str) -> None:
    planned = plan(f"{cloud}-dev")
    planned = replace(planned, network=replace(planned.network, existing=True))
    rows = {row["what"]: row["needed"] for row in account_limits(planned)}
    assert rows[NETWORKS] == 0 and rows[VCPUS] > 0


def test_hyperdisks_do_not_count_as_persistent_disks() -> None:
    cluster = config("gcp-dev")[CLUSTER]
    pools = {**cluster["pools"], "web": {**cluster["pools"]["web"], "size": "n4-standard-4"}}
    settings = {**config("gcp-dev"), CLUSTER: {**cluster, "pools": pools}}
    changed, before = (
        {row["what"]: row["needed"] for row in account_limits(each)}
        for each in (plan_cluster("gcp-dev", read_stack("gcp-dev", settings).spec), plan("gcp-dev"))
    )
    web = next(group for group in plan("gcp-dev").pools if group.name == "web")
    assert before[SSD] - changed[SSD] == web.disk_gb * len(web.machines) > 0


@pytest.mark.parametrize(("size", "counted"), [("n2-standard-2", True), ("n4-standard-4", False)])
def test_disks_of_etcd_count_as_persistent_disks_unless_they_are_hyperdisks(size: str, counted: bool) -> None:
    cluster = config("gcp-prod")[CLUSTER]
    planes = {**cluster["control_plane"], "size": size}
    needed: list[int] = []
    for plane in (planes, {**planes, "etcd_disk": {"size_gb": 40}}):
        settings = {**config("gcp-prod"), CLUSTER: {**cluster, "control_plane": plane}}
        planned = plan_cluster("gcp-prod", read_stack("gcp-prod", settings).spec)
        [row] = [row["needed"] for row in account_limits(planned) if row["what"] == SSD]
        assert row == _disks(record("gcp-prod", settings))
        needed.append(row)
    assert needed[1] - needed[0] == (120 if counted else 0)
