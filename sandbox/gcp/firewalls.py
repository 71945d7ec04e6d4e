"""Firewall rules of networks."""

import ipaddress
import re

from sandbox.cloud import Refusal, Request, ResourceType
from sandbox.gcp.names import AUTO_NAME, FIREWALL, NAMED, NETWORK, full_link, id_of, invalid, link, own_name, points_to
from sandbox.gcp.quotas import QUOTAS

PROTOCOLS = ("tcp", "udp", "icmp", "esp", "ah", "sctp", "ipip", "all")
WITH_PORTS = ("tcp", "udp", "sctp", "6", "17", "132")
ACCOUNTS = 10
"""Number of service accounts of a rule (VPC, "Quotas and limits": per firewall rule)."""
_PORTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_SOURCES = ("sourceRanges", "sourceServiceAccounts", "sourceTags")


def _direction(request: Request) -> None:
    inputs = request.inputs
    ingress = inputs.get("direction", "INGRESS") == "INGRESS"
    if ingress and not any(inputs.get(name) for name in _SOURCES):
        raise invalid("sourceRanges", "", "One of sourceRanges, sourceServiceAccounts and sourceTags is required.")
    for name in _SOURCES if not ingress else ():
        if inputs.get(name):
            raise invalid(name, inputs[name], "Sources cannot be specified for egress rules.")
    tags, accounts = ("sourceTags", "targetTags"), ("sourceServiceAccounts", "targetServiceAccounts")
    if any(inputs.get(name) for name in tags) and any(inputs.get(name) for name in accounts):
        raise invalid("sourceServiceAccounts", "", "Tags and service accounts cannot be in one rule.")
    for name in accounts:
        if len(inputs.get(name) or []) > ACCOUNTS:
            raise invalid(name, "", f"At most {ACCOUNTS} service accounts.")


def _ranges(request: Request) -> None:
    for name in ("sourceRanges", "destinationRanges"):
        for index, text in enumerate(request.inputs.get(name) or []):
            try:
                ipaddress.ip_network(text)
            except ValueError:
                raise invalid(f"{name}[{index}]", text, "Must be a valid CIDR address range.") from None


def _protocols(request: Request) -> None:
    for name, field in (("allows", "allowed"), ("denies", "denied")):
        for index, rule in enumerate(request.inputs.get(name) or []):
            protocol, where = str(rule["protocol"]).lower(), f"{field}[{index}]"
            if protocol not in PROTOCOLS and not (protocol.isdecimal() and int(protocol) < 256):
                raise invalid(f"{where}.IPProtocol", protocol, "Must be a known protocol or its number.")
            ports = rule.get("ports") or []
            if ports and protocol not in WITH_PORTS:
                raise invalid(f"{where}.ports", ports, "Ports are for tcp, udp and sctp alone.")
            for port in ports:
                _port(f"{where}.ports[0]", port)


def _port(field: str, text: str) -> None:
    match = _PORTS.fullmatch(text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if not first <= last <= 65535:
        raise invalid(field, text, "Must be an integer or a range of integers from 0 to 65535.")


def _accounts(request: Request) -> None:
    """Check that a rule's service account exists, if it belongs to this project."""
    suffix = f"@{request.account}.iam.gserviceaccount.com"
    for name in ("sourceServiceAccounts", "targetServiceAccounts"):
        for email in request.inputs.get(name) or []:
            known = request.cloud_state.find(ACCOUNT, f"projects/{request.account}/serviceAccounts/{email}")
            if email.endswith(suffix) and known is None:
                raise Refusal("notFound", f"googleapi: Error 404: The service account '{email}' was not found")


ACCOUNT = "gcp:serviceaccount/account:Account"

TYPES: dict[str, ResourceType] = {
    FIREWALL: ResourceType(
        id=id_of(FIREWALL),
        immutable=("name", "network", "direction", "project"),
        chosen=("name", "project", "direction", "sourceRanges", "destinationRanges", "enableLogging"),
        fallback={"priority": 1000},
        outputs={
            "project": "{account}",
            "selfLink": link(FIREWALL),
            "creationTimestamp": "2026-01-01T00:00:00.000-08:00",
        },
        derive=lambda request: {**full_link("network", type=NETWORK)(request), "direction": "INGRESS"},
        unordered=("allows", "denies", *_SOURCES, "targetServiceAccounts", "targetTags", "destinationRanges"),
        auto_name=AUTO_NAME,
        patterns={**NAMED, "direction": (re.compile("INGRESS|EGRESS"), "INGRESS or EGRESS")},
        ranges={"priority": (0, 65535)},
        completed=("network",),
        at_most_one=(("allows", "denies"),),
        at_least_one=(("allows", "denies"),),
        references=(points_to(NETWORK, "network"),),
        unique=(own_name(FIREWALL),),
        rules=(_direction, _ranges, _protocols, _accounts, QUOTAS.at_most("firewall rules per project")),
    ),
}
