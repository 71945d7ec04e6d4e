"""What cannot change while a cluster lives: its network's layout.

Machines have fixed addresses in subnets of fixed ranges. Another range, number of zones or way
out would move machines to addresses that others still hold, and control planes with them; the
cloud refuses half-way. Another pod network would part new nodes from old ones, and addresses of
pods and services stand in certificates and objects of the cluster. So the layout is kept in the
state, and a differing one stops the run before anything is touched.
"""

import json
from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi import Output

from components.spec.models import Network
from components.topology.addressing import NetworkPlan
from components.wiring.kept_secrets import stash

NETWORK_OPTIONS = {
    "nodes": "network.nodes",
    "zones": "network.zones",
    "zone_names": "network.zone_names",
    "egress": "network.egress",
    "mode": "network.mode",
    "pods": "network.pods",
    "services": "network.services",
}
"""Key of a layout -> the option it comes from. network.zones depends on control_plane.count where it is not given."""


def fixed_layout(
    cluster: str, plan: NetworkPlan, known: Output[list[str]], network: Network, parent: pulumi.Resource
) -> tuple[Output[list[str]], Output[str]]:
    """Names of the planned zones and the range of nodes, once the layout is known to be that of the first `up`.

    known: names of the region's zones. RunError, in preview as in `up`, where there are fewer than planned; or it
    names each option that differs and what to write.
    """
    zones = known.apply(lambda names: _first(plan.zones, names))
    wanted = _layout(plan, zones, network)
    kept = stash(f"{cluster}-network", wanted, parent=parent)
    layout = Output.all(kept, wanted).apply(lambda both: _same(*both))
    return layout.apply(lambda known: list(known["zone_names"])), layout.apply(lambda known: str(known["nodes"]))


def _layout(plan: NetworkPlan, zones: Output[list[str]], network: Network) -> dict[str, Any]:
    """A planned network's layout in these zones."""
    return {
        "nodes": str(plan.cidr),
        "zones": str(plan.zones),
        "zone_names": zones,
        "egress": network.egress.value,
        "mode": network.mode.value,
        "pods": str(network.pods),
        "services": str(network.services),
    }


def _same(kept: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    changed = [key for key in NETWORK_OPTIONS if kept.get(key) != wanted.get(key)]
    if changed:
        lines = [f"{NETWORK_OPTIONS[key]}: {_text(kept[key])}   (not {_text(wanted[key])})" for key in changed]
        raise pulumi.RunError(
            "a cluster's network cannot be laid out anew while its machines live, so no machine was touched. "
            "Write what it was built with, or remove it and build it again:\n  " + "\n  ".join(lines)
        )
    return wanted


def _text(value: Any) -> str:
    return json.dumps(value).replace('"', "")


def _first(count: int, names: Sequence[str]) -> list[str]:
    if len(names) < count:
        raise pulumi.RunError(
            f"the region has {len(names)} zones ({', '.join(names)}) and network.zones is {count}; "
            f"write network: {{zones: {len(names)}}}, or take another region"
        )
    return list(names[:count])
