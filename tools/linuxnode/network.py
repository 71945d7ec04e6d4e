"""Networks of machines: a bridge in a network namespace of its own, without a way out, and a namespace each."""

import hashlib
import ipaddress
import subprocess


def run(*words: object) -> str:
    """The output of ip."""
    ran = subprocess.run(["ip", *map(str, words)], check=True, capture_output=True, text=True)
    return ran.stdout


def up(net: str, cidr: str) -> None:
    """The bridge br0 in namespace NET; it has the first address of the range."""
    network = ipaddress.ip_network(cidr)
    run("netns", "add", net)
    run("-n", net, "link", "set", "lo", "up")
    run("-n", net, "link", "add", "br0", "type", "bridge")
    run("-n", net, "addr", "add", f"{network[1]}/{network.prefixlen}", "dev", "br0")
    run("-n", net, "link", "set", "br0", "up")
    run("netns", "exec", net, "sysctl", "-qw", "net.ipv4.ip_forward=1")


def add(net: str, node: str, address: str) -> None:
    """The namespace NET-NODE whose eth0 has the address, and the bridge as its way out."""
    bridge = ipaddress.ip_interface(run("-n", net, "-o", "-4", "addr", "show", "br0").split()[3])
    space = f"{net}-{node}"
    port = f"v{hashlib.sha256(node.encode()).hexdigest()[:12]}"  # at most 15 characters, one for each machine
    run("netns", "add", space)
    run("-n", net, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", space)
    run("-n", net, "link", "set", port, "master", "br0", "up")
    run("-n", space, "link", "set", "lo", "up")
    run("-n", space, "addr", "add", f"{address}/{bridge.network.prefixlen}", "dev", "eth0")
    run("-n", space, "link", "set", "eth0", "up")
    run("-n", space, "route", "add", "default", "via", bridge.ip)
    run("netns", "exec", space, "sysctl", "-qw", "net.ipv4.ip_forward=1")


def remove(space: str) -> None:
    """End one machine's namespace, and with it its port of the bridge."""
    run("netns", "del", space)


def down(net: str) -> None:
    """End the bridge and all that was added to it."""
    names = [line.split()[0] for line in run("netns", "list").splitlines() if line.strip()]
    for name in names:
        if name == net or name.startswith(f"{net}-"):
            run("netns", "del", name)
