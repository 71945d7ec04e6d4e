"""Downloads: one table per system, each file pinned by digest."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from components import artifacts, releases
from components.node.kinds import Step, step
from components.node.layout import FLANNEL, LAYOUTS, PRIVATE_FOLDERS, Layout
from components.node.plan import Phase, Scope
from components.node.role import Role


@dataclass(frozen=True)
class Download:
    """One artefact and where it goes: unpacked in `target`, or as it is to the program `program`."""

    name: str
    version: str
    target: str
    program: str | None = None
    strip: int = 0
    members: tuple[str, ...] = ()


_KUBERNETES = "kubernetes/node/bin/"


def phase(role: Role) -> Phase:
    """All programs of a machine."""
    layout = LAYOUTS[role.system]
    wanted = tuple(_windows(role, layout) if role.os.is_windows else _linux(role, layout))
    targets = dict.fromkeys(each.target for each in wanted)
    return Phase(
        "downloads",
        Scope.IMAGE,
        (
            step("directory", "downloads", path=layout.downloads, access="private"),
            *(_folder(path) for path in targets if path not in PRIVATE_FOLDERS),
            *(each for download in wanted for each in _steps(download, role.system, layout)),
        ),
    )


def _linux(role: Role, layout: Layout) -> Iterator[Download]:
    runtime, programs = role.release.containerd, layout.programs
    yield Download("containerd", runtime.version, programs, strip=1)
    yield Download("runc", runtime.runc, "/usr/local/sbin", program="runc")
    yield Download("cni-plugins", releases.CNI_PLUGINS, layout.cni_programs)
    yield Download("crictl", role.release.crictl, programs)
    members = tuple(_KUBERNETES + each for each in ("kubelet", "kubeadm", "kubectl"))
    yield Download("kubernetes-node", role.spec.kubernetes, programs, strip=3, members=members)


def _windows(role: Role, layout: Layout) -> Iterator[Download]:
    programs = layout.programs
    yield Download("containerd", role.release.containerd.version, layout.containerd_programs, strip=1)
    yield Download("cni-plugins", releases.CNI_PLUGINS, layout.cni_programs)
    yield Download("flannel-cni-plugin", releases.FLANNEL_CNI, layout.cni_programs, program="flannel")
    yield Download("flanneld", releases.FLANNEL, FLANNEL, program="flanneld")
    yield Download("crictl", role.release.crictl, programs)
    nssm = f"nssm-{releases.NSSM}/win64/nssm.exe"
    yield Download("nssm", releases.NSSM, programs, strip=2, members=(nssm,))
    members = tuple(f"{_KUBERNETES}{each}.exe" for each in ("kubelet", "kube-proxy", "kubectl", "kube-log-runner"))
    yield Download("kubernetes-node", role.spec.kubernetes, programs, strip=3, members=members)


def _folder(path: str) -> Step:
    private: dict[str, Any] = {"access": "private"} if path.startswith(PRIVATE_FOLDERS) else {}
    return step("directory", f"folder-{path}", path=path, **private)


def _steps(download: Download, system: str, layout: Layout) -> Iterator[Step]:
    found = artifacts.find(download.name, download.version, system)
    source: dict[str, Any] = {"url": found.url, "digest": found.digest}
    if found.size is not None:
        source["size"] = found.size
    if download.program:
        path = layout.program(download.program, download.target)
        yield step("artifact", f"download-{download.name}", path=path, executable=True, **source)
        return
    # the version in the name: the publishers' file names do not always have it
    path = layout.path(layout.downloads, f"{download.name}-{download.version}{_ending(found.file_name)}")
    yield step("artifact", f"download-{download.name}", path=path, **source)
    limits: dict[str, Any] = {"strip": download.strip, "members": list(download.members)}
    used = {key: value for key, value in limits.items() if value}
    yield step("archive", f"unpack-{download.name}", source=path, target=download.target, **used)


def _ending(file_name: str) -> str:
    return next(each for each in (".tar.gz", ".tgz", ".zip") if file_name.endswith(each))
