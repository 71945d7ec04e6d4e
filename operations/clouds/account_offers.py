"""What an account may build in a region: machine sizes by zone, and vCPU by family on Azure.

As the cloud's command line prints it. What it does not print is unknown, and gives no row.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.azure.images import ZONES
from components.catalogue import instance_sizes
from components.plan import ClusterPlan, MachineGroup
from components.spec.models import Cloud
from operations.clouds import account_state
from operations.clouds.account_state import Quota
from operations.clouds.identity import Identity

SKU_SECONDS = 120
"""Time limit of `az vm list-skus`, which downloads the sizes of all regions before it chooses."""


@dataclass(frozen=True)
class Offer:
    """Where an account may use a size. zones: their names. family: the name of its quota; empty if it has none."""

    zones: frozenset[str]
    family: str = ""


def rows(
    plan: ClusterPlan, region: str, identity: Identity, limits: Mapping[str, Quota], *, built: bool
) -> list[tuple[str, str]]:
    """Return a line and a fault for each size and family; the fault is empty if nothing is wrong.

    limits: of the account, by what is limited (account_state.quotas). built: the cluster exists, so its own machines
    count among those in use.
    """
    offers = offered(plan, region, identity)
    if offers is None:
        return []
    return [*_sizes(plan, region, offers), *_families(plan, offers, limits, built=built)]


def offered(plan: ClusterPlan, region: str, identity: Identity) -> dict[str, Offer] | None:
    """Return the planned sizes that the account may use in the region; None if the command line does not tell."""
    names = sorted({group.size for group in plan.machine_groups if group.machines})
    command, read, seconds = _COMMANDS[plan.spec.cloud](names, region)
    answer = account_state.asked(command, region, identity, seconds)
    if not isinstance(answer, list):
        return None
    try:
        return dict(read(answer))
    except (KeyError, TypeError, AttributeError):  # another version of the command line prints another format
        return None


Reader = Callable[[Sequence[Any]], Iterator[tuple[str, Offer]]]


def _aws(names: Sequence[str], _: str) -> tuple[tuple[str, ...], Reader, float]:
    """Source: AWS CLI, ec2 describe-instance-type-offerings."""

    def read(answer: Sequence[Any]) -> Iterator[tuple[str, Offer]]:
        for name in names:
            yield name, Offer(frozenset(each["Location"] for each in answer if each["InstanceType"] == name))

    wanted = f"Name=instance-type,Values={','.join(names)}"
    command = ("aws", "ec2", "describe-instance-type-offerings", "--location-type", "availability-zone")
    return (
        (*command, "--filters", wanted, "--query", "InstanceTypeOfferings", "--region", "{region}", "--output", "json"),
        read,
        account_state.SECONDS,
    )


def _azure(names: Sequence[str], _: str) -> tuple[tuple[str, ...], Reader, float]:
    """Source: Azure CLI, vm list-skus; Resource SKUs API (restrictions: of the location, or of zones)."""

    def read(answer: Sequence[Any]) -> Iterator[tuple[str, Offer]]:
        by_name = {str(each["name"]).lower(): each for each in answer}
        for name in names:
            each = by_name.get(name.lower())
            zones = set(each["zones"] or ()) if each else set[str]()
            for restriction in (each["restrictions"] or ()) if each else ():
                whole = str(restriction["type"]).lower() == "location"
                zones -= zones if whole else set(restriction["zones"] or ())
            yield name, Offer(frozenset(zones), str(each["family"]) if each else "")

    chosen = " || ".join(f"name=='{name}'" for name in names)
    fields = "name:name,family:family,zones:locationInfo[0].zones"
    restrictions = "restrictions:restrictions[].{type:type,zones:restrictionInfo.zones}"
    query = f"[?{chosen}].{{{fields},{restrictions}}}".replace("{", "{{").replace("}", "}}")
    command = ("az", "vm", "list-skus", "--location", "{region}", "--resource-type", "virtualMachines", "--all")
    return (*command, "--query", query, "--output", "json"), read, SKU_SECONDS


def _gcp(names: Sequence[str], region: str) -> tuple[tuple[str, ...], Reader, float]:
    """Source: gcloud, compute machine-types list."""

    def read(answer: Sequence[Any]) -> Iterator[tuple[str, Offer]]:
        for name in names:
            there = (str(each["zone"]).rpartition("/")[2] for each in answer if each["name"] == name)
            yield name, Offer(frozenset(zone for zone in there if zone.startswith(f"{region}-")))

    chosen = f"name=({' '.join(names)}) AND zone:{region}"
    command = ("gcloud", "compute", "machine-types", "list", f"--filter={chosen}", "--format=json(name,zone)")
    return command, read, account_state.SECONDS


_COMMANDS: Mapping[Cloud, Callable[[Sequence[str], str], tuple[tuple[str, ...], Reader, float]]] = {
    Cloud.AWS: _aws,
    Cloud.AZURE: _azure,
    Cloud.GCP: _gcp,
}


def _sizes(plan: ClusterPlan, region: str, offers: Mapping[str, Offer]) -> Iterator[tuple[str, str]]:
    for group in plan.machine_groups:
        if not group.machines or group.size not in offers:
            continue
        path = "control_plane.size" if group.is_control_plane else f"pools.{group.name}.size"
        zones = sorted(offers[group.size].zones)
        line = f"{path}: {group.size} in {region} is offered in {', '.join(zones) or 'no zone'}"
        lacking = _lacking(plan, group, zones)
        yield line, f"the cluster needs it in {lacking}: choose another size, zones or region" if lacking else ""


def _lacking(plan: ClusterPlan, group: MachineGroup, zones: Sequence[str]) -> str:
    """Return in which zones a group's size is missing; empty if it has enough."""
    used = sorted({machine.zone for machine in group.machines})
    names = plan.network.zone_names or (ZONES if plan.spec.cloud is Cloud.AZURE else ())
    if not names:  # the program chooses zones among those of the region
        return "" if len(zones) >= len(used) else f"{len(used)} zones"
    return ", ".join(names[zone] for zone in used if zone < len(names) and names[zone] not in zones)


def _families(
    plan: ClusterPlan, offers: Mapping[str, Offer], limits: Mapping[str, Quota], *, built: bool
) -> Iterator[tuple[str, str]]:
    """Yield a row for the vCPU of each family. Spot machines have a limit of their own for all families."""
    needed: dict[str, int] = {}
    for group in plan.machine_groups:
        size, family = instance_sizes.size(group.size), offers[group.size].family if group.size in offers else ""
        if size and family and group.machines and not group.spot:
            what = account_state.of_family(family).lower()
            needed[what] = needed.get(what, 0) + size.vcpu * len(group.machines)
    for what, quota in limits.items():
        if count := needed.get(what.lower()):
            yield account_state.judged(what, quota.title, count, quota, "azure", built=built)
