"""Network ranges: private, usable, and without overlaps."""

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations

from components.checks.check import Finding, Rule, Subject, at, error, warning
from components.spec.models import NetworkMode
from components.topology.private_ranges import is_private

UNUSABLE = tuple(map(IPv4Network, ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3")))
"""Ranges that no network can use: this network, loopback, link-local (169.254.169.254 is the metadata service),
multicast and reserved."""

DOCKER_BRIDGE = IPv4Network("172.17.0.0/16")
"""Range of Docker's bridge, unless configured otherwise."""


def _overlap(first: str, second: str) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        one, other = getattr(subject.spec.network, first), getattr(subject.spec.network, second)
        if one.overlaps(other):
            yield at("network", first, one=one, other=other)

    return rule


def _outside(name: str) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        value = getattr(subject.spec.network, name)
        for index, other in enumerate(subject.spec.network.outside):
            if value.overlaps(other):
                yield at("network", "outside", index, one=value, other=other)

    return rule


def _neighbours(subject: Subject) -> Iterator[Finding]:
    net = subject.spec.network
    for index, other in enumerate(net.neighbour_pods):
        if net.mode is not NetworkMode.OVERLAY and net.pods.overlaps(other):
            yield at("network", "neighbour_pods", index, one=net.pods, other=other)


def _neighbours_on_nodes(subject: Subject) -> Iterator[Finding]:
    net = subject.spec.network
    for index, other in enumerate(net.neighbour_pods):
        if net.mode is not NetworkMode.OVERLAY and other.overlaps(net.nodes):
            yield at("network", "neighbour_pods", index, one=net.nodes, other=other)


def _listed_twice(field: str) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        ranges: list[IPv4Network] = getattr(subject.spec.network, field)
        for (_, one), (index, other) in combinations(enumerate(ranges), 2):
            if one.overlaps(other):
                yield at("network", field, index, one=one, other=other)

    return rule


def _not_private(subject: Subject) -> Iterator[Finding]:
    for name in ("pods", "services", "nodes"):
        value: IPv4Network = getattr(subject.spec.network, name)
        if not is_private(value):
            yield at("network", name, value=value)


def _unusable(subject: Subject) -> Iterator[Finding]:
    net = subject.spec.network
    listed = [("outside", index, value) for index, value in enumerate(net.outside)]
    listed += [("neighbour_pods", index, value) for index, value in enumerate(net.neighbour_pods)]
    for name, index, value in listed:
        if any(value.overlaps(each) for each in UNUSABLE):
            yield at("network", name, index, value=value)


def _docker_bridge(subject: Subject) -> Iterator[Finding]:
    for name in ("pods", "services", "nodes"):
        value: IPv4Network = getattr(subject.spec.network, name)
        if value.overlaps(DOCKER_BRIDGE):
            yield at("network", name, value=value, bridge=DOCKER_BRIDGE)


_PAIRS = (("pods", "services"), ("pods", "nodes"), ("services", "nodes"))

CHECKS = (
    *(
        error(
            f"{one}-overlap-{other}",
            f"network.{one} network.{other}",
            _overlap(one, other),
            f"network.{one}, {{one}}, overlaps network.{other}, {{other}}",
            "write ranges that do not overlap; the defaults are pods 10.244.0.0/16, services 10.96.0.0/12,"
            " nodes 10.20.0.0/16",
            "IPP-05",
        )
        for one, other in _PAIRS
    ),
    *(
        error(
            f"{name}-overlap-outside",
            f"network.{name} network.outside",
            _outside(name),
            f"{{other}} overlaps network.{name}, {{one}}, so the cluster cannot reach it",
            f"write another range in network.{name}, or remove this one if the cluster need not reach it",
            "IPP-05 NET-11",
        )
        for name in ("pods", "services", "nodes")
    ),
    error(
        "pods-overlap-neighbour",
        "network.mode network.pods network.neighbour_pods",
        _neighbours,
        "{other}, the pod range of a neighbour, overlaps network.pods, {one}: routes to the pods of both would collide",
        "write another range in network.pods, or mode: overlay, where pod ranges may overlap",
        "IPP-05",
    ),
    error(
        "nodes-overlap-neighbour",
        "network.mode network.nodes network.neighbour_pods",
        _neighbours_on_nodes,
        "{other}, the pod range of a neighbour, overlaps network.nodes, {one}",
        "write another range in network.nodes",
        "IPP-05",
    ),
    *(
        warning(
            f"{field.replace('_', '-')}-twice",
            f"network.{field}",
            _listed_twice(field),
            "{other} overlaps {one} in the same list",
            "keep the larger one",
        )
        for field in ("outside", "neighbour_pods")
    ),
    error(
        "range-not-private",
        "network.pods network.services network.nodes",
        _not_private,
        "{value} is not a private range: the cluster could not reach hosts on the internet with these addresses",
        "write a range in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10",
        "IPP-01",
    ),
    error(
        "range-unusable",
        "network.outside network.neighbour_pods",
        _unusable,
        "{value} contains addresses that cannot be routed (this host, loopback, link-local or multicast)",
        "list only ranges that the cluster must reach: 0.0.0.0/0 would switch off all source NAT",
        "NET-11",
    ),
    warning(
        "range-on-docker-bridge",
        "network.pods network.services network.nodes",
        _docker_bridge,
        "{value} overlaps {bridge}, the range of Docker's bridge on machines that run Docker",
        "write another range",
        "IPP-05",
    ),
)
