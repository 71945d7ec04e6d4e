"""Archives of the lab's programs for Linux, laid out as their publishers lay theirs out, and the entries that pin them.

Machines fetch these by the ordinary options `artifacts: {file, mirror}`. What an archive has is named as the real one
is; what the lab does not need of it is left out.
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
    """One download: `folder` is where programs lie in it; empty `programs`: it is the file of that program itself."""

    name: str
    version: str
    os: str
    folder: str
    programs: tuple[str, ...]


RUNC = Archive("runc", "", "linux", "", ("runc",))
"""Not built, as it needs a C compiler: Debian's own stands under the name of the version that machines want."""


def archives(kubernetes: str) -> tuple[Archive, ...]:
    """All that Linux machines of a Kubernetes version download of us; lab/windows.py has the others'."""
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
    """Write them into a mirror, each file at <host>/<path> of its address; gives the entries that pin them.

    KeyError names a program that nothing builds; FileNotFoundError one that is not built.
    """
    release = releases.release(kubernetes)
    known = {(each.name, each.os): each for each in (*programs(kubernetes), *cluster_programs(kubernetes))}
    entries: list[dict[str, Any]] = []
    for each in archives(kubernetes):
        files = {
            f"{each.folder}{known[name, each.os].file_name}": built(known[name, each.os]) for name in each.programs
        }
        entries.append(entry(folder, each.name, each.version, each.os, _tar(files)))
    entries.append(entry(folder, RUNC.name, release.containerd.runc, RUNC.os, _debian_runc()))
    return entries


def entry(folder: Path, name: str, version: str, os: str, content: bytes) -> dict[str, Any]:
    """The publisher's address, and the digest of what lies at the same place in the mirror."""
    known = artifacts.find(name, version, os)
    target = folder / known.url.partition("://")[2]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    pinned = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "source": "made by lab"}
    return {"name": name, "version": version, "os": os, "url": known.url, **pinned}


def built(program: Program) -> Path:
    """Where a program is; FileNotFoundError where it is not built."""
    if not build.is_built(program):
        raise FileNotFoundError(f"{program.name} {program.version} for {program.os} is not built")
    return build.place(program)


def _tar(files: dict[str, Path]) -> bytes:
    """A tar.gz of programs: the same bytes for the same programs. Level 1: it is unpacked more often than sent."""
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
    """Each folder above the files, outermost first, as publishers' archives list them."""
    parents = {str(parent) for name in names for parent in Path(name).parents if str(parent) != "."}
    return sorted(parents)


def _debian_runc() -> bytes:
    """runc of Debian's package, which apt checks; for the release that this machine's sources name."""
    with tempfile.TemporaryDirectory() as scratch:
        for command in (["apt-get", "download", "-qq", "runc"], ["sh", "-c", "dpkg-deb -x runc_*.deb out"]):
            subprocess.run(command, cwd=scratch, check=True, capture_output=True, timeout=300)
        return (Path(scratch) / "out/usr/sbin/runc").read_bytes()
