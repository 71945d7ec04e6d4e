"""The operating system below Kubernetes: names, kernel, features, ports, firewall, folders."""

from typing import Any

from components import releases
from components.node.kinds import Step, ref, step
from components.node.layout import DOCKER, PRIVATE_FOLDERS, WINDOWS
from components.node.plan import Phase, Scope
from components.node.role import Role
from components.spec.models import Runtime

MODULES = ("overlay", "br_netfilter")

SYSCTLS = ("net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables", "net.ipv4.ip_forward")
"""CP-03: bridged pod traffic passes iptables, and the node forwards it."""

DYNAMIC_PORTS = (34000, 31536)
"""Start and count, to 65535: clear of NodePorts; load-balancer policies reserve 63 each (image-builder)."""

UNSCANNED = (
    (WINDOWS.programs, ("kubelet", "kube-proxy")),
    (WINDOWS.cni_programs, ("flannel", "win-overlay", "host-local")),
)
"""Programs that Defender leaves alone, by their folder."""

UNSCANNED_RUNTIMES = {
    Runtime.CONTAINERD: (WINDOWS.containerd_programs, ("containerd", "ctr", "containerd-shim-runhcs-v1")),
    Runtime.DOCKER: (DOCKER.programs, ("dockerd", "docker")),
}
"""The runtime's."""


def identity() -> Phase:
    """The host's name."""
    return Phase("identity", Scope.NODE, (step("hostname", "hostname", value=ref("machine.name")),))


def linux() -> Phase:
    """Kernel modules and settings, no swap."""
    modules = (step("module", f"module-{each}", module=each) for each in MODULES)
    sysctls = (step("sysctl", each, key=each, value="1") for each in SYSCTLS)
    return Phase("system", Scope.IMAGE, (*modules, *sysctls, step("swap", "swap")))


def windows_build(role: Role) -> Phase:
    """OS-05, OS-06: the planned build, before anything is installed."""
    release = releases.windows(role.os)
    revision = release.dsr_ubr if role.kube_proxy.dsr and release.dsr_ubr else release.minimum_ubr
    minimum: dict[str, Any] = {} if revision is None else {"minimum_ubr": revision}
    return Phase("build", Scope.IMAGE, (step("build", "build", build=release.build, **minimum),))


def windows(role: Role) -> Phase:
    """Registry fixes, the Containers feature and ports, before one reboot for all and the host name."""
    fixes = (
        step("registry", f"registry-{each.value}", key=each.key, value=each.value, type="DWord", data=each.number)
        for each in releases.windows(role.os).fixes
    )
    start, count = DYNAMIC_PORTS
    unscanned = (UNSCANNED_RUNTIMES[role.runtime], *UNSCANNED)
    programs = [WINDOWS.program(each, folder) for folder, names in unscanned for each in names]
    return Phase(
        "system",
        Scope.IMAGE,
        (
            *fixes,
            step("feature", "containers", feature="Containers"),
            step("port-range", "dynamic-ports", protocol="tcp", start=start, count=count),
            step("defender-exclusion", "defender", processes=programs, paths=[]),
            step("reboot", "reboot"),
        ),
    )


def windows_firewall(role: Role) -> Phase:
    """NET-13: the firewall stays on; what nodes need of each other, and NodePorts (the cloud's rules limit who)."""
    nodes = [str(role.spec.network.nodes)]
    return Phase(
        "firewall",
        Scope.IMAGE,
        (
            _rule("vxlan", "udp", str(role.spec.network.port), nodes),
            _rule("kubelet", "tcp", "10250", nodes),
            _rule("kube-proxy-health", "tcp", "10256", nodes),
            _rule("node-ports-tcp", "tcp", "30000-32767"),
            _rule("node-ports-udp", "udp", "30000-32767"),
        ),
    )


def _rule(name: str, protocol: str, ports: str, sources: list[str] | None = None) -> Step:
    limit: dict[str, Any] = {} if sources is None else {"sources": sources}
    return step("firewall-rule", f"firewall-{name}", rule=f"mullion-{name}", protocol=protocol, ports=[ports], **limit)


def windows_folders() -> Phase:
    """Private folders, before anything is put in them."""
    folders = (step("directory", f"folder-{path}", path=path, access="private") for path in PRIVATE_FOLDERS)
    return Phase("folders", Scope.IMAGE, tuple(folders))
