"""Archives of the lab's programs for Linux, in their publishers' layout, and the entries that pin them.

Machines download them by the ordinary options `artifacts: {file, mirror}`. Files have the names of the real archive;
files that the lab does not need are left out.
"""

import gzip
import hashlib
import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components import releases
from components.catalogue import artifacts
from lab import build
from lab.programs import Program, cluster_programs, programs


@dataclass(frozen=True)
class Archive:
    """One download. folder: the programs' folder in the archive. programs: empty if the file is the program."""

    name: str
    version: str
    os: str
    folder: str
    programs: tuple[str, ...]


RUNC = Archive("runc", "", "linux", "", ("runc",))
"""Debian's runc under the name of the planned version: building runc needs a C compiler."""


def archives(kubernetes: str) -> tuple[Archive, ...]:
    """Return the archives that Linux machines of a Kubernetes version download (Windows: lab/windows.py)."""
    release = releases.release(kubernetes)
    nodes, cni = "kubernetes/node/bin/", releases.CNI_PLUGINS
    containerd = release.containerd.version
    shim = ("containerd", "containerd-shim-runc-v2", "ctr")
    return (
        Archive("kubernetes-node", kubernetes, "linux", nodes, ("kubeadm", "kubectl", "kubelet")),
        Archive("containerd", containerd, "linux", "bin/", shim),
        Archive("cni-plugins", cni, "linux", "./", ("bridge", "host-local", "loopback", "portmap")),
        Archive("crictl", release.crictl["linux"], "linux", "", ("crictl",)),
    )


def pack(kubernetes: str, folder: Path) -> list[dict[str, Any]]:
    """Write the archives into a mirror, each at <host>/<path> of its URL; return the entries that pin them.

    Raises KeyError for a program without a recipe, FileNotFoundError for one that is not built.
    """
    release = releases.release(kubernetes)
    known = {(program.name, program.os): program for program in (*programs(kubernetes), *cluster_programs(kubernetes))}
    entries: list[dict[str, Any]] = []
    for archive in archives(kubernetes):
        members = [known[name, archive.os] for name in archive.programs]
        files = {f"{archive.folder}{program.file_name}": built(program) for program in members}
        entries.append(entry(folder, archive.name, archive.version, archive.os, _tar(files)))
    entries.append(entry(folder, RUNC.name, release.containerd.runc, RUNC.os, _debian_runc()))
    return entries


def entry(folder: Path, name: str, version: str, os: str, content: bytes) -> dict[str, Any]:
    """Write a download into the mirror; return its entry: the publisher's URL, with the digest of this content."""
    known = artifacts.find(name, version, os)
    target = folder / known.url.partition("://")[2]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    pinned = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "source": "made by lab"}
    return {"name": name, "version": version, "os": os, "url": known.url, **pinned}


def built(program: Program) -> Path:
    """Return the path of a built program. Raises FileNotFoundError if it is not built."""
    if not build.is_built(program):
        raise FileNotFoundError(f"{program.name} {program.version} for {program.os} is not built")
    return build.place(program)


def _tar(files: dict[str, Path]) -> bytes:
    """Return a reproducible tar.gz of programs. Level 1, because packing takes longer than sending on this machine."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for folder in _folders(files):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name, source in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = source.stat().st_size, 0o755
            with source.open("rb") as file:
                archive.addfile(entry, file)
    return buffer.getvalue()


def _folders(names: Iterable[str]) -> list[str]:
    """Return the folders above the files, outermost first: publishers' archives list them too."""
    parents = {str(parent) for name in names for parent in Path(name).parents if str(parent) != "."}
    return sorted(parents)


def _debian_runc() -> bytes:
    """Return runc of Debian's package, which apt verifies; the release is that of this machine's apt sources."""
    with tempfile.TemporaryDirectory() as scratch:
        for command in (["apt-get", "download", "-qq", "runc"], ["sh", "-c", "dpkg-deb -x runc_*.deb out"]):
            subprocess.run(command, cwd=scratch, check=True, capture_output=True, timeout=300)
        return (Path(scratch) / "out/usr/sbin/runc").read_bytes()
