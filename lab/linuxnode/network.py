"""Networks of machines: a bridge without uplink in one network namespace, and a namespace per machine."""

import hashlib
import ipaddress
import subprocess


def run(*words: object) -> str:
    """Run ip; return its output."""
    ran = subprocess.run(["ip", *map(str, words)], check=True, capture_output=True, text=True)
    return ran.stdout


def up(net: str, cidr: str) -> None:
    """Create namespace NET with bridge br0, which has the first address of the range."""
    network = ipaddress.ip_network(cidr)
    run("netns", "add", net)
    run("-n", net, "link", "set", "lo", "up")
    run("-n", net, "link", "add", "br0", "type", "bridge")
    run("-n", net, "addr", "add", f"{network[1]}/{network.prefixlen}", "dev", "br0")
    run("-n", net, "link", "set", "br0", "up")
    run("netns", "exec", net, "sysctl", "-qw", "net.ipv4.ip_forward=1")


def add(net: str, node: str, address: str) -> None:
    """Create namespace NET-NODE with the address on eth0 and the bridge as default route."""
    bridge = ipaddress.ip_interface(run("-n", net, "-o", "-4", "addr", "show", "br0").split()[3])
    space = f"{net}-{node}"
    run("netns", "add", space)
    run("-n", net, "link", "add", port(node), "type", "veth", "peer", "name", "eth0", "netns", space)
    run("-n", net, "link", "set", port(node), "master", "br0", "up")
    run("-n", space, "link", "set", "lo", "up")
    run("-n", space, "addr", "add", f"{address}/{bridge.network.prefixlen}", "dev", "eth0")
    run("-n", space, "link", "set", "eth0", "up")
    run("-n", space, "route", "add", "default", "via", bridge.ip)
    run("netns", "exec", space, "sysctl", "-qw", "net.ipv4.ip_forward=1")


def port(node: str) -> str:
    """Return the unique name of a node's bridge port: at most 15 characters."""
    return f"v{hashlib.sha256(node.encode()).hexdigest()[:12]}"


def connect(net: str, node: str, *, connected: bool) -> None:
    """Connect or disconnect a node's cable."""
    run("-n", net, "link", "set", port(node), "up" if connected else "down")


def throttle(net: str, node: str, rate: str) -> None:
    """Limit a node's rate in each direction, in tc's form (1mbit); an empty text removes the limit."""
    for namespace, device in ((net, port(node)), (f"{net}-{node}", "eth0")):
        shape = ("replace", "dev", device, "root", "tbf", "rate", rate, "burst", "32kbit", "latency", "400ms")
        words = ("tc", "-n", namespace, "qdisc", *(shape if rate else ("del", "dev", device, "root")))
        subprocess.run(words, check=bool(rate), capture_output=True, text=True)


def remove(space: str) -> None:
    """Remove a machine's namespace and its bridge port."""
    run("netns", "del", space)


def down(net: str) -> None:
    """Remove the bridge and all namespaces of its machines."""
    names = [line.split()[0] for line in run("netns", "list").splitlines() if line.strip()]
    for name in names:
        if name == net or name.startswith(f"{net}-"):
            run("netns", "del", name)
