"""Queries and edits of a cluster's state: machines, stores, protection, versions."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pulumi import automation as auto

from components import clouds
from components.spec import expiry
from operations.clouds import cloud_tables
from operations.console.exits import Exit, Stop
from operations.engine.events import SILENT
from operations.stacks import target
from sandbox.values import SECRET, SIGNATURE

STACK, STASH = "pulumi:pulumi:Stack", "pulumi:index:Stash"
JOINED = "mullion:index:JoinedCluster"
"""Component of a stack whose pools join a cluster that somebody else made."""
BUCKETS = frozenset(each.bucket for each in cloud_tables.CLOUDS.values())

State = list[dict[str, Any]]
"""The resources of a state, as `pulumi stack export` gives them."""


def resources_of(deployment: auto.Deployment) -> State:
    """Return the resources of an exported state."""
    return (deployment.deployment or {}).get("resources") or []


def resources(stack: auto.Stack) -> State:
    """Return the resources of a stack's state, secrets decrypted by the Automation API."""
    return resources_of(stack.export_stack())


def outputs(deployment: auto.Deployment) -> auto.OutputMap:
    """Return the stack's own outputs from a state that was exported with decrypted secrets."""
    found = next((each.get("outputs") or {} for each in resources_of(deployment) if each["type"] == STACK), {})
    return {name: _output(value) for name, value in found.items()}


def _output(value: Any) -> auto.OutputValue:
    """Return an output as the engine's: secret if any part of it is."""
    opened = _opened(value)
    return auto.OutputValue(opened, secret=opened != value)


def _opened(value: Any) -> Any:
    if isinstance(value, list):
        return [_opened(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get(SIGNATURE) == SECRET:
        return _opened(json.loads(value["plaintext"]))
    return {name: _opened(each) for name, each in value.items()}


def instances(state: State) -> dict[str, dict[str, Any]]:
    """Return the outputs of the cluster's instances, by machine name. `id`: the machine's own instance id;
    `resource`: the engine's id of the resource.
    """
    cloud, found = cloud_tables.of(state), dict[str, dict[str, Any]]()
    for machine in filter(cloud.is_machine, state):
        outputs = machine.get("outputs", {})
        named = machine["urn"].rpartition("::")[2].removeprefix(f"{cloud.tag(outputs, 'cluster')}-")
        known = {"id": machine.get("id", ""), "zone": cloud.zone_of(outputs), "pool": cloud.tag(outputs, "pool")}
        known["resource"] = known["id"]
        found[named] = {**outputs, **known, "id": ({**outputs, **known}).get(cloud.instance) or ""}
    return found


def machine_urns(state: State, cluster: str, machines: Collection[str]) -> list[str]:
    """Return the URNs of the cluster's machines that the state has, of these names, and of their disks.

    A disk that is a resource of its own has its machine's name. It is replaced with the machine: etcd's data of a
    member that was removed are worthless, and a new machine formats no disk that has data.
    """
    names, cloud = {f"{cluster}-{machine}" for machine in machines}, cloud_tables.of(state)
    ours = [each for each in state if cloud.is_machine(each) or cloud.is_disk(each)]
    return [each["urn"] for each in ours if each["urn"].rpartition("::")[2] in names]


def created(resource: Mapping[str, Any]) -> datetime | None:
    """Return when the engine created a resource, UTC, in whole seconds; None if the state does not say."""
    text = resource.get("created")
    return expiry.moment(f"{text[:19]}Z") if isinstance(text, str) else None


@dataclass(frozen=True)
class Stores:
    """Names of a cluster's two buckets, and the name prefixes of machines' records.

    snapshots: empty for pools that join a cluster of somebody else.
    """

    bundles: str
    snapshots: str
    cloud: str
    roles: Mapping[str, str]
    """Role ids by name of the identity; empty where records' names begin with the identity's name."""
    identities: Mapping[str, str]
    """Names of the machines' identities by machine, where an option decides which machines share one; else empty."""

    def prefix(self, pool: str, machine: str) -> str:
        """Return the prefix of a machine's records; a colon and the instance id follow."""
        share = clouds.CLOUDS[self.cloud].workers_share
        identity = self.identities.get(machine) or share.identity_of(pool, machine)
        return self.roles.get(identity, identity)


def stores(stack: str, state: State) -> Stores:
    """Return the stores of a stack's machines. Raises Stop if the state lacks one."""
    outputs = {
        (resource["type"], resource["urn"].rpartition("::")[2]): {
            "id": resource.get("id", ""),
            **(resource.get("outputs") or {}),
        }
        for resource in state
        if not resource.get("delete")
    }
    cloud = cloud_tables.of(state)
    joins = any(resource["type"] == JOINED for resource in state)
    try:
        bundles = outputs[cloud.bucket, f"{stack}-bundles"][cloud.named]
        snapshots = "" if joins else outputs[cloud.bucket, f"{stack}-snapshots"][cloud.named]
        own = cloud_tables.identities(cloud, outputs, stack)
        return Stores(bundles, snapshots, cloud.name, cloud_tables.roles(cloud, outputs, stack, joins=joins), own)
    except KeyError as error:
        said = f"the state of {stack} has no store of bundles or snapshots, because its first run did not finish"
        raise Stop(Exit.FAILED, f"{said}; run: {target.command('up', stack)}") from error


def stashed(stack: str, state: State, name: str) -> Any:
    """Return a value that the program keeps in the state, such as `cluster-ca`; None if there is none.

    The Automation API exports the state decrypted.
    """
    for resource in state:
        if resource["type"] == STASH and resource["urn"].endswith(f"::{stack}-{name}"):
            value: Any = resource["outputs"]["output"]
            while isinstance(value, dict) and "plaintext" in value:
                value = json.loads(value["plaintext"])
            return value
    return None


def protected(state: State) -> list[str]:
    """Return the names of protected resources."""
    return [each["urn"].rpartition("::")[2] for each in state if each.get("protect")]


def released(state: State) -> bool:
    """Remove `protect` and before-delete hooks from the state, so one run can destroy everything. Return whether any
    was set.

    The hooks need the program, and only make sense while the cluster stays.
    """
    found = False
    for each in state:
        found |= each.pop("protect", False) | (each.pop("resourceHooks", None) is not None)
    return found


def unprotected(state: State, urns: list[str]) -> bool:
    """Remove `protect` from the resources that are to be replaced. Return whether any had it.

    The program protects their replacements again.
    """
    found = [each for each in state if each["urn"] in urns and each.pop("protect", False)]
    return bool(found)


def without(state: State, urns: Collection[str]) -> State:
    """Return a state without these resources and without the names of them in the others."""

    def left(names: Iterable[str] | None) -> list[str]:
        return [urn for urn in names or () if urn not in urns]

    parents = {each["urn"]: each.get("parent", "") for each in state}
    kept: State = []
    for given in (each for each in state if each["urn"] not in urns):
        each = {**given, **{key: left(given[key]) for key in ("dependencies", "replaceWith") if key in given}}
        if "propertyDependencies" in each:
            each["propertyDependencies"] = {key: left(names) for key, names in each["propertyDependencies"].items()}
        if each.get("deletedWith") in urns:
            del each["deletedWith"]
        while each.get("parent") in urns:
            each["parent"] = parents[each["parent"]]
        kept.append(each)
    return kept


def waiting_version(state: State, kubernetes: str) -> str:
    """Return the older version of pools that wait for the control plane to reach `kubernetes`; empty if none waits."""
    pools = (each.get("outputs") or {} for each in state if each["type"].endswith(":Workers"))
    return next((each["kubernetes"] for each in pools if each.get("kubernetes", kubernetes) != kubernetes), "")


def kept(state: State) -> list[str]:
    """Return the names of buckets that `down` keeps on purpose."""
    return [each.get("id", "") for each in state if each["type"] in BUCKETS and each.get("retainOnDelete")]


def counted(state: State) -> int:
    """Return the number of resources, without components, providers and the stack itself."""
    return sum(not each["type"].startswith(SILENT) for each in state)


def waits(state: State) -> Iterable[tuple[str, list[str], str]]:
    """Yield URN, URNs of dependencies, and type of each resource of a provider."""
    for each in state:
        if each.get("custom"):
            yield each["urn"], list(each.get("dependencies") or []), each["type"]
