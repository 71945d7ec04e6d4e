"""Container images of a cluster, made of the lab's programs: those of `kubeadm config images list`, and flannel's.

Each image is one layer, with the name and tag of the original. The real containerd unpacks them once into a folder
(`unpacked`). Machines get this folder as /var/lib/containerd, as if their machine image had the images already.
"""

import hashlib
import io
import json
import re
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from components.machine.bundle import CLOUD_INIT
from lab import build
from lab.linuxnode.image import IMAGE
from lab.programs import cluster_programs

ENVIRONMENT = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FOLDERS = ("tmp", "etc", "run", "lib", "lib/modules", "usr", "usr/sbin", "usr/local", "usr/local/bin", "opt", "opt/bin")
XTABLES = "usr/lib/x86_64-linux-gnu/xtables"
IPTABLES = ("iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore")
START_SECONDS = 60


@dataclass(frozen=True)
class Content:
    """Content of an image: paths of programs by name, the entrypoint, Debian's iptables, and shell tools."""

    programs: Mapping[str, str]
    entrypoint: tuple[str, ...] = ()
    iptables: bool = False
    shell_tools: bool = False
    """Whether the image has busybox, as cp and sh."""


_BIN = "usr/local/bin"
CONTENTS: dict[str, Content] = {
    "etcd": Content({name: f"{_BIN}/{name}" for name in ("etcd", "etcdctl", "etcdutl")}),
    "kube-apiserver": Content({"kube-apiserver": f"{_BIN}/kube-apiserver"}),
    "kube-controller-manager": Content({"kube-controller-manager": f"{_BIN}/kube-controller-manager"}),
    "kube-scheduler": Content({"kube-scheduler": f"{_BIN}/kube-scheduler"}),
    "kube-proxy": Content({"kube-proxy": f"{_BIN}/kube-proxy"}, iptables=True),
    "coredns": Content({"coredns": "coredns"}, entrypoint=("/coredns",)),
    "pause": Content({"pause": "pause"}, entrypoint=("/pause",)),
    "flannel": Content({"flanneld": "opt/bin/flanneld"}, ("/opt/bin/flanneld",), iptables=True, shell_tools=True),
    "flannel-cni-plugin": Content({"flannel": "flannel"}, shell_tools=True),
}
"""By the last part of the image's name, without the tag."""


def references(kubernetes: str) -> list[str]:
    """Return the full names of all images that a cluster of this version runs."""
    kubeadm = _programs(kubernetes)["kubeadm"]
    command = [kubeadm, "config", "images", "list", "--kubernetes-version", f"v{kubernetes}"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.split()
    manifest = (CLOUD_INIT / "addons" / "flannel.yaml").read_text(encoding="ascii")
    return [*listed, *dict.fromkeys(re.findall(r"image: (\S+)", manifest))]


def archive(kubernetes: str, target: Path) -> None:
    """Write all images into one file for `ctr images import`. Raises KeyError for an image that is not in CONTENTS."""
    manifest: list[dict[str, object]] = []
    blobs: dict[str, bytes] = {}
    for reference in references(kubernetes):
        content = CONTENTS[_name(reference)]
        layer = _layer(content, _programs(kubernetes))
        digest = hashlib.sha256(layer).hexdigest()
        settings = {
            "architecture": "amd64",
            "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            "config": {"Entrypoint": list(content.entrypoint), "Env": [ENVIRONMENT]},
        }
        text = json.dumps(settings).encode()
        config = f"{hashlib.sha256(text).hexdigest()}.json"
        blobs |= {f"{digest}/layer.tar": layer, config: text}
        manifest.append({"Config": config, "RepoTags": [reference], "Layers": [f"{digest}/layer.tar"]})
    with tarfile.open(target, "w") as images:
        for name, data in (blobs | {"manifest.json": json.dumps(manifest).encode()}).items():
            _add(images, name, data, 0o644)


def unpacked(kubernetes: str, target: Path) -> None:
    """Make a /var/lib/containerd with all images in the folder, by the containerd of that Kubernetes version."""
    programs = _programs(kubernetes)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        images, socket, config = Path(scratch) / "images.tar", f"{scratch}/socket", Path(scratch) / "config.toml"
        archive(kubernetes, images)
        config.write_text('version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n', encoding="ascii")
        # a mount namespace: the mounts of containerd disappear when it ends
        apart = ["unshare", "--mount", "--propagation", "private"]
        places = ["--config", config, "--root", target, "--state", f"{scratch}/state", "--address", socket]
        with (Path(scratch) / "log").open("wb") as log:
            daemon = subprocess.Popen([*apart, programs["containerd"], *places], stdout=log, stderr=log)
        try:
            end = time.monotonic() + START_SECONDS
            while not Path(socket).exists():
                if daemon.poll() is not None or time.monotonic() > end:
                    raise RuntimeError((Path(scratch) / "log").read_text(errors="replace")[-2000:])
                time.sleep(0.1)
            client = ["nsenter", f"--mount=/proc/{daemon.pid}/ns/mnt", programs["ctr"], "--address", socket]
            # the registry reads names from the archive's index, which containerd would delete as garbage without a name
            index = ["--index-name", f"lab.invalid/images:{kubernetes}"]
            command = [*client, "--namespace", "k8s.io", "images", "import", *index, images]
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
            if done.returncode:
                raise RuntimeError(done.stderr[-2000:])
        finally:
            daemon.terminate()
            daemon.wait(60)


def _name(reference: str) -> str:
    return reference.rpartition("/")[2].partition(":")[0]


def _programs(kubernetes: str) -> dict[str, Path]:
    return {program.name: build.place(program) for program in cluster_programs(kubernetes)}


def _layer(content: Content, programs: Mapping[str, Path]) -> bytes:
    files = {place: programs[name] for name, place in content.programs.items()}
    links: dict[str, str] = {}
    if content.iptables:
        files |= _iptables()
        links |= {f"usr/sbin/{name}": "xtables-nft-multi" for name in IPTABLES}
    if content.shell_tools:
        files["bin/busybox"] = _in_image("/bin/busybox")
        links |= {"bin/cp": "busybox", "bin/sh": "busybox"}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        parents = {str(parent) for name in (*files, *links) for parent in Path(name).parents}
        for name in sorted({*FOLDERS, *parents} - {"."}):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            layer.addfile(entry)
        for name, to in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, to
            layer.addfile(entry)
        for name, source in files.items():
            _add(layer, name, source.read_bytes(), 0o755)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))


@cache
def _iptables() -> dict[str, Path]:
    """Return Debian's iptables (nft) and conntrack with plug-ins and libraries: path in the image -> file here."""
    programs = ["usr/sbin/xtables-nft-multi", "usr/sbin/conntrack", "usr/bin/kmod"]
    programs += [f"{XTABLES}/{plugin.name}" for plugin in (IMAGE / XTABLES).iterdir()]
    command = ["chroot", IMAGE, "ldd", *(f"/{program}" for program in programs)]
    listed = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60).stdout
    libraries = {word for word in listed.split() if word.startswith("/") and not word.endswith(":")}
    return {path.lstrip("/"): _in_image(path) for path in sorted({f"/{program}" for program in programs} | libraries)}


def _in_image(path: str) -> Path:
    """Return the path on this host of a file in the disk image; symbolic links are resolved inside the image."""
    with suppress(subprocess.CalledProcessError):
        command = ["chroot", IMAGE, "readlink", "-f", path]
        found = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()
        return IMAGE / found.lstrip("/")
    raise FileNotFoundError(f"the disk image {IMAGE} has no {path}")
