"""An existing VPC: looked up, never changed."""

import asyncio
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_aws import _utilities

from components.aws.existing_endpoints import look_for_endpoints
from components.aws.existing_names import look_for_names
from components.aws.existing_routes import look_at_routes
from components.aws.network import UsableNetwork
from components.aws.offerings import Offers, checked
from components.naming import zone_name
from components.spec.models import ApiAccess, Egress
from components.wiring.context import ClusterContext
from components.wiring.existing_network import Lookups, listed, looked_up
from components.wiring.fixed_layout import fixed_layout

_TABLE = "routeTableId"


class ExistingVpc(UsableNetwork):
    """The user's VPC and subnets."""

    def __init__(self, context: ClusterContext, offered: Output[Offers], opts: ResourceOptions | None = None) -> None:
        """Raises RunError if the VPC does not fit, its zones lack a planned size, or the layout changed."""
        name, plan = context.plan.name, context.plan.network
        super().__init__("mullion:aws:Network", name, {"cidr": str(plan.cidr), "zones": plan.zones}, opts)
        lookups = Lookups(self, _utilities.get_version(), context.plan.spec)
        existing = lookups.existing
        zones = checked(context.plan, looked_up(lookups, lambda: look(lookups, name)), offered)
        self.zone_names, _ = fixed_layout(context.plan, zones, self)
        self.vpc_id = self.zone_names.apply(lambda _: existing.network)
        self.machine_subnets = [self.zone_names.apply(lambda _, id_=subnet.id: id_) for subnet in existing.subnets]
        self.edge_subnets = [self.zone_names.apply(lambda _, id_=id_: id_) for id_ in existing.public_subnets]
        self.gateways, self.table_ids, self.routes = [], {}, list[pulumi.Resource]()
        self.endpoint_subnets, self.nat_addresses = [], []
        self.private_zone = Output.from_input(existing.private_zone) if existing.private_zone else None
        self.register_outputs({"vpc_id": self.vpc_id, "subnet_ids": self.machine_subnets})


async def look(lookups: Lookups, cluster: str) -> list[str]:
    """Return the zones of the machines' subnets; add problems to the lookups. cluster: its name."""
    existing = lookups.existing
    vpc = await lookups.find("network", existing.network, "aws:ec2/getVpc:getVpc", {"id": existing.network})
    if not vpc:
        return []
    if not lookups.spec.existing_cluster:  # whose endpoint the owner's name servers know
        await look_for_names(lookups, vpc, zone_name(cluster))
    lookups.refuse_overlaps([each["cidrBlock"] for each in listed(vpc, "cidrBlockAssociations")] or [vpc["cidrBlock"]])
    paths = [(f"subnets.{index}", subnet.id) for index, subnet in enumerate(existing.subnets)]
    paths += [(f"public_subnets.{index}", id_) for index, id_ in enumerate(existing.public_subnets)]
    found = await asyncio.gather(*(_subnet(lookups, *each) for each in paths))
    machines = found[: len(existing.subnets)]
    for index, subnet in enumerate(machines):
        lookups.compare_range(index, str(subnet.get("cidrBlock") or ""))
    if lookups.spec.network.egress is Egress.NONE:
        await look_for_endpoints(lookups, [str(subnet.get(_TABLE) or "") for subnet in machines])
    zones = [str(subnet.get("availabilityZone", "")) for subnet in machines]
    named = lookups.spec.network.zone_names
    for index, zone in enumerate(zones):
        where = f"{existing.subnets[index].id} is in zone {zone}"
        if zone and zone in zones[:index]:
            lookups.wrong(f"subnets.{index}.id", f"{where}, as is another subnet", "list subnets of other zones")
        if zone and named and index < len(named) and named[index] != zone:
            wrong = f"{where}, not in {named[index]}"
            lookups.wrong(f"subnets.{index}.id", wrong, "list subnets in the order of zone_names, or remove these")
    _public_zones(lookups, zones, [str(subnet.get("availabilityZone", "")) for subnet in found[len(machines) :]])
    return zones


def _public_zones(lookups: Lookups, zones: list[str], public: list[str]) -> None:
    """Compare the zones of public subnets with those of control planes, and with `ingress` of workers.

    An empty zone is skipped: its subnet was refused.

    ELB API, CreateLoadBalancer: "You can specify only one subnet per Availability Zone". Network Load Balancers,
    "Target groups": targets in a zone that is not enabled for the load balancer receive no traffic.
    """
    for index, zone in enumerate(public):
        if zone and zone in public[:index]:
            wrong = f"{lookups.existing.public_subnets[index]} is in zone {zone}, as is another public subnet"
            lookups.wrong(f"public_subnets.{index}", wrong, "list one public subnet per zone")
    if not public or not all((*zones, *public)):
        return
    spec = lookups.spec
    api = spec.control_plane.count if spec.api.access is ApiAccess.PUBLIC else 0
    needed = dict.fromkeys(zones if spec.ingress.is_public else zones[:api])
    if missing := [zone for zone in needed if zone not in public]:
        wrong = f"no public subnet is in {', '.join(missing)}: load balancers send nothing to machines there"
        lookups.wrong("public_subnets", wrong, "add the id of a public subnet of each zone")


async def _subnet(lookups: Lookups, path: str, id_: str) -> dict[str, Any]:
    """Return a subnet, with the id of its route table, after a look at its VPC and its default route."""
    vpc, public = lookups.existing.network, path.startswith("public")
    at = path if public else f"{path}.id"
    subnet = await lookups.find(at, id_, "aws:ec2/getSubnet:getSubnet", {"id": id_})
    if not subnet:
        return {}
    if subnet["vpcId"] != vpc:
        lookups.wrong(at, f"{id_} is in {subnet['vpcId']}, not in {vpc}", "write the id of a subnet of this VPC")
        return {}
    table = await _route_table(lookups, vpc, id_)
    if table is None:
        lookups.warn(f"network.existing.{at}: these credentials cannot read the routes of {id_}")
        return subnet
    look_at_routes(lookups, at, id_, table)
    return {**subnet, _TABLE: table.get(_TABLE)}


async def _route_table(lookups: Lookups, vpc: str, subnet: str) -> dict[str, Any] | None:
    """Return a subnet's route table, explicit or the VPC's main one; None if it cannot be read."""
    token, explicit = "aws:ec2/getRouteTables:getRouteTables", [{"name": "association.subnet-id", "values": [subnet]}]
    main = [{"name": "association.main", "values": ["true"]}, {"name": "vpc-id", "values": [vpc]}]
    tables = await lookups.optional(token, {"filters": explicit})
    if tables is not None and not tables["ids"]:
        tables = await lookups.optional(token, {"filters": main})
    if not tables or not tables["ids"]:
        return None
    return await lookups.optional("aws:ec2/getRouteTable:getRouteTable", {_TABLE: tables["ids"][0]})
