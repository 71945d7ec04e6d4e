"""One embedded AWS for a test, asked the way the engine asks it: check, then create, update or delete."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.aws.cloud import AWS
from sandbox.aws.regions import UBUNTU, image
from sandbox.cloud import Cloud, Refusal
from sandbox.cloud_state import CloudState
from sandbox.provider import Provider

REGION = "eu-west-1"
AMI = image(REGION, UBUNTU.format(release="22.04", arch="amd64", volume="ebs-gp2"))
TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}],
    }
)
POLICY = json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}
)


@dataclass
class Thing:
    """A resource as the engine's state has it."""

    urn: str
    id: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]


class Account:
    """Creates, changes and deletes like the engine. `short` types are the class name: Vpc, Subnet, Instance.

    Where a cloud has two classes of one name, `short` is the last two parts of the token: projects/iAMMember:IAMMember.
    """

    def __init__(self, cloud_state: CloudState, cloud: Cloud = AWS, region: str = REGION) -> None:
        self.cloud_state = cloud_state
        self.provider = Provider(cloud, cloud_state)
        assert self.provider.configure({cloud.region: region}) == []
        self.tokens = {token.rsplit(":", 1)[-1]: token for token in cloud.types}
        self.tokens |= {token.partition(":")[2]: token for token in cloud.types}

    def urn(self, short: str, name: str) -> str:
        return f"urn:pulumi:dev::mullion::{self.tokens[short]}::{name}"

    def check(self, short: str, name: str, old: dict[str, Any] | None = None, /, **inputs: Any) -> dict[str, Any]:
        """Checked inputs; failures fail the test."""
        checked, failures = self.provider.check(self.urn(short, name), old or {}, inputs, b"seed")
        assert failures == []
        return checked

    def failures(self, short: str, /, **inputs: Any) -> dict[str, str]:
        """Reason by property path."""
        _, failures = self.provider.check(self.urn(short, "x"), {}, inputs, b"seed")
        return {failure.property: failure.reason for failure in failures}

    def create(self, short: str, name: str, /, **inputs: Any) -> Thing:
        checked = self.check(short, name, **inputs)
        id, outputs = self.provider.create(self.urn(short, name), checked, preview=False)
        return Thing(self.urn(short, name), id, checked, outputs)

    def update(self, thing: Thing, /, **changes: Any) -> Thing:
        short, name = thing.urn.split("::")[-2].partition(":")[2], thing.urn.rsplit("::", 1)[-1]
        merged = {key: value for key, value in (thing.inputs | changes).items() if key != "__defaults"}
        checked = self.check(short, name, thing.inputs, **merged)
        outputs = self.provider.update(thing.urn, thing.id, thing.outputs, checked, preview=False)
        return Thing(thing.urn, thing.id, checked, outputs)

    def delete(self, thing: Thing) -> None:
        self.provider.delete(thing.urn, thing.id, thing.outputs)

    def refused(self, call: Callable[[], Any]) -> Refusal:
        """The refusal of a call, which must leave everything in the world as it was."""
        before = [record.outputs for record in self.cloud_state.resources()]
        with pytest.raises(Refusal) as caught:
            call()
        assert [record.outputs for record in self.cloud_state.resources()] == before, "a refused call changes nothing"
        assert self.cloud_state.operations()[-1].error == str(caught.value), "a refused call is in the log"
        return caught.value


@pytest.fixture
def cloud_state(tmp_path: Path) -> Any:
    opened = CloudState(tmp_path / "world", seed="test")
    yield opened
    opened.close()


@pytest.fixture
def account(cloud_state: CloudState) -> Account:
    return Account(cloud_state)


@dataclass
class Network:
    """A VPC with one subnet and one security group."""

    vpc: Thing
    subnet: Thing
    group: Thing


@pytest.fixture
def network(account: Account) -> Network:
    vpc = account.create("Vpc", "vpc", cidrBlock="10.20.0.0/16")
    subnet = account.create("Subnet", "a", vpcId=vpc.id, cidrBlock="10.20.0.0/24", availabilityZone=f"{REGION}a")
    group = account.create("SecurityGroup", "nodes", vpcId=vpc.id)
    return Network(vpc, subnet, group)


@pytest.fixture
def machine(account: Account, network: Network) -> Callable[..., Thing]:
    """Create an instance; inputs given override those of a plain one."""

    def create(name: str = "m0", **inputs: Any) -> Thing:
        plain: dict[str, Any] = {
            "ami": AMI,
            "instanceType": "m6i.large",
            "subnetId": network.subnet.id,
            "vpcSecurityGroupIds": [network.group.id],
        }
        return account.create("Instance", name, **(plain | inputs))

    return create
