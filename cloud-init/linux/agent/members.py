"""Nodes of planned members: sets labels, taints and pod range; deletes Nodes whose machine the cloud has deleted.

Pods of a deleted machine's Node would stay in the state Terminating, and their volumes attached, until the next `up`.

Only planned keys are changed: keys of the previous plan that are no longer planned are removed, and labels whose key is
planned for other members, with which a stolen worker could attract their pods. Other labels and taints stay. Planned
keys are stored where no node can write: a compromised node could otherwise declare a taint planned and have it removed.
"""

import json
from collections.abc import Iterable
from typing import Any

from report import say

from agent.api import MERGE, Refused
from agent.memory import PLANNED, Memory
from agent.seen import AWAY, LONG_AWAY, NODES, Seen

Keys = dict[str, list[str]]
"""{"labels": [key], "taints": ["key:Effect"]}, sorted."""
NONE: Keys = {"labels": [], "taints": []}


def decide(node: dict[str, Any], member: dict[str, Any], before: Keys) -> dict[str, Any] | None:
    """Return the merge patch that sets a Node as planned; None if it is. before: keys of the previous plan."""
    metadata, spec = node["metadata"], node["spec"]
    labels = metadata.get("labels") or {}
    wrong: dict[str, Any] = {key: value for key, value in member["labels"].items() if labels.get(key) != value}
    wrong |= {key: None for key in before["labels"] if key not in member["labels"] and key in labels}
    has, wanted = spec.get("taints") or [], taints(spec.get("taints") or [], member["taints"], before["taints"])
    changed: dict[str, Any] = {}
    if member.get("pods") and not spec.get("podCIDR"):
        changed |= {"podCIDR": member["pods"], "podCIDRs": [member["pods"]]}
    if has != wanted:
        changed["taints"] = wanted
    # a merge patch replaces the whole list: fail if it has changed since it was read
    about: dict[str, Any] = {"resourceVersion": metadata["resourceVersion"]} if "taints" in changed else {}
    about |= {"labels": wrong} if wrong else {}
    return {"metadata": about, "spec": changed} if about or changed else None


def mark(taint: dict[str, Any]) -> str:
    """Return the identity of a taint."""
    return f"{taint['key']}:{taint['effect']}"


def taints(has: list[dict[str, Any]], planned: list[dict[str, Any]], before: Iterable[str]) -> list[dict[str, Any]]:
    """Return the Node's taints in their order: others' kept, planned ones set, those no longer planned dropped."""
    ours = {mark(each): {name: value for name, value in each.items() if value} for each in planned}
    result: list[dict[str, Any]] = []
    for entry in has:
        mine = ours.pop(mark(entry), None)
        if mine is not None:  # with timeAdded, set by the API
            result.append(entry if entry.get("value", "") == mine.get("value", "") else mine)
        elif mark(entry) not in before:
            result.append(entry)
    return result + list(ours.values())


def keys(member: dict[str, Any]) -> Keys:
    """Return a member's planned keys, for the memory."""
    return {"labels": sorted(member["labels"]), "taints": sorted(map(mark, member["taints"]))}


def reconcile(seen: Seen) -> None:
    """Patch members' Nodes and delete Nodes of deleted machines. At the end raise RuntimeError with all errors."""
    if seen.members is None:
        return
    wrong: list[str] = []
    elsewhere = {key for each in seen.members.values() for key in each["labels"]}
    memory = Memory(seen.api, PLANNED)
    last = {name: json.loads(text) for name, text in memory.values.items() if name in seen.nodes()}
    for name, node in list(seen.nodes().items()):
        member = seen.members.get(name)
        try:
            if departed(seen, node, planned=bool(member)):
                seen.remove(node)
                say(f"Node {name} is removed: its machine is deleted")
            elif member:
                wrong += fixed(node, member)
                before = last.get(name, NONE)
                if patch := decide(node, member, {**before, "labels": sorted({*before["labels"], *elsewhere})}):
                    seen.api.call("PATCH", f"{NODES}/{name}", patch, MERGE)
                last[name] = keys(member)
        except Refused as error:
            if error.status not in (404, 409):  # deleted or changed meanwhile: the next round handles it
                wrong.append(f"{error}")
    memory.become({name: json.dumps(each) for name, each in last.items()})
    if wrong:
        raise RuntimeError("; ".join(wrong))


def departed(seen: Seen, node: dict[str, Any], *, planned: bool) -> bool:
    """Return whether the list is current, the Node silent for AWAY seconds, and its machine deleted.

    A planned one has to be silent for LONG_AWAY seconds: `up` may be about to create the successor. One that is not
    planned may have a fresh Lease if the machine that the agent admitted under its name is deleted: then somebody else
    renews it, with the key of that machine.
    """
    if not seen.members_current:
        return False
    admitted = "" if planned else seen.machines.issued(node["metadata"]["name"]).instance
    if admitted and seen.deleted(admitted):
        return True
    return seen.silent_for(node) >= (LONG_AWAY if planned else AWAY) and seen.gone(node)


def fixed(node: dict[str, Any], member: dict[str, Any]) -> list[str]:
    """Return an error if the Node has another pod range than planned: a Node's range cannot change."""
    has = node["spec"].get("podCIDR")
    if not member.get("pods") or has in (None, "", member["pods"]):
        return []
    return [f"Node {member['name']} has pod range {has}, and {member['pods']} is planned: delete the Node"]
