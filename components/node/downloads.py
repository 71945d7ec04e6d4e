"""Downloads of a machine: one table for each system, every file pinned by digest."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from components import releases
from components.catalogue.artifacts import Artifact, UnknownArtifact
from components.node import gmsa_plugin, registries, runtime
from components.node.kinds import Step, step
from components.node.layout import DOCKER, FLANNEL, LAYOUTS, PRIVATE_FOLDERS, Layout
from components.node.plan import Phase, Scope
from components.node.role import Role, role
from components.spec.models import ClusterSpec, NetworkMode, Runtime


@dataclass(frozen=True)
class Download:
    """One artifact: an archive unpacked into `target`, or a file saved in `target` as the program `program`."""

    name: str
    version: str
    target: str
    program: str | None = None
    file: str | None = None
    """Name of a file that is no program, saved in `target` as it is."""
    strip: int = 0
    members: tuple[str, ...] = ()


_KUBERNETES = "kubernetes/node/bin/"


def phase(role: Role) -> Phase:
    """Return the phase that downloads all programs of a machine."""
    layout = LAYOUTS[role.system]
    files = wanted(role)
    targets = dict.fromkeys(each.target for each in files)
    return Phase(
        "downloads",
        Scope.IMAGE,
        (
            step("directory", "downloads", path=layout.downloads, access="private"),
            *(_folder(path) for path in targets if path not in PRIVATE_FOLDERS),
            *(each for download in files for each in _steps(download, role, layout)),
        ),
    )


def kubelet(role: Role) -> tuple[Step, ...]:
    """Return the step that unpacks the kubelet of a control plane, which comes after `kubeadm upgrade`.

    A newer kubelet than the API server may refuse the flags in its unit, so after a restart in between no static pod
    would run, and `kubeadm upgrade` would have no API.
    """
    (download,) = (each for each in wanted(role) if each.name == "kubernetes-node")
    artifact = role.catalogue.find(download.name, download.version, role.system)
    return (_unpacked(replace(download, name="kubelet"), _archive(download, artifact), (_KUBERNETES + "kubelet",)),)


def wanted(role: Role) -> tuple[Download, ...]:
    """Return the downloads of a machine in order."""
    layout = LAYOUTS[role.system]
    return tuple(_windows(role, layout) if role.os.is_windows else _linux(role, layout))


def needed(cluster: str, spec: ClusterSpec) -> tuple[Artifact, ...]:
    """Return every artifact of a cluster's machines once, without versions that the tables lack."""
    artifacts: dict[tuple[str, str, str], Artifact] = {}
    for pool in (*(() if spec.existing_cluster else (None,)), *spec.pools):
        subject = role(cluster, spec, pool)
        files: tuple[Download, ...] = ()
        with suppress(releases.UnknownRelease):
            files = wanted(subject)
        for file in files:
            with suppress(UnknownArtifact):
                artifacts[file.name, file.version, subject.system] = subject.catalogue.find(
                    file.name, file.version, subject.system
                )
    return tuple(artifacts.values())


def _providers(role: Role) -> Iterator[Download]:
    for provider in registries.wanted(role):
        version = provider.version or role.release.credential_provider or ""
        yield Download(provider.program, version, registries.folder(role), program=provider.program)


def _linux(role: Role, layout: Layout) -> Iterator[Download]:
    containerd, programs = role.containerd_release, layout.programs
    yield Download("containerd", containerd.version, programs, strip=1)
    yield Download("runc", containerd.runc, "/usr/local/sbin", program="runc")
    yield Download("cni-plugins", releases.CNI_PLUGINS, layout.cni_programs)
    yield Download("crictl", role.release.crictl[role.system], programs)
    names = ("kubeadm", "kubectl") if role.is_control_plane else ("kubelet", "kubeadm", "kubectl")
    members = tuple(_KUBERNETES + each for each in names)
    yield Download("kubernetes-node", role.spec.kubernetes, programs, strip=3, members=members)
    yield from _providers(role)


def _windows(role: Role, layout: Layout) -> Iterator[Download]:
    programs = layout.programs
    if role.runtime is Runtime.CONTAINERD:
        yield Download("containerd", role.containerd_release.version, layout.containerd_programs, strip=1)
    else:
        yield from _docker(role, programs)
    yield Download("cni-plugins", releases.CNI_PLUGINS, layout.cni_programs)
    overlay = role.spec.network.mode is NetworkMode.OVERLAY
    if overlay:
        yield Download("flannel-cni-plugin", releases.FLANNEL_CNI, layout.cni_programs, program="flannel")
        yield Download("flanneld", releases.FLANNEL, FLANNEL, program="flanneld")
    yield Download("crictl", role.release.crictl[role.system], programs)
    if overlay or role.spot or "cri-dockerd" in runtime.services(role):
        # flanneld, cri-dockerd and scripts lack a service mode
        nssm = f"nssm-{releases.NSSM}/win64/nssm.exe"
        yield Download("nssm", releases.NSSM, programs, strip=2, members=(nssm,))
    runner = () if role.release.log_runner == "missing" else ("kube-log-runner",)
    members = tuple(f"{_KUBERNETES}{each}.exe" for each in ("kubelet", "kube-proxy", "kubectl", *runner))
    yield Download("kubernetes-node", role.spec.kubernetes, programs, strip=3, members=members)
    yield from _providers(role)
    if (plugin := role.spec.gmsa.plugin) and plugin.version:
        name = gmsa_plugin.DOWNLOAD
        yield Download(name, plugin.version, gmsa_plugin.FOLDER, file=gmsa_plugin.FILE)


def _docker(role: Role, programs: str) -> Iterator[Download]:
    docker = releases.docker(role.spec.kubernetes)
    yield Download("docker", docker.version, DOCKER.programs, strip=1)
    if docker.cri_dockerd is not None:
        yield Download("cri-dockerd", docker.cri_dockerd, programs, strip=1, members=("cri-dockerd/cri-dockerd.exe",))


def _folder(path: str) -> Step:
    private: dict[str, Any] = {"access": "private"} if path.startswith(PRIVATE_FOLDERS) else {}
    return step("directory", f"folder-{path}", path=path, **private)


def _steps(download: Download, role: Role, layout: Layout) -> Iterator[Step]:
    artifact = role.catalogue.find(download.name, download.version, role.system)
    source: dict[str, Any] = {"url": artifact.url, "digest": artifact.digest}
    if artifact.size is not None:
        source["size"] = artifact.size
    if artifact.fallbacks:
        source["fallbacks"] = list(artifact.fallbacks)
    if download.file:
        path = layout.path(download.target, download.file)
        yield step("artifact", f"download-{download.name}", path=path, **source)
        return
    if download.program:
        path = layout.program(download.program, download.target)
        yield step("artifact", f"download-{download.name}", path=path, executable=True, **source)
        return
    path = _archive(download, artifact)
    yield step("artifact", f"download-{download.name}", path=path, **source)
    yield _unpacked(download, path, download.members)


def _archive(download: Download, artifact: Artifact) -> str:
    """Return the path of an archive; it includes the version, because publishers' file names do not always."""
    layout = LAYOUTS[artifact.os]
    return layout.path(layout.downloads, f"{download.name}-{download.version}{_ending(artifact.file_name)}")


def _unpacked(download: Download, path: str, members: tuple[str, ...]) -> Step:
    limits: dict[str, Any] = {"strip": download.strip, "members": list(members)}
    used = {key: value for key, value in limits.items() if value}
    return step("archive", f"unpack-{download.name}", source=path, target=download.target, **used)


def _ending(file_name: str) -> str:
    return next(each for each in (".tar.gz", ".tgz", ".zip") if file_name.endswith(each))
