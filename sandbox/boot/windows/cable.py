"""The cable of a real Windows Server into a sandbox's network."""

import os
from contextlib import suppress
from subprocess import CalledProcessError

from lab.linuxnode.network import run
from sandbox.boot import firewalls

RUNTIME = "192.0.2.1"
"""Address of the namespace towards Windows alone, where the container runtime is; nobody else has it (RFC 5737)."""

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
"""What crosses the namespace has not come a hop further: answers of metadata services travel no more than they need."""


def plug(link: str, space: str, address: str, gateway: str, pods: str = "") -> None:
    """Let what is behind an interface of this host be the machine of a namespace, at its address. pods: its own range.

    The namespace routes between the interface and the machine's cable, and answers each side for the other's addresses
    (proxy ARP), as a cloud's network does: so firewall, cable and rate of the namespace hold for the Windows Server.
    """
    run("link", "set", link, "netns", space)
    inside = ("-n", space)
    run(*inside, "addr", "flush", "dev", "eth0")
    # scope host: never the sender of a question for an address, which Windows may not answer to a stranger
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
    """Give the interface back to this host; it may be gone with the machine's power."""
    with suppress(CalledProcessError):
        run("-n", space, "link", "set", link, "netns", os.getpid())
