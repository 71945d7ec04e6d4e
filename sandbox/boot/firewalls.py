"""Firewalls of a booted cluster: nftables in each machine's network namespace, from the rules in the cloud state.

Traffic between pods of two nodes is not encapsulated here, because flannel's stand-in does not encapsulate: it counts
as VXLAN and passes if a rule allows VXLAN's port. Metadata and names need no rule, as on AWS (EC2 user guide,
"Security group connection tracking": link-local and the resolver) and GCP (VPC, "Always allowed traffic"). The
network's first address belongs to the sandbox: services, mirror, and the API's port on this host.
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
    ip daddr {{ {always_allowed} }} accept
{egress}
    drop
  }}
}}
"""


@dataclass(frozen=True)
class Permission:
    """One rule: protocol (tcp, udp, icmp, or -1 for all), first and last port, addresses and ranges of peers."""

    ingress: bool
    protocol: str
    first: int
    last: int
    peers: tuple[str, ...]

    def covers(self, protocol: str, port: int) -> bool:
        """Return whether the rule allows this port to or from its peers."""
        return self.protocol == "-1" or (self.protocol == protocol and self.first <= port <= self.last)


def rules(permissions: list[Permission], network: str, gateway: str, resolver: str, *, routed: bool) -> str:
    """Return a machine's table for nft. network: range of the nodes. routed: the cloud routes addresses of pods."""
    lines = {
        ingress: [_line(rule) for rule in permissions if rule.ingress is ingress and rule.peers]
        for ingress in (True, False)
    }
    for ingress, peer, own in ((True, "saddr", "daddr"), (False, "daddr", "saddr")):
        if not routed and any(rule.ingress is ingress and rule.covers("udp", VXLAN) for rule in permissions):
            lines[ingress] += [f"ip {peer} != {network} accept", f"ip {own} != {network} accept"]
    if any(not rule.ingress and rule.covers("tcp", HTTPS) and ANYWHERE in rule.peers for rule in permissions):
        lines[False] += [f"ip daddr {gateway} accept"]
    texts = {ingress: "\n".join(f"    {line}" for line in lines[ingress]) for ingress in lines}
    return TABLE.format(
        gateway=gateway,
        always_allowed=", ".join(sorted({METADATA_ADDRESS, resolver})),
        ingress=texts[True],
        egress=texts[False],
    )


def _line(rule: Permission) -> str:
    peer = "saddr" if rule.ingress else "daddr"
    peers = "" if ANYWHERE in rule.peers else f"ip {peer} {{ {', '.join(sorted(set(rule.peers)))} }} "
    ports = f"{rule.protocol} dport {rule.first}-{rule.last} " if rule.protocol in ("tcp", "udp") else ""
    protocol = "" if ports or rule.protocol == "-1" else f"ip protocol {rule.protocol} "
    return f"{peers}{protocol}{ports}accept"


def apply(space: str, text: str) -> None:
    """Load a table in a machine's network namespace, in one transaction. Raises RuntimeError with nft's message."""
    # nft of the machines' image: this host may have none
    words = ["nsenter", f"--net=/run/netns/{space}", "chroot", str(IMAGE), "nft", "--file", "-"]
    ran = subprocess.run(words, input=text, capture_output=True, text=True, check=False, timeout=30)
    if ran.returncode:
        raise RuntimeError(f"nft in {space}: {ran.stderr.strip()}\n{text}")
