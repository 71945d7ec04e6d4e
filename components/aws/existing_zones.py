"""Private hosted zones that give AWS's services the addresses of another VPC's endpoints: looked up.

Interface endpoints of a hub serve other VPCs by such zones and by routes (AWS whitepaper "Building a Scalable and
Secure Multi-VPC AWS Network Infrastructure", centralized access to VPC private endpoints). A gateway endpoint serves
its own VPC alone (AWS PrivateLink guide, "Gateway endpoints for Amazon S3").
"""

from typing import Any

from components.topology.service_zones import aws_record
from components.wiring.existing_network import Lookups, listed

_TYPES = ("A", "AAAA", "CNAME")
_STAR = r"\052"
"""How Route 53 returns `*` in a record's name (developer guide, "DNS domain name format")."""


async def look_for_zones(lookups: Lookups, region: str, names: list[str]) -> None:
    """Add a problem for each of these zones of `service_zones` that the VPC does not see, or without its record.

    The provider shows zones of the caller's account alone: others are a warning.
    """
    vpc, given = lookups.existing.network, lookups.existing.service_zones
    for name in names:
        path = f"service_zones.{given.index(name)}"
        if zone := await _zone(lookups, name, vpcId=vpc):
            await _record(lookups, path, name, str(zone["zoneId"]))
        elif unseen := await _zone(lookups, name):
            fix = f"let its owner run: aws route53 associate-vpc-with-hosted-zone --hosted-zone-id {unseen['zoneId']}"
            fix += f" --vpc VPCRegion={region},VPCId={vpc}"
            lookups.wrong(path, f"the zone {name} of this account is not associated with {vpc}", fix)
        else:
            lookups.warn(
                f"network.existing.{path}: no zone {name} of this account is associated with {vpc}; one of another"
                " account is not looked up. The VPC's owner sees whether it is: aws route53 list-hosted-zones-by-vpc"
                f" --vpc-id {vpc} --vpc-region {region}"
            )


async def _zone(lookups: Lookups, name: str, **of: str) -> dict[str, Any] | None:
    """Return the account's only private zone with a name; empty if there are several, None if there is none."""
    return await lookups.only("aws:route53/getZone:getZone", {"name": name, "privateZone": True, **of})


async def _record(lookups: Lookups, path: str, name: str, zone: str) -> None:
    """Add a problem if a zone lacks the record that machines ask. zone: its id."""
    found = await lookups.find(path, zone, "aws:route53/getRecords:getRecords", {"zoneId": zone})
    rows = listed(found, "resourceRecordSets")
    known = {str(each["name"]).replace(_STAR, "*").rstrip(".") for each in rows if each["type"] in _TYPES}
    if found and aws_record(name) not in known:
        fix = "let its owner create it, as an alias of the endpoint's first name:"
        fix += " aws ec2 describe-vpc-endpoints --query VpcEndpoints[].[ServiceName,DnsEntries]"
        lookups.wrong(path, f"the zone {name}, {zone}, has no record {aws_record(name)}, which machines ask", fix)
