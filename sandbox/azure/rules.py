"""Network security groups with inline rules, in both directions."""

import ipaddress
import re
from itertools import combinations
from typing import Any

from sandbox.azure.names import MEMBERS, RULES, in_use, points_to, row
from sandbox.azure.networks import quota
from sandbox.azure.quotas import BY_TYPE, QUOTAS
from sandbox.cloud import Refusal, Request, ResourceType

PROTOCOLS = ("*", "Tcp", "Udp", "Icmp", "Esp", "Ah")
PRIORITIES = (100, 4096)
_TAG = re.compile(r"[A-Za-z]+(\.[A-Za-z0-9]+)?")
_PORTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_SIDES = ("source", "destination")


def _rules(request: Request) -> None:
    rules = request.inputs.get("securityRules") or []
    QUOTAS.refuse_over(request, "rules per network security group", len(rules))
    seen: dict[tuple[str, int], str] = {}
    names = [rule.get("name") for rule in rules]
    if None in names or len(set(names)) < len(names):
        raise Refusal("InvalidRequestFormat", "Each security rule has a name of its own.")
    for rule in rules:
        _rule(rule)
        key = (rule["direction"], rule["priority"])
        if key in seen:
            raise Refusal(
                "SecurityRuleConflict",
                f"Security rule {rule['name']} conflicts with rule {seen[key]}. Rules cannot have the same Priority and"
                " Direction.",
            )
        seen[key] = rule["name"]


def _rule(rule: dict[str, Any]) -> None:
    priority = rule.get("priority")
    if priority is None or not PRIORITIES[0] <= priority <= PRIORITIES[1]:
        raise Refusal(
            "SecurityRuleInvalidPriority",
            f"Security rule has invalid Priority. Value provided: {priority} Allowed range 100-4096.",
        )
    for name, allowed in (
        ("protocol", PROTOCOLS),
        ("access", ("Allow", "Deny")),
        ("direction", ("Inbound", "Outbound")),
    ):
        if rule[name] not in allowed:
            raise Refusal(
                "InvalidRequestFormat", f"Security rule {rule['name']} has an invalid {name}: {rule[name]!r}."
            )
    for side in _SIDES:
        _prefixes(rule, side)
        _ports(rule, side)


def _given(rule: dict[str, Any], one: str, many: str) -> list[str]:
    """Return the values of a pair of properties, exactly one of which must be given."""
    single, several = rule.get(one), rule.get(many)
    if bool(single) == bool(several):
        raise Refusal(
            "SecurityRuleParameterContainsUnsupportedValue" if single else "SecurityRuleParameterMissing",
            f"Security rule {rule['name']} takes one of {one} and {many}.",
        )
    return [str(single)] if single else list(several or [])


def _prefixes(rule: dict[str, Any], side: str) -> None:
    if rule.get(f"{side}ApplicationSecurityGroups"):
        return
    ranges: list[tuple[str, ipaddress.IPv4Network]] = []
    for prefix in _given(rule, f"{side}AddressPrefix", f"{side}AddressPrefixes"):
        try:
            if prefix != "*" and not _TAG.fullmatch(prefix):
                ranges.append((prefix, ipaddress.IPv4Network(prefix)))
        except ValueError:
            raise Refusal(
                "SecurityRuleInvalidAddressPrefix",
                f"Security rule has invalid Address prefix. Value provided: {prefix}",
            ) from None

    for (one, first), (other, second) in combinations(ranges, 2):
        if first.overlaps(second):
            raise Refusal(
                "OverlappingSubnetsNotPermittedInSecurityRule",
                f"Security rule {rule['name']} has overlapping address prefixes: {one} and {other}.",
            )


def _ports(rule: dict[str, Any], side: str) -> None:
    for text in _given(rule, f"{side}PortRange", f"{side}PortRanges"):
        match = _PORTS.fullmatch(text)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if text != "*" and not first <= last <= 65535:
            raise Refusal(
                "SecurityRuleInvalidPortRange", f"Security rule has invalid Port range. Value provided: {text}"
            )


TYPES: dict[str, ResourceType] = {
    MEMBERS.token: row(
        MEMBERS,
        outputs={"provisioningState": "Succeeded", "type": MEMBERS.arm},
        in_use=in_use("InUseApplicationSecurityGroupCannotBeDeleted", "Application security group"),
    ),
    RULES.token: row(
        RULES,
        outputs={"provisioningState": "Succeeded", "type": RULES.arm},
        unordered=("securityRules",),
        references=tuple(
            points_to(MEMBERS, f"securityRules[].{side}ApplicationSecurityGroups[].id") for side in _SIDES
        ),
        rules=(_rules, quota(BY_TYPE[RULES.token])),
        in_use=(
            "InUseNetworkSecurityGroupCannotBeDeleted",
            "Network security group {id} cannot be deleted because it is in use by the following resources: {holder}.",
        ),
    ),
}
