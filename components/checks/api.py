"""Who may reach the Kubernetes API."""

from collections.abc import Iterator
from ipaddress import IPv4Network

from components.checks.check import Finding, Subject, at, error, warning
from components.checks.ranges import PRIVATE
from components.spec.models import ApiAccess

ANYWHERE = IPv4Network("0.0.0.0/0")

WIDEST = 8
"""A range wider than a /8 is no office: it is a good part of the internet."""

MOST_RANGES = 50
"""Inbound rules that an AWS security group takes by default are 60; some are ours."""


def _no_allow(subject: Subject) -> Iterator[Finding]:
    if subject.spec.api.access is ApiAccess.PUBLIC and not subject.spec.api.allow:
        yield at("api", "allow")


def _useless_allow(subject: Subject) -> Iterator[Finding]:
    private = subject.spec.api.access is ApiAccess.PRIVATE
    if private and subject.spec.api.allow and not subject.spec.cloud.facts.stores_need_allow:
        yield at("api", "allow")


def _closed_stores(subject: Subject) -> Iterator[Finding]:
    if subject.spec.cloud.facts.stores_need_allow and not subject.spec.api.allow:
        yield at("api", "allow")


def _anywhere(subject: Subject) -> Iterator[Finding]:
    for index, each in enumerate(subject.spec.api.allow):
        if each == ANYWHERE:
            yield at("api", "allow", index)


def _wide(subject: Subject) -> Iterator[Finding]:
    for index, each in enumerate(subject.spec.api.allow):
        if 0 < each.prefixlen < WIDEST:
            yield at("api", "allow", index, value=each)


def _twice(subject: Subject) -> Iterator[Finding]:
    allow = subject.spec.api.allow
    for index, each in enumerate(allow):
        if each in allow[:index]:
            yield at("api", "allow", index, value=each)


def _many(subject: Subject) -> Iterator[Finding]:
    count = len(subject.spec.api.allow)
    if count > MOST_RANGES:
        yield at("api", "allow", count=count, most=MOST_RANGES)


def _not_routable(subject: Subject) -> Iterator[Finding]:
    nodes = subject.spec.network.nodes
    for index, each in enumerate(subject.spec.api.allow):
        if any(each.subnet_of(private) for private in PRIVATE):
            yield at("api", "allow", index, value=each, nodes=nodes)


CHECKS = (
    error(
        "allow-missing",
        "api.access api.allow",
        _no_allow,
        "the API is public, but no range may reach it",
        "list the ranges of the people and systems that use it, such as allow: [203.0.113.0/24]",
    ),
    error(
        "allow-on-private",
        "api.access api.allow",
        _useless_allow,
        "the API is private, so this list has no effect",
        "remove it, or write access: public",
    ),
    warning(
        "stores-closed",
        "cloud api.allow",
        _closed_stores,
        "the cluster's stores answer in its own subnets and to api.allow alone, and this program fills them",
        "list the public addresses that mullion runs from, or accept it where it runs in the cluster's subnets",
    ),
    warning(
        "allow-anywhere",
        "api.allow",
        _anywhere,
        "the whole internet may reach the API",
        "list the ranges that need it",
    ),
    warning(
        "allow-wide",
        "api.allow",
        _wide,
        "{value} covers a large part of the internet",
        "list narrower ranges",
    ),
    error("allow-twice", "api.allow", _twice, "{value} stands twice", "keep one: the cloud refuses a rule given twice"),
    error(
        "allow-too-many",
        "api.allow",
        _many,
        "{count} ranges exceed what one security group takes by default",
        "list at most {most}; join neighbouring ranges",
    ),
    warning(
        "allow-not-routable",
        "api.allow",
        _not_routable,
        "{value} is a private range: nobody reaches a public load balancer from it",
        "list the public address that these people leave from; inside {nodes} the private endpoint is used",
    ),
)
