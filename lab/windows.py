"""Downloads for Windows nodes, each in the layout of its publisher's archive.

Programs that can run on the lab's Windows machines are real; the others are stand-ins with the same names.
"""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from components import releases
from components.catalogue import artifacts
from lab import archives
from lab.programs import STAND_IN, cluster_programs, programs

REAL = frozenset({"kubelet", "kube-log-runner", "kubectl", "host-local", "win-overlay", "win-bridge"})
"""Real programs. kube-proxy is not among them: Wine has no HNS, so it ends after reading its configuration."""

EMULATED = (
    "containerd", "cri-dockerd", "crictl", "docker", "dockerd", "flanneld", "host-local", "kube-log-runner",
    "kube-proxy", "kubectl", "kubelet", "nssm",
)  # fmt: skip
"""Stand-ins that run: the program of lab/standins under these names. Files of all other programs are a line of text."""

FOLDERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "containerd": ("bin/", ("containerd", "containerd-shim-runhcs-v1", "ctr")),
    "docker": ("docker/", ("docker", "dockerd")),
    "cri-dockerd": ("cri-dockerd/", ("cri-dockerd",)),
    "cni-plugins": ("./", ("host-local", "win-bridge", "win-overlay")),
    "crictl": ("", ("crictl",)),
    "kubernetes-node": ("kubernetes/node/bin/", ("kube-log-runner", "kube-proxy", "kubectl", "kubelet")),
    "nssm": ("nssm-{version}/win64/", ("nssm",)),
}
"""Download -> folder in its archive, and its programs. Downloads without a row are one program, not an archive."""

Program = Callable[[str], bytes]
"""Returns the bytes of the program of a name."""


def downloads(kubernetes: str) -> dict[str, str]:
    """Return name -> version of all downloads of Windows nodes of a Kubernetes version, for containerd and Docker."""
    release, docker = releases.release(kubernetes), releases.docker(kubernetes)
    versions = {
        "containerd": release.containerd.version,
        "docker": docker.version,
        "cri-dockerd": docker.cri_dockerd,
        "cni-plugins": releases.CNI_PLUGINS,
        "flannel-cni-plugin": releases.FLANNEL_CNI,
        "flanneld": releases.FLANNEL,
        "crictl": release.crictl["windows"],
        "nssm": releases.NSSM,
        "kubernetes-node": kubernetes,
    }
    return {name: version for name, version in versions.items() if version}


def pack(kubernetes: str, folder: Path) -> list[dict[str, Any]]:
    """Write the downloads into a mirror; return the entries that pin them.

    Programs that were never published for a version (kube-log-runner up to 1.20) are stand-ins. Raises
    FileNotFoundError for a program that is not built.
    """
    every = (*programs(kubernetes), *cluster_programs(kubernetes))
    known = {one.name: one for one in every if one.os == "windows"}
    standins = archives.built(STAND_IN)

    def program(version: str, name: str) -> bytes:
        if name in REAL and name in known:
            return archives.built(known[name]).read_bytes()
        return content(name, version, standins)

    entries: list[dict[str, Any]] = []
    for name, version in downloads(kubernetes).items():
        packed = download(name, version, lambda file, version=version: program(version, file))
        entries.append(archives.entry(folder, name, version, "windows", packed))
    return entries


def content(program: str, version: str, standins: Path) -> bytes:
    """Return the bytes of a stand-in, with its version at the end."""
    front = _bytes(standins) if program in EMULATED else f"stand-in for {program}.exe".encode()
    return front + f"\nversion=v{version}\n".encode()


@cache
def _bytes(standins: Path) -> bytes:
    return standins.read_bytes()


def download(name: str, version: str, program: Program) -> bytes:
    """Return a download, packed as its publisher packs it."""
    if name not in FOLDERS:
        return program(name)
    folder, names = FOLDERS[name]
    folder = folder.format(version=version)
    members = {f"{folder}{file}.exe": program(file) for file in names}
    file_name = artifacts.find(name, version, "windows").file_name
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
    """Yield the folders above the files, outermost first, then the files, as publishers' archives list them."""
    parents = {str(parent) for name in members for parent in Path(name).parents if str(parent) != "."}
    yield from ((f"{parent}/", None) for parent in sorted(parents))
    yield from members.items()
