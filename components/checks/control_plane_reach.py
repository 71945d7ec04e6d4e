"""Files, servers, variables and folders that users give to control-plane programs, and secrets of joining."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from components.checks.check import Finding, Path, Subject, at, error, warning
from components.checks.extra_arguments import FIXED, PLANNED, programs
from components.checks.open_access import judged
from components.spec.kubeadm_flags import flags
from components.spec.web_addresses import is_loopback_url
from components.spec.wording import shown

ARGUMENT, ENVIRONMENT, VOLUME = "argument-names-a-place", "extra-environment", "extra-volume"
"""Ids of warnings that stop `up` unless they are acknowledged."""

_PUBLIC = {"service-account-issuer", "service-account-jwks-uri", "external-hostname", "cors-allowed-origins"}
"""Flags with URLs to which the program sends nothing."""

_OURS = ("encryption", "audit-policy", "audit-logs", "admission", "authorization")
"""Names of Mullion's own mounts of the API server."""


def _places(subject: Subject) -> Iterator[Finding]:
    for program, place, written in programs(subject):
        for path, name, value in flags(written, place):
            known = judged(place[3], name) or (place[3], name) in PLANNED or (place[3], name) in FIXED
            if not known and name not in _PUBLIC and _is_place(f"{value}"):
                yield at(*path, program=program, name=name, value=shown(value))


def _is_place(value: str) -> bool:
    """Return whether a flag's value has a path of a file, or the URL of a server other than this machine."""
    parts = [each.strip() for each in value.split(",")]
    return any(each.startswith("/") or ("://" in each and not is_loopback_url(each)) for each in parts)


def _items(subject: Subject, field: str) -> Iterator[tuple[str, tuple[str | int, ...], Mapping[str, Any]]]:
    """Yield program, path and content of each item in a list of mappings of the control-plane programs."""
    for program, place, written in programs(subject):
        items = cast(Mapping[str, Any], written).get(field) if isinstance(written, Mapping) else None
        for index, item in enumerate(cast(list[Any], items) if isinstance(items, list) else []):
            if isinstance(item, Mapping):
                yield program, (*place, field, index), cast(Mapping[str, Any], item)


def _environment(subject: Subject) -> Iterator[Finding]:
    for program, path, item in _items(subject, "extraEnvs"):
        if not _sets_a_flag(program, item):
            yield at(*path, program=program, name=shown(item.get("name")))


def _etcd_environment(subject: Subject) -> Iterator[Finding]:
    for program, path, item in _items(subject, "extraEnvs"):
        if _sets_a_flag(program, item):
            yield at(*path, name=shown(item.get("name")))


def _sets_a_flag(program: str, item: Mapping[str, Any]) -> bool:
    return program == "etcd" and f"{item.get('name')}".startswith("ETCD")


def _volumes(subject: Subject) -> Iterator[Finding]:
    for program, path, item in _items(subject, "extraVolumes"):
        if item.get("name") not in _OURS:
            yield at(*path, program=program, value=shown(item.get("hostPath")))


def _own_volumes(subject: Subject) -> Iterator[Finding]:
    for _, path, item in _items(subject, "extraVolumes"):
        if item.get("name") in _OURS:
            yield at(*path, name=shown(item.get("name")))


def _joining(subject: Subject) -> Iterator[Finding]:
    config, top = subject.spec.kubeadm.config, ("kubeadm", "config")
    secret = (
        *(("InitConfiguration", each) for each in ("bootstrapTokens", "certificateKey")),
        *(("JoinConfiguration", "discovery", each) for each in ("bootstrapToken", "file", "tlsBootstrapToken")),
        ("JoinConfiguration", "controlPlane", "certificateKey"),
    )
    for path in secret:
        if _at(config, path):
            yield at(*top, *path)


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = cast(Mapping[str, Any], value).get(key) if isinstance(value, Mapping) else None
    return value


CHECKS = (
    warning(
        ARGUMENT,
        "kubeadm.config",
        _places,
        "--{name}={value} of {program} names a file or a server that no check reads, and it may decide who may do what;"
        " `up` stops unless this is acknowledged",
        "remove it, or acknowledge it with what is there and who can change it",
    ),
    warning(
        ENVIRONMENT,
        "kubeadm.config",
        _environment,
        "{program} gets the variable {name}, which can send its connections elsewhere; `up` stops unless this is"
        " acknowledged",
        "remove it, or acknowledge it with the reason",
    ),
    warning(
        VOLUME,
        "kubeadm.config",
        _volumes,
        "{program} gets {value} of the control-plane machines; `up` stops unless this is acknowledged",
        "remove it, or acknowledge it with what is there and who can change it",
    ),
    error(
        "etcd-environment",
        "kubeadm.config",
        _etcd_environment,
        "etcd reads each of its flags from a variable too, so {name} would set a flag that no check reads",
        "remove it, and write the flag in extraArgs",
    ),
    error(
        "extra-volume-replaced",
        "kubeadm.config",
        _own_volumes,
        "Mullion mounts {name} into the API server: encryption keys, the audit policy and log, or the files of"
        " admission and authorization",
        "write another name",
    ),
    error(
        "kubeadm-join-secret",
        "kubeadm.config",
        _joining,
        "Mullion makes a bootstrap token for each machine and knows the cluster's authority; whoever reads the stack"
        " file could join machines, or send joining machines elsewhere",
        "remove it",
    ),
)
