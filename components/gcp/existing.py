"""An existing VPC network, also of a host project (Shared VPC): looked up, never changed."""

import asyncio
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_gcp import _utilities

from components.gcp.existing_names import look_for_names
from components.gcp.network import UsableNetwork
from components.spec.models import Egress
from components.wiring.context import ClusterContext
from components.wiring.existing_network import Lookups, listed, looked_up
from components.wiring.fixed_layout import fixed_layout


class ExistingVpcNetwork(UsableNetwork):
    """The user's network and subnetworks. Firewall rules and routes are created in the network's project."""

    def __init__(
        self, context: ClusterContext, zone_names: Output[list[str]], opts: ResourceOptions | None = None
    ) -> None:
        """zone_names: of the region. Raises RunError if the network does not fit, or the layout changed."""
        name, plan = context.plan.name, context.plan.network
        super().__init__("mullion:gcp:Network", name, {"cidr": str(plan.cidr), "zones": plan.zones}, opts)
        lookups = Lookups(self, _utilities.get_version(), context.plan.spec)
        existing, looked = lookups.existing, looked_up(lookups, lambda: look(lookups))
        zones = Output.all(zone_names, looked).apply(lambda found: list(found[0]))
        self.zone_names, _ = fixed_layout(context.plan, zones, self)
        self.network_id = self.zone_names.apply(lambda _: existing.network)
        ids = [self.zone_names.apply(lambda _, id_=subnet.id: id_) for subnet in existing.subnets]
        self.machine_subnets = ids if len(ids) == plan.zones else ids * plan.zones
        self.project, self.routes = existing.network.split("/")[1], list[pulumi.Resource]()
        self.register_outputs({"network_id": self.network_id, "subnet_ids": ids})


async def look(lookups: Lookups) -> list[str]:
    """Add problems to the lookups; return no zones, which the region has."""
    existing = lookups.existing
    _, project, _, _, name = existing.network.split("/")
    token = "gcp:compute/getNetwork:getNetwork"  # noqa: S105
    network = await lookups.find("network", existing.network, token, {"name": name, "project": project})
    if network:
        await asyncio.gather(*(_subnetwork(lookups, index) for index in range(len(existing.subnets))))
        if lookups.spec.network.egress is Egress.NAT:
            await _nat(lookups, project)
        if lookups.spec.network.egress is Egress.NONE:
            await _no_nat(lookups, project)
            await look_for_names(lookups)
    return []


async def _subnetwork(lookups: Lookups, index: int) -> None:
    subnet, path = lookups.existing.subnets[index], f"subnets.{index}.id"
    _, project, _, region, _, name = subnet.id.split("/")
    arguments = {"name": name, "project": project, "region": region}
    found = await lookups.find(path, subnet.id, "gcp:compute/getSubnetwork:getSubnetwork", arguments)
    if not found:
        return
    if not str(found["network"]).endswith(f"/{lookups.existing.network}"):
        wrong = f"{subnet.id} is in {found['network']}, not in {lookups.existing.network}"
        lookups.wrong(path, wrong, "write the id of a subnetwork of this network")
        return
    lookups.compare_range(index, str(found.get("ipCidrRange") or ""))
    if lookups.spec.network.egress is Egress.NONE and not found.get("privateIpGoogleAccess"):
        wrong = f"{subnet.id} has no Private Google Access, by which machines reach Google's APIs"
        command = f"gcloud compute networks subnets update {name} --project {project} --region {region}"
        lookups.wrong(path, wrong, f"let its owner run: {command} --enable-private-ip-google-access")
    ranges = [subnet.range, *(each["ipCidrRange"] for each in listed(found, "secondaryIpRanges"))]
    lookups.refuse_overlaps(map(str, ranges))


async def _routers(lookups: Lookups, project: str) -> list[dict[str, Any]] | None:
    """Return the routers of the network in the region of its subnetworks; None if they cannot be read."""
    token = "gcp:compute/getRouters:getRouters"  # noqa: S105
    found = await lookups.optional(token, {"project": project, "region": _region(lookups)})
    if found is None:
        return None
    return [each for each in listed(found, "routers") if str(each["network"]).endswith(f"/{lookups.existing.network}")]


def _region(lookups: Lookups) -> str:
    return lookups.existing.subnets[0].id.split("/")[3]


async def _nat(lookups: Lookups, project: str) -> None:
    """Warn if no router of the network has Cloud NAT; a firewall or a proxy may be the way out instead."""
    own = await _routers(lookups, project)
    if own is not None and not any(each.get("nats") for each in own):
        lookups.warn(
            f"network.existing.network: no router in {_region(lookups)} has Cloud NAT. Machines have no public"
            " addresses, so they need another way to the internet; without one they do not boot"
        )


async def _no_nat(lookups: Lookups, project: str) -> None:
    """Refuse Cloud NAT that serves all subnetworks. The lookup does not show which ones the list of another names."""
    for router in await _routers(lookups, project) or ():
        for nat in listed(router, "nats"):
            if str(nat.get("sourceSubnetworkIpRangesToNat")).startswith("ALL_SUBNETWORKS"):
                name, where = nat["name"], f"--router {router['name']} --project {project} --region {_region(lookups)}"
                wrong = f"Cloud NAT {name} serves all subnetworks, and egress: none says that there is no way out"
                command = f"gcloud compute routers nats update {name} {where} --nat-custom-subnet-ip-ranges OTHERS"
                lookups.wrong("network", wrong, f"write egress: nat, or let the network's owner run: {command}")
