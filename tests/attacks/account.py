"""An AWS account with the machines of a cluster, whose rights are those that the program gives them.

Each machine talks to the services from an address of its own, so its requests carry its own identity and come from the
cluster's network, with the endpoint of S3 that every cluster with a network of its own has.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from components.aws import identity, snapshot_copies
from components.topology.firewall import SecurityGroup
from sandbox.aws import gateways, network
from sandbox.aws.iam import PROFILE, ROLE, ROLE_POLICY
from sandbox.aws.regions import ACCOUNT
from sandbox.aws.s3 import BUCKET
from sandbox.aws.secretsmanager import ENTRY
from sandbox.cloud_state import SERVICES, CloudState
from sandbox.services.server import Services
from tests.cloud_init.accounts import AWS_REGION, TRUST, put

ROLE_IDS = {SecurityGroup.CONTROL_PLANE: "AROACONTROLPLANE", SecurityGroup.WORKERS: "AROAWORKERS"}
VPC = "vpc-0"
NAT_ADDRESS = "198.51.100.7"
COPIES = {"copies-here": AWS_REGION, "copies-elsewhere": "eu-central-1"}
"""Region of each bucket of the owner's with copies of snapshots."""
SECRET_NAMES = ("join", "pki", "desired-state")
JOIN = "joined.0123456789abcdef"
"""Text of the secret `join`."""


def arn(secret: str) -> str:
    return f"arn:aws:secretsmanager:{AWS_REGION}:{ACCOUNT}:secret:{secret}-abcdef"


class Account:
    """Machines by name: id of the instance and URL at which it reaches the services."""

    def __init__(self, cloud_state: CloudState, services: Services, loader: Any) -> None:
        self.cloud_state, self.services, self.loader = cloud_state, services, loader
        self.instances: dict[str, str] = {}
        self.urls: dict[str, str] = {}
        self.addresses: dict[str, str] = {}
        self._made = 0

    def launch(self, name: str, address: str) -> str:
        """Create an instance; return its id. An older instance of the address must be terminated first."""
        self._made += 1
        instance, group = f"i-{self._made:017x}", group_of(name)
        given: dict[str, Any] = {"iamInstanceProfile": group.value, "ami": "ami-0", "instanceType": "m6i.large"}
        given["subnetId"] = "subnet-0"
        given["metadataOptions"] = {"httpTokens": "required", "httpPutResponseHopLimit": 1}
        computed = {"privateIp": address, "privateDns": f"ip-{address.replace('.', '-')}"}
        computed |= {"primaryNetworkInterfaceId": f"eni-{self._made}", "availabilityZone": f"{AWS_REGION}a"}
        with self.cloud_state.transaction():
            put(self.cloud_state, network.INSTANCE, instance, given, **computed, tenancy="default")
        self.instances[name], self.addresses[name] = instance, address
        self.urls[name] = self.services.listen("127.0.0.1", machine=instance)
        return instance

    def terminate(self, name: str) -> None:
        """Delete the instance of this name."""
        record = self.cloud_state.find(network.INSTANCE, self.instances.pop(name))
        assert record is not None
        with self.cloud_state.transaction():
            self.cloud_state.remove(record.sequence)

    @contextmanager
    def on(self, name: str) -> Iterator[dict[str, str]]:
        """Act as root on a machine: its metadata service and identity; yield its facts."""
        url, before = self.urls[name], self.loader.METADATA
        self.loader.METADATA = url
        facts = {"cloud": "aws", "region": AWS_REGION, "world": "sandbox", "cluster": "shop"}
        facts |= {"secret_service": f"{url}/", "compute_service": f"{url}/", "bundle_store": f"{url}/bundles"}
        facts |= {"snapshot_store": f"{url}/snapshots"}
        facts |= {f"{each.replace('-', '_')}_secret": each for each in SECRET_NAMES}
        try:
            yield facts | {"status_url": f"{url}/bundles/status/{ROLE_IDS[group_of(name)]}%3A"}
        finally:
            self.loader.METADATA = before

    def members(self) -> dict[str, dict[str, Any]]:
        """Return the member list by name: machines that exist, and web-9, which is planned and not made yet."""
        addresses = self.addresses | {"web-9": "10.20.1.99"}
        return {
            name: {
                "name": name,
                "pool": name.rpartition("-")[0],
                "address": address,
                "pods": None,
                "labels": {},
                "taints": [],
                "records": f"{ROLE_IDS[group_of(name)]}:",
            }
            for name, address in addresses.items()
        }


def group_of(name: str) -> SecurityGroup:
    """Return the security group of a machine."""
    return SecurityGroup.CONTROL_PLANE if name.startswith("control-plane") else SecurityGroup.WORKERS


def _on_copies() -> list[dict[str, Any]]:
    """Return the rights on both buckets with copies; a cluster has one bucket."""
    found = [snapshot_copies.SnapshotCopy(bucket=name, region=region) for name, region in COPIES.items()]
    ways = [snapshot_copies.source(each, AWS_REGION, VPC, [NAT_ADDRESS]) for each in found]
    return [row for each, way in zip(found, ways, strict=True) for row in snapshot_copies.statements("shop", each, way)]


@contextmanager
def opened(folder: Path, loader: ModuleType) -> Iterator[Account]:
    """Yield an account with stores, secrets and roles, and without machines."""
    cloud_state = CloudState(folder / "world")
    arns = {each: arn(each) for each in SECRET_NAMES}
    arns |= {each: f"arn:aws:s3:::{each}" for each in ("bundles", "snapshots")}
    with ExitStack() as stack:
        with cloud_state.transaction():
            cloud_state.set_setting(SERVICES, "http")
            put(cloud_state, network.SUBNET, "subnet-0", {"vpcId": VPC, "cidrBlock": "10.20.0.0/16"})
            table = {"subnetId": "subnet-0", "routeTableId": "rtb-0"}
            put(cloud_state, network.ASSOCIATION, "rtbassoc-0", table)
            way = {"vpcId": VPC, "serviceName": f"com.amazonaws.{AWS_REGION}.s3", "routeTableIds": ["rtb-0"]}
            put(cloud_state, gateways.ENDPOINT, "vpce-0", way | {"vpcEndpointType": "Gateway"})
            put(cloud_state, network.NAT, "nat-0", {"subnetId": "subnet-1"}, publicIp=NAT_ADDRESS)
            put(cloud_state, network.TABLE, "rtb-0", {"vpcId": VPC})
            out = {"routeTableId": "rtb-0", "destinationCidrBlock": "0.0.0.0/0", "natGatewayId": "nat-0"}
            put(cloud_state, network.ROUTE, "r-0", out)
            for name in ("bundles", "snapshots"):
                put(cloud_state, BUCKET, name, {"bucket": name})
            for name, region in COPIES.items():
                put(cloud_state, BUCKET, name, {"bucket": name}, region=region)
            for group, unique in ROLE_IDS.items():
                trust = json.dumps({"Version": "2012-10-17", "Statement": [TRUST]})
                role = f"arn:aws:iam::{ACCOUNT}:role/{group.value}"
                put(cloud_state, ROLE, group.value, {"assumeRolePolicy": trust}, arn=role, uniqueId=unique)
                rows = identity.statements(group, arns, vpcs={"s3": VPC})
                rows += _on_copies() if group is SecurityGroup.CONTROL_PLANE else []
                policy = {"Version": "2012-10-17", "Statement": rows}
                put(cloud_state, ROLE_POLICY, group.value, {"role": group.value, "policy": json.dumps(policy)})
                profile = role.replace("role/", "instance-profile/")
                put(cloud_state, PROFILE, group.value, {"role": group.value}, arn=profile, uniqueId=f"AIPA{unique}")
            for name in SECRET_NAMES:
                put(cloud_state, ENTRY, arn(name), {"name": name})
            cloud_state.put_secret(arn("join"), f"{1:032}", JOIN)
            cloud_state.put_secret(arn("desired-state"), f"{1:032}", "the key of this test's documents")
        services = stack.enter_context(Services(cloud_state.path))
        yield Account(cloud_state, services, loader)
    cloud_state.close()
