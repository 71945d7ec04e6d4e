"""`mullion down` removes what a cloud controller made before the network, and leaves nothing."""

from typing import Any

import pytest

from operations.clouds import cloud_tables
from operations.engine.locate import Engine
from sandbox import faults
from sandbox.aws.cloud import AWS
from sandbox.cloud_state import CloudState
from sandbox.provider import Provider

from .clone import Clone

pytestmark = pytest.mark.engine

GROUP, NETWORK = "aws:ec2/securityGroup:SecurityGroup", "aws:ec2/vpc:Vpc"
CLASSIC = "aws:elb/loadBalancer:LoadBalancer"
BALANCER, TARGETS = "aws:lb/loadBalancer:LoadBalancer", "aws:lb/targetGroup:TargetGroup"


def one(cloud_state: CloudState, type: str, name: str) -> str:
    """Return the id of the resource of a type whose name ends so."""
    return next(each.id for each in cloud_state.resources(type) if each.name.endswith(name))


def make(cloud_state: CloudState, cluster: str, *names: str) -> None:
    """Make what the controller makes of Services with a classic and with a network load balancer, of these names."""
    provider, tags = Provider(AWS, cloud_state), {f"kubernetes.io/cluster/{cluster}": "owned"}
    assert provider.configure({"region": "eu-west-1"}) == []

    def create(type: str, called: str, **inputs: Any) -> str:
        given = {"name": called, "tags": tags, **inputs}
        return provider.create(f"urn:pulumi:x::x::{type}::{called}", given, preview=False)[0]

    network, subnet = one(cloud_state, NETWORK, "-vpc"), one(cloud_state, "aws:ec2/subnet:Subnet", "-edge-0")
    listener = {"lbPort": 80, "lbProtocol": "tcp", "instancePort": 30080, "instanceProtocol": "tcp"}
    for name in names:
        group = create(GROUP, f"k8s-elb-{name}", description=name, vpcId=network)
        create(CLASSIC, name, subnets=[subnet], securityGroups=[group], listeners=[listener])
        create(BALANCER, f"{name}-net", loadBalancerType="network", subnets=[subnet])
        create(TARGETS, f"k8s-{name}", port=30443, protocol="TCP", vpcId=network)


def test_down_removes_what_the_cloud_controller_made_also_after_a_cut(
    tmp_path_factory: pytest.TempPathFactory, engine: Engine
) -> None:
    clone = Clone(tmp_path_factory.mktemp("clone"), engine)
    # it does not expire: of a temporary cluster the same command would delete by tags what the fault has left
    lasting = {key: value for key, value in clone.document().items() if key != "expires"}
    clone.write({**lasting, "cloud_controller": "external"})
    clone.built()
    with clone.cloud_state() as cloud_state:
        make(cloud_state, clone.stack, "a")
        faults.plan(cloud_state, "fail", type=CLASSIC)
    down = clone.run("down", clone.stack, "--sandbox", "--yes")
    assert down.returncode and "InternalFailure" in down.stderr
    with clone.cloud_state() as cloud_state:
        left = {each.type for each in cloud_state.resources()}
        assert left >= {CLASSIC, GROUP, NETWORK}, "what a load balancer uses waits for it"
        assert cloud_tables.AWS.machine not in left, "the control plane, which would make new ones, goes first"
        make(cloud_state, clone.stack, "late")  # between the search and the end of the control plane
    down = clone.run("down", clone.stack, "--sandbox", "--yes")
    assert down.returncode == 0, down.stderr
    with clone.cloud_state() as cloud_state:
        kept = {each.name for each in cloud_state.resources()}
    assert kept == {f"{clone.stack}-snapshots"}, "the snapshots of a cluster that does not expire stay"
