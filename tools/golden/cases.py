"""Stacks that register every type of resource: those of this repository, and others with further options."""

from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from components.node.merge import merge
from components.stack_files.stack import CLUSTER, stack_file_config
from operations.recorder.recorder import STASH, record
from sandbox.azure.regions import SUBSCRIPTION
from sandbox.values import plain

STACKS = Path(__file__).resolve().parents[2] / "stacks"
CLOUDS = ("aws", "azure", "gcp")
KEY = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
GCP_KEY = "projects/keys-of-ours/locations/europe-west1/keyRings/ring/cryptoKeys/disks"
_OF_OURS = "/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/keys/providers"
AZURE_KEY = f"{_OF_OURS}/Microsoft.KeyVault/vaults/keys-of-ours/keys/disks/versions/{32 * '1'}"
AZURE_USER = f"{_OF_OURS}/Microsoft.ManagedIdentity/userAssignedIdentities/encryption"
_GALLERY = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/images/providers/Microsoft.Compute/galleries/team"
_VNET = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/shared"

KEYS: dict[str, dict[str, Any]] = {
    "aws": {"encryption_key": KEY},
    "azure": {"encryption_key": AZURE_KEY, "encryption_identity": AZURE_USER},
    "gcp": {"encryption_key": GCP_KEY},
}
EXISTING: dict[str, dict[str, Any]] = {
    "aws": {
        "network": "vpc-0123456789abcdef0",
        "subnets": [
            {"id": "subnet-0123456789abcdef1", "range": "10.30.64.0/20"},
            {"id": "subnet-0123456789abcdef2", "range": "10.30.128.0/21"},
            {"id": "subnet-0123456789abcdef3", "range": "10.30.192.0/20"},
        ],
    },
    # one subnet for three zones
    "azure": {"network": _VNET, "subnets": [{"id": f"{_VNET}/subnets/nodes", "range": "10.30.0.0/20"}]},
    # of another project (Shared VPC)
    "gcp": {
        "network": "projects/host-project/global/networks/shared",
        "subnets": [{"id": "projects/host-project/regions/europe-west1/subnetworks/nodes", "range": "10.30.0.0/20"}],
    },
}
"""network.existing of the prod stack, by cloud."""

_OF_DNS = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/dns/providers/Microsoft.Network/privateDnsZones"
SERVICE_ZONES: dict[str, dict[str, Any]] = {
    "aws": {},
    "azure": {
        "service_zones": [
            f"{_OF_DNS}/privatelink.blob.core.windows.net/virtualNetworkLinks/shared",
            f"{_OF_DNS}/privatelink.vaultcore.azure.net/virtualNetworkLinks/shared",
        ]
    },
    "gcp": {"service_zones": ["projects/dns-project/managedZones/googleapis"]},
}
"""Options of network.existing without a way to the internet, by cloud."""

BASTION = {
    "id": f"/subscriptions/{SUBSCRIPTION}/resourceGroups/hub/providers/Microsoft.Network/bastionHosts/hub",
    "range": "10.31.0.0/26",
}
"""network.existing.bastion: a host in a peered network."""

ROUTED = {"network": {"mode": "l2bridge", "pods": "10.128.0.0/14", "nodes": "10.30.0.0/22"}}
MANY: dict[str, Any] = {
    "api": {"access": "public", "allow": ["203.0.113.0/24"], "audit_days": 365},
    "ingress": {"node_ports": {"ports": [30080], "allow": ["192.168.0.0/16"]}},
    "network": {"outside": ["192.168.0.0/16"]},
    "pools": {
        "web": {"spot": True, "disk_gb": 200},
        "linux": {"spot": True},
        "longest-named": {"os": "windows-2025", "count": 1},
    },
}
"""Options that work together, in each cloud, and a pool with the longest name."""
LONGEST_NAME = 26
"""Characters of a stack's longest name (the error cluster-name)."""

OF_CLOUD: dict[str, dict[str, Any]] = {
    "aws": {"registry_credentials": ["ecr"], "cloud_controller": "external", "csi": ["ebs", "smb"]},
    "azure": {
        "pools": {"web": {"licence": "own"}},
        "images": {"windows-2025": f"{_GALLERY}/images/core/versions/1.0.0"},
    },
    "gcp": {"csi": ["pd", "smb"]},
}
PODS: dict[str, Any] = {
    "pod_identity": {
        "service_accounts": [
            {"namespace": "shop", "name": "uploads", "policies": ["arn:aws:iam::123456789012:policy/shop-uploads"]},
            {"namespace": "shop", "name": "reports.monthly"},
        ]
    }
}
"""Roles of pods on AWS."""
PRINCIPALS: dict[str, Any] = {
    "pod_identity": {
        "service_accounts": [
            {"namespace": "shop", "name": "uploads"},
            {"namespace": "shop", "name": "reports.monthly"},
        ]
    }
}
"""Identities of pods on Azure and Google Cloud."""
ETCD_DISKS: dict[str, dict[str, Any]] = {
    "aws": {"etcd_disk": {"size_gb": 50, "iops": 6000, "throughput": 500}},
    "azure": {"etcd_disk": {"type": "PremiumV2_LRS"}},
    "gcp": {"etcd_disk": {"iops": 6000, "throughput": 500}, "size": "n4-standard-4"},
}
"""control_plane with a disk for etcd, by cloud."""
HYPERV_SIZES = {"aws": "m8i.2xlarge", "azure": "Standard_D8s_v5"}
"""Sizes of a pool with Hyper-V isolation, by cloud; the third has none."""
_PLANES = {cloud: {"control_plane": plane} for cloud, plane in ETCD_DISKS.items()}
CHANGES: dict[str, dict[str, Any]] = {
    "key": {},
    "etcd-disk": {},
    "many": MANY,
    "public": {"network": {"egress": "public", "nat_gateways": "single"}, "protect": False},
    "routed": ROUTED,
    "session": {"access": "session"},
    "spot": {"pools": {"web": {"spot": True}}},
}
"""Changes of the stack for production, by the name of the case."""


@dataclass(frozen=True)
class Body:
    """A registered resource. inputs: plain values by the provider's names, without secret marks; files are Asset."""

    case: str
    type: str
    name: str
    inputs: dict[str, Any]


@lru_cache
def config(stack: str) -> dict[str, Any]:
    """Return the configuration of a stack of this repository. Do not change it: later callers get the same object."""
    return stack_file_config(STACKS / f"Pulumi.{stack}.yaml")


def on_file() -> list[str]:
    """Return the names of the stacks of this repository."""
    return sorted(path.name[len("Pulumi.") : -len(".yaml")] for path in STACKS.glob("Pulumi.*.yaml"))


def longest(case: str) -> str:
    """Return a stack's name for a case; it has the most characters, because other names are made of it."""
    return f"{case}-".ljust(LONGEST_NAME, "x")


def settings() -> dict[str, dict[str, Any]]:
    """Return the configuration of each case."""
    cases = {name: config(name) for name in on_file()}
    for cloud in CLOUDS:
        for name, change in CHANGES.items():
            extra = {"key": KEYS, "many": OF_CLOUD, "etcd-disk": _PLANES}.get(name, {}).get(cloud, {})
            cases[f"{cloud}-{name}"] = changed(f"{cloud}-prod", merge(change, extra))
        cases[f"{cloud}-ingress"] = with_ingress(cloud)
        cases[f"{cloud}-existing"] = in_existing(cloud, {"existing": EXISTING[cloud]})
        cases[f"{cloud}-closed"] = without_egress(cloud)
        cases[f"{cloud}-closed-existing"] = closed_in_existing(cloud)
    for cloud, size in HYPERV_SIZES.items():
        cases[f"{cloud}-hyperv"] = changed(f"{cloud}-prod", {"pools": {"web": {"isolation": "hyperv", "size": size}}})
    cases["aws-pods"] = changed("aws-prod", PODS)
    cases["gcp-pods"] = changed("gcp-prod", PRINCIPALS)
    cases["azure-pods"] = changed("azure-prod", PRINCIPALS)
    cases["azure-bastion"] = in_existing("azure", {"existing": {**EXISTING["azure"], "bastion": BASTION}})
    return cases


def changed(stack: str, change: dict[str, Any]) -> dict[str, Any]:
    """Return a stack's configuration with another cluster: its own with this change."""
    whole = deepcopy(config(stack))
    return {**whole, CLUSTER: merge(whole[CLUSTER], change)}


def ingress(cloud: str, **fields: Any) -> dict[str, Any]:
    """Return a public load balancer with an HTTP check, and an internal one, in front of the Linux pool."""
    ports = [{"port": 30080 if cloud == "gcp" else 80, "node_port": 30080}, {"port": 30443, "node_port": 30443}]
    front = {"pools": ["linux"], "ports": ports, "allow": ["0.0.0.0/0"], "health": {"path": "/healthz"}}
    inside = {"pools": ["linux"], "ports": ports[1:], "allow": ["10.0.0.0/8"], "internal": True}
    return {"load_balancers": {"front": {**front, **fields}, "inside": inside}}


def with_ingress(cloud: str, **fields: Any) -> dict[str, Any]:
    """Return the dev stack's configuration with two load balancers of `ingress`. fields: of the public one."""
    whole = config(f"{cloud}-dev")
    cluster = whole[CLUSTER]
    pools = {**cluster["pools"], "linux": {**cluster["pools"]["linux"], "count": 2}}
    return {**whole, CLUSTER: {**cluster, "pools": pools, "ingress": ingress(cloud, **fields)}}


def in_existing(cloud: str, network: dict[str, Any], api: Any = None) -> dict[str, Any]:
    """Return the prod stack's configuration in an existing network. network: changes; None removes an option.

    A network with a Bastion host is one with sessions.
    """
    whole = deepcopy(config(f"{cloud}-prod"))
    changes = {"nodes": None, "nat_gateways": None, **network}
    kept = {name: value for name, value in changes.items() if value is not None}
    cluster = merge(whole[CLUSTER], {"network": kept})
    for name in changes.keys() - kept.keys():
        cluster["network"].pop(name, None)
    if "bastion" in cluster["network"]["existing"]:
        cluster["access"] = "session"
    return {**whole, CLUSTER: {**cluster, "api": api} if api else cluster}


def without_egress(cloud: str) -> dict[str, Any]:
    """Return the prod stack's configuration without a way to the internet; `single`, as there are no gateways."""
    whole = deepcopy(config(f"{cloud}-prod"))
    cluster = whole[CLUSTER]
    network = {**cluster.get("network", {}), "egress": "none", "nat_gateways": "single"}
    proxy = dict.fromkeys(("http", "https"), "http://10.0.0.1:3128")
    return {**whole, CLUSTER: {**cluster, "network": network, "proxy": proxy, "api": {}}}


def closed_in_existing(cloud: str, **existing: Any) -> dict[str, Any]:
    """Return the prod stack's configuration without a way to the internet in an existing network. existing: changes."""
    of_yours = {**EXISTING[cloud], **SERVICE_ZONES[cloud], **existing}
    whole = in_existing(cloud, {"existing": of_yours, "egress": "none"})
    proxy = dict.fromkeys(("http", "https"), "http://10.0.0.1:3128")
    return {**whole, CLUSTER: {**whole[CLUSTER], "proxy": proxy, "api": {}}}


@lru_cache
def bodies(cloud: str) -> tuple[Body, ...]:
    """Return what the stacks of a cloud register, without resources of the engine itself.

    Raises RuntimeError if the program refuses a stack.
    """
    found: list[Body] = []
    for case, whole in settings().items():
        if case.startswith(cloud):
            recording = record(case if case in on_file() else longest(case), whole)
            if recording.errors:
                raise RuntimeError(f"{case}: {recording.errors}")
            resources = (each for each in recording.resources.values() if each.custom and each.type != STASH)
            found += [Body(case, each.type, each.name, plain(each.inputs)) for each in resources]
    return tuple(found)
