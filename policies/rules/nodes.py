"""Reserves and the kubelet's priority on Windows nodes, read from the node plan in each bundle.

Only the bundle's archive contains the plan; user-data does not.
"""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from policies.rules.rule import OBJECTS, UNKNOWN, Content, Resource, ResourceRule

_BUNDLE = re.compile(r"bundles/.+/[0-9a-f]{64}\.zip")
_PRIORITY = "--windows-priorityclass="
_NOTHING = re.compile(r"0+(?:\.0+)?[A-Za-z]*")


def node_plan(content: Content) -> dict[str, Any] | None:
    """Return the plan in a bundle's archive; None if it has none, or it cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(content.data or b"")) as archive:
            return json.loads(archive.read("plan.json"))
    except (zipfile.BadZipFile, KeyError, ValueError):
        return None


def _steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for phase in plan["phases"]:
        yield from phase["steps"]


def _kubelet(stored: Resource) -> Iterator[str]:
    key, source = stored.properties.get(OBJECTS[stored.type]), stored.properties.get("source")
    if not isinstance(key, str) or not _BUNDLE.fullmatch(key) or source is UNKNOWN:
        return
    plan = node_plan(source) if isinstance(source, Content) else None
    if plan is None:
        yield "its archive has no readable plan.json, so its reserves are unknown"
    elif plan["os"].startswith("windows"):
        yield from _reserves(plan)
        yield from _priority(plan)


def _reserves(plan: dict[str, Any]) -> Iterator[str]:
    configs = [each["content"] for each in _steps(plan) if each.get("name") == "kubelet-config"]
    for resource in ("memory", "cpu"):
        reserved = [str(config.get("systemReserved", {}).get(resource, "0")) for config in configs] or ["0"]
        if any(_NOTHING.fullmatch(each) for each in reserved):
            yield (
                f"pool {plan['pool']} reserves no {resource} for Windows, which has no cgroups that limit pods: "
                f"set kubelet.system_reserved.{resource}"
            )


def _priority(plan: dict[str, Any]) -> Iterator[str]:
    commands = [each["command"] for each in _steps(plan) if each.get("service") == "kubelet" and "command" in each]
    if not any(str(word).startswith(_PRIORITY) for command in commands for word in command):
        yield (
            f"pool {plan['pool']} starts the kubelet at normal priority, so it misses heartbeats when containers are"
            f" busy: "
            "set kubelet.priority_class"
        )


RULES = (
    ResourceRule(
        "reserves-and-priority-set",
        "Windows nodes reserve memory and CPU, and their kubelet has a priority class.",
        frozenset(OBJECTS),
        _kubelet,
    ),
)
