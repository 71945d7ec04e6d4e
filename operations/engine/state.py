"""What the engine's state says about a cluster: machines, what is kept on purpose, the predicted time line."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pulumi import automation as auto

from operations.clouds import cloud_tables
from operations.console.exits import Exit, Stop
from operations.engine.events import SILENT
from operations.stacks import target
from sandbox.values import SECRET, SIGNATURE

STACK = "pulumi:pulumi:Stack"
BUCKETS = frozenset(each.bucket for each in cloud_tables.CLOUDS.values())

State = list[dict[str, Any]]
"""The resources of a state, as `pulumi stack export` gives them."""


def resources_of(deployment: auto.Deployment) -> State:
    """Return the resources of an exported state."""
    return (deployment.deployment or {}).get("resources") or []


def resources(stack: auto.Stack) -> State:
    """Return the resources of a stack's state, secrets decrypted: the Automation API exports so."""
    return resources_of(stack.export_stack())


def outputs(deployment: auto.Deployment) -> auto.OutputMap:
    """Return the outputs of the stack itself, of a state that was exported with its secrets decrypted."""
    found = next((each.get("outputs") or {} for each in resources_of(deployment) if each["type"] == STACK), {})
    return {name: _output(value) for name, value in found.items()}


def _output(value: Any) -> auto.OutputValue:
    """An output is secret as a whole where any part of it is."""
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
    """Return the outputs of the cluster's instances, by machine name; `id` is what the machine calls itself."""
    cloud, found = cloud_tables.of(state), dict[str, dict[str, Any]]()
    for each in filter(cloud.is_machine, state):
        outputs = each.get("outputs", {})
        named = each["urn"].rpartition("::")[2].removeprefix(f"{cloud.tag(outputs, 'cluster')}-")
        known = {"id": each.get("id", ""), "zone": cloud.zone_of(outputs), "pool": cloud.tag(outputs, "pool")}
        found[named] = {**outputs, **known, "id": ({**outputs, **known}).get(cloud.instance) or ""}
    return found


@dataclass(frozen=True)
class Stores:
    """Names of a cluster's two buckets, and unique ids of the two roles that machines have."""

    bundles: str
    snapshots: str
    control_plane: str
    workers: str


def stores(stack: str, state: State) -> Stores:
    """Return where a stack's machines keep what they say; Stop where its state does not tell."""
    outputs = {
        (each["type"], each["urn"].rpartition("::")[2]): {"id": each.get("id", ""), **(each.get("outputs") or {})}
        for each in state
    }
    cloud = cloud_tables.of(state)
    try:
        names = [outputs[cloud.bucket, f"{stack}-{each}"][cloud.named] for each in ("bundles", "snapshots")]
        return Stores(*names, *(cloud_tables.role(cloud, outputs, stack, each) for each in cloud_tables.GROUPS))
    except KeyError as error:
        raise Stop(
            Exit.FAILED, f"the state of {stack} has no {error}; `{target.command('up', stack)}` goes on"
        ) from error


def protected(state: State) -> list[str]:
    """Return the names of protected resources."""
    return [each["urn"].rpartition("::")[2] for each in state if each.get("protect")]


def released(state: State) -> bool:
    """Take off what keeps a whole cluster from going at once: protection, and hooks before a deletion, for which the
    engine would want the program, and which are for pools that stay. False where there was none.
    """
    found = False
    for each in state:
        found |= each.pop("protect", False) | (each.pop("resourceHooks", None) is not None)
    return found


def unprotected(state: State, urns: list[str]) -> bool:
    """Take protection off what a person asked to replace; the program protects what comes. False where none had it."""
    found = [each for each in state if each["urn"] in urns and each.pop("protect", False)]
    return bool(found)


def waiting_version(state: State, kubernetes: str) -> str:
    """Return the version that pools have while they wait for the control plane to reach another; else nothing."""
    pools = (each.get("outputs") or {} for each in state if each["type"].endswith(":Workers"))
    return next((each["kubernetes"] for each in pools if each.get("kubernetes", kubernetes) != kubernetes), "")


def kept(state: State) -> list[str]:
    """Return the names of buckets that `down` leaves on purpose."""
    return [each.get("id", "") for each in state if each["type"] in BUCKETS and each.get("retainOnDelete")]


def counted(state: State) -> int:
    """Return how many resources a state has; components, providers and the stack itself do not count."""
    return sum(not each["type"].startswith(SILENT) for each in state)


def waits(state: State) -> Iterable[tuple[str, list[str], str]]:
    """Give URN, URNs it waited for, and type, of all that providers made: parents come before children too."""
    for each in state:
        if each.get("custom"):
            yield each["urn"], list(each.get("dependencies") or []), each["type"]
