"""Network mode, VXLAN, DNS domain, zones and NAT."""

import re
from collections.abc import Iterator

from components import releases
from components.checks.check import Finding, Rule, Subject, at, error, warning
from components.spec.models import ApiAccess, Egress, NatGateways, NetworkMode
from components.topology.addressing import NODE_PODS, SMALLEST_PREFIX

VNI_SMALLEST, VNI_LARGEST = 4096, 65535
"""VXLAN network identifiers: Windows takes 4096 and up, and flannel on Windows stores 16 bits (FLN-02)."""

PORT = 4789
"""UDP port of VXLAN: the only one that Windows HNS uses (FLN-02)."""

OTHER_ROUTES = 2
"""Routes that every table has: to the network's range, and to the internet."""

_DOMAIN = re.compile(r"^(?=.{1,63}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$")


def _mode(mode: NetworkMode) -> Rule:
    def rule(subject: Subject) -> Iterator[Finding]:
        if subject.spec.network.mode is mode:
            yield at("network", "mode")

    return rule


def _vni(subject: Subject) -> Iterator[Finding]:
    net = subject.spec.network
    if net.mode is NetworkMode.OVERLAY and not VNI_SMALLEST <= net.vni <= VNI_LARGEST:
        yield at("network", "vni", value=net.vni, low=VNI_SMALLEST, high=VNI_LARGEST)


def _port(subject: Subject) -> Iterator[Finding]:
    net = subject.spec.network
    if net.mode is NetworkMode.OVERLAY and net.port != PORT:
        yield at("network", "port", value=net.port, port=PORT)


def _probes(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        reached = not group.os.is_windows or releases.windows(group.os.value).overlay_host_route
        if subject.spec.network.mode is NetworkMode.OVERLAY and not reached:
            yield at(*group.path, "os", os=group.os.value)


def _pod_places(subject: Subject) -> Iterator[Finding]:
    net = subject.spec.network
    wanted = net.nodes.prefixlen - (net.nodes.max_prefixlen - NODE_PODS)
    if net.mode is NetworkMode.L2BRIDGE and net.pods.prefixlen > wanted:
        nodes = net.pods.prefixlen + (net.nodes.max_prefixlen - NODE_PODS)
        smaller = f", or a /{nodes} in network.nodes" if nodes <= SMALLEST_PREFIX else ""
        yield at("network", "pods", value=net.pods, nodes=net.nodes, prefix=wanted, smaller=smaller)


def _routes(subject: Subject) -> Iterator[Finding]:
    spec = subject.spec
    limit = spec.network.route_limit or spec.cloud.facts.route_limit
    wanted = sum(group.count for group in subject.groups) + OTHER_ROUTES
    if spec.network.mode is NetworkMode.L2BRIDGE and wanted > limit:
        machines = wanted - OTHER_ROUTES
        yield at("network", "mode", machines=machines, routes=wanted, limit=limit)


def _domain(subject: Subject) -> Iterator[Finding]:
    if not _DOMAIN.fullmatch(subject.spec.network.domain):
        yield at("network", "domain", value=subject.spec.network.domain)


def _domain_single(subject: Subject) -> Iterator[Finding]:
    domain = subject.spec.network.domain
    if _DOMAIN.fullmatch(domain) and "." not in domain:
        yield at("network", "domain", value=domain)


def _zone_count(subject: Subject) -> Iterator[Finding]:
    net = subject.spec.network
    if net.zone_names and len(net.zone_names) != net.zones:
        yield at("network", "zone_names", named=len(net.zone_names), zones=net.zones)


def _zone_twice(subject: Subject) -> Iterator[Finding]:
    names = subject.spec.network.zone_names
    for index, name in enumerate(names):
        if name in names[:index]:
            yield at("network", "zone_names", index, value=name)


def _zone_region(subject: Subject) -> Iterator[Finding]:
    for index, name in enumerate(subject.spec.network.zone_names):
        form, words = subject.spec.cloud.facts.zone_form, subject.spec.cloud.facts.zone_words
        if not re.fullmatch(form.replace("{}", re.escape(subject.region)), name):
            yield at("network", "zone_names", index, value=name, region=subject.region, form=words)


def _zones_of_control_plane(subject: Subject) -> Iterator[Finding]:
    zones, count = subject.spec.network.zones, subject.spec.control_plane.count
    if zones < count <= 3:
        yield at("network", "zones", zones=zones, count=count)


def _zones_unused(subject: Subject) -> Iterator[Finding]:
    zones = subject.spec.network.zones
    largest = max(group.count for group in subject.groups)
    if zones > largest >= 1:
        yield at("network", "zones", zones=zones, largest=largest)


def _zonal_without_nat(subject: Subject) -> Iterator[Finding]:
    net = subject.spec.network
    if net.egress is not Egress.NAT and net.nat_gateways is NatGateways.ZONAL and net.zones > 1:
        yield at("network", "nat_gateways", egress=net.egress.value)


def _regional_nat(subject: Subject) -> Iterator[Finding]:
    net = subject.spec.network
    if subject.spec.cloud.facts.regional_nat and net.egress is Egress.NAT and net.nat_gateways is NatGateways.ZONAL:
        yield at("network", "nat_gateways")


def _single_nat(subject: Subject) -> Iterator[Finding]:
    net = subject.spec.network
    zonal = not subject.spec.cloud.facts.regional_nat
    created = zonal and not net.existing and net.egress is Egress.NAT
    if created and net.nat_gateways is NatGateways.SINGLE and net.zones > 1:
        yield at("network", "nat_gateways", zones=net.zones)


def _public_machines(subject: Subject) -> Iterator[Finding]:
    if subject.spec.network.egress is Egress.PUBLIC and subject.spec.api.access is ApiAccess.PRIVATE:
        yield at("network", "egress")


_REFUSED = {
    NetworkMode.NAT: (
        "in mode nat pods are behind an internal switch and WinNAT of each host: nodes cannot reach each other's pods",
        "NET-02",
    ),
    NetworkMode.TRANSPARENT: (
        "mode transparent needs ovn-kubernetes, which has its own controller, tunnels, IPAM and load balancing",
        "NET-03 NET-08",
    ),
    NetworkMode.L2TUNNEL: (
        "mode l2tunnel needs Azure CNI, which gives each pod an address of the VNet",
        "NET-04 NET-08",
    ),
}

CHECKS = (
    *(
        error(f"mode-{mode.value}", "network.mode", _mode(mode), why, "write mode: overlay", f"NET-01 {requirement}")
        for mode, (why, requirement) in _REFUSED.items()
    ),
    error(
        "vni-out-of-range",
        "network.vni network.mode",
        _vni,
        "{value} is not a VNI for Windows, which needs {low} or more; flannel stores 16 bits",
        "write {low} to {high}; the default is {low}",
        "FLN-02",
    ),
    error(
        "vxlan-port",
        "network.port network.mode",
        _port,
        "Windows sends VXLAN to UDP {port} only, not {value}",
        "write {port}, or remove network.port",
        "FLN-02",
    ),
    warning(
        "overlay-probes",
        "pools.<pool>.os network.mode",
        _probes,
        "in mode overlay the host of {os} cannot reach its own pods: http, tcp and grpc probes fail, so pods restart",
        "write windows-2022 or newer, or mode: l2bridge; or give pods exec probes only, and acknowledge this warning",
        "NET-09",
    ),
    error(
        "pods-smaller-than-nodes",
        "network.pods network.nodes network.mode",
        _pod_places,
        "{value} is too small: in l2bridge each address of {nodes} has the /24 at the same position of the pod range",
        "write a /{prefix} or larger in network.pods{smaller}",
        "NET-05",
    ),
    error(
        "routes-above-limit",
        "network.mode network.route_limit cloud control_plane.count pools.*.count",
        _routes,
        "{machines} machines need {routes} routes in each route table, which takes {limit}",
        "write mode: overlay, or fewer machines; or raise the cloud's quota and write it in network.route_limit",
        "NET-06",
    ),
    error(
        "domain-form",
        "network.domain",
        _domain,
        "{value!r} is not a DNS domain",
        "write lower-case letters, digits and hyphens, with dots between them, such as cluster.local",
        "SRV-08",
    ),
    warning(
        "domain-single-label",
        "network.domain",
        _domain_single,
        "{value!r} has no dot: Windows pods take names with a dot for complete names, so Service names may not resolve",
        "write a domain with a dot, such as cluster.local",
        "SVC-10",
    ),
    error(
        "zone-names-count",
        "network.zones network.zone_names",
        _zone_count,
        "network.zone_names has {named} zones, but network.zones is {zones}",
        "list exactly {zones} zones, or write zones: {named}",
    ),
    error(
        "zone-twice",
        "network.zone_names",
        _zone_twice,
        "the zone {value!r} is listed twice",
        "list each zone once",
    ),
    error(
        "zone-outside-region",
        "network.zone_names cloud region",
        _zone_region,
        "{value!r} is not a zone of {region}",
        "write {form}",
    ),
    warning(
        "control-plane-shares-zone",
        "network.zones control_plane.count",
        _zones_of_control_plane,
        "{count} control-plane machines share {zones} zones: if one zone fails, etcd can lose its majority",
        "write zones: {count}",
    ),
    warning(
        "zones-without-machines",
        "network.zones control_plane.count pools.*.count",
        _zones_unused,
        "{zones} zones get subnets, but no pool has more than {largest} machines, so some zones stay empty",
        "write zones: {largest}",
    ),
    error(
        "zonal-nat-without-nat",
        "network.nat_gateways network.egress network.zones",
        _zonal_without_nat,
        "with egress: {egress} there is no NAT gateway",
        "remove nat_gateways, or write egress: nat",
    ),
    error(
        "zonal-nat-on-gcp",
        "network.nat_gateways network.egress cloud",
        _regional_nat,
        "Cloud NAT serves the whole region, and does not fail with a zone",
        "remove nat_gateways, or write single",
    ),
    warning(
        "single-nat-gateway",
        "network.nat_gateways network.egress network.zones network.existing cloud",
        _single_nat,
        "one NAT gateway serves {zones} zones: if its zone fails, machines in the other zones lose the internet",
        "write nat_gateways: zonal, or acknowledge this warning to pay for one gateway only",
    ),
    warning(
        "public-machines-private-api",
        "network.egress api.access",
        _public_machines,
        "the API is private, but every machine has a public address",
        "write egress: nat, or acknowledge this warning: security groups admit nothing from the internet",
    ),
)
