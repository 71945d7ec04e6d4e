"""All checks of an existing cluster, and the values that Windows nodes take from it."""

import json
from collections.abc import Sequence
from typing import Any

from components.rollout.plain_text import plain
from operations.joining import network_rules, node_rules
from operations.joining.reading import Existing
from operations.joining.row import Row, State

ASKING = (
    network_rules.flannel,
    network_rules.pod_ranges,
    network_rules.service_range,
    network_rules.dns,
    network_rules.kube_proxy,
    node_rules.landing,
    node_rules.joining,
    node_rules.serving,
)


def judge(cluster: Existing, kubernetes: str | None = None) -> list[Row]:
    """Return the rows of all checks. kubernetes: version of the Windows nodes; None: the newest that fits."""
    rows = list(node_rules.version(cluster, kubernetes))
    return rows + [row for ask in ASKING for row in ask(cluster)]


def values(cluster: Existing, kubernetes: str | None = None) -> dict[str, Any]:
    """Return what node plans need to know of the cluster; an unknown value is None."""
    backend: dict[str, Any] = (cluster.flannel.settings.get("Backend") or {}) if cluster.flannel else {}
    network = {
        "pods": network_rules.pods(cluster),
        "services": network_rules.services(cluster),
        "dns": (cluster.dns_service or {}).get("spec", {}).get("clusterIP"),
        "domain": network_rules.domain(cluster),
        "vni": backend.get("VNI") or network_rules.LINUX_VNI,
        "port": backend.get("Port") or network_rules.LINUX_PORT,
    }
    known = {name: value if value is None or isinstance(value, int) else str(value) for name, value in network.items()}
    version = kubernetes or node_rules.node_version(cluster) or None
    return {"kubernetes": version, "endpoint": cluster.endpoint.get("server"), "network": known}


def as_text(rows: Sequence[Row], taken: dict[str, Any]) -> str:
    """Return the rows, then the commands that mend the cluster, then the values of node plans."""
    width, columns = max(len(row.check) for row in rows), max(len(row.state.value) for row in rows)
    lines = [f"  {row.check:<{width}}  {row.state.value:<{columns}}  {plain(row.found)}" for row in rows]
    commands = [command.text for row in rows for command in row.commands]
    if commands:
        lines += ["", "Commands that mend the cluster:", *commands]
    return "\n".join([*lines, "", f"Values for Windows nodes: {json.dumps(taken)}"])


def as_json(rows: Sequence[Row], taken: dict[str, Any]) -> str:
    """Return {ready, values, rows: [{check, state, found, commands}]}."""
    listed = [
        {"check": row.check, "state": row.state.value, "found": row.found, "commands": [c.text for c in row.commands]}
        for row in rows
    ]
    return json.dumps({"ready": not failing(rows), "values": taken, "rows": listed}, indent=2)


def failing(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that keep Windows nodes from joining."""
    return [row for row in rows if row.state in (State.MEND, State.REFUSED)]
