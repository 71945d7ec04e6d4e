"""Instance types that zones offer. Accounts differ, also in which zone has a letter.

EC2 refuses a type that the zone lacks only when it creates the machine (`Unsupported`), when network and stores exist
and the zones cannot change any more. So the zones are chosen by the planned sizes, and sizes are compared with them.
"""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws
from pulumi import InvokeOptions, Output

from components.plan import ClusterPlan

Offers = Mapping[str, Sequence[str]]
"""Planned sizes that a zone offers, by the zone's name."""


def offers(plan: ClusterPlan, opts: InvokeOptions | None = None) -> Output[Offers]:
    """Return which planned sizes each zone of the region offers."""
    named = aws.ec2.GetInstanceTypeOfferingsFilterArgs(name="instance-type", values=sizes(plan))
    found = aws.ec2.get_instance_type_offerings_output(location_type="availability-zone", filters=[named], opts=opts)
    return Output.all(found.locations, found.instance_types).apply(lambda columns: _by_zone(*columns))


def sizes(plan: ClusterPlan) -> list[str]:
    """Return the sizes of control plane and pools, in order, each once."""
    return sorted({group.size for group in plan.machine_groups})


def fitting_first(plan: ClusterPlan, zones: Sequence[str], offered: Offers) -> list[str]:
    """Return the zones in order, those that offer all planned sizes first."""
    return sorted(zones, key=lambda zone: not set(sizes(plan)) <= set(offered.get(zone, ())))


def checked(plan: ClusterPlan, zones: Output[list[str]], offered: Output[Offers]) -> Output[list[str]]:
    """Return the cluster's zones. Raises RunError, in preview as in `up`, if a machine's zone lacks its size."""
    return Output.all(zones, offered).apply(lambda known: _checked(plan, *known))


def _checked(plan: ClusterPlan, zones: list[str], offered: Offers) -> list[str]:
    missing: dict[str, None] = {}  # each line once, in order
    for group in plan.machine_groups:
        path = "control_plane" if group.is_control_plane else f"pools.{group.name}"
        elsewhere = ", ".join(sorted(zone for zone, has in offered.items() if group.size in has)) or "no zone"
        for machine in group.machines:
            zone = zones[machine.zone] if machine.zone < len(zones) else ""  # too few zones: fixed_layout refuses
            if zone and group.size not in offered.get(zone, ()):
                missing[f"{path}.size: zone {zone} does not offer {group.size} to this account ({elsewhere} does)"] = (
                    None
                )
    if missing:
        raise pulumi.RunError(
            "AWS would refuse machines, so nothing was changed. Choose a size that the zone offers, or for a new "
            "cluster zones that offer it (network.zones, network.zone_names) or another region:\n  "
            + "\n  ".join(missing)
        )
    return zones


def _by_zone(zones: Sequence[str], types: Sequence[str]) -> Offers:
    found: dict[str, list[str]] = {}
    for zone, size in zip(zones, types, strict=True):
        found.setdefault(zone, []).append(size)
    return found
