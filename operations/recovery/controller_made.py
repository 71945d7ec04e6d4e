"""What a cloud controller made outside the stack: before a removal, its load balancers and groups join the state.

The engine then deletes them in an order that ends: first the control plane, so that the controller makes no new ones;
then the load balancers; then the workers' security group, whose rules name the groups of load balancers; then those
groups, and the network at last. A removal that is cut off has them in the state, so the next one goes on.
"""

from collections.abc import Mapping
from typing import Any

from components.naming import CONTROL_PLANE
from components.spec.models import CloudController
from operations.clouds import cloud_tables
from operations.engine.events import CLUSTER
from operations.recovery import tag_search

Resource = dict[str, Any]

GROUP, NETWORK = "aws:ec2/securityGroup:SecurityGroup", "aws:ec2/vpc:Vpc"
BALANCERS = ("aws:lb/loadBalancer:LoadBalancer", "aws:elb/loadBalancer:LoadBalancer")
TARGETS = "aws:lb/targetGroup:TargetGroup"
_HELD = (NETWORK, GROUP, TARGETS, "aws:ec2/subnet:Subnet", "aws:ec2/internetGateway:InternetGateway")
"""Types that cannot be deleted while a load balancer uses them."""


def adopt(name: str, resources: list[Resource], *, sandbox: bool) -> list[str]:
    """Add to a state what the cluster's cloud controller made; return the ids. Empty without a controller.

    Searches the account with the stack's own provider. Raises what the engine raises if that fails.
    """
    root = next((each for each in resources if each["type"] == CLUSTER), None)
    external = (root or {}).get("inputs", {}).get("cloud_controller") == CloudController.EXTERNAL.value
    network = _network(resources, (root or {}).get("inputs", {}))
    if root is None or not external or not network:
        return []
    cluster = root["urn"].rpartition("::")[2]
    known = {each.get("id") for each in resources}
    found = [each for each in _search(name, cluster, network, resources, sandbox) if each["id"] not in known]
    insert(resources, root, found)
    return [each["id"] for each in found]


def _network(resources: list[Resource], spec: Mapping[str, Any]) -> str:
    """Return the id of the cluster's VPC; empty once it is gone.

    A removal that was cut off may have left nothing but the VPC, and a VPC of the user's is in the spec alone.
    """
    existing = (spec.get("network") or {}).get("existing") or {}
    owned = (str(each.get("id") or "") for each in resources if each["type"] == NETWORK)
    return str(existing.get("network") or "") or next(owned, "")


def _search(name: str, cluster: str, network: str, resources: list[Resource], sandbox: bool) -> list[Mapping[str, Any]]:
    """Return type, id and properties of what has the controller's tag in the cluster's network."""
    found: list[Mapping[str, Any]] = []

    async def look(provider: Any, parent: Any, tag: str) -> None:
        found.extend(await provider.made_by_controller(parent, tag, network))

    tag_search.run(name, cluster, resources, look, sandbox=sandbox)
    return found


def insert(resources: list[Resource], root: Resource, found: list[Mapping[str, Any]]) -> None:
    """Insert resources into a state, where the engine wants each one after those that it depends on."""
    ours = [each for each in resources if each["type"] == GROUP]
    entries = [entry(each, root, resources, "controller") for each in found]
    for made in (each for each in entries if each["type"] not in BALANCERS):
        at = resources.index(ours[0]) if ours else len(resources)
        made["dependencies"] = [each["urn"] for each in resources[:at] if each["type"] == NETWORK]
        resources.insert(at, made)
        if made["type"] == GROUP:
            follow(ours, made["urn"])
    machines = [each for each in resources if _is_control_plane(each)]
    for made in (each for each in entries if each["type"] in BALANCERS):
        at = resources.index(machines[0]) if machines else len(resources)
        made["dependencies"] = [each["urn"] for each in resources[:at] if each["type"] in _HELD]
        resources.insert(at, made)
        follow(machines, made["urn"])


def _is_control_plane(resource: Resource) -> bool:
    cloud = cloud_tables.AWS
    return cloud.is_machine(resource) and cloud.tag(resource.get("inputs", {}), "pool") == CONTROL_PLANE


def follow(later: list[Resource], urn: str) -> None:
    """Let resources depend on another one, so that they are deleted before it."""
    for each in later:
        each["dependencies"] = [*(each.get("dependencies") or []), urn]


def entry(found: Mapping[str, Any], root: Resource, resources: list[Resource], maker: str) -> Resource:
    """Return the state's entry of a found resource, as an import would write it. maker: a word of its URN."""
    head, types, cluster = root["urn"].rsplit("::", 2)
    package = f"pulumi:providers:{found['type'].partition(':')[0]}"
    provider = next(each for each in resources if each["type"] == package)
    return {
        "urn": f"{head}::{types}${found['type']}::{cluster}-{maker}-{found['name']}",
        "custom": True,
        "id": found["id"],
        "type": found["type"],
        "inputs": dict(found["properties"]),
        "outputs": {"id": found["id"], **found["properties"]},
        "parent": root["urn"],
        "provider": f"{provider['urn']}::{provider['id']}",
    }
