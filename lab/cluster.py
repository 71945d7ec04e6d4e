"""Files of a real cluster of one Kubernetes version in the cache: a mirror of archives, and images.

<cache>/lab/cluster-VERSION/
  mirror/<host>/<path>   downloads of machines, served as `artifacts.mirror`
  artifacts.json         digests of the downloads, for `artifacts.file`
  containerd/            a /var/lib/containerd with all images
"""

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from components import releases
from lab import archives, build, images, windows
from lab.programs import NOT_BUILT, STAND_IN, WITHOUT_RUNTIME, Program, cluster_programs, programs

HERE = Path(__file__).parent

PACKED: dict[str, Callable[[str, Path], list[dict[str, Any]]]] = {"linux": archives.pack, "windows": windows.pack}
"""By operating system: a function that writes the downloads of its machines into a mirror and returns their entries."""
LINUX = ("linux",)
SYSTEMS = tuple(PACKED)

BEFORE: dict[str, tuple[str, ...]] = {"1.37.1": ("1.35.4", "1.36.3")}
"""Version -> versions that an upgrade to it passes, one minor at a time; built for Linux machines only."""

IMITATED = {
    "Windows": "PowerShell and other programs run under Wine; modules of Windows (network, features, tasks, firewall) "
    "are stand-ins that record their calls",
    "HNS": "two DLLs pass each call to an emulator with the rules of docs/windows-network.md",
    "containerd, Docker, cri-dockerd, flanneld, kube-proxy, nssm on Windows": "stand-ins; no container runs on "
    "Windows, so its nodes register and stay NotReady",
    "flanneld and its CNI plugin on Linux": "stand-ins: plain routes between nodes instead of VXLAN",
    "pause": "a stand-in, written in Go",
    "runc": "Debian's 1.1 under the name of the planned version",
    "crictl": "another version under the name of the planned one, if that cannot be built",
}
"""Programs that are not built from their publishers' source at the planned version, and their substitutes."""


def folder(kubernetes: str) -> Path:
    """Return the folder of a version."""
    return build.folder() / f"cluster-{kubernetes}"


def is_built(kubernetes: str, systems: Collection[str] = SYSTEMS) -> bool:
    """Return whether archives, images and programs for machines of these systems are built from current sources."""
    file = folder(kubernetes) / "stamp"
    stamp = file.read_text("ascii") if file.is_file() else ""
    # files of a cluster for all systems also serve a cluster for some
    return any(
        stamp == _stamp(kubernetes, systems_of_stamp) and all(map(build.is_built, needed(kubernetes, systems_of_stamp)))
        for systems_of_stamp in (SYSTEMS, systems)
    )


def built(systems: Collection[str] = SYSTEMS) -> list[str]:
    """Return the versions that are built for machines of these systems, newest first."""
    versions = [path.name.removeprefix("cluster-") for path in build.folder().glob("cluster-*")]
    return [version for version in reversed(releases.in_order(versions)) if is_built(version, systems)]


def entries(versions: Iterable[str]) -> list[dict[str, Any]]:
    """Return the entries of these versions' mirrors for `artifacts.file`; the first version with an entry wins."""
    merged: dict[tuple[str, str, str], dict[str, Any]] = {}
    for version in versions:
        for entry in json.loads((folder(version) / "artifacts.json").read_text(encoding="ascii")):
            merged.setdefault((entry["name"], entry["version"], entry["os"]), entry)
    return list(merged.values())


def make(kubernetes: str, systems: Collection[str] = SYSTEMS) -> Path:
    """Make archives and images of built programs, unless they are up to date; return the folder."""
    target = folder(kubernetes)
    if is_built(kubernetes, systems):
        return target
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="making-", dir=build.folder(), ignore_cleanup_errors=True) as scratch:
        new = Path(scratch) / "cluster"
        entries = [entry for system in systems for entry in PACKED[system](kubernetes, new / "mirror")]
        (new / "artifacts.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="ascii")
        images.unpacked(kubernetes, new / "containerd")
        (new / "stamp").write_text(_stamp(kubernetes, systems), encoding="ascii")
        if target.exists():
            target.rename(Path(scratch) / "old")
        new.rename(target)
    build.say(f"mullion: archives and images of {kubernetes} made in {time.monotonic() - began:.0f} s: {target}")
    return target


def needed(kubernetes: str, systems: Collection[str] = SYSTEMS) -> tuple[Program, ...]:
    """Return the programs of a version's cluster, each once, in build order."""
    minor = releases.minor(kubernetes)
    real = (
        program
        for program in programs(kubernetes)
        if program.name in windows.REAL and (minor, program.name) not in NOT_BUILT
    )
    by_system = {"linux": cluster_programs(kubernetes), "windows": (*cluster_programs(kubernetes), *real, STAND_IN)}
    chosen = (program for system in systems for program in by_system[system] if program.os == system)
    # the container runtime of Windows kubelets runs on this host, not on the Windows machine
    return tuple(dict.fromkeys((*chosen, *((WITHOUT_RUNTIME,) if "windows" in systems else ()))))


def _stamp(kubernetes: str, systems: Collection[str]) -> str:
    """Return a digest of all programs, and of the sources of the modules that make archives and images."""
    files = [build.place(program) for program in needed(kubernetes, systems)]
    states = [
        [str(file), file.stat().st_mtime_ns, file.stat().st_size] if file.is_file() else str(file) for file in files
    ]
    source = [(HERE / name).read_text("utf-8") for name in ("archives.py", "images.py", "windows.py")]
    return hashlib.sha256(json.dumps([states, source]).encode()).hexdigest()
