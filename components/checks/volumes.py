"""Storage drivers (`csi`): clouds, versions and Windows nodes that they work with."""

from collections.abc import Iterator

from components import releases
from components.catalogue.instance_sizes import gcp_disk
from components.checks.check import Finding, Subject, at, error, warning
from components.checks.versions import supported
from components.releases import storage_drivers
from components.spec.models import Runtime, StorageDriver


def _elsewhere(subject: Subject) -> Iterator[Finding]:
    cloud = subject.spec.cloud
    own = [each for each, row in storage_drivers.DRIVERS.items() if row.cloud in (None, cloud)]
    for index, driver in enumerate(subject.spec.csi):
        row = storage_drivers.DRIVERS.get(driver)
        if row and row.cloud not in (None, cloud):
            names = " or ".join(each.value for each in own)
            yield at("csi", index, driver=driver.value, other=row.cloud.facts.title, title=cloud.facts.title, own=names)


def _early(subject: Subject) -> Iterator[Finding]:
    if subject.spec.csi and supported(subject) and releases.older(subject.minor, storage_drivers.FIRST):
        yield at("csi", minor=subject.minor, first=storage_drivers.FIRST)


def _on_windows(driver: StorageDriver) -> bool:
    """Return whether a driver has a node plug-in on Windows, or is not known."""
    row = storage_drivers.DRIVERS.get(driver)
    return row is None or "windows" in row.images


def _without_windows(subject: Subject) -> Iterator[tuple[int, StorageDriver]]:
    """Yield place and name of the drivers that have no node plug-in on Windows."""
    yield from ((index, each) for index, each in enumerate(subject.spec.csi) if not _on_windows(each))


def _linux_only(subject: Subject) -> Iterator[Finding]:
    systems = {group.os.is_windows for group in subject.workers}
    for index, driver in _without_windows(subject) if systems == {True, False} else ():
        yield at("csi", index, driver=driver.value)


def _no_linux(subject: Subject) -> Iterator[Finding]:
    if subject.workers and all(group.os.is_windows for group in subject.workers):
        for index, driver in _without_windows(subject):
            yield at("csi", index, driver=driver.value)


def _name(subject: Subject) -> Iterator[Finding]:
    if StorageDriver.PD in subject.spec.csi and "--" in subject.name:
        yield at("csi", subject.spec.csi.index(StorageDriver.PD), name=subject.name)


def _disk_types(subject: Subject) -> Iterator[Finding]:
    linux = [group for group in subject.workers if not group.os.is_windows]
    newer = [group.name for group in linux if gcp_disk(group.options.size) == "hyperdisk-balanced"]
    if StorageDriver.PD in subject.spec.csi and newer and len(newer) < len(linux):
        yield at("csi", subject.spec.csi.index(StorageDriver.PD), pools=", ".join(sorted(newer)))


def _docker(subject: Subject) -> Iterator[Finding]:
    for group in subject.workers if any(map(_on_windows, subject.spec.csi)) else ():
        if group.os.is_windows and group.runtime is Runtime.DOCKER:
            yield at(*group.path, "runtime")


def _containerd(subject: Subject) -> Iterator[Finding]:
    first = storage_drivers.FIRST_CONTAINERD
    for group in subject.workers if any(map(_on_windows, subject.spec.csi)) else ():
        version = group.options.containerd.version
        if group.os.is_windows and version and releases.older(releases.minor(version), first):
            yield at(*group.path, "containerd", "version", version=version, first=first)


CHECKS = (
    error(
        "csi-elsewhere",
        "csi cloud",
        _elsewhere,
        "{driver} is a driver for disks of {other}, and the cluster is on {title}",
        "write {own}, or remove it",
        "STO-03",
    ),
    error(
        "csi-early",
        "csi kubernetes",
        _early,
        "Mullion installs storage drivers from Kubernetes {first} on, and this is {minor}: their node plug-ins on"
        " Windows need stable HostProcess containers",
        "write Kubernetes {first} or newer, or remove csi",
        "STO-03",
    ),
    warning(
        "csi-linux-only",
        "csi <machines>.os",
        _linux_only,
        "{driver} has no node plug-in for Windows that runs as HostProcess container; the one it has needs csi-proxy,"
        " of which nobody publishes a program: pods on Windows cannot use its volumes, and those that claim one stay"
        " Pending",
        "let claims of Windows pods name a class of smb, or acknowledge this warning",
        "STO-03",
    ),
    error(
        "csi-no-linux",
        "csi <machines>.os",
        _no_linux,
        "no worker runs Linux, and {driver} has no node plug-in for Windows that runs as HostProcess container; the one"
        " it has needs csi-proxy, of which nobody publishes a program",
        "add a pool with Linux, or remove it from csi",
        "STO-03",
    ),
    error(
        "csi-name",
        "csi",
        _name,
        "the stack's name {name} has two hyphens in a row, which end the cluster's name in the names of pd's disks: the"
        " rights of another cluster could reach them",
        "name the stack without two hyphens in a row, or remove pd",
        "STO-03",
    ),
    warning(
        "csi-disk-types",
        "csi <machines>.size <machines>.os",
        _disk_types,
        "machines of {pools} take Hyperdisks alone, and those of other Linux pools persistent disks: a pod with a"
        " volume of the default class, pd, that comes to {pools} gets no disk",
        "let such pods name their pool (nodeSelector mullion.dev/pool), and claims for {pools} the class pd-hyperdisk",
        "STO-03",
    ),
    error(
        "csi-docker",
        "csi <machines>.runtime <machines>.os",
        _docker,
        "node plug-ins on Windows are HostProcess containers, which Docker does not have; the other way, csi-proxy, has"
        " no published program",
        "write runtime: containerd, or remove csi",
        "STO-03",
    ),
    error(
        "csi-containerd",
        "csi <machines>.containerd.version <machines>.os",
        _containerd,
        "containerd {version} mounts volumes of HostProcess containers at other paths than node plug-ins expect",
        "write containerd {first} or newer, or remove containerd.version",
        "STO-03",
    ),
)
