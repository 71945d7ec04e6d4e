"""Modes, overlay, domain, zones, egress; API access; the control plane."""

from tests.components.spec.documents import GOOD, REMOVED, Case, azure, both, gcp, net, plane, pools, web
from tests.existing_networks import EXISTING

_ZONES = ["eu-west-1a", "eu-west-1b", "eu-west-1c"]
_LINUX, _WEB = GOOD["pools"]["linux"], GOOD["pools"]["web"]
_ONE = {"control_plane": {"count": 1}}


def _api(**fields: object) -> dict[str, object]:
    return {"api": {"access": "public", "allow": ["203.0.113.0/24"], **fields}}


def _inside(*allow: str) -> dict[str, object]:
    """A private API that ranges of connected networks may reach."""
    return {"api": {"access": "private", "allow": list(allow)}}


_RUNNERS = f"{EXISTING['azure']['network'].replace('shared', 'ci')}/subnets/runners"

CASES = (
    Case("region-unknown", {}, "aws:region", {}, {"aws:region": "eu-west-9"}),
    Case(
        "region-without-zones",
        azure(),
        "azure-native:location",
        azure(),
        {"azure-native:location": "westus"},
    ),
    *(
        Case(check, net(exporter_ports=[9100, port]), "network.exporter_ports.1", net(exporter_ports=[9100, 9182]))
        for check, port in (
            *(("exporter-port-closed", closed) for closed in (22, 2379, 3389, 5985, 6443)),
            *(("exporter-port-open", there) for there in (10250, 30000, 32767)),
            ("exporter-port-twice", 9100),
        )
    ),
    Case("mode-nat", net(mode="nat"), "network.mode", net(mode="overlay")),
    Case("mode-transparent", net(mode="transparent"), "network.mode", net(mode="overlay")),
    Case("mode-l2tunnel", net(mode="l2tunnel"), "network.mode", net(mode="overlay")),
    Case("vni-out-of-range", net(vni=4095), "network.vni", net(vni=4096)),
    Case("vni-out-of-range", net(vni=65536), "network.vni", net(vni=65535)),
    Case("vni-out-of-range", net(vni=1), "network.vni", net(vni=1, mode="l2bridge")),
    Case(
        "overlay-probes",
        web(os="windows-2019"),
        "pools.web.os",
        {**web(os="windows-2019"), **net(mode="l2bridge", pods="10.244.0.0/14", nodes="10.20.0.0/22")},
    ),
    Case(
        "pods-smaller-than-nodes",
        net(mode="l2bridge", pods="10.244.0.0/15"),
        "network.pods",
        net(mode="l2bridge", pods="10.244.0.0/14"),
    ),
    Case(
        "pods-smaller-than-nodes",
        net(mode="l2bridge", nodes="10.20.0.0/21"),
        "network.pods",
        net(mode="overlay", nodes="10.20.0.0/21"),
    ),
    # GOOD has 8 machines, and each table two routes of its own
    Case(
        "routes-above-limit",
        net(mode="l2bridge", route_limit=9),
        "network.mode",
        net(mode="l2bridge", route_limit=10),
    ),
    Case("routes-above-limit", net(mode="l2bridge", route_limit=1), "network.mode", net(route_limit=1)),
    Case("vxlan-port", net(port=8472), "network.port", net(port=4789)),
    Case("domain-form", net(domain="Cluster.local"), "network.domain", net(domain="cluster.local")),
    Case("domain-form", net(domain="a." * 32), "network.domain", net(domain="a." * 31 + "a")),
    Case("domain-single-label", net(domain="local"), "network.domain", net(domain="c.local")),
    Case("zone-names-count", net(zone_names=_ZONES[:2]), "network.zone_names", net(zone_names=_ZONES)),
    Case("zone-twice", net(zone_names=[*_ZONES[:2], _ZONES[0]]), "network.zone_names.2", net(zone_names=_ZONES)),
    Case(
        "zone-outside-region",
        net(zone_names=[*_ZONES[:2], "eu-west-2c"]),
        "network.zone_names.2",
        net(zone_names=_ZONES),
    ),
    Case("control-plane-shares-zone", net(zones=2), "network.zones", net(zones=3)),
    Case(
        "zones-without-machines",
        {**net(zones=3), **_ONE, **pools(linux=_LINUX)},
        "network.zones",
        {**net(zones=2), **_ONE, **pools(linux=_LINUX)},
    ),
    Case(
        "zonal-nat-without-nat",
        net(egress="public", nat_gateways="zonal"),
        "network.nat_gateways",
        net(egress="public", nat_gateways="single"),
    ),
    Case("single-nat-gateway", net(nat_gateways="single"), "network.nat_gateways", net(nat_gateways="zonal")),
    Case(
        "public-machines-private-api",
        net(egress="public", nat_gateways="single"),
        "network.egress",
        {**net(egress="public", nat_gateways="single"), **_api()},
    ),
    Case("allow-missing", _api(allow=[]), "api.allow", _api()),
    Case("allow-on-private", _api(access="private"), "api.allow.0", {"api": {"access": "private"}}),
    Case("allow-on-private", _api(access="private"), "api.allow.0", azure({"api": {"access": "private"}})),
    Case("allow-on-private", _inside("25.1.0.0/16"), "api.allow.0", _inside("10.1.0.0/16")),
    Case(
        "allow-on-private",
        _inside("25.1.0.0/16"),
        "api.allow.0",
        both(_inside("25.1.0.0/16"), net(outside=["25.0.0.0/8"])),
    ),
    Case("stores-closed", azure({"api": {"access": "private", "allow": []}}), "api.allow", azure()),
    Case(
        "stores-closed",
        azure({"api": {"access": "private", "allow": []}}),
        "api.allow",
        azure({"api": {"access": "private", "allow": [], "virtual_network_rules": [_RUNNERS]}}),
    ),
    Case(
        "virtual-network-rules-elsewhere",
        {"api": {"virtual_network_rules": [_RUNNERS]}},
        "api.virtual_network_rules",
        azure({"api": {"virtual_network_rules": [_RUNNERS]}}),
    ),
    Case(
        "virtual-network-rule-form",
        azure({"api": {"virtual_network_rules": [_RUNNERS.partition("/subnets")[0]]}}),
        "api.virtual_network_rules.0",
        azure({"api": {"virtual_network_rules": [_RUNNERS]}}),
    ),
    Case(
        "virtual-network-rule-twice",
        azure({"api": {"virtual_network_rules": [_RUNNERS, _RUNNERS.replace("runners", "Runners")]}}),
        "api.virtual_network_rules.1",
        azure({"api": {"virtual_network_rules": [_RUNNERS, f"{_RUNNERS}-2"]}}),
    ),
    Case("stores-closed", azure(_inside("10.1.0.0/16")), "api.allow", azure(_inside("10.1.0.0/16", "198.51.99.7/32"))),
    Case("allow-anywhere", _api(allow=["0.0.0.0/0"]), "api.allow.0", _api(allow=["0.0.0.0/8"])),
    Case("allow-example", _api(allow=["203.0.113.0/24"]), "api.allow.0", _api(allow=["203.0.114.0/24"])),
    Case("allow-example", _api(allow=["192.0.2.7/32"]), "api.allow.0", _api(allow=["192.0.3.7/32"])),
    Case("allow-anywhere", _api(allow=["0.0.0.0/1", "128.0.0.0/1"]), "api.allow.1", _api(allow=["0.0.0.0/1"])),
    Case("allow-wide", _api(allow=["128.0.0.0/7"]), "api.allow.0", _api(allow=["128.0.0.0/8"])),
    Case("allow-twice", _api(allow=["203.0.113.0/24"] * 2), "api.allow.1", _api()),
    Case(
        "allow-too-many",
        _api(allow=[f"203.0.113.{i}/32" for i in range(51)]),
        "api.allow",
        _api(allow=[f"203.0.113.{i}/32" for i in range(50)]),
    ),
    Case(
        "allow-too-many",
        _inside(*(f"10.1.{i}.0/24" for i in range(41))),
        "api.allow",
        _inside(*(f"10.1.{i}.0/24" for i in range(40))),
    ),
    Case("allow-not-routable", _api(allow=["172.31.0.0/16"]), "api.allow.0", _api(allow=["172.32.0.0/16"])),
    Case("allow-not-routable", _api(allow=["172.31.0.0/16"]), "api.allow.0", _inside("172.31.0.0/16")),
    Case("control-plane-count", plane(count=2), "control_plane.count", plane(count=3)),
    Case("control-plane-count", plane(count=0), "control_plane.count", plane(count=1)),
    Case("control-plane-count", plane(count=5), "control_plane.count", plane(count=1)),
    Case("control-plane-windows", plane(os="windows-2022"), "control_plane.os", plane(os="ubuntu-22.04")),
    Case("no-linux-worker", pools(web=_WEB), "pools", pools(web=_WEB, linux={**_LINUX, "count": 1})),
    Case("no-linux-worker", pools(web=_WEB, linux={**_LINUX, "count": 0}), "pools", pools(linux=_LINUX)),
    Case("no-workers", {"pools": REMOVED}, "pools", pools(linux=_LINUX)),
    Case(
        "protected-single-control-plane",
        {"protect": True, **_ONE},
        "control_plane.count",
        {"protect": True, **plane(count=3)},
    ),
    Case(
        "preflight-all",
        {"kubeadm": {"ignore_preflight": ["Swap", "ALL"]}},
        "kubeadm.ignore_preflight.1",
        {"kubeadm": {"ignore_preflight": ["Swap"]}},
    ),
    Case("pool-name-form", pools(Web=_WEB), "pools.Web", pools(w=_WEB)),
    Case("pool-name-form", pools(**{"1a": _WEB}), "pools.1a", pools(a1=_WEB)),
    Case("pool-name-form", pools(**{"a.b": _WEB}), "pools.a.b", pools(**{"a-b": _WEB})),
    # SRV-12: 13 letters, a hyphen and one digit are 15 characters
    Case("machine-name-too-long", pools(a234567890123b=_WEB), "pools.a234567890123b", pools(a23456789012b=_WEB)),
    Case(
        "machine-name-too-long",
        pools(a23456789012b={**_LINUX, "count": 11}),
        "pools.a23456789012b",
        pools(a23456789012b={**_LINUX, "count": 10}),
    ),
    Case("pool-named-control-plane", pools(**{"control-plane": _LINUX}), "pools.control-plane", pools(control=_LINUX)),
    Case("machine-name-clash", pools(web=_WEB, WEB=_WEB), "pools.WEB", pools(web=_WEB, web2=_WEB)),
    Case(
        "pool-named-like-machine",
        pools(a={**_LINUX, "count": 11}, **{"a-10": _LINUX}),
        "pools.a-10",
        pools(a={**_LINUX, "count": 10}, **{"a-10": _LINUX}),
    ),
    Case("pool-name-reserved", pools(localhost=_LINUX), "pools.localhost", pools(local=_LINUX)),
    Case("zonal-nat-on-gcp", gcp(net(nat_gateways="zonal")), "network.nat_gateways", gcp(net(nat_gateways="single"))),
    Case(
        "zone-outside-region",
        gcp(net(zones=1, zone_names=["europe-west4-a"])),
        "network.zone_names.0",
        gcp(net(zones=1, zone_names=["europe-west1-b"])),
    ),
    Case(
        "zone-outside-region",
        azure(net(zones=1, zone_names=["westeurope-1"])),
        "network.zone_names.0",
        azure(net(zones=1, zone_names=["2"])),
    ),
)
