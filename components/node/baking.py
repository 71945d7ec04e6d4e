"""Images: what of a plan can be baked, and what a node leaves behind that no image may hold (OPS-10)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from components.node.kinds import Step
from components.node.layout import WINDOWS, WINDOWS_KUBELET_ROOT, WINDOWS_STATE
from components.node.plan import NodePlan, Scope

FOLDERS = (WINDOWS_KUBELET_ROOT, r"C:\var\lib\cni", r"C:\run", WINDOWS.logs, WINDOWS_STATE)
"""Emptied: what nodes' programs, and the executor, write by themselves."""

KEPT = (WINDOWS.downloads, rf"{WINDOWS_STATE}\archives", rf"{WINDOWS_STATE}\state.json")
"""Of these: downloads and listings, so that no machine fetches them again, and what image phases remember."""

_Trace = tuple[str, str]
"""Member of the document below, and one entry of it."""


def image_plan(plan: NodePlan) -> NodePlan:
    """The plan of a machine that becomes an image: its image phases, and nothing that a cluster says."""
    phases = tuple(each for each in plan.phases if each.scope is Scope.IMAGE)
    nobody: dict[str, Any] = {"labels": "", "taints": [], "taint_text": ""}
    return replace(plan, phases=phases, registration=nobody)


def traces(plan: NodePlan) -> dict[str, list[str]]:
    """What goes before an image is made, and what stays.

    files, services, tasks, rules (of the firewall): of every step that makes one machine what it is; so a step that is
    added is thought of (KeyError: its kind is not). folders: emptied, but for what is kept and for folders that stay.
    stopped: services that stay.
    """
    found: dict[str, list[str]] = {"files": [WINDOWS.kubelet_kubeconfig], "services": [], "tasks": ["mullion"]}
    found["rules"] = []
    for member, entry in (trace for each in _steps(plan, Scope.NODE) for trace in TRACES[each.kind](each)):
        if entry not in found[member]:
            found[member].append(entry)
    image = list(_steps(plan, Scope.IMAGE))
    stays = [each.fields["path"] for each in image if each.kind == "directory"]
    stopped = [each.fields["service"] for each in reversed(image) if each.kind == "service"]
    return {**found, "folders": list(FOLDERS), "kept": list(KEPT), "stays": stays, "stopped": stopped}


def _steps(plan: NodePlan, scope: Scope) -> Iterator[Step]:
    return (each for phase in plan.phases if phase.scope is scope for each in phase.steps)


def _fields(**members: str) -> Callable[[Step], Iterator[_Trace]]:
    """Traces that stand in fields of the step, by the member they belong to."""

    def of(step: Step) -> Iterator[_Trace]:
        for member, names in members.items():
            yield from ((member, str(step.fields[name])) for name in names.split() if name in step.fields)

    return of


def _tasks(step: Step) -> Iterator[_Trace]:
    yield "tasks", f"mullion-{step.fields['task']}"


def _none(_: Step) -> Iterator[_Trace]:
    return iter(())


TRACES: dict[str, Callable[[Step], Iterator[_Trace]]] = {
    "file": _fields(files="path"),
    "certificate-authority": _fields(files="path"),
    "kubelet-bootstrap": _fields(files="path certificate"),
    "service": _fields(services="service"),
    "task": _tasks,
    "firewall-rule": _fields(rules="rule"),
    # a folder may stay, empty of what other steps put there; FOLDERS have the rest
    "directory": _none,
    # the network and its books are in FOLDERS and in HNS, which the script empties as a whole
    **dict.fromkeys(("stale-network", "overlay-network", "hns-network", "source-vip", "metadata-route"), _none),
    # sysprep gives another name; a kind of program, or the firewall as a whole, is no cluster's
    **dict.fromkeys(("hostname", "registry", "firewall-profiles", "local-user"), _none),
    # these only look
    **dict.fromkeys(("wait", "probe", "api-version", "node-object", "pod-range"), _none),
}
"""What a step of a node phase leaves, by its kind."""


def document(plan: NodePlan, cloud: str) -> dict[str, Any]:
    """bake.json: the cloud whose sysprep is run, and what goes before it."""
    return {"cloud": cloud, "remove": traces(plan)}
