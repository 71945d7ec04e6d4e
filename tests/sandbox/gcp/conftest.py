"""One embedded GCP project for a test."""

from typing import Any

import pytest

from sandbox.cloud_state import CloudState
from sandbox.gcp.cloud import GCP
from tests.sandbox.account import Account
from tests.sandbox.scenes import Scene, maker

REGION, ZONE = "europe-west1", "europe-west1-b"
PROJECT = "projects/mullion-sandbox"
IMAGE = "projects/ubuntu-os-cloud/global/images/ubuntu-2204-jammy-v20251112"
SCENES: dict[str, tuple[str, dict[str, Any]]] = {
    "net": ("Network", {"name": "net", "autoCreateSubnetworks": False}),
    "far-net": ("Network", {"name": "far-net", "autoCreateSubnetworks": False}),
    "sub": ("Subnetwork", {"name": "sub", "network": "$net", "ipCidrRange": "10.20.0.0/24", "region": REGION}),
    "far-sub": ("Subnetwork", {"name": "far-sub", "network": "$far-net", "ipCidrRange": "10.20.0.0/24"}),
    "router": ("Router", {"name": "router", "network": "$net", "region": REGION}),
    "nat": (
        "RouterNat",
        {
            "name": "nat",
            "router": "router",
            "region": REGION,
            "natIpAllocateOption": "AUTO_ONLY",
            "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
            "subnetworks": [{"name": "$sub", "sourceIpRangesToNats": ["ALL_IP_RANGES"]}],
        },
    ),
    "node": ("Account", {"accountId": "node-account"}),
    "machine": (
        "Instance",
        {
            "name": "machine",
            "zone": ZONE,
            "machineType": "n2-standard-2",
            "bootDisk": {"initializeParams": {"image": IMAGE, "size": 50, "type": "pd-balanced"}},
            "networkInterfaces": [{"subnetwork": "$sub", "networkIp": "10.20.0.9"}],
        },
    ),
    "far-disk": ("Disk", {"name": "far-disk", "zone": "europe-west1-c", "size": 20, "type": "pd-ssd"}),
    "hyper-disk": ("Disk", {"name": "hyper-disk", "zone": ZONE, "size": 20, "type": "hyperdisk-balanced"}),
    "group": ("InstanceGroup", {"name": "group", "zone": ZONE, "network": "$net", "instances": ["$machine"]}),
    "member": ("InstanceGroupMembership", {"instance": "$machine", "instanceGroup": "$group", "zone": ZONE}),
    "check": ("RegionHealthCheck", {"name": "check", "httpsHealthCheck": {"port": 6443, "requestPath": "/readyz"}}),
    "service": (
        "RegionBackendService",
        {
            "name": "service",
            "protocol": "TCP",
            "loadBalancingScheme": "INTERNAL",
            "healthChecks": "$check",
            "backends": [{"group": "$group", "balancingMode": "CONNECTION"}],
        },
    ),
    "address": (
        "Address",
        {"name": "address", "addressType": "INTERNAL", "subnetwork": "$sub", "address": "10.20.0.40"},
    ),
    "rule": (
        "ForwardingRule",
        {
            "name": "rule",
            "loadBalancingScheme": "INTERNAL",
            "ipAddress": "10.20.0.40",
            "ports": ["6443"],
            "backendService": "$service",
            "network": "$net",
            "subnetwork": "$sub",
        },
    ),
    "zone": (
        "ManagedZone",
        {
            "name": "zone",
            "dnsName": "c.mullion.internal.",
            "visibility": "private",
            "privateVisibilityConfig": {"networks": [{"networkUrl": "$net"}]},
        },
    ),
    "record": (
        "RecordSet",
        {"managedZone": "zone", "name": "api.c.mullion.internal.", "type": "A", "ttl": 60, "rrdatas": ["10.20.0.40"]},
    ),
    "bucket": (
        "Bucket",
        {
            "name": "bundles",
            "location": "EUROPE-WEST1",
            "uniformBucketLevelAccess": True,
            "publicAccessPrevention": "enforced",
        },
    ),
    "object": ("BucketObject", {"bucket": "bundles", "name": "a", "content": "x"}),
    "secret": ("Secret", {"secretId": "pki", "replication": {"auto": {}}}),
    "version": ("SecretVersion", {"secret": "$secret", "secretData": "value"}),
    "pool": ("WorkloadIdentityPool", {"workloadIdentityPoolId": "pods-dev-bcdfgh"}),
    "verifier": (
        "WorkloadIdentityPoolProvider",
        {
            "workloadIdentityPoolId": "pods-dev-bcdfgh",
            "workloadIdentityPoolProviderId": "cluster",
            "attributeMapping": {"google.subject": "assertion.sub"},
            "oidc": {"issuerUri": "https://kubernetes.default.svc.cluster.local"},
        },
    ),
    "role": ("IAMCustomRole", {"roleId": "reader", "title": "reads", "permissions": ["compute.instances.get"]}),
}
NEEDS = {"nat": "router", "record": "zone", "object": "bucket", "verifier": "pool", "rule": "address"}
"""Resources that a row needs besides those that its inputs name."""


@pytest.fixture
def account(cloud_state: CloudState) -> Account:
    return Account(cloud_state, GCP, REGION)


@pytest.fixture
def scene(account: Account) -> Scene:
    return maker(account, SCENES, NEEDS)
