"""Windows settings: build, registry, time, page file, features, firewall, folders."""

from collections.abc import Iterator
from typing import Any

from components import releases
from components.clouds import RegistryRow
from components.node import egress, gmsa, hypervisor, runtime
from components.node.evidence import windows_script
from components.node.kinds import OnChange, Step, ref, step
from components.node.layout import (
    AUTHENTICATED_USERS,
    CONTAINER_USER,
    PRIVATE_FOLDERS,
    WINDOWS,
    WINDOWS_KUBELET_ROOT,
)
from components.node.plan import Phase, Scope
from components.node.role import Role
from components.spec.models import NetworkMode

DYNAMIC_PORTS = (34000, 31536)
"""First dynamic port and count, up to 65535: above the NodePorts, and enough for load-balancer policies, which reserve
63 ports each (image-builder)."""

PAGE_FILE_MB = 8192
"""Size of the page file in MiB. Windows needs one (RES-07); a fixed size leaves the disk to images (as AKS Engine)."""

SYSTEM_DRIVE_MB = PAGE_FILE_MB + 2048 + 6144
"""Free space in MiB that C: needs before anything is installed: page file, downloads with their unpacked programs, and
one base image (servercore has 5 to 6 GiB)."""

ADMINISTRATOR = "mullion"
"""Administrator account that Azure creates on every machine."""

_SERVICES = r"HKLM\SYSTEM\CurrentControlSet\Services"
_TIME = rf"{_SERVICES}\W32Time"
_UPDATES = r"HKLM\SOFTWARE\Policies\Microsoft\Windows\WindowsUpdate\AU"

EVERYWHERE: tuple[RegistryRow, ...] = (
    # nodes are replaced, never updated in place (OS-09); 2: if an administrator enables updates, Windows asks first
    (_UPDATES, "NoAutoUpdate", "DWord", 1),
    (_UPDATES, "AUOptions", "DWord", 2),
)

UNSCANNED = (
    (WINDOWS.programs, ("kubelet", "kube-proxy")),
    (WINDOWS.cni_programs, ("flannel", "win-overlay", "win-bridge", "host-local")),
)
"""Programs that Defender excludes, by folder; those of the runtime are in components/node/runtime.py."""


def identity(role: Role) -> Phase:
    """Return the phase that sets the host name; on Azure it also disables the administrator account that Azure creates.

    The host name takes effect with the restart for features. No step waits for it, because the kubelet has the node's
    name as a flag.
    """
    hostname = step("hostname", "hostname", value=ref("machine.name"), restart=False)
    created = role.spec.cloud.facts.creates_administrator
    closed = (step("local-user", "administrator", user=ADMINISTRATOR),) if created else ()
    return Phase("identity", Scope.NODE, (hostname, *closed))


def build(role: Role) -> Phase:
    """Return the phase that checks the Windows build before anything is installed (OS-05, OS-06)."""
    release = releases.windows(role.os)
    needed = [release.minimum_ubr, release.dsr_ubr if role.kube_proxy.dsr else None, gmsa.minimum_ubr(role)]
    revision = max((each for each in needed if each is not None), default=None)
    minimum: dict[str, Any] = {} if revision is None else {"minimum_ubr": revision}
    return Phase("build", Scope.IMAGE, (step("build", "build", build=release.build, **minimum),))


def system(role: Role) -> Phase:
    """Return the phase of settings that need a restart, one restart for all of them, and settings that need none."""
    start, count = DYNAMIC_PORTS
    unscanned = (runtime.unscanned(role), *UNSCANNED)
    programs = [WINDOWS.program(each, folder) for folder, names in unscanned for each in names]
    elsewhere: dict[str, Any] = {"other_drive": True} if role.spec.cloud.facts.temporary_disk else {}
    return Phase(
        "system",
        Scope.IMAGE,
        (
            *_registry(role),
            # before the restart, so that every service has them, and before the first download
            *egress.authorities(role),
            *egress.machine_wide(role),
            # images have partitions smaller than the disk (Azure's smalldisk: 30 GiB); before page file and downloads
            step("partition", "system-drive", drive="C", free_mb=SYSTEM_DRIVE_MB),
            step("pagefile", "pagefile", initial_mb=PAGE_FILE_MB, maximum_mb=PAGE_FILE_MB, **elsewhere),
            step("feature", "containers", feature="Containers"),
            *hypervisor.features(role),
            # after the feature, which brings the services hns and wcifs: their keys are not made before it is installed
            *_fixes(role),
            step("port-range", "dynamic-ports", protocol="tcp", start=start, count=count),
            *_udp_ports(role),
            step("defender-exclusion", "defender", processes=programs, paths=[]),
            step("reboot", "reboot"),
            step("system-service", "time", service="W32Time", start="auto"),
        ),
    )


def _udp_ports(role: Role) -> Iterator[Step]:
    if ports := role.spec.cloud.facts.windows_udp_ports:
        start, count = ports
        only_new = OnChange.NEW_NODES  # not worth the replacement of existing machines
        yield step("port-range", "dynamic-udp-ports", protocol="udp", start=start, count=count, on_change=only_new)


def _fixes(role: Role) -> Iterator[Step]:
    for fix in releases.windows(role.os).fixes:
        bits: dict[str, Any] = {"bits": True} if fix.bits else {}
        name, data = f"registry-{fix.value}", fix.number
        # HNS, wcifs and the feature overrides read them at their start (AgentBaker, azurecnifunc.ps1, restarts HNS)
        yield step("registry", name, key=fix.key, value=fix.value, type="DWord", data=data, restart=True, **bits)


def _registry(role: Role) -> Iterator[Step]:
    facts = role.spec.cloud.facts
    for key, value, type_, data in (*EVERYWHERE, *_time(facts.time_server), *facts.windows_registry):
        yield step("registry", f"registry-{value}", key=key, value=value, type=type_, data=data)


_POLL_SECONDS = 900
"""Seconds between two requests to the time server, as EC2's images have it (AWS, "Set the time for your Windows
instance"). Windows' own default outside a domain is a week (Microsoft, "Windows Time service tools and settings"),
and clients' certificates live for a day."""


def _time(server: str | None) -> tuple[RegistryRow, ...]:
    if not server:
        return ()
    key, client = rf"{_TIME}\Parameters", rf"{_TIME}\TimeProviders\NtpClient"
    return (
        (key, "Type", "String", "NTP"),
        # 0x9: client mode, special poll interval (w32tm)
        (key, "NtpServer", "String", f"{server},0x9"),
        (client, "SpecialPollInterval", "DWord", _POLL_SECONDS),
    )


def firewall(role: Role) -> Phase:
    """Return the phase that opens ports to nodes and NodePorts to all, then turns the firewall on (NET-13).

    The cloud's rules limit the sources of NodePorts. It is not part of images, because the ranges belong to one
    cluster. Rules come first, so that turning the firewall on interrupts no connection. None of them depends on
    `ingress`, whose changes replace no machine.
    """
    nodes, overlay = [str(role.spec.network.nodes)], role.spec.network.mode is NetworkMode.OVERLAY
    return Phase(
        "firewall",
        Scope.NODE,
        (
            *([_rule("vxlan", "udp", str(role.spec.network.port), nodes)] if overlay else []),
            # with l2bridge metrics-server connects from its pod address
            _rule("kubelet", "tcp", "10250", nodes if overlay else [*nodes, str(role.spec.network.pods)]),
            _rule("kube-proxy-health", "tcp", "10256", _health_sources(role, nodes)),
            _rule("node-ports-tcp", "tcp", "30000-32767"),
            _rule("node-ports-udp", "udp", "30000-32767"),
            step("firewall-profiles", "firewall"),
        ),
    )


def _health_sources(role: Role, nodes: list[str]) -> list[str] | None:
    """Return who may ask kube-proxy for its health: nodes, and health checks of load balancers; None: everybody.

    Load balancers of AWS ask from their own addresses. In an existing network these are in public subnets of unknown
    range; there the security groups alone limit the sources.
    """
    facts = role.spec.cloud.facts
    if facts.edge_subnets and role.spec.network.existing:
        return None
    return [*nodes, *map(str, facts.probe_ranges)]


def _rule(name: str, protocol: str, ports: str, sources: list[str] | None = None) -> Step:
    limit: dict[str, Any] = {} if sources is None else {"sources": sources}
    return step("firewall-rule", f"firewall-{name}", rule=f"mullion-{name}", protocol=protocol, ports=[ports], **limit)


def folders(role: Role) -> Phase:
    """Return the phase that creates private folders before any file in them; logs too, for CVE-2024-5321 (SEC-01).

    Only pod volumes are writable by others. Windows checks the rights of a container's own user when it opens a file in
    a mounted volume, and the kubelet sets none on `pods`: what it creates there inherits (os.MkdirAll in
    pkg/kubelet/kubelet.go). Elsewhere the folder inherits from C:, so every user may read and add files.
    """
    private = (*PRIVATE_FOLDERS, runtime.data_folder(role))
    pods, writers = WINDOWS.path(WINDOWS_KUBELET_ROOT, "pods"), [CONTAINER_USER, AUTHENTICATED_USERS]
    return Phase(
        "folders",
        Scope.IMAGE,
        (
            *(step("directory", f"folder-{path}", path=path, access="private") for path in private),
            step("directory", f"folder-{pods}", path=pods, access="private", writers=writers),
        ),
    )


def rotate_logs() -> Step:
    """Return the task that rotates, every hour, logs that their programs do not rotate (OPS-03)."""
    hourly = {"every_minutes": 60}
    command = windows_script("rotate-logs.ps1")
    return step(
        "task", "rotate-logs", task="rotate-logs", command=command, schedule=hourly, on_change=OnChange.NEW_NODES
    )
