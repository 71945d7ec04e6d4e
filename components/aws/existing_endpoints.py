"""Endpoints of an existing VPC, by which machines without a way to the internet reach AWS's services: looked up."""

from collections.abc import Sequence
from typing import Any

from components.topology.private_endpoints import private_endpoints
from components.wiring.existing_network import Lookups

_GATEWAY, _INTERFACE = "Gateway", "Interface"


async def look_for_endpoints(lookups: Lookups, tables: Sequence[str]) -> None:
    """Add a problem for each service that machines ask and that no endpoint leads to.

    tables: id of the route table of each of the machines' subnets, or "" if it could not be read. The owner of a VPC
    alone sees its endpoints (VPC guide, "Share your VPC subnets with other accounts"): in a VPC of another account,
    which `private_zone` says, nothing is looked up.
    """
    region = await lookups.find("network", "the region", "aws:index/getRegion:getRegion", {})
    if not region:
        return
    named = {
        each.service: f"com.amazonaws.{region['region']}.{each.service}" for each in private_endpoints(lookups.spec)
    }
    stores = f"com.amazonaws.{region['region']}.s3"
    if lookups.existing.private_zone:
        needed = ", ".join((stores, *named.values()))
        lookups.warn(f"network.existing.network: only its owner sees its endpoints. Machines need those of {needed}")
        return
    await _stores(lookups, stores, tables)
    for service in named.values():
        await _interface(lookups, service)


async def _find(lookups: Lookups, service: str, kind: str) -> dict[str, Any] | None:
    """Return the VPC's endpoint of a service; empty if there are several, None if there is none."""
    only = [{"name": "vpc-endpoint-type", "values": [kind]}]
    asked = {"vpcId": lookups.existing.network, "serviceName": service, "state": "available", "filters": only}
    return await lookups.only("aws:ec2/getVpcEndpoint:getVpcEndpoint", asked)


async def _stores(lookups: Lookups, service: str, tables: Sequence[str]) -> None:
    """Look for the gateway endpoint of S3 in the subnets' tables, or for an interface endpoint with private DNS."""
    vpc, found = lookups.existing.network, await _find(lookups, service, _GATEWAY)
    if found is None:
        inside = await _find(lookups, service, _INTERFACE)
        if not (inside and inside.get("privateDnsEnabled")):
            wrong = f"{vpc} has no endpoint of {service}, by which machines reach the stores"
            fix = f"let its owner run: aws ec2 create-vpc-endpoint --vpc-id {vpc} --service-name {service}"
            known = " ".join(dict.fromkeys(filter(None, tables)))
            lookups.wrong("network", wrong, f"{fix} --route-table-ids {known}".rstrip())
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


async def _interface(lookups: Lookups, service: str) -> None:
    vpc, found = lookups.existing.network, await _find(lookups, service, _INTERFACE)
    if found is None:
        wrong = f"{vpc} has no interface endpoint of {service}, which machines without a way to the internet ask"
        fix = f"let its owner run: aws ec2 create-vpc-endpoint --vpc-id {vpc} --service-name {service}"
        fix += " --vpc-endpoint-type Interface --private-dns-enabled --subnet-ids SUBNETS --security-group-ids GROUP"
        lookups.wrong("network", wrong, f"{fix} (GROUP admits the machines' subnets to tcp 443)")
    elif found and not found.get("privateDnsEnabled"):
        wrong = f"{found['id']}, the endpoint of {service}, has no private DNS: machines ask the service's own name"
        fix = f"let its owner run: aws ec2 modify-vpc-endpoint --vpc-endpoint-id {found['id']} --private-dns-enabled"
        lookups.wrong("network", wrong, fix)
