"""What a real cluster of one Kubernetes version is made of, in the cache: programs, a mirror of archives, images.

<cache>/lab/cluster-VERSION/
  mirror/<host>/<path>   what machines download, served as `artifacts.mirror`
  artifacts.json         its digests, for `artifacts.file`
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
"""What writes the downloads of a system's machines into a mirror, and gives their entries."""
LINUX = ("linux",)
SYSTEMS = tuple(PACKED)

BEFORE: dict[str, tuple[str, ...]] = {"1.37.1": ("1.35.4", "1.36.3")}
"""Versions that an upgrade to this one goes through, one minor after the other; made for Linux machines only."""

IMITATED = {
    "Windows": "PowerShell and other programs for it run under Wine; its own modules (network, HNS, features, "
    "tasks, firewall) are stand-ins that keep what they were asked for",
    "containerd, Docker, cri-dockerd, flanneld, kube-proxy, nssm there": "stand-ins of ours; no container runs on "
    "Windows, so its nodes register and stay NotReady",
    "flanneld, its CNI plug-in": "stand-ins of ours on Linux: plain routes between nodes, no VXLAN on the wire",
    "pause": "a stand-in of ours, in Go",
    "runc": "Debian's 1.1, under the name of the version that machines want",
    "crictl": "of another version under the wanted name where that is not to be had",
}
"""What is not built from its publisher's source at the version that machines ask for."""


def folder(kubernetes: str) -> Path:
    """Where it lies."""
    return build.folder() / f"cluster-{kubernetes}"


def is_built(kubernetes: str, systems: Collection[str] = SYSTEMS) -> bool:
    """Whether all of it is there for machines of these systems, as it would be made today."""
    stamp = folder(kubernetes) / "stamp"
    made = stamp.read_text("ascii") if stamp.is_file() else ""
    # what is made for more systems is good for fewer
    return any(
        made == _stamp(kubernetes, each) and all(map(build.is_built, needed(kubernetes, each)))
        for each in (SYSTEMS, systems)
    )


def built(systems: Collection[str] = SYSTEMS) -> list[str]:
    """The versions that are there for machines of these systems, newest first."""
    found = [each.name.removeprefix("cluster-") for each in build.folder().glob("cluster-*")]
    return [each for each in reversed(releases.in_order(found)) if is_built(each, systems)]


def entries(versions: Iterable[str]) -> list[dict[str, Any]]:
    """What the mirrors of these versions have, for `artifacts.file`; of two that have one thing the first counts."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for each in versions:
        for entry in json.loads((folder(each) / "artifacts.json").read_text(encoding="ascii")):
            found.setdefault((entry["name"], entry["version"], entry["os"]), entry)
    return list(found.values())


def make(kubernetes: str, systems: Collection[str] = SYSTEMS) -> Path:
    """Make it of programs that are built already, and give the folder; what is there and right stays."""
    target = folder(kubernetes)
    if is_built(kubernetes, systems):
        return target
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="making-", dir=build.folder(), ignore_cleanup_errors=True) as scratch:
        made = Path(scratch) / "cluster"
        mirror = made / "mirror"
        entries = [each for system in systems for each in PACKED[system](kubernetes, mirror)]
        (made / "artifacts.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="ascii")
        images.unpacked(kubernetes, made / "containerd")
        (made / "stamp").write_text(_stamp(kubernetes, systems), encoding="ascii")
        if target.exists():
            target.rename(Path(scratch) / "old")
        made.rename(target)
    build.say(f"mullion: archives and images of {kubernetes} made in {time.monotonic() - began:.0f} s: {target}")
    return target


def needed(kubernetes: str, systems: Collection[str] = SYSTEMS) -> tuple[Program, ...]:
    """Programs that it is made of, those first that others wait for; each once."""
    minor = releases.minor(kubernetes)
    judges = (
        each for each in programs(kubernetes) if each.name in windows.REAL and (minor, each.name) not in NOT_BUILT
    )
    of = {"linux": cluster_programs(kubernetes), "windows": (*cluster_programs(kubernetes), *judges, STAND_IN)}
    found = (each for system in systems for each in of[system] if each.os == system)
    # a runtime for Windows' kubelets runs beside their machine
    return tuple(dict.fromkeys((*found, *((WITHOUT_RUNTIME,) if "windows" in systems else ()))))


def _stamp(kubernetes: str, systems: Collection[str]) -> str:
    """Changes with every program, and with how archives and images are made."""
    files = [build.place(each) for each in needed(kubernetes, systems)]
    told = [
        [str(each), each.stat().st_mtime_ns, each.stat().st_size] if each.is_file() else str(each) for each in files
    ]
    source = [(HERE / name).read_text("utf-8") for name in ("archives.py", "images.py", "windows.py")]
    return hashlib.sha256(json.dumps([told, source]).encode()).hexdigest()
