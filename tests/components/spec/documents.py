"""A valid sample stack, changes to it, and the problems that reading a changed stack reports."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from components.spec.report import Problem, SpecError
from components.stack_files.stack import CLUSTER, read_stack

GOOD: dict[str, Any] = {
    "cloud": "aws",
    "kubernetes": "1.36.4",
    "control_plane": {"count": 3, "size": "m6i.large"},
    "pools": {
        "linux": {"os": "ubuntu-24.04", "count": 2, "size": "m6i.large"},
        "web": {"os": "windows-2022", "count": 3, "size": "m6i.xlarge"},
    },
}
"""No error and no warning."""

REGION = {
    "aws:region": "eu-west-1",
    "gcp:region": "europe-west1",
    "gcp:project": "our-project",
    "azure-native:location": "westeurope",
}
"""Region of each cloud: only the key of the stack's cloud is read."""

Change = Mapping[str, Any]


class Only(dict[str, Any]):
    """A mapping that replaces the existing one instead of being merged into it."""


class _Removed:
    def __repr__(self) -> str:
        return "REMOVED"  # an address in the repr would differ between processes, and test ids contain it


REMOVED: Any = _Removed()
"""As a value in a change: remove the key."""


@dataclass(frozen=True)
class Case:
    """A check, a change that trips it at a path, and the nearest change that passes."""

    id: str
    trips: Change
    path: str
    passes: Change
    config: Change = field(default_factory=dict[str, Any])
    """Config keys beside mullion:cluster that trip the check."""
    name: str = "aws-test"
    """Name of the stack that trips the check."""


def net(**fields: Any) -> Change:
    return {"network": fields}


def plane(**fields: Any) -> Change:
    return {"control_plane": fields}


def linux(**fields: Any) -> Change:
    return {"pools": {"linux": fields}}


def gcp(change: Change | None = None) -> Change:
    """Return the change that moves the cluster to GCP, with other options changed too."""
    sizes: Change = {"control_plane": {"size": "n2-standard-2"}}
    named = {"linux": {"size": "n2-standard-2"}, "web": {"size": "n2-standard-4"}}
    return both({**sizes, "cloud": "gcp", "pools": named}, change or {})


def azure(change: Change | None = None) -> Change:
    """Return the change that moves the cluster to Azure, with other options changed too.

    The allow list opens the stores to the program.
    """
    sizes: Change = {"control_plane": {"size": "Standard_D2s_v5"}, "api": {"allow": ["203.0.113.0/24"]}}
    named = {"linux": {"size": "Standard_D2s_v5"}, "web": {"size": "Standard_D4s_v5"}}
    return both({**sizes, "cloud": "azure", "pools": named}, change or {})


def web(**fields: Any) -> Change:
    return {"pools": {"web": fields}}


def kubelet(**fields: Any) -> Change:
    """Return a change of the kubelet options of the Windows pool."""
    return web(kubelet=fields)


def pools(**named: Any) -> Change:
    """Return the change that replaces all pools by these."""
    return {"pools": Only(named)}


def both(*changes: Change) -> Change:
    """Merge changes into one."""
    result: Change = {}
    for change in changes:
        result = changed(change, result)
    return result


def changed(change: Change, document: Change = GOOD) -> dict[str, Any]:
    """Return the document with a change merged into it, key by key."""
    result: dict[str, Any] = deepcopy(dict(document))
    for key, value in change.items():
        if value is REMOVED:
            result.pop(key, None)
        elif isinstance(value, Mapping) and not isinstance(value, Only) and isinstance(result.get(key), Mapping):
            result[key] = changed(value, result[key])
        else:
            result[key] = dict(value) if isinstance(value, Only) else value
    return result


def problems(document: Any, name: str = "aws-test", config: Change = REGION) -> tuple[Problem, ...]:
    """Return the errors, or else the warnings, that reading the document reports."""
    try:
        return read_stack(name, {**config, CLUSTER: document}).warnings
    except SpecError as failure:
        return failure.problems


def reported(document: Any) -> set[tuple[str, str]]:
    """Return id and path of each problem."""
    return {(each.id, each.path) for each in problems(document)}
