"""A network of the user on each cloud, for stacks that are built in it."""

from copy import deepcopy
from typing import Any

from components import naming
from components.node.merge import merge
from components.spec.models import ClusterSpec
from components.stack_files.stack import CLUSTER, read_stack
from sandbox import existing_network
from sandbox.azure.regions import SUBSCRIPTION
from sandbox.cloud_state import CloudState, Record
from tests.components.recorded_wiring import config

_VNET = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/shared"

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

BASTION = {
    "id": f"/subscriptions/{SUBSCRIPTION}/resourceGroups/hub/providers/Microsoft.Network/bastionHosts/hub",
    "range": "10.31.0.0/26",
}
"""network.existing.bastion: a host in a peered network."""

KIND = "existing"


def fields(cloud: str) -> dict[str, Any]:
    """Return changes of the prod stack of a cloud; None removes an option."""
    return {"network": {"nodes": None, "nat_gateways": None, "existing": EXISTING[cloud]}}


def stack(cloud: str, api: Any = None, **network: Any) -> tuple[dict[str, Any], ClusterSpec, str]:
    """Return configuration, spec and region of the prod stack in an existing network, with these changes.

    A network with a Bastion host is one with sessions.
    """
    settings = deepcopy(config(f"{cloud}-prod"))
    changes = fields(cloud)["network"] | network
    kept = {name: value for name, value in changes.items() if value is not None}
    cluster = merge(settings[CLUSTER], {"network": kept})
    for name in changes.keys() - kept.keys():
        cluster["network"].pop(name, None)
    if "bastion" in cluster["network"]["existing"]:
        cluster["access"] = "session"
    settings[CLUSTER] = {**cluster, "api": api} if api else cluster
    found = read_stack(f"{cloud}-existing", settings)
    return settings, found.spec, found.region


def create(path: Any, name: str, settings: dict[str, Any]) -> CloudState:
    """Create the network in the sandbox with this file; return its cloud state."""
    found, cloud_state = read_stack(name, {"gcp:project": "our-project", **settings}), CloudState(path)
    assert settings[CLUSTER]["network"]["existing"]
    existing_network.create(cloud_state, found.spec, found.region, naming.zone_name(name))
    return cloud_state


def yours(cloud_state: CloudState) -> list[Record]:
    """Return the resources of the user's network."""
    return [each for each in cloud_state.resources() if existing_network.is_yours(each.urn)]
