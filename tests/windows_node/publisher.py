"""What publishers have: every download of a Windows node in the exact layout of its own, packed of stand-ins.

A stack takes them by its ordinary options: entries with their digests, and a mirror.
"""

import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from components import artifacts
from components.node.downloads import Download

LIVING = (
    "containerd", "cri-dockerd", "crictl", "docker", "dockerd", "flanneld", "host-local", "kube-log-runner",
    "kube-proxy", "kubectl", "kubelet", "nssm",
)  # fmt: skip
"""Programs that do something here: tools/lab/standins under these names. All others are a line of text."""

FOLDERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "containerd": ("bin/", ("containerd", "containerd-shim-runhcs-v1", "ctr")),
    "docker": ("docker/", ("docker", "dockerd")),
    "cri-dockerd": ("cri-dockerd/", ("cri-dockerd",)),
    "cni-plugins": ("./", ("host-local", "win-bridge", "win-overlay")),
    "crictl": ("", ("crictl",)),
    "kubernetes-node": ("kubernetes/node/bin/", ("kube-log-runner", "kube-proxy", "kubectl", "kubelet")),
    "nssm": ("nssm-{version}/win64/", ("nssm",)),
}
"""Artefact -> the folder in its archive, and its programs. What is not here is a program by itself."""


def content(program: str, version: str, standins: Path) -> bytes:
    """The bytes of a program; its version stands at their end."""
    front = _bytes(standins) if program in LIVING else f"stand-in for {program}.exe".encode()
    return front + f"\nversion=v{version}\n".encode()


@cache
def _bytes(standins: Path) -> bytes:
    return standins.read_bytes()


def publish(wanted: tuple[Download, ...], standins: Path) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    """Files by their place in a mirror (<host>/<path>), and the entries of `artifacts` that pin them."""
    files: dict[str, bytes] = {}
    entries: list[dict[str, Any]] = []
    for each in wanted:
        known = artifacts.find(each.name, each.version, "windows")
        packed = _packed(each.name, each.version, known.file_name, standins)
        files[known.url.partition("://")[2]] = packed
        pinned = {"sha256": hashlib.sha256(packed).hexdigest(), "size": len(packed)}
        entries.append({"name": each.name, "version": each.version, "os": "windows", "url": known.url, **pinned})
    return files, entries


@cache
def _packed(name: str, version: str, file_name: str, standins: Path) -> bytes:
    if name not in FOLDERS:
        return content(name, version, standins)
    folder, programs = FOLDERS[name]
    folder = folder.format(version=version)
    members = {f"{folder}{each}.exe": content(each, version, standins) for each in programs}
    return _zip(members) if file_name.endswith(".zip") else _tar(members)


def _zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, program in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), program, zipfile.ZIP_DEFLATED, 1)
    return buffer.getvalue()


def _tar(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, program in _with_folders(members):
            entry = tarfile.TarInfo(name)
            entry.type = tarfile.REGTYPE if program is not None else tarfile.DIRTYPE
            entry.size, entry.mode = len(program or b""), 0o755
            archive.addfile(entry, io.BytesIO(program or b""))
    return gzip.compress(buffer.getvalue(), compresslevel=1, mtime=0)


def _with_folders(members: dict[str, bytes]) -> Iterator[tuple[str, bytes | None]]:
    """Publishers' archives list the folders above their files, outermost first."""
    parents = {str(parent) for name in members for parent in Path(name).parents if str(parent) != "."}
    yield from ((f"{parent}/", None) for parent in sorted(parents))
    yield from members.items()
