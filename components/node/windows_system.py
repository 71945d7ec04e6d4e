"""Windows below Kubernetes: build, registry, time, page file, features, firewall, folders."""

from collections.abc import Iterator
from typing import Any

from components import releases
from components.clouds import RegistryRow
from components.node import egress, runtime
from components.node.evidence import windows_script
from components.node.kinds import OnChange, Step, ref, step
from components.node.layout import CONTAINER_USER, PRIVATE_FOLDERS, WINDOWS, WINDOWS_KUBELET_ROOT
from components.node.plan import Phase, Scope
from components.node.role import Role
from components.spec.models import NetworkMode

DYNAMIC_PORTS = (34000, 31536)
"""Start and count, to 65535: clear of NodePorts; load-balancer policies reserve 63 each (image-builder)."""

PAGE_FILE_MB = 8192
"""RES-07: Windows needs one; a fixed size leaves the disk to images (AKS Engine took as much)."""

ADMINISTRATOR = "mullion"
"""The user that Azure makes on every machine."""

_SERVICES = r"HKLM\SYSTEM\CurrentControlSet\Services"
_TIME = rf"{_SERVICES}\W32Time"
_UPDATES = r"HKLM\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate\AU"

EVERYWHERE: tuple[RegistryRow, ...] = (
    # a node is replaced, never updated in place (OS-09); 2: should anybody switch it on, it asks before it downloads
    (_UPDATES, "NoAutoUpdate", "DWord", 1),
    (_UPDATES, "AUOptions", "DWord", 2),
)

UNSCANNED = (
    (WINDOWS.programs, ("kubelet", "kube-proxy")),
    (WINDOWS.cni_programs, ("flannel", "win-overlay", "win-bridge", "host-local")),
)
"""Programs that Defender leaves alone, by their folder; the runtime's are its own."""


def identity(role: Role) -> Phase:
    """The host's name, with the restart that features need; the kubelet is told the node's name, so it never waits.

    On Azure also: nobody is the user that it makes on every machine.
    """
    named = step("hostname", "hostname", value=ref("machine.name"), restart=False)
    created = role.spec.cloud.facts.creates_administrator
    closed = (step("local-user", "administrator", user=ADMINISTRATOR),) if created else ()
    return Phase("identity", Scope.NODE, (named, *closed))


def build(role: Role) -> Phase:
    """OS-05, OS-06: the planned build, before anything is installed."""
    release = releases.windows(role.os)
    revision = release.dsr_ubr if role.kube_proxy.dsr and release.dsr_ubr else release.minimum_ubr
    minimum: dict[str, Any] = {} if revision is None else {"minimum_ubr": revision}
    return Phase("build", Scope.IMAGE, (step("build", "build", build=release.build, **minimum),))


def system(role: Role) -> Phase:
    """What holds after a restart only, and the one restart for all of it and the host name; then what needs none."""
    start, count = DYNAMIC_PORTS
    unscanned = (runtime.unscanned(role), *UNSCANNED)
    programs = [WINDOWS.program(each, folder) for folder, names in unscanned for each in names]
    return Phase(
        "system",
        Scope.IMAGE,
        (
            *_registry(role),
            # before the restart, after which every service has them, and before the first download
            *egress.authorities(role),
            *egress.machine_wide(role),
            step("pagefile", "pagefile", initial_mb=PAGE_FILE_MB, maximum_mb=PAGE_FILE_MB),
            step("feature", "containers", feature="Containers"),
            step("port-range", "dynamic-ports", protocol="tcp", start=start, count=count),
            step("defender-exclusion", "defender", processes=programs, paths=[]),
            step("reboot", "reboot"),
            step("system-service", "time", service="W32Time", start="auto"),
        ),
    )


def _registry(role: Role) -> Iterator[Step]:
    facts = role.spec.cloud.facts
    fixes = [(each.key, each.value, "DWord", each.number) for each in releases.windows(role.os).fixes]
    for key, value, type_, data in (*fixes, *EVERYWHERE, *_time(facts.time_server), *facts.windows_registry):
        yield step("registry", f"registry-{value}", key=key, value=value, type=type_, data=data)


def _time(server: str | None) -> tuple[RegistryRow, ...]:
    key = rf"{_TIME}\Parameters"
    # 0x9: as a client, at the interval of its own (w32tm)
    return ((key, "Type", "String", "NTP"), (key, "NtpServer", "String", f"{server},0x9")) if server else ()


def firewall(role: Role) -> Phase:
    """NET-13: the firewall is on; what nodes need of each other, and NodePorts (the cloud's rules limit who).

    Not for images: the ranges are one cluster's. Rules first, so that a firewall that was off cuts nobody off.
    """
    nodes, overlay = [str(role.spec.network.nodes)], role.spec.network.mode is NetworkMode.OVERLAY
    return Phase(
        "firewall",
        Scope.NODE,
        (
            *([_rule("vxlan", "udp", str(role.spec.network.port), nodes)] if overlay else []),
            # a metrics server asks from its own address where the cloud routes pods
            _rule("kubelet", "tcp", "10250", nodes if overlay else [*nodes, str(role.spec.network.pods)]),
            _rule("kube-proxy-health", "tcp", "10256", nodes),
            _rule("node-ports-tcp", "tcp", "30000-32767"),
            _rule("node-ports-udp", "udp", "30000-32767"),
            step("firewall-profiles", "firewall"),
        ),
    )


def _rule(name: str, protocol: str, ports: str, sources: list[str] | None = None) -> Step:
    limit: dict[str, Any] = {} if sources is None else {"sources": sources}
    return step("firewall-rule", f"firewall-{name}", rule=f"mullion-{name}", protocol=protocol, ports=[ports], **limit)


def folders(role: Role) -> Phase:
    """SEC-01: private folders, before anything is put in them; also logs, which CVE-2024-5321 is about.

    Pods' own volumes are the one place for others: containers run as ContainerUser unless they say so, and Windows
    asks for that user's rights when a container opens a file that the node lends it.
    """
    private = (*PRIVATE_FOLDERS, runtime.data_folder(role))
    pods = WINDOWS.path(WINDOWS_KUBELET_ROOT, "pods")
    return Phase(
        "folders",
        Scope.IMAGE,
        (
            *(step("directory", f"folder-{path}", path=path, access="private") for path in private),
            step("directory", f"folder-{pods}", path=pods, access="private", writers=[CONTAINER_USER]),
        ),
    )


def rotate_logs() -> Step:
    """OPS-03: logs that their own programs let grow are cut to size every hour."""
    every = {"every_minutes": 60}
    command = windows_script("rotate-logs.ps1")
    return step(
        "task", "rotate-logs", task="rotate-logs", command=command, schedule=every, on_change=OnChange.NEW_NODES
    )
