"""Endpoints of an existing VPC, by which machines without a way to the internet reach AWS's services: looked up."""

from collections.abc import Sequence
from typing import Any

from components.aws.existing_zones import look_for_zones
from components.topology.service_zones import aws_zones
from components.wiring.existing_network import Lookups

_GATEWAY, _INTERFACE = "Gateway", "Interface"


async def look_for_endpoints(lookups: Lookups, tables: Sequence[str]) -> None:
    """Add a problem for each service that machines ask and that no endpoint leads to, of the VPC or by `service_zones`.

    tables: id of the route table of each of the machines' subnets, or "" if it could not be read. The owner of a VPC
    alone sees its endpoints (VPC guide, "Share your VPC subnets with other accounts"): in a VPC of another account,
    which `private_zone` says, nothing is looked up.
    """
    region = await lookups.find("network", "the region", "aws:index/getRegion:getRegion", {})
    if not region:
        return
    zones, prefix = aws_zones(lookups.spec, region["region"]), f"com.amazonaws.{region['region']}"
    given = lookups.existing.service_zones
    await look_for_zones(lookups, region["region"], [zone for zone in zones.values() if zone in given])
    own = {f"{prefix}.{service}": zone for service, zone in zones.items() if zone not in given}
    if lookups.existing.private_zone:
        if own:
            needed = ", ".join(own)
            lookups.warn(
                f"network.existing.network: only its owner sees its endpoints. Machines need those of {needed}"
            )
        return
    for service, zone in own.items():
        if service == f"{prefix}.s3":
            await _stores(lookups, service, zone, tables)
        else:
            await _interface(lookups, service, zone)


async def _find(lookups: Lookups, service: str, kind: str) -> dict[str, Any] | None:
    """Return the VPC's endpoint of a service; empty if there are several, None if there is none."""
    only = [{"name": "vpc-endpoint-type", "values": [kind]}]
    asked = {"vpcId": lookups.existing.network, "serviceName": service, "state": "available", "filters": only}
    return await lookups.only("aws:ec2/getVpcEndpoint:getVpcEndpoint", asked)


def _elsewhere(zone: str) -> str:
    """Return what to do instead of creating an endpoint. zone: the service's."""
    return f"; or, if an interface endpoint of a connected VPC serves this one, write {zone} in service_zones"


async def _stores(lookups: Lookups, service: str, zone: str, tables: Sequence[str]) -> None:
    """Look for the gateway endpoint of S3 in the subnets' tables, or for an interface endpoint with private DNS."""
    vpc, found = lookups.existing.network, await _find(lookups, service, _GATEWAY)
    if found is None:
        inside = await _find(lookups, service, _INTERFACE)
        if not (inside and inside.get("privateDnsEnabled")):
            wrong = f"{vpc} has no endpoint of {service}, by which machines reach the stores"
            fix = f"let its owner run: aws ec2 create-vpc-endpoint --vpc-id {vpc} --service-name {service}"
            known = " ".join(dict.fromkeys(filter(None, tables)))
            lookups.wrong("network", wrong, f"{fix} --route-table-ids {known}".rstrip() + _elsewhere(zone))
        return
    if not found:
        lookups.warn(
            f"network.existing.network: {vpc} has several endpoints of {service}, whose tables are not compared"
        )
        return
    for index, table in enumerate(tables):
        if table and table not in (found.get("routeTableIds") or []):
            wrong = f"its route table {table} has no route to the endpoint of {service}, {found['id']}"
            fix = f"let the VPC's owner run: aws ec2 modify-vpc-endpoint --vpc-endpoint-id {found['id']}"
            lookups.wrong(f"subnets.{index}.id", wrong, f"{fix} --add-route-table-ids {table}")


async def _interface(lookups: Lookups, service: str, zone: str) -> None:
    vpc, found = lookups.existing.network, await _find(lookups, service, _INTERFACE)
    if found is None:
        wrong = f"{vpc} has no interface endpoint of {service}, which machines without a way to the internet ask"
        fix = f"let its owner run: aws ec2 create-vpc-endpoint --vpc-id {vpc} --service-name {service}"
        fix += " --vpc-endpoint-type Interface --private-dns-enabled --subnet-ids SUBNETS --security-group-ids GROUP"
        fix += " (GROUP admits the machines' subnets to tcp 443)"
        lookups.wrong("network", wrong, fix + _elsewhere(zone))
    elif found and not found.get("privateDnsEnabled"):
        wrong = f"{found['id']}, the endpoint of {service}, has no private DNS: machines ask the service's own name"
        fix = f"let its owner run: aws ec2 modify-vpc-endpoint --vpc-endpoint-id {found['id']} --private-dns-enabled"
        lookups.wrong("network", wrong, fix)
