"""Tables by version, and lookups in them. Only this package compares versions."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

from components.releases import flag_tables, gate_tables
from components.releases.cloud_controllers import (
    CloudControllerRelease,
    aws_controller,
    first_aws_controller,
    has_aws_controller,
)
from components.releases.documents import CONTAINERD_TABLES, FIELDS, GATES, LACKING, SET_BY_US
from components.releases.issuers import first_in_order
from components.releases.kubernetes import FIGURES_OF, RELEASES, Release
from components.releases.order import in_order, minor, older, within
from components.releases.runtimes import (
    ACR_PROVIDER,
    CNI_PLUGINS,
    CNI_VERSIONS,
    CONTAINERD,
    CONTAINERD_SUPPORT,
    CRI_DOCKERD,
    DOCKERSHIM,
    FLANNEL,
    FLANNEL_CNI,
    GCP_PROVIDER,
    NSSM,
    Containerd,
    Docker,
)
from components.releases.spans import known
from components.releases.systems import LINUX, WINDOWS, LinuxRelease, RegistryFix, WindowsRelease

__all__ = [
    "ACR_PROVIDER",
    "CNI_PLUGINS",
    "CNI_VERSIONS",
    "FIGURES_OF",
    "FLANNEL",
    "FLANNEL_CNI",
    "GCP_PROVIDER",
    "NSSM",
    "CloudControllerRelease",
    "Containerd",
    "Docker",
    "LinuxRelease",
    "RegistryFix",
    "Release",
    "UnknownRelease",
    "WindowsRelease",
    "aws_controller",
    "containerd",
    "containerd_lines",
    "containerd_of",
    "containerd_tables",
    "control_plane_flags",
    "control_plane_images",
    "days_later",
    "docker",
    "ended",
    "extended_support",
    "fields",
    "first_aws_controller",
    "first_in_order",
    "flags",
    "gates",
    "has_aws_controller",
    "image",
    "in_order",
    "linux",
    "locked_gates",
    "minor",
    "next_minor",
    "older",
    "os_end_of_life",
    "pause_image",
    "release",
    "removed_flags",
    "set_by_us",
    "supported_minors",
    "takes",
    "top_fields",
    "windows",
    "windows_for",
    "within",
]

_Row = TypeVar("_Row")


class UnknownRelease(LookupError):
    """No row for a version in a table."""


def release(version: str) -> Release:
    """Return the row of a Kubernetes version, such as 1.37.0 or 1.37."""
    return _row(RELEASES, minor(version), "Kubernetes releases")


def supported_minors() -> tuple[str, ...]:
    """Return the Kubernetes minors that Mullion builds, oldest first."""
    return tuple(RELEASES)


def next_minor(version: str) -> str | None:
    """Return the minor after the version's; None for the newest, and for a version that no table has."""
    return dict(pairwise(RELEASES)).get(minor(version))


def windows(os: str) -> WindowsRelease:
    """Return the row of a Windows release, such as windows-2022."""
    return _row(WINDOWS, os, "Windows releases")


def linux(os: str) -> LinuxRelease:
    """Return the row of a Linux release, such as ubuntu-24.04."""
    return _row(LINUX, os, "Linux releases")


def image(cloud: str, os: str) -> str:
    """Return where a cloud has the newest image of an operating system, in the form of WindowsRelease.images."""
    images = {name: row.images for name, row in (*WINDOWS.items(), *LINUX.items())}
    return _row(_row(images, os, "operating system images"), cloud, f"images of {os}")


def pause_image(version: str, os: str) -> str:
    """Return the pause image of a Kubernetes version on an operating system (RUN-07)."""
    minor_row = release(version)
    system = WINDOWS.get(os)
    if system is not None and system.pause is None and minor_row.windows_pause is not None:
        return minor_row.windows_pause
    special = system.pause if system else None
    return f"registry.k8s.io/pause:{special or minor_row.pause}"


def control_plane_images(version: str) -> tuple[str, ...]:
    """Return the images of `kubeadm config images list` for a version with its patch, without the pause image."""
    row = release(version)
    programs = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
    names = (*(f"{each}:v{version}" for each in programs), f"etcd:{row.etcd}", row.coredns)
    return tuple(f"registry.k8s.io/{each}" for each in names)


def containerd(version: str) -> Containerd:
    """Return the row of a containerd version, such as 2.2.7."""
    return replace(_row(CONTAINERD, minor(version), "containerd lines"), version=version)


def containerd_lines() -> tuple[str, ...]:
    """Return the minors of containerd that have a row, oldest first."""
    return tuple(CONTAINERD)


def takes(kubernetes: str, containerd_version: str) -> bool:
    """Return whether containerd's support table has the containerd version for the Kubernetes version."""
    least = _row(CONTAINERD_SUPPORT, minor(kubernetes), "containerd support")
    return any(minor(each) == minor(containerd_version) and within(containerd_version, each, "") for each in least)


def ended(day: str, today: str = FIGURES_OF) -> bool:
    """Return whether support until a day is over on another day, both ISO 8601."""
    return day < today


def os_end_of_life(os: str) -> str | None:
    """Return the end of an operating system's support, ISO 8601; None if no table has it."""
    row = WINDOWS.get(os) or LINUX.get(os)
    return row.end_of_life if row else None


def extended_support(os: str) -> str:
    """Return who supports an operating system after its end of life, and until when, in words; "" if nobody."""
    row = LINUX.get(os)
    return row.extended_support if row else ""


def days_later(days: int, day: str = FIGURES_OF) -> str:
    """Return the date so many days after a date, both ISO 8601."""
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def windows_for(kubernetes: str) -> tuple[str, ...]:
    """Return the Windows releases that a Kubernetes version supports."""
    return tuple(each.os for each in WINDOWS.values() if within(minor(kubernetes), each.first, ""))


def docker(kubernetes: str) -> Docker:
    """Return the Docker Engine of Windows nodes, with cri-dockerd if the kubelet needs it."""
    return DOCKERSHIM if release(kubernetes).dockershim else CRI_DOCKERD


@lru_cache(maxsize=256)
def fields(document: str, version: str) -> Mapping[str, str]:
    """Return the fields of a document (kubelet, kube-proxy, or a kind of kubeadm), nested ones with dots -> type."""
    return known(_row(FIELDS, document, "configuration documents"), release(version).minor)


@lru_cache(maxsize=256)
def top_fields(document: str, version: str) -> frozenset[str]:
    """Return the top-level fields of a document."""
    return frozenset(name for name in fields(document, version) if "." not in name)


@lru_cache(maxsize=256)
def gates(document: str, version: str) -> frozenset[str]:
    """Return the feature gates that the program of a document has."""
    on = release(version).minor
    gone = {
        name
        for name, first in gate_tables.ADDED_BY_PATCH.get(on, {}).items()
        if version != on and older(version, first)
    }
    return frozenset(
        known(_row(GATES, document, "feature gates"), on).keys() - known(LACKING.get(document, ()), on) - gone
    )


@lru_cache(maxsize=64)
def locked_gates(version: str) -> Mapping[str, bool]:
    """Return the locked feature gates of kubelet and kube-proxy, with their values."""
    locked, alive = known(gate_tables.LOCKED, release(version).minor), gates("kubelet", version)
    return {name: value == "on" for name, value in locked.items() if name in alive}


@lru_cache(maxsize=256)
def flags(program: str, version: str, system: str) -> frozenset[str]:
    """Return the flags of kubelet or kube-proxy on linux or windows, without dashes."""
    tables = {"kubelet": flag_tables.KUBELET, "kube-proxy": flag_tables.KUBE_PROXY}
    table = _row(tables, program, "flags") + flag_tables.LOGGING
    return frozenset(name for name, on in known(table, release(version).minor).items() if on in ("all", system))


@lru_cache(maxsize=64)
def control_plane_flags(version: str) -> frozenset[str]:
    """Return the flags of kube-apiserver, kube-controller-manager and kube-scheduler, without dashes."""
    return frozenset(known(flag_tables.CONTROL_PLANE + flag_tables.LOGGING, release(version).minor))


def removed_flags(program: str, version: str, system: str) -> frozenset[str]:
    """Return the flags that an older minor had and this one refuses (SRV-09)."""
    until = supported_minors()[: supported_minors().index(minor(version))]
    return frozenset[str]().union(*(flags(program, each, system) for each in until)) - flags(program, version, system)


@lru_cache(maxsize=512)
def set_by_us(document: str, version: str) -> frozenset[str]:
    """Return the top-level fields that node plans set in a document; a user's value replaces or extends them."""
    return frozenset(known(_row(SET_BY_US, document, "fields set by node plans"), release(version).minor))


def containerd_of(kubernetes: str, own: str | None) -> Containerd:
    """Return the row of the machines' own containerd version if there is one, else of the Kubernetes version's."""
    return containerd(own) if own is not None and minor(own) in CONTAINERD else release(kubernetes).containerd


def containerd_tables(config_version: int) -> frozenset[str]:
    """Return the top-level keys of config.toml in a version."""
    return CONTAINERD_TABLES[config_version]


def _row(table: Mapping[str, _Row], key: str, name: str) -> _Row:
    row = table.get(key)
    if row is None:
        raise UnknownRelease(f"the table of {name} has no row for {key!r}; it has {', '.join(table)}")
    return row
