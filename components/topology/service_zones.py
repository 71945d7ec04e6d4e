"""Private zones by which machines without a way to the internet find the cloud's services; commands that create them.

In an existing network they are the user's (`network.existing.service_zones`): a network sees one private zone of a
name, and a zone of Mullion's would hide all other names of that zone from every machine of the network.
"""

import re
from ipaddress import IPv4Network

from components.clouds import GOOGLE_APIS
from components.spec.choices import Cloud
from components.spec.models import ClusterSpec
from components.topology.private_endpoints import azure_zones, google_domains, private_endpoints

_GROUP, _NAME = 4, 8
"""Indexes in an id of Azure split at "/": /subscriptions/ID/resourceGroups/GROUP/providers/PROVIDER/TYPE/NAME."""

FORMS = {
    Cloud.AWS: (
        re.compile(r"[a-z0-9]+(?:\.[a-z]+)?\.[a-z0-9-]+\.amazonaws\.com"),
        "the name of a private hosted zone with an endpoint's address, such as ec2.REGION.amazonaws.com",
    ),
    Cloud.AZURE: (
        re.compile(
            r"/subscriptions/[0-9a-fA-F-]{36}/resourceGroups/[\w().-]+/providers/Microsoft\.Network/privateDnsZones"
            r"/[\w.-]+/virtualNetworkLinks/[\w.-]+"
        ),
        "the id of a link to the network, /subscriptions/.../privateDnsZones/ZONE/virtualNetworkLinks/NAME",
    ),
    Cloud.GCP: (
        re.compile(r"projects/[a-z][a-z0-9.:-]*[a-z0-9]/managedZones/[a-z0-9-]+"),
        "projects/PROJECT/managedZones/NAME",
    ),
}
"""Form of an entry of `service_zones`, and its words."""

RESTRICTED_APIS = IPv4Network("199.36.153.4/30")
"""Addresses of restricted.googleapis.com (VPC, "Configure Private Google Access")."""

GOOGLE_HOSTS = {
    "googleapis.com": tuple(f"{name}.googleapis.com" for name in ("compute", "secretmanager", "storage", "www")),
    "gcr.io": ("gcr.io", "eu.gcr.io"),
    "pkg.dev": ("europe-docker.pkg.dev",),
}
"""Hosts that machines ask, by domain; of the registries, examples of their names."""


def aws_zones(spec: ClusterSpec, region: str) -> dict[str, str]:
    """Return the names that private DNS of an endpoint answers, by service: s3 and those of private_endpoints.

    Source: AWS PrivateLink guide, "AWS services that integrate with AWS PrivateLink": ecr.dkr has dkr.ecr.REGION.
    """
    services = ("s3", *(each.service for each in private_endpoints(spec)))
    return {service: f"{'.'.join(reversed(service.split('.')))}.{region}.amazonaws.com" for service in services}


def aws_record(zone: str) -> str:
    """Return the record of an AWS service's zone that machines ask: the zone itself, or all names below it.

    Machines ask for BUCKET.s3.REGION and ACCOUNT.dkr.ecr.REGION.
    """
    return f"*.{zone}" if zone.startswith(("s3.", "dkr.ecr.")) else zone


def azure_zone_ids(links: list[str]) -> dict[str, str]:
    """Return the ids of the zones of links, by the zones' names. The links' ids have their form."""
    return {link.split("/")[_NAME].lower(): link.partition("/virtualNetworkLinks/")[0] for link in links}


def missing_zones(spec: ClusterSpec) -> tuple[str, ...]:
    """Return the zones or domains that machines need in an existing network and that the stack file names no id for.

    An id of Google Cloud does not show the domain: any id stands for all, and a look-up compares them.
    """
    existing = spec.network.existing
    if existing is None:
        return ()
    known = azure_zone_ids(existing.service_zones) if spec.cloud is Cloud.AZURE else {}
    domains = () if existing.service_zones else google_domains(spec)
    return (*(each for each in azure_zones(spec) if each not in known), *domains)


def azure_commands(zone: str, network: str, group: str = "") -> str:
    """Return the commands that create a zone and its link. network: its id. group: of the zone; "": the network's."""
    parts = network.split("/")
    here = f"-g {group or parts[_GROUP]}"
    link = f"az network private-dns link vnet create {here} -z {zone} -n {parts[_NAME]} -v {network} -e false"
    return f"az network private-dns zone create {here} -n {zone}; {link}"


def google_records(domain: str) -> dict[str, tuple[str, str, list[str]]]:
    """Return name, type and values of the records of a domain: one with the addresses, and the wildcard.

    Source: VPC, "Configure Private Google Access", "DNS configuration".
    """
    own = f"private.{domain}." if domain == "googleapis.com" else f"{domain}."
    return {
        "own": (own, "A", [str(each) for each in GOOGLE_APIS]),
        "every": (f"*.{domain}.", "CNAME", [own]),
    }


def google_commands(domain: str, network: str, zone: str = "") -> str:
    """Return the commands that create a domain's records. network: its id. zone: id of theirs; "": create one too."""
    name, here = zone.rpartition("/")[2] or domain.replace(".", "-"), f"--project {(zone or network).split('/')[1]}"
    create = f"gcloud dns managed-zones create {name} {here} --dns-name {domain}. --visibility private"
    create += f" --networks https://www.googleapis.com/compute/v1/{network}"
    lines = [] if zone else [f'{create} --description "Private Google Access"']
    for record, kind, values in google_records(domain).values():
        row = f'gcloud dns record-sets create "{record}" {here} --zone {name} --type {kind} --ttl 300'
        lines.append(f"{row} --rrdatas {','.join(values)}")
    return "; ".join(lines)
