"""A network of the user on each cloud, for stacks that are built in it."""

from typing import Any

from components import naming
from components.spec.models import ClusterSpec
from components.stack_files.stack import CLUSTER, read_stack
from sandbox import existing_network
from sandbox.cloud_state import CloudState, Record
from tools.golden.cases import BASTION, EXISTING, SERVICE_ZONES, closed_in_existing, in_existing

__all__ = [
    "BASTION",
    "EXISTING",
    "KIND",
    "SERVICE_ZONES",
    "closed_in_existing",
    "create",
    "fields",
    "stack",
    "yours",
]

KIND = "existing"


def fields(cloud: str) -> dict[str, Any]:
    """Return changes of the prod stack of a cloud; None removes an option."""
    return {"network": {"nodes": None, "nat_gateways": None, "existing": EXISTING[cloud]}}


def stack(cloud: str, api: Any = None, **network: Any) -> tuple[dict[str, Any], ClusterSpec, str]:
    """Return configuration, spec and region of the prod stack in an existing network, with these changes.

    A network with a Bastion host is one with sessions.
    """
    settings = in_existing(cloud, {**fields(cloud)["network"], **network}, api)
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
