"""Names in an existing VPC: DNS of the VPC, its DHCP options, and the owner of the private zone, looked up."""

from ipaddress import IPv4Network
from typing import Any

from components.wiring.existing_network import Lookups

_AMAZON, _LINK_LOCAL, _OFFSET = "AmazonProvidedDNS", "169.254.169.253", 2
"""AWS's resolver: the word for it in DHCP options, its link-local address, and its place in the VPC's first range.

Source: VPC user guide, "DHCP option sets", "Understanding Amazon DNS".
"""

_NO_OPTIONS = "default"
"""Id of a VPC's DHCP options that stands for none (EC2 API, AssociateDhcpOptions)."""


async def look_for_names(lookups: Lookups, vpc: dict[str, Any], own: str) -> None:
    """Look at what the private zone `own` needs: DNS of the VPC, name servers of its machines, and its owner."""
    id_, existing = lookups.existing.network, lookups.existing
    for option in ("enableDnsSupport", "enableDnsHostnames"):
        if not vpc.get(option):
            words = "--enable-dns-support" if option == "enableDnsSupport" else "--enable-dns-hostnames"
            fix = f"let its owner run: aws ec2 modify-vpc-attribute --vpc-id {id_} {words}"
            lookups.wrong("network", f"{option} of {id_} is off, so private zones are not answered", fix)
    await _name_servers(lookups, vpc, own)
    if existing.private_zone:
        arguments = {"zoneId": existing.private_zone}
        zone = await lookups.find("private_zone", existing.private_zone, "aws:route53/getZone:getZone", arguments)
        if zone and (zone["name"].rstrip(".") != own or not zone["privateZone"]):
            wrong = f"{existing.private_zone} is not the private zone {own}"
            lookups.wrong("private_zone", wrong, f"create the private hosted zone {own} for this VPC")
        elif zone:
            await _associated(lookups, own)
        return
    caller = await lookups.find("network", "the account", "aws:index/getCallerIdentity:getCallerIdentity", {})
    if caller and vpc["ownerId"] != caller["accountId"]:
        lookups.wrong(
            "private_zone",
            f"account {vpc['ownerId']} owns {id_}, so account {caller['accountId']} cannot attach a private zone",
            f"create the private hosted zone {own}, let the owner associate it with {id_}"
            " (docs/networks.md), and write its id here",
        )


async def _associated(lookups: Lookups, own: str) -> None:
    """Refuse the user's private zone `own` unless machines of the VPC are answered from it."""
    existing = lookups.existing
    asked = {"name": own, "privateZone": True, "vpcId": existing.network}
    seen = await lookups.only("aws:route53/getZone:getZone", asked)
    if not seen or seen["zoneId"] != existing.private_zone:
        fix = f"let its owner run: aws route53 associate-vpc-with-hosted-zone --hosted-zone-id {existing.private_zone}"
        fix += f" --vpc VPCRegion=REGION,VPCId={existing.network}"
        lookups.wrong("private_zone", f"{existing.private_zone} is not associated with {existing.network}", fix)


async def _name_servers(lookups: Lookups, vpc: dict[str, Any], own: str) -> None:
    """Refuse DHCP options that give machines no name server; warn of servers of the user, which have to forward.

    Source: Route 53 developer guide, "Considerations when working with a private hosted zone", custom DNS servers.
    """
    id_, options = lookups.existing.network, str(vpc.get("dhcpOptionsId") or "")
    command = "aws ec2 create-dhcp-options --dhcp-configurations Key=domain-name-servers,Values=AmazonProvidedDNS"
    command += f"; aws ec2 associate-dhcp-options --vpc-id {id_} --dhcp-options-id ID, with the id that it prints"
    found: dict[str, Any] | None = {}
    if options != _NO_OPTIONS:
        token = "aws:ec2/getVpcDhcpOptions:getVpcDhcpOptions"  # noqa: S105
        found = await lookups.optional(token, {"dhcpOptionsId": options})
    if found is None:
        lookups.warn(f"network.existing.network: these credentials cannot read the DHCP options {options} of {id_}")
        return
    servers: list[str] = found.get("domainNameServers") or []
    resolver = str(IPv4Network(vpc["cidrBlock"])[_OFFSET])
    if not servers:
        wrong = f"the DHCP options of {id_} name no DNS server, so machines resolve no name"
        lookups.wrong("network", wrong, f"let its owner run: {command}")
    elif others := [each for each in servers if each not in (_AMAZON, _LINK_LOCAL, resolver)]:
        asked = f"{own} and the names of private endpoints"
        lookups.warn(
            f"network.existing.network has name servers of its own ({', '.join(others)}): machines find the API and"
            f" AWS's services only if these forward {asked} to {resolver}. Otherwise let its owner run: {command}"
        )
