"""Nodes of a cluster that somebody else made: which are machines of a stack, and the deletion of those alone.

A machine's name is unique in its stack, and not in such a cluster. A Node is that of an instance if its
spec.providerID, which no Node can change, names the instance. An instance that no longer exists was one of the stack if
the stack's bundle store has its status record.
"""

from typing import Any

from components.plan import ClusterPlan
from components.rollout.authority_gate import Records
from components.rollout.kubernetes_api import KubernetesApi, Refused
from components.rollout.workers import Instances

NODES = "/api/v1/nodes"


class Taken(Exception):
    """Nodes that are no machines of the stack have names of its machines; the message names each with the reason."""


def path(name: str) -> str:
    """Return the path of a Node in the API."""
    return f"{NODES}/{name}"


def provider_id(node: dict[str, Any]) -> str:
    """Return the providerID of a Node, for messages."""
    spec: dict[str, Any] = node.get("spec") or {}
    return str(spec.get("providerID") or "no providerID")


def instance_of(node: dict[str, Any]) -> str:
    """Return the id of a Node's instance, the end of aws:///ZONE/ID; empty if it has no providerID."""
    spec: dict[str, Any] = node.get("spec") or {}
    return str(spec.get("providerID") or "").rpartition("/")[2]


async def delete(api: KubernetesApi, node: dict[str, Any]) -> None:
    """Delete this Node, and no other that got its name meanwhile. Raises Unreachable, or Refused unless it is gone."""
    try:
        await api.call("DELETE", path(node["metadata"]["name"]), {"preconditions": {"uid": node["metadata"]["uid"]}})
    except Refused as error:
        if error.status != 404:
            raise


async def clear(api: KubernetesApi, plan: ClusterPlan, records: Records) -> list[str]:
    """Delete the Nodes of planned machines whose former instances are gone, so that successors can register.

    Return their names. Raises Taken, before any deletion, if another Node has the name of a planned machine;
    Unreachable, Refused and ProviderError.
    """
    planned = {machine.name: (group, machine) for group in plan.pools for machine in group.machines}
    found = {node["metadata"]["name"]: node for node in (await api.call("GET", NODES))["items"]}
    found = {name: node for name, node in found.items() if name in planned}
    running, stopped = await records.instances() if found else Instances({}, {})
    lost, taken = list[dict[str, Any]](), list[str]()
    for name, node in found.items():
        (group, machine), instance = planned[name], instance_of(node)
        address = str(machine.address)
        if instance and instance in (running.get(address), stopped.get(address)):
            continue
        record = await records.record(group.identity_of(machine), instance) if instance else {"state": "absent"}
        if record["state"] == "absent":
            reason = f"; its status record: {record['message']}" if "message" in record else ""
            taken.append(f"{name} ({provider_id(node)}{reason})")
        elif instance not in {*running.values(), *stopped.values()}:
            lost.append(node)
    if taken:
        raise Taken(", ".join(taken))
    for node in lost:
        await delete(api, node)
    return [node["metadata"]["name"] for node in lost]
