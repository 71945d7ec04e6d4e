"""Private zones of the user that give Google's APIs private addresses: looked up.

Which networks see a zone, and which routes a network has, no function of the provider shows.
"""

from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import Any

from components.clouds import GOOGLE_APIS
from components.topology.private_endpoints import google_domains
from components.topology.service_zones import GOOGLE_HOSTS, RESTRICTED_APIS, google_commands
from components.wiring.existing_network import Lookups, listed


async def look_for_names(lookups: Lookups) -> None:
    """Add a problem for each domain of Google without a zone, and for each name without a private address."""
    found = {index: await _zone(lookups, index) for index in range(len(lookups.existing.service_zones))}
    if None in found.values():
        return
    for domain in google_domains(lookups.spec):
        if domain not in found.values():
            reason = f"none of the zones is of {domain}, whose names need the addresses of private.googleapis.com"
            lookups.wrong("service_zones", reason, _fix(google_commands(domain, lookups.existing.network)))


async def _zone(lookups: Lookups, index: int) -> str | None:
    """Return the domain of a zone, after a look at its names; None if it cannot be read."""
    id_, path = lookups.existing.service_zones[index], f"service_zones.{index}"
    _, project, _, name = id_.split("/")
    asked = {"name": name, "project": project}
    zone = await lookups.find(path, id_, "gcp:dns/getManagedZone:getManagedZone", asked)
    if not zone:
        return None
    domain = str(zone["dnsName"]).rstrip(".")
    if domain not in google_domains(lookups.spec):
        return domain
    if zone["visibility"] != "private":
        lookups.wrong(path, f"{id_} is a public zone", "write the id of a private zone that the network sees")
        return domain
    token = "gcp:dns/getRecordSets:getRecordSets"  # noqa: S105
    records = await lookups.find(path, f"records of {id_}", token, {"managedZone": name, "project": project})
    rows = {(str(each["name"]), str(each["type"])): each for each in listed(records, "rrsets")}
    for host in GOOGLE_HOSTS[domain] if records else ():
        addresses = _addresses(rows, f"{host}.")
        if not addresses or not all(each in GOOGLE_APIS or each in RESTRICTED_APIS for each in addresses):
            has = ", ".join(map(str, addresses)) or "no address"
            reason = f"{id_} gives {host} {has}, not the addresses of private.googleapis.com"
            lookups.wrong(path, reason, _fix(google_commands(domain, lookups.existing.network, id_)))
            break
    return domain


def _fix(commands: str) -> str:
    return f"let the network's owner run: {commands}; and write the zone's id"


def _addresses(rows: Mapping[tuple[str, str], Mapping[str, Any]], name: str) -> list[IPv4Address]:
    """Return what a zone answers for a name: its own record, else the wildcard's; a CNAME is followed in the zone."""
    for asked in (name, f"*.{name.partition('.')[2]}"):
        if row := rows.get((asked, "A")):
            return [IPv4Address(each) for each in row["rrdatas"]]
        if row := rows.get((asked, "CNAME")):
            target = rows.get((str(row["rrdatas"][0]), "A"))
            return [IPv4Address(each) for each in target["rrdatas"]] if target else []
    return []
