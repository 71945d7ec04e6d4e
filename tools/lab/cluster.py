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
from pathlib import Path

from components import releases
from tools.lab import archives, build, images
from tools.lab.programs import NOT_BUILT, Program, cluster_programs, programs

HERE = Path(__file__).parent
IMITATED = {
    "flanneld, its CNI plug-in": "stand-ins of ours on Linux: plain routes between nodes, no VXLAN on the wire",
    "pause": "a stand-in of ours, in Go",
    "runc": "Debian's 1.1, under the name of the version that machines want",
    "crictl": "of another version under the wanted name where that is not to be had",
}
"""What is not built from its publisher's source at the version that machines ask for."""


def folder(kubernetes: str) -> Path:
    """Where it lies."""
    return build.folder() / f"cluster-{kubernetes}"


def is_built(kubernetes: str) -> bool:
    """Whether all of it is there, as it would be made today."""
    stamp = folder(kubernetes) / "stamp"
    built = all(build.is_built(each) for each in needed(kubernetes))
    return built and stamp.is_file() and stamp.read_text("ascii") == _stamp(kubernetes)


def built() -> list[str]:
    """The versions that are there, newest first."""
    found = [each.name.removeprefix("cluster-") for each in build.folder().glob("cluster-*")]
    return [each for each in reversed(releases.in_order(found)) if is_built(each)]


def make(kubernetes: str) -> Path:
    """Make it of programs that are built already, and give the folder; what is there and right stays."""
    target = folder(kubernetes)
    if is_built(kubernetes):
        return target
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="making-", dir=build.folder(), ignore_cleanup_errors=True) as scratch:
        made = Path(scratch) / "cluster"
        archives.pack(kubernetes, made / "mirror")
        images.unpacked(kubernetes, made / "containerd")
        (made / "stamp").write_text(_stamp(kubernetes), encoding="ascii")
        if target.exists():
            target.rename(Path(scratch) / "old")
        made.rename(target)
    build.say(f"mullion: archives and images of {kubernetes} made in {time.monotonic() - began:.0f} s: {target}")
    return target


def needed(kubernetes: str) -> tuple[Program, ...]:
    """Programs that it is made of, those first that others wait for; each once."""
    minor = releases.minor(kubernetes)
    windows = (each for each in programs(kubernetes) if each.os == "windows" and (minor, each.name) not in NOT_BUILT)
    return tuple(dict.fromkeys((*cluster_programs(kubernetes), *windows)))


def _stamp(kubernetes: str) -> str:
    """Changes with every program, and with how archives and images are made."""
    files = [build.place(each) for each in needed(kubernetes)]
    told = [
        [str(each), each.stat().st_mtime_ns, each.stat().st_size] if each.is_file() else str(each) for each in files
    ]
    source = [(HERE / name).read_text("utf-8") for name in ("archives.py", "images.py")]
    return hashlib.sha256(json.dumps([told, source]).encode()).hexdigest()
