"""Users' configuration of containerd and the kubelet that starts programs, opens addresses, or sends data elsewhere."""

from collections.abc import Iterator, Mapping
from typing import Any

from components.checks.check import Finding, MachineGroupSpec, Path, Subject, at, error, warning
from components.checks.image_sources import decides_images
from components.checks.user_config import walk
from components.spec.wording import shown

PROGRAMS = {"stream_processors": "path and args", "proxy_plugins": "address"}
"""Top-level tables of config.toml: containerd starts the first at each layer (core/diff/stream.go), and asks the others
for the content of images and snapshots."""

STARTED = frozenset({"BinaryName", "runtime_path", "binary_name"})
"""Settings with a program that containerd or its shim starts as root (core/runtime/v2, runc's options)."""

SERVERS = ("io.containerd.server.v1.grpc", "io.containerd.server.v1.ttrpc", "io.containerd.server.v1.debug")
"""How the plugins begin that serve containerd's API (version 4 of config.toml)."""

HARMLESS = frozenset(
    {
        *(
            "version",
            "oom_score",
            "level",
            "format",
            "SystemdCgroup",
            "default_runtime_name",
            "discard_unpacked_layers",
        ),
        *("disable_snapshot_annotations", "ignore_image_defined_volumes", "max_concurrent_downloads"),
        *("max_container_log_line_size", "image_pull_progress_timeout", "image_pull_with_sync_fs"),
        *(
            "concurrent_layer_fetch_buffer",
            "max_concurrent_unpacks",
            "stats_collect_period",
            "drain_exec_sync_io_timeout",
        ),
        *(
            "restrict_oom_score_adj",
            "grpc_histogram",
            "sandbox_image",
            "sandbox",
            "insecure_skip_verify",
            "HyperVContainer",
        ),
    }
)
"""Settings of containerd that start nothing, open nothing and name no place, or that other checks judge."""


_ROOT = "whoever can connect there could run programs as root on the machine"


def _opens(below: Path, value: Any) -> str:
    """Return why a value of config.toml hands the machine over; empty if it does not."""
    if below[-1] == "disable_tcp_service":
        return _ROOT if value is False else ""  # the default is true
    if isinstance(value, Mapping | list) or value in (None, "", 0):
        return ""
    if below[0] in PROGRAMS or below[-1] in STARTED:
        return "containerd would start a program of the stack file as root, or ask it for the content of images"
    plugin = f"{next(iter(below[1:2]), '')}"
    server = below[0] in ("grpc", "ttrpc", "debug") or plugin.startswith(SERVERS)
    return _ROOT if server and below[-1] in ("address", "tcp_address") else ""


def _containerd(subject: Subject) -> Iterator[tuple[MachineGroupSpec, Path, Any]]:
    for group in subject.groups:
        for below, value in walk(group.options.containerd.config):
            if below:
                yield group, below, value


def _open(subject: Subject) -> Iterator[Finding]:
    for group, below, value in _containerd(subject):
        if why := _opens(below, value):
            yield at(*group.path, "containerd", "config", *below, name=".".join(below), value=shown(value), why=why)


def _unjudged(subject: Subject) -> Iterator[Finding]:
    for group, below, value in _containerd(subject):
        plain = not isinstance(value, Mapping | list) and value not in (None, "")
        known = below[-1] in HARMLESS or below[0] == "timeouts" or decides_images(subject, below, value)
        if plain and not known and not _opens(below, value):
            yield at(*group.path, "containerd", "config", *below, name=".".join(below), value=shown(value))


def _elsewhere(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups:
        for below, value in walk(group.options.kubelet.config):
            ours = below[:1] == ("clusterDNS",) and value == f"{subject.spec.network.dns}"
            named = below == ("tracing", "endpoint") or (below[:1] == ("clusterDNS",) and len(below) == 2)
            if named and value and not ours:
                name = below[0] if below[0] == "clusterDNS" else ".".join(below)
                yield at(*group.path, "kubelet", "config", *below, name=name, value=shown(value))


UNJUDGED = "containerd-config-unjudged"
"""Id of the warning about settings of containerd that no check knows; it stops `up` unless it is acknowledged."""

ELSEWHERE = "kubelet-config-elsewhere"
"""Id of the warning about servers that get pods' questions or traces; it stops `up` unless it is acknowledged."""

CHECKS = (
    error(
        "containerd-config-open",
        "<machines>.containerd.config",
        _open,
        "{name}: {value} is not safe: {why}",
        "remove it",
    ),
    warning(
        UNJUDGED,
        "<machines>.containerd.config",
        _unjudged,
        "no check knows {name}: {value}; a setting of containerd can decide what runs as root on the machine; `up`"
        " stops unless this is acknowledged",
        "remove it, or acknowledge it with the reason",
    ),
    warning(
        ELSEWHERE,
        "<machines>.kubelet.config network.dns network.services",
        _elsewhere,
        "{name}: {value} is a server that Mullion does not run: it would answer what pods ask of DNS, or read the"
        " kubelet's traces; `up` stops unless this is acknowledged",
        "remove it, or acknowledge it with the name of the team that runs the server",
    ),
)
