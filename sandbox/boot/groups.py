"""Security groups of a booted cluster: nftables in each machine's own network, from the groups and rules of the world.

What two nodes send each other for their pods is bare here, because flannel's stand-in wraps nothing: it counts as
VXLAN, so it passes where a rule lets in the port of that. Metadata and names need no rule, as on AWS (EC2 user guide,
"Security group connection tracking": link-local and the resolver). The network's own first address is the sandbox's
hand: services, mirror, and a person's way to the API.
"""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sandbox.aws.network import BALANCER, EGRESS, GROUP, INGRESS, INSTANCE
from sandbox.boot.names import places
from sandbox.records import Record
from sandbox.services.server import METADATA_ADDRESS
from sandbox.world import World
from tools.linuxnode.image import IMAGE

ANYWHERE, HTTPS, VXLAN = "0.0.0.0/0", 443, 4789
NUMBERS = {"6": "tcp", "17": "udp", "1": "icmp", "all": "-1"}
TABLE = """table ip security_groups
delete table ip security_groups
table ip security_groups {{
  chain in {{
    type filter hook prerouting priority -150; policy accept;
    iifname != "eth0" accept
    ct state established,related accept
    ip saddr {gateway} accept
{ingress}
    drop
  }}
  chain out {{
    type filter hook postrouting priority 150; policy accept;
    oifname != "eth0" accept
    ct state established,related accept
    ip daddr {{ {metadata}, {resolver} }} accept
{egress}
    drop
  }}
}}
"""


@dataclass(frozen=True)
class Permission:
    """One rule: protocol (tcp, udp, icmp, or -1 for all), ports from first to last, addresses and ranges."""

    ingress: bool
    protocol: str
    first: int
    last: int
    peers: tuple[str, ...]

    def covers(self, protocol: str, port: int) -> bool:
        """Whether it lets this through, to or from its peers."""
        return self.protocol == "-1" or (self.protocol == protocol and self.first <= port <= self.last)


def permissions(world: World, machine: Record) -> list[Permission]:
    """What the groups of a machine let in and out."""
    groups = machine.inputs.get("vpcSecurityGroupIds") or []
    rows = (
        (type == INGRESS, each.inputs)
        for group in groups
        for type in (INGRESS, EGRESS)
        for each in world.resources(type)
        if each.inputs["securityGroupId"] == group
    )
    found = [_permission(world, ingress, rule) for ingress, rule in rows]
    return [*found, *_inline(world, groups)]


def _inline(world: World, groups: list[str]) -> Iterator[Permission]:
    """Rules that stand in the groups themselves."""
    for record in filter(None, (world.find(GROUP, each) for each in groups)):
        for side in ("ingress", "egress"):
            for rule in record.inputs.get(side) or []:
                protocol = NUMBERS.get(str(rule["protocol"]), str(rule["protocol"]))
                peers = tuple(rule.get("cidrBlocks") or ())
                yield Permission(side == "ingress", protocol, int(rule["fromPort"]), int(rule["toPort"]), peers)


def _permission(world: World, ingress: bool, rule: dict[str, Any]) -> Permission:
    protocol = NUMBERS.get(str(rule["ipProtocol"]), str(rule["ipProtocol"]))
    other = rule.get("referencedSecurityGroupId")
    peers = tuple(members(world, other)) if other else (rule.get("cidrIpv4"),)
    return Permission(
        ingress, protocol, int(rule.get("fromPort") or 0), int(rule.get("toPort") or 0), tuple(filter(None, peers))
    )


def members(world: World, group: str) -> Iterator[str]:
    """Addresses of a group's machines and load balancers."""
    for machine in world.resources(INSTANCE):
        if group in (machine.inputs.get("vpcSecurityGroupIds") or []):
            yield machine.outputs["privateIp"]
    for balancer in world.resources(BALANCER):
        if group in (balancer.inputs.get("securityGroups") or []):
            yield from places(balancer)


def rules(found: list[Permission], network: str, gateway: str, resolver: str, *, routed: bool) -> str:
    """The table for nft. network: range of the nodes. routed: pods have addresses that the cloud itself knows."""
    lines = {side: [_line(each) for each in found if each.ingress is side and each.peers] for side in (True, False)}
    for side, word in ((True, "saddr"), (False, "daddr")):
        if not routed and any(each.ingress is side and each.covers("udp", VXLAN) for each in found):
            other = "daddr" if side else "saddr"
            lines[side] += [f"ip {word} != {network} accept", f"ip {other} != {network} accept"]
    if any(not each.ingress and each.covers("tcp", HTTPS) and ANYWHERE in each.peers for each in found):
        lines[False] += [f"ip daddr {gateway} accept"]
    texts = {side: "\n".join(f"    {line}" for line in lines[side]) for side in lines}
    return TABLE.format(
        gateway=gateway, resolver=resolver, metadata=METADATA_ADDRESS, ingress=texts[True], egress=texts[False]
    )


def _line(each: Permission) -> str:
    word = "saddr" if each.ingress else "daddr"
    peers = "" if ANYWHERE in each.peers else f"ip {word} {{ {', '.join(sorted(set(each.peers)))} }} "
    ports = f"{each.protocol} dport {each.first}-{each.last} " if each.protocol in ("tcp", "udp") else ""
    kind = "" if ports or each.protocol == "-1" else f"ip protocol {each.protocol} "
    return f"{peers}{kind}{ports}accept"


def apply(space: str, text: str) -> None:
    """Let a machine's network have this table, all at once; RuntimeError with nft's words where it is refused."""
    # with the machines' own nft: this host may have none
    words = ["nsenter", f"--net=/run/netns/{space}", "chroot", str(IMAGE), "nft", "--file", "-"]
    ran = subprocess.run(words, input=text, capture_output=True, text=True, check=False, timeout=30)
    if ran.returncode:
        raise RuntimeError(f"nft in {space}: {ran.stderr.strip()}\n{text}")
