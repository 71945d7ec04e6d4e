"""Container runtimes: versions that fit Kubernetes and the operating systems."""

from collections.abc import Iterator

from components import releases
from components.catalogue import artifacts
from components.checks.check import Finding, MachineGroupSpec, Subject, at, error, warning
from components.checks.versions import supported
from components.spec.models import Runtime


def _docker_linux(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        if group.runtime is Runtime.DOCKER and not group.os.is_windows:
            yield at(*group.path, "runtime")


def _pre_pull_on_linux(subject: Subject) -> Iterator[Finding]:
    for name, pool in subject.spec.pools.items():
        if pool.pre_pull and not pool.os.is_windows:
            yield at("pools", name, "pre_pull")


def _pulled_twice(subject: Subject) -> Iterator[Finding]:
    for name, pool in subject.spec.pools.items():
        for index, image in enumerate(pool.pre_pull):
            if image in pool.pre_pull[:index]:
                yield at("pools", name, "pre_pull", index, image=image)


def _docker_early(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        if supported(subject) and group.runtime is Runtime.DOCKER and group.os.is_windows:
            docker = releases.docker(subject.minor)
            way = f"cri-dockerd {docker.cri_dockerd}" if docker.cri_dockerd else "the kubelet's dockershim"
            yield at(*group.path, "runtime", version=docker.version, end=docker.end_of_life, way=way)


def _containerd_of_docker(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers:
        if group.runtime is Runtime.DOCKER:
            for option in group.options.containerd.model_fields_set:
                yield at(*group.path, "containerd", option)


def _two_runtimes(subject: Subject) -> Iterator[Finding]:
    first: dict[str, MachineGroupSpec] = {}
    for group in subject.workers:
        if group.os.is_windows:
            other = first.setdefault(group.os.value, group)
            if other.runtime is not group.runtime:
                path = (*group.path, "runtime")
                yield at(*path, os=group.os.value, other=other.name, theirs=other.runtime.value)


def _containerd_unknown(subject: Subject) -> Iterator[Finding]:
    catalogue = artifacts.catalogue(subject.spec.artifacts)
    for group, version in _pinned(subject):
        known = catalogue.versions("containerd", _system(group), pinned=False)
        if version not in known or releases.minor(version) not in releases.containerd_lines():
            fits = _fitting(subject, group)
            yield at(*group.path, "containerd", "version", value=version, os=group.os.value, fits=fits)


def _containerd_unsupported(subject: Subject) -> Iterator[Finding]:
    for group, version in _pinned(subject):
        if releases.minor(version) in releases.containerd_lines() and not releases.takes(subject.minor, version):
            fits = _fitting(subject, group)
            path = (*group.path, "containerd", "version")
            yield at(*path, value=version, minor=subject.minor, fits=fits)


def _containerd_ended(subject: Subject) -> Iterator[Finding]:
    for group in subject.groups if supported(subject) else ():
        version = group.options.containerd.version or releases.release(subject.minor).containerd.version
        if group.runtime is not Runtime.CONTAINERD or releases.minor(version) not in releases.containerd_lines():
            continue
        end = releases.containerd(version).end_of_life
        if not releases.ended(end):
            continue
        fitting = _offered(subject, group)
        alive = [version for version in fitting if not releases.ended(releases.containerd(version).end_of_life)]
        if alive:
            path = (*group.path, "containerd", "version")
            yield at(*path, value=version, end=end, fits=alive[-1])


def _pinned(subject: Subject) -> Iterator[tuple[MachineGroupSpec, str]]:
    """Yield the groups with a pinned containerd version, and the version."""
    for group in subject.groups if supported(subject) else ():
        if group.options.containerd.version is not None and group.runtime is Runtime.CONTAINERD:
            yield group, group.options.containerd.version


def _offered(subject: Subject, group: MachineGroupSpec) -> list[str]:
    """Return the containerd versions that fit the group, oldest first."""
    downloads = artifacts.catalogue(subject.spec.artifacts).versions("containerd", _system(group))
    lines = releases.containerd_lines()
    fit = [
        version for version in downloads if releases.minor(version) in lines and releases.takes(subject.minor, version)
    ]
    return releases.in_order(fit)


def _fitting(subject: Subject, group: MachineGroupSpec) -> str:
    """Return the newest fitting version of each minor."""
    newest = {releases.minor(each): each for each in _offered(subject, group)}
    return " or ".join(newest.values())


def _system(group: MachineGroupSpec) -> str:
    return "windows" if group.os.is_windows else "linux"


_RUNTIME = "pools.<pool>.runtime pools.<pool>.os"
_VERSION = "<machines>.containerd.version <machines>.os kubernetes artifacts"

CHECKS = (
    error(
        "docker-on-linux",
        _RUNTIME,
        _docker_linux,
        "only Windows pools can run Docker",
        "write runtime: containerd",
        "RUN-01",
    ),
    error(
        "pre-pull-on-linux",
        "pools.<pool>.pre_pull pools.<pool>.os",
        _pre_pull_on_linux,
        "only Windows pools pull images before they join",
        "remove pre_pull: Linux images are small, and the kubelet pulls them",
    ),
    error(
        "pre-pull-twice",
        "pools.<pool>.pre_pull",
        _pulled_twice,
        "{image} is twice in the list",
        "remove one of them",
    ),
    warning(
        "docker-runtime",
        f"{_RUNTIME} kubernetes",
        _docker_early,
        "the pool runs Docker {version}, supported until {end}, through {way}: HostProcess containers do not work,"
        " and the licensed runtime is Mirantis Container Runtime",
        "write runtime: containerd",
        "RUN-02 RUN-03",
    ),
    error(
        "containerd-of-docker-pool",
        "pools.<pool>.runtime pools.<pool>.containerd",
        _containerd_of_docker,
        "the pool runs Docker, so options of containerd have no effect",
        "remove it, or write runtime: containerd",
        "RUN-01",
    ),
    error(
        "runtimes-of-one-build",
        "pools.*.runtime pools.*.os",
        _two_runtimes,
        "the pool {other} runs {theirs} on {os}, but the RuntimeClass of a Windows build has only one handler",
        "write runtime: {theirs}, or another os",
        "SCH-05",
    ),
    error(
        "containerd-version",
        _VERSION,
        _containerd_unknown,
        "Mullion has no download of containerd {value} for {os}",
        "write {fits}",
        "RUN-01",
    ),
    error(
        "containerd-support",
        _VERSION,
        _containerd_unsupported,
        "containerd {value} does not support Kubernetes {minor}",
        "write {fits}",
        "RUN-01",
    ),
    warning(
        "containerd-end-of-life",
        f"{_VERSION} <machines>.runtime",
        _containerd_ended,
        "containerd {value} gets no security fixes since {end}",
        "write containerd: {{version: {fits}}}",
        "RUN-01",
    ),
)
