"""Firewalls of a booted cluster: nftables in each machine's own network, from the rules of the world.

What two nodes send each other for their pods is bare here, because flannel's stand-in wraps nothing: it counts as
VXLAN, so it passes where a rule lets in the port of that. Metadata and names need no rule, as on AWS (EC2 user guide,
"Security group connection tracking": link-local and the resolver) and GCP (VPC, "Always allowed traffic"). The
network's own first address is the sandbox's hand: services, mirror, and a person's way to the API.
"""

import subprocess
from dataclasses import dataclass

from lab.linuxnode.image import IMAGE
from sandbox.services.server import METADATA_ADDRESS

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
    ip daddr {{ {asked} }} accept
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
        gateway=gateway,
        asked=", ".join(sorted({METADATA_ADDRESS, resolver})),
        ingress=texts[True],
        egress=texts[False],
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
