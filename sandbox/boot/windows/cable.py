"""Connection of a real Windows Server to a sandbox's network."""

import os
from contextlib import suppress
from subprocess import CalledProcessError

from lab.linuxnode.network import run
from sandbox.boot import firewalls

RUNTIME = "192.0.2.1"
"""Address of the container runtime in the namespace, for Windows alone (unused elsewhere, RFC 5737)."""

NO_HOP = """table ip cable
delete table ip cable
table ip cable {
  chain in {
    type filter hook prerouting priority -300; policy accept;
    ip ttl 3 ip ttl set 4
    ip ttl 2 ip ttl set 3
    ip ttl 1 ip ttl set 2
  }
}
"""
"""nftables rules that add one to small TTLs: the namespace is one more hop, and answers of metadata services have a TTL
that allows none."""


def plug(link: str, space: str, address: str, gateway: str, pods: str = "") -> None:
    """Connect a Windows Server behind an interface of this host to a machine's namespace. pods: the node's pod range.

    The namespace routes between interface and cluster network, and answers each side for the other's addresses (proxy
    ARP), as a cloud's network does, so its firewall, cable and rate apply to the Windows Server.
    """
    run("link", "set", link, "netns", space)
    inside = ("-n", space)
    run(*inside, "addr", "flush", "dev", "eth0")
    # scope host: never the source of an ARP request, which Windows may not answer
    run(*inside, "addr", "replace", f"{RUNTIME}/32", "dev", "lo", "scope", "host")
    firewalls.apply(space, NO_HOP)
    for device in (link, "eth0"):
        for key in ("conf/{}/proxy_arp=1", "neigh/{}/proxy_delay=0"):
            run("netns", "exec", space, "sysctl", "-qw", f"net/ipv4/{key.format(device)}")
    run(*inside, "link", "set", link, "up")
    run(*inside, "route", "replace", f"{gateway}/32", "dev", "eth0", "scope", "link")
    run(*inside, "route", "replace", "default", "via", gateway, "dev", "eth0")
    run(*inside, "route", "replace", f"{address}/32", "dev", link, "scope", "link")
    if pods:
        run(*inside, "route", "replace", pods, "via", address, "dev", link)


def unplug(link: str, space: str) -> None:
    """Move the interface back to this host; it may not exist while the machine is off."""
    with suppress(CalledProcessError):
        run("-n", space, "link", "set", link, "netns", os.getpid())
