"""Fixtures of the embedded cloud: AWS, unless a folder below has an `account` of another cloud."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from operations.engine.locate import Engine
from sandbox.aws.cloud import AWS
from sandbox.cloud_state import CloudState
from tests.sandbox import running
from tests.sandbox.account import Account, Thing
from tests.sandbox.aws.account import AMI, REGION, Network


@pytest.fixture
def cloud_state(tmp_path: Path) -> Any:
    opened = CloudState(tmp_path / "world", seed="test")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def tidied() -> Iterator[None]:
    """Collect what engines leave after the last test of a module."""
    yield from running.collected()


@pytest.fixture
def runner(request: pytest.FixtureRequest, tmp_path: Path, engine: Engine, tidied: None) -> Iterator[running.Runner]:
    """Return a stack of the module's SMALL program, before its first run."""
    made = running.Runner(tmp_path, engine, request.module.SMALL)
    yield made
    made.cloud_state.close()


@pytest.fixture
def account(cloud_state: CloudState) -> Account:
    return Account(cloud_state, AWS, REGION)


@pytest.fixture
def network(account: Account) -> Network:
    vpc = account.create("Vpc", "vpc", cidrBlock="10.20.0.0/16")
    subnet = account.create("Subnet", "a", vpcId=vpc.id, cidrBlock="10.20.0.0/24", availabilityZone=f"{REGION}a")
    group = account.create("SecurityGroup", "nodes", vpcId=vpc.id)
    return Network(vpc, subnet, group)


@pytest.fixture
def machine(account: Account, network: Network) -> Callable[..., Thing]:
    """Create an instance; inputs override the defaults below."""

    def create(name: str = "m0", **inputs: Any) -> Thing:
        plain: dict[str, Any] = {
            "ami": AMI,
            "instanceType": "m6i.large",
            "subnetId": network.subnet.id,
            "vpcSecurityGroupIds": [network.group.id],
        }
        return account.create("Instance", name, **(plain | inputs))

    return create
