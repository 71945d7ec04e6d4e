"""Sizes of the pod, service and node ranges, and the DNS address."""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

from components.checks.check import Finding, Rule, Subject, at, error
from components.spec.defaults import DNS_INDEX

NODE_PREFIX, NODE_ADDRESSES = 24, 256
"""Prefix length and addresses of each node's part of the pod range (IPP-02)."""

MAX_PODS = 252
"""Pods per node: 254 usable addresses of a /24, less the gateway and, by mode, the bridge endpoint or the source VIP
(IPP-04)."""

SERVICES_LARGEST, SERVICES_SMALLEST = 12, 24
"""Prefix lengths of the service range: kube-apiserver refuses more than 20 host bits; fewer than 256 addresses run
out."""

NODES_LARGEST, NODES_SMALLEST = 16, 22
"""Prefix lengths of the node range: an AWS VPC takes at most a /16; in less than a /22 the edge subnets, a quarter of
each zone's quarter, are too small for load balancers (topology/addressing.py)."""


def most_nodes(subject: Subject) -> int:
    """Return the most nodes that exist at once: all machines, and in each pool those being replaced, which keep their
    /24 for a while.
    """
    spec = subject.spec
    replaced = sum(min(pool.rollout.wave(pool.count), pool.count) for pool in spec.pools.values())
    return spec.control_plane.count + sum(pool.count for pool in spec.pools.values()) + replaced


def pod_addresses(groups: Iterable[tuple[int, int]]) -> int:
    """Return the addresses that groups of (nodes, max pods) need: nodes + nodes x max pods (IPP-03)."""
    return sum(nodes * (1 + pods) for nodes, pods in groups)


def address_figures(subject: Subject) -> dict[str, int]:
    """Return the most nodes, the addresses needed with a /24 each (by_node) and by pods (by_pods), and those
    available.
    """
    nodes = most_nodes(subject)
    groups = [(group.count, group.max_pods) for group in subject.groups]
    groups += [(min(each.rollout.wave(each.count), each.count), each.max_pods) for each in subject.spec.pools.values()]
    pods = pod_addresses(groups)
    available = subject.spec.network.pods.num_addresses
    return {"nodes": nodes, "by_node": nodes * NODE_ADDRESSES, "by_pods": pods, "available": available}


def _few_node_ranges(subject: Subject) -> Iterator[Finding]:
    figures = address_figures(subject)
    if figures["available"] < figures["by_node"]:
        prefix = 32 - (figures["by_node"] - 1).bit_length()
        yield at("network", "pods", value=subject.spec.network.pods, prefix=prefix, **figures)


def _few_pod_addresses(subject: Subject) -> Iterator[Finding]:
    figures = address_figures(subject)
    if figures["available"] < figures["by_pods"]:
        prefix = 32 - (figures["by_pods"] - 1).bit_length()
        yield at("network", "pods", value=subject.spec.network.pods, prefix=prefix, **figures)


def _prefix(name: str, wrong: int, larger: bool) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        value: IPv4Network = getattr(subject.spec.network, name)
        if name == "nodes" and subject.spec.network.existing:
            return  # it is the user's; checks/existing_network.py looks at its subnets
        if value.prefixlen < wrong if larger else value.prefixlen > wrong:
            yield at("network", name, value=value, limit=wrong)

    return rule


def _max_pods(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        raised = group.options.kubelet.config.get("maxPods")
        if group.max_pods > MAX_PODS:
            yield at(*group.path, "max_pods", value=group.max_pods, limit=MAX_PODS)
        if isinstance(raised, int) and raised > MAX_PODS:
            yield at(*group.path, "kubelet", "config", "maxPods", value=raised, limit=MAX_PODS)


def _dns(wrong: str) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        dns, services = subject.spec.network.dns, subject.spec.network.services
        if not int(dns) and services.num_addresses <= DNS_INDEX:
            return  # a default for a range that is too small; services-too-small reports it
        inside = dns in services
        special = (
            {services[0]: "network", services[1]: "first", services[-1]: "broadcast"} if services.prefixlen < 31 else {}
        )
        if (wrong == "outside" and not inside) or special.get(dns) == wrong:
            yield at(
                "network",
                "dns",
                value=dns,
                services=services,
                tenth=services[min(DNS_INDEX, services.num_addresses - 1)],
            )

    return rule


_DNS = {
    "outside": "it lies outside the service range {services}",
    "first": "the first address of the service range belongs to the kubernetes service",
    "network": "it is the network address of the service range",
    "broadcast": "it is the last address of the service range",
}

CHECKS = (
    error(
        "pods-too-few-node-ranges",
        "network.pods control_plane.count pools.*.count pools.*.rollout.max_unavailable",
        _few_node_ranges,
        "{value} has {available} addresses, but {nodes} nodes (control plane, workers and machines being replaced) with"
        " a /24 each need {by_node} (nodes + nodes x max pods: {by_pods})",
        "write a /{prefix} or larger in network.pods",
        "IPP-02",
    ),
    error(
        "pods-too-few-addresses",
        "network.pods control_plane.count pools.*.count pools.*.max_pods pools.*.rollout.max_unavailable",
        _few_pod_addresses,
        "{value} has {available} addresses, but {nodes} nodes and their pods (nodes + nodes x max pods) need {by_pods}"
        " (with a /24 each: {by_node})",
        "write a /{prefix} or larger in network.pods, or lower max_pods",
        "IPP-03",
    ),
    error(
        "max-pods-above-node-range",
        "<machines>.max_pods <machines>.kubelet.config",
        _max_pods,
        "{value} pods do not fit into a node's /24: two of its 254 addresses are the gateway and the source VIP",
        "write at most {limit}",
        "IPP-04",
    ),
    error(
        "services-too-large",
        "network.services",
        _prefix("services", SERVICES_LARGEST, larger=True),
        "kube-apiserver refuses {value}: a service range may have at most 20 host bits",
        "write a /{limit} or smaller",
        "IPP-01",
    ),
    error(
        "services-too-small",
        "network.services",
        _prefix("services", SERVICES_SMALLEST, larger=False),
        "{value} has fewer than 256 addresses for Services",
        "write a /{limit} or larger",
        "IPP-01",
    ),
    error(
        "nodes-too-large",
        "network.nodes network.existing",
        _prefix("nodes", NODES_LARGEST, larger=True),
        "{value} is larger than an AWS VPC can be",
        "write a /{limit} or smaller",
        "IPP-05",
    ),
    error(
        "nodes-too-small",
        "network.nodes network.existing",
        _prefix("nodes", NODES_SMALLEST, larger=False),
        "{value} is too small for an edge subnet and a machine subnet in each of three zones",
        "write a /{limit} or larger",
        "IPP-05",
    ),
    *(
        error(
            f"dns-{wrong}",
            "network.dns network.services",
            _dns(wrong),
            "{value} cannot be the cluster's DNS address: " + why,
            "write another address of {services}, or remove network.dns to get the tenth, {tenth}",
            "IPP-06",
        )
        for wrong, why in _DNS.items()
    ),
)
