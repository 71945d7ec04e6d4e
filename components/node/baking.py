"""Images: the phases of a plan that can be baked, and the files of a node that no image may contain (OPS-10)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from components.node.kinds import Step
from components.node.layout import WINDOWS, WINDOWS_KUBELET_ROOT, WINDOWS_STATE
from components.node.plan import NodePlan, Scope

FOLDERS = (WINDOWS_KUBELET_ROOT, r"C:\var\lib\cni", r"C:\run", WINDOWS.logs, WINDOWS_STATE)
"""Folders that are emptied: the node's programs and the executor write into them."""

KEPT = (WINDOWS.downloads, rf"{WINDOWS_STATE}\archives", rf"{WINDOWS_STATE}\state.json")
"""Paths in FOLDERS that stay: downloads and archive listings, so that no machine downloads again, and the executor's
record of the image phases."""

_Trace = tuple[str, str]
"""A member of `traces` and one entry of it."""


def image_plan(plan: NodePlan) -> NodePlan:
    """Return the plan of a machine that becomes an image: the image phases, without labels and taints."""
    phases = tuple(each for each in plan.phases if each.scope is Scope.IMAGE)
    empty: dict[str, Any] = {"labels": "", "taints": [], "taint_text": ""}
    return replace(plan, phases=phases, registration=empty)


def traces(plan: NodePlan) -> dict[str, list[str]]:
    """Return what is removed before an image is made, and what stays.

    files, services, tasks, rules (of the firewall): removed; those of every step in a node phase. Raises KeyError if
    TRACES lacks the kind of a step, so that no new kind is forgotten. folders: emptied, except the paths in kept and
    the folders in stays. stopped: services that stay, but are stopped.
    """
    removed: dict[str, list[str]] = {"files": [WINDOWS.kubelet_kubeconfig], "services": [], "tasks": ["mullion"]}
    removed["rules"] = []
    for member, entry in (trace for each in _steps(plan, Scope.NODE) for trace in TRACES[each.kind](each)):
        if entry not in removed[member]:
            removed[member].append(entry)
    image = list(_steps(plan, Scope.IMAGE))
    stays = [each.fields["path"] for each in image if each.kind == "directory"]
    stopped = [each.fields["service"] for each in reversed(image) if each.kind == "service"]
    return {**removed, "folders": list(FOLDERS), "kept": list(KEPT), "stays": stays, "stopped": stopped}


def _steps(plan: NodePlan, scope: Scope) -> Iterator[Step]:
    return (each for phase in plan.phases if phase.scope is scope for each in phase.steps)


def _fields(**members: str) -> Callable[[Step], Iterator[_Trace]]:
    """Return a function that yields a step's traces from its fields; members: names of the fields by member."""

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
    # folders stay: the files in them are removed by other rows or by FOLDERS
    "directory": _none,
    # networks and leases are in FOLDERS, which are emptied, and in HNS, which the script empties
    **dict.fromkeys(("stale-network", "overlay-network", "hns-network", "source-vip", "metadata-route"), _none),
    # sysprep changes the host name; priorities, firewall profiles and disabled users are the same in every cluster
    **dict.fromkeys(("hostname", "registry", "firewall-profiles", "local-user"), _none),
    # these change nothing
    **dict.fromkeys(("wait", "probe", "api-version", "node-object", "pod-range", "hypervisor"), _none),
}
"""What a step of a node phase leaves on the machine, by its kind."""


def document(plan: NodePlan, cloud: str) -> dict[str, Any]:
    """Return the content of bake.json: the cloud whose sysprep runs, and what is removed before it."""
    return {"cloud": cloud, "remove": traces(plan)}
