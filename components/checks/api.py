"""Access to the Kubernetes API."""

from collections.abc import Iterator
from ipaddress import IPv4Network, collapse_addresses

from components.checks.check import Finding, Subject, at, error, warning
from components.checks.existing_network import SUBNET_FORMS
from components.spec.models import ApiAccess, Cloud
from components.topology.private_ranges import inside_clients, is_private

ANYWHERE = IPv4Network("0.0.0.0/0")

ON_PRIVATE = "allow-on-private"
"""Id of the check that finds public addresses in the allow list of a private API."""
ANYWHERE_ID = "allow-anywhere"
"""Id of the warning about an API that is open to the internet; it stops `up` unless it is acknowledged."""

WIDEST = 8
"""Shortest prefix length of a range that can be one organisation's."""

DOCUMENTATION = tuple(map(IPv4Network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")))
"""Ranges for documentation, which no client has (RFC 5737)."""

EXAMPLE_RANGE = "allow-example"
"""Id of the check that finds ranges for documentation; `mullion up` in a real account refuses them."""

MOST_RANGES = 50
"""Ranges in api.allow: an AWS security group takes 60 inbound rules by default, and Mullion adds some."""

MOST_INSIDE = 40
"""Ranges that reach a private API: the group of the control plane may have up to 18 further rules (l2bridge)."""


def _no_allow(subject: Subject) -> Iterator[Finding]:
    if subject.spec.api.access is ApiAccess.PUBLIC and not subject.spec.api.allow:
        yield at("api", "allow")


def _useless_allow(subject: Subject) -> Iterator[Finding]:
    private, used = subject.spec.api.access is ApiAccess.PRIVATE, inside_clients(subject.spec)
    if private and not subject.spec.cloud.facts.stores_need_allow:
        for index, each in enumerate(subject.spec.api.allow):
            if each not in used:
                yield at("api", "allow", index, value=each)


def _closed_stores(subject: Subject) -> Iterator[Finding]:
    api = subject.spec.api
    closed = all(map(is_private, api.allow)) and not api.virtual_network_rules
    if subject.spec.cloud.facts.stores_need_allow and closed:
        yield at("api", "allow")


def _rules_elsewhere(subject: Subject) -> Iterator[Finding]:
    if subject.spec.api.virtual_network_rules and subject.spec.cloud is not Cloud.AZURE:
        yield at("api", "virtual_network_rules")


def _rule_form(subject: Subject) -> Iterator[Finding]:
    form, _ = SUBNET_FORMS[Cloud.AZURE]
    for index, each in enumerate(subject.spec.api.virtual_network_rules):
        if not form.fullmatch(each):
            yield at("api", "virtual_network_rules", index, value=each)


def _rule_twice(subject: Subject) -> Iterator[Finding]:
    existing = subject.spec.network.existing
    listed = [subnet.id.lower() for subnet in existing.subnets] if existing else []
    for index, each in enumerate(subject.spec.api.virtual_network_rules):
        if each.lower() in listed:
            yield at("api", "virtual_network_rules", index, value=each)
        listed.append(each.lower())


def _anywhere(subject: Subject) -> Iterator[Finding]:
    """Find ranges that are the whole internet, alone or together, such as 0.0.0.0/1 and 128.0.0.0/1."""
    allow = subject.spec.api.allow
    if ANYWHERE in collapse_addresses(allow):
        for index, each in enumerate(allow):
            if each.prefixlen < WIDEST:
                yield at("api", "allow", index)


def _wide(subject: Subject) -> Iterator[Finding]:
    allow = subject.spec.api.allow
    for index, each in enumerate(allow):
        if each.prefixlen < WIDEST and ANYWHERE not in collapse_addresses(allow):
            yield at("api", "allow", index, value=each)


def _twice(subject: Subject) -> Iterator[Finding]:
    allow = subject.spec.api.allow
    for index, each in enumerate(allow):
        if each in allow[:index]:
            yield at("api", "allow", index, value=each)


def _many(subject: Subject) -> Iterator[Finding]:
    for ranges, most in ((subject.spec.api.allow, MOST_RANGES), (inside_clients(subject.spec), MOST_INSIDE)):
        if len(ranges) > most:
            yield at("api", "allow", count=len(ranges), most=most)
            return


def _not_routable(subject: Subject) -> Iterator[Finding]:
    nodes = subject.spec.network.nodes
    for index, each in enumerate(subject.spec.api.allow):
        if subject.spec.api.access is ApiAccess.PUBLIC and is_private(each):
            yield at("api", "allow", index, value=each, nodes=nodes)


def _example(subject: Subject) -> Iterator[Finding]:
    for index, allowed in enumerate(subject.spec.api.allow):
        if any(allowed.subnet_of(example) for example in DOCUMENTATION):
            yield at("api", "allow", index, value=allowed)


CHECKS = (
    error(
        "allow-missing",
        "api.access api.allow",
        _no_allow,
        "the API is public, but api.allow is empty, so nobody can reach it",
        "list the ranges of the clients of the API, such as allow: [203.0.113.0/24]",
    ),
    error(
        ON_PRIVATE,
        "api.access api.allow cloud network.outside",
        _useless_allow,
        "the API is private: only connected networks reach it, and {value} is neither a private range nor in"
        " network.outside",
        "remove it, or write access: public; if a network of yours uses these addresses, list it in network.outside",
    ),
    warning(
        "stores-closed",
        "cloud api.allow api.virtual_network_rules",
        _closed_stores,
        "the cluster's stores accept requests only from its subnets and from public ranges in api.allow, which has"
        " none; `up` writes to them",
        "list the public addresses of the machine that runs mullion; if it is a machine of Azure in the cluster's"
        " region, to which api.allow does not apply, list its subnet in api.virtual_network_rules; or accept this if it"
        " is in the cluster's subnets (with egress: none these are not admitted)",
    ),
    error(
        "virtual-network-rules-elsewhere",
        "cloud api.virtual_network_rules",
        _rules_elsewhere,
        "virtual_network_rules has no effect here: only Azure's storage accounts have such rules",
        "remove virtual_network_rules",
    ),
    error(
        "virtual-network-rule-form",
        "api.virtual_network_rules",
        _rule_form,
        "{value!r} is not the id of a subnet",
        "write /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Network/virtualNetworks/NAME/subnets/NAME",
    ),
    error(
        "virtual-network-rule-twice",
        "api.virtual_network_rules network.existing",
        _rule_twice,
        "{value} is listed twice, or is a subnet of the cluster, which the stores admit anyway",
        "list each other subnet once",
    ),
    warning(
        ANYWHERE_ID,
        "api.allow",
        _anywhere,
        "the whole internet can reach the API; `up` stops unless this is acknowledged",
        "list only the ranges that need it",
    ),
    warning(
        "allow-wide",
        "api.allow",
        _wide,
        "{value} covers a large part of the internet",
        "list narrower ranges",
    ),
    error(
        "allow-twice", "api.allow", _twice, "{value} is listed twice", "keep one: the cloud refuses the same rule twice"
    ),
    error(
        "allow-too-many",
        "api.access api.allow network.outside",
        _many,
        "{count} ranges are more than one security group takes by default",
        "list at most {most}; join neighbouring ranges",
    ),
    warning(
        "allow-not-routable",
        "api.access api.allow",
        _not_routable,
        "{value} is a private range, and the public load balancer sees only public addresses",
        "list the public address of that network; clients in {nodes} use the private endpoint",
    ),
    warning(
        EXAMPLE_RANGE,
        "api.allow",
        _example,
        "{value} is a range for documentation (RFC 5737) that no client has",
        "list the public addresses of the clients and of this machine",
    ),
)
