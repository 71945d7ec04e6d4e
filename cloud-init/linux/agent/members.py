"""Nodes of planned members: labels, taints and pod range as planned; Nodes whose machine is gone for good go.

Only what was planned is touched: what is no longer among the keys planned last is taken away; all other labels and
taints are somebody else's. The keys planned last are remembered where no node can write: a node that was broken into
must not have a taint taken off it by naming it there.
"""

import json
from collections.abc import Iterable
from typing import Any

from report import say

from agent.api import MERGE, Refused
from agent.memory import PLANNED, Memory
from agent.seen import NODES, Seen, is_ready

Keys = dict[str, list[str]]
"""{"labels": [key], "taints": ["key:Effect"]}, sorted."""
NONE: Keys = {"labels": [], "taints": []}
AWAY = 60.0
"""Seconds that a Node off the list must have been seen not Ready before the cloud is asked for its machine, whose word
decides: no longer, since checks of the cluster count the pods of such a Node, and each new start of the agent counts
anew."""


def decide(node: dict[str, Any], member: dict[str, Any], before: Keys) -> dict[str, Any] | None:
    """The merge patch that makes a Node what its member is planned as; None where it is. before: keys planned last."""
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
    # a list of taints is replaced whole, so nobody may have written since
    about: dict[str, Any] = {"resourceVersion": metadata["resourceVersion"]} if "taints" in changed else {}
    about |= {"labels": wrong} if wrong else {}
    return {"metadata": about, "spec": changed} if about or changed else None


def mark(taint: dict[str, Any]) -> str:
    """What makes two taints the same one."""
    return f"{taint['key']}:{taint['effect']}"


def taints(has: list[dict[str, Any]], planned: list[dict[str, Any]], before: Iterable[str]) -> list[dict[str, Any]]:
    """The Node's taints as they shall be, in their order: others' stay, planned ones are as planned, old ones go."""
    ours = {mark(each): {name: value for name, value in each.items() if value} for each in planned}
    result: list[dict[str, Any]] = []
    for each in has:
        mine = ours.pop(mark(each), None)
        if mine is not None:  # with timeAdded, which is the API's
            result.append(each if each.get("value", "") == mine.get("value", "") else mine)
        elif mark(each) not in before:
            result.append(each)
    return result + list(ours.values())


def keys(member: dict[str, Any]) -> Keys:
    """What is planned for a member, to be remembered."""
    return {"labels": sorted(member["labels"]), "taints": sorted(map(mark, member["taints"]))}


def reconcile(seen: Seen) -> None:
    """Patch members' Nodes, remove Nodes of machines that are gone for good. Says at its end what it could not do."""
    if seen.members is None:
        return
    wrong: list[str] = []
    memory = Memory(seen.api, PLANNED)
    last = {name: json.loads(text) for name, text in memory.values.items() if name in seen.nodes()}
    for name, node in list(seen.nodes().items()):
        member = seen.members.get(name)
        try:
            if member:
                wrong += fixed(node, member)
                if patch := decide(node, member, last.get(name, NONE)):
                    seen.api.call("PATCH", f"{NODES}/{name}", patch, MERGE)
                last[name] = keys(member)
            elif departed(seen, node):
                seen.remove(node)
                say(f"Node {name} is removed: no member, not Ready, and its machine is gone")
        except Refused as error:
            if error.status not in (404, 409):  # it went, or somebody wrote: the next round sees
                wrong.append(f"{error}")
    memory.become({name: json.dumps(each) for name, each in last.items()})
    if wrong:
        raise RuntimeError("; ".join(wrong))


def departed(seen: Seen, node: dict[str, Any]) -> bool:
    """Off the newest list, not Ready for a while, and the cloud says that the machine is no more."""
    return seen.members_current and not is_ready(node) and seen.unready_for(node) >= AWAY and seen.gone(node)


def fixed(node: dict[str, Any], member: dict[str, Any]) -> list[str]:
    """A pod range that is not the planned one: it cannot change while the Node lives."""
    has = node["spec"].get("podCIDR")
    if not member.get("pods") or has in (None, "", member["pods"]):
        return []
    return [f"Node {member['name']} has pod range {has}, and {member['pods']} is planned: delete the Node"]
