"""The network layout and the encryption key, which cannot change while a cluster exists.

Machines have fixed addresses in fixed subnets. Another range, number of zones or egress would move workers and control
planes to addresses that other machines still hold, and the cloud would refuse half-way. Another pod network would cut
new nodes off from old ones, and certificates and objects of the cluster contain addresses of pods and services. With
another authority in existing_cluster, new machines would join another cluster than the old ones. Another
key would replace all control planes, and on GCP the secrets. So the state keeps layout and key, and a run with another
one stops before it changes any resource.
"""

import json
from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi import Output

from components.machine import pki
from components.plan import ClusterPlan
from components.spec.models import ClusterSpec
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
    "existing": "network.existing",
    "private_zone": "network.existing.private_zone",
    "joins": "existing_cluster",
    "encryption_key": "encryption_key",
}
"""Option of the stack file, by key of the layout. The default of network.zones depends on control_plane.count."""
LATER = frozenset({"private_zone"})
"""Keys that the layout of clusters built by earlier versions lacks, so that these clusters can change the option."""


def fixed_layout(
    plan: ClusterPlan, region_zones: Output[list[str]], parent: pulumi.Resource
) -> tuple[Output[list[str]], Output[str]]:
    """Return the names of the planned zones and the range of nodes, once the layout equals that of the first `up`.

    region_zones: names of the region's zones. Raises RunError, in preview as in `up`, if these are fewer than planned,
    or if the layout differs; then the error names each option with its value at the first `up`.
    """
    zones = region_zones.apply(lambda names: _first(plan.network.zones, names))
    planned = _layout(plan.network, zones, plan.spec)
    kept = stash(f"{plan.name}-network", planned, parent=parent)
    layout = Output.all(kept, planned).apply(lambda layouts: _same(*layouts))
    return layout.apply(lambda same: list(same["zone_names"])), layout.apply(lambda same: str(same["nodes"]))


def _layout(plan: NetworkPlan, zones: Output[list[str]], spec: ClusterSpec) -> dict[str, Any]:
    """Return the layout of a planned network in these zones, with the key if the spec has one."""
    network, existing = spec.network, spec.network.existing
    listed = [existing.network, *(f"{each.id} {each.range}" for each in existing.subnets)] if existing else []
    return {
        "nodes": str(plan.cidr),
        "zones": str(plan.zones),
        "zone_names": zones,
        "egress": network.egress.value,
        "mode": network.mode.value,
        "pods": str(network.pods),
        "services": str(network.services),
        **({"existing": listed, "private_zone": existing.private_zone or ""} if existing else {}),
        # machines of a control plane would be deleted, or a joined pool divided between two clusters
        **({"joins": f"ca {pki.ca_hash(spec.existing_cluster.ca)}"} if spec.existing_cluster else {}),
        **({"encryption_key": spec.encryption_key} if spec.encryption_key else {}),
    }


def _same(kept: dict[str, Any], planned: dict[str, Any]) -> dict[str, Any]:
    known = [key for key in NETWORK_OPTIONS if key in kept or key not in LATER]
    changed = [key for key in known if kept.get(key) != planned.get(key)]
    if changed:
        lines = [f"{NETWORK_OPTIONS[key]}: {_text(kept.get(key))}   (not {_text(planned.get(key))})" for key in changed]
        raise pulumi.RunError(
            "the network layout and encryption key of a cluster cannot change while it exists; nothing was changed. "
            "Write the values that the cluster was built with, or remove it and build it again:\n  "
            + "\n  ".join(lines)
        )
    return planned


def _text(value: Any) -> str:
    return json.dumps(value).replace('"', "")


def _first(count: int, names: Sequence[str]) -> list[str]:
    if len(names) < count:
        raise pulumi.RunError(
            f"the region has {len(names)} zones ({', '.join(names)}) and network.zones is {count}; "
            f"write network: {{zones: {len(names)}}}, or choose another region"
        )
    return list(names[:count])
