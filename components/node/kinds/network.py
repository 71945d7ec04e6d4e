"""Kinds for the host's firewall, dynamic ports and routes."""

from components.node.kinds.model import Cut, Field, Kind
from components.node.kinds.values import ADDRESS, COUNT, NAME, PORT, PROTOCOL

_STEPPED = (Cut.BEFORE_SET, Cut.HALF_SET, Cut.AFTER_SET)
_PORTS = {"type": "string", "pattern": r"^\d{1,5}(-\d{1,5})?$"}
_ONE = (Cut.BEFORE_SET, Cut.AFTER_SET)
_WINDOWS = ("windows",)

NETWORK: dict[str, Kind] = {
    "firewall-rule": Kind(
        "The host's firewall accepts the protocol on the ports.",
        {
            "rule": Field(NAME, "Name of the rule."),
            "protocol": Field(PROTOCOL, "tcp or udp."),
            "ports": Field({"type": "array", "items": _PORTS, "minItems": 1}, "Ports and ranges: 4789, 30000-32767."),
            "sources": Field(
                {"type": "array", "items": NAME, "minItems": 1},
                "Addresses and ranges of allowed sources; default any.",
                required=False,
            ),
        },
        compares="Linux: each rule in iptables' INPUT chain. Windows: the rule of that name, enabled, with protocol,"
        " ports and sources.",
        sets="Linux: inserts missing rules at the head. Windows: deletes and creates the rule.",
        undo="Windows: an earlier rule of that name",
        cuts=(Cut.BEFORE_SET, Cut.AFTER_SET),
    ),
    "firewall-profiles": Kind(
        "The host's firewall is on in all profiles and accepts only connections that rules allow.",
        {},
        compares="Get-NetFirewallProfile: Enabled; DefaultInboundAction is not Allow.",
        sets="Set-NetFirewallProfile.",
        systems=("windows",),
    ),
    "port-range": Kind(
        "The protocol's dynamic ports are in this range.",
        {
            "protocol": Field(PROTOCOL, "tcp or udp."),
            "start": Field(PORT, "The first port."),
            "count": Field(PORT, "Number of ports; start + count is at most 65536."),
        },
        compares="netsh's dynamic port range (IPv4).",
        sets="Sets the range.",
        cuts=_ONE,
        systems=_WINDOWS,
    ),
    "metadata-route": Kind(
        "Addresses of the cloud's services are routed through the interface of the default route.",
        {
            "addresses": Field(
                {"type": "array", "items": ADDRESS, "minItems": 1},
                "Addresses, such as 169.254.169.254 of the metadata service.",
            ),
            "hold_seconds": Field(
                COUNT,
                "Seconds after a new HNS network for which routes that HNS removes are set again; default 0.",
                required=False,
            ),
        },
        compares="Each address/32 has one route, with the interface and next hop of the default route (a default route"
        " through the pod range does not count). If this run saw a new HNS network: that hold_seconds are over.",
        sets="Replaces routes that differ, in the active store, which is empty after a boot; looks every 2 seconds"
        " until hold_seconds are over.",
        undo="routes to the addresses through other interfaces",
        cuts=_STEPPED,
        systems=_WINDOWS,
        image=False,
    ),
}
