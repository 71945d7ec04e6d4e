"""`mullion versions`: versions that work together, the end of their support, and what to upgrade to."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from typing import NamedTuple

from components import releases
from components.catalogue.artifacts import BUILT_IN
from components.releases import kubernetes, runtimes, systems
from components.spec.models import ClusterSpec, Runtime
from operations.console.table import table
from operations.stacks import stack_files

NEAR = timedelta(days=90)
"""How long before the end of support the table warns."""


class Lasting(NamedTuple):
    """A product with its end of support (ISO 8601 date) and what to upgrade to."""

    what: str
    end: str
    next: str


def today() -> date:
    """Return the date in UTC. Only this command uses the clock: plans are the same on every day."""
    return datetime.now(timezone.utc).date()


def versions(name: str | None) -> None:
    """Print the support matrix, or the rows that concern a stack."""
    day = today()
    text = of_stack(stack_files.load(name).spec, day) if name else matrix(day)
    print(f"As of {day.isoformat()}; tables of {releases.FIGURES_OF}.\n\n{text}")


def matrix(day: date) -> str:
    """Return the table of all Kubernetes minors with the versions that work with them, and all ends of support."""
    head = ("Kubernetes", "newest", "ends", "", "Windows", "containerd", "Docker Engine on Windows")
    rows = [_row(each, day) for each in reversed(releases.supported_minors())]
    return "\n\n".join(
        [
            table(head, rows, ""),
            table(("", "ends", ""), [(each.what, each.end, state(each.end, day)) for each in _others()], ""),
            "A * marks the default. Upgrade one minor version at a time.",
            "Sources:\n" + "\n".join(f"  {each}" for each in SOURCES),
        ]
    )


SOURCES = (
    kubernetes.SOURCE,
    runtimes.CONTAINERD_SOURCE,
    runtimes.DOCKER_SOURCE,
    systems.WINDOWS_SOURCE,
    systems.UBUNTU_SOURCE,
    systems.DEBIAN_SOURCE,
)


def _row(minor: str, day: date) -> tuple[str, ...]:
    release, docker = releases.release(minor), releases.docker(minor)
    own = releases.minor(release.containerd.version)
    lines = [f"{each}*" if each == own else each for each in releases.containerd_lines() if takes(minor, each)]
    systems_of = [_short(each, minor) for each in releases.windows_for(minor)]
    reached = f"cri-dockerd {docker.cri_dockerd}" if docker.cri_dockerd else "dockershim"
    return (
        minor,
        newest(minor),
        release.end_of_life,
        state(release.end_of_life, day),
        ", ".join(systems_of),
        ", ".join(lines),
        f"{docker.version} by {reached}",
    )


def takes(minor: str, line: str) -> bool:
    """Return whether a containerd line works with a Kubernetes minor: by containerd's table, or as the default."""
    version = releases.containerd(runtimes.CONTAINERD[line].version).version
    return releases.takes(minor, version) or releases.release(minor).containerd.version == version


def newest(minor: str) -> str:
    """Return the newest patch of a minor that has digests for Linux and Windows."""
    patches = [each for each in BUILT_IN.versions("kubernetes-node") if releases.minor(each) == minor]
    return releases.in_order(patches)[-1] if patches else "none"


def state(end: str, day: date) -> str:
    """Return `ended`, `ends in N days`, or an empty text."""
    if releases.ended(end, day.isoformat()):
        return "ended"
    return f"ends in {(date.fromisoformat(end) - day).days} days" if date.fromisoformat(end) - day <= NEAR else ""


def _short(os: str, minor: str) -> str:
    last = releases.windows(os).last_upstream
    return f"{os.removeprefix('windows-')}{' (untested)' if last and releases.older(last, minor) else ''}"


def _others() -> Iterator[Lasting]:
    for os in (*systems.WINDOWS, *systems.LINUX):
        yield Lasting(os, releases.os_end_of_life(os) or "", "")
    for line in releases.containerd_lines():
        yield Lasting(f"containerd {line}", runtimes.CONTAINERD[line].end_of_life, "")
    for docker in (runtimes.DOCKERSHIM, runtimes.CRI_DOCKERD):
        yield Lasting(f"Docker Engine {docker.version}", docker.end_of_life, "")


def of_stack(spec: ClusterSpec, day: date) -> str:
    """Return the versions that a stack uses, their ends of support, and what to upgrade to."""
    used = parts(spec, day)
    rows = [(each.what, each.end, state(each.end, day)) for each in used]
    advice = [f"  {each.what}: {each.next}" for each in used if each.next and state(each.end, day)]
    return "\n".join([table(("", "ends", ""), rows, ""), "", *(["To do:", *advice] if advice else ["Nothing to do."])])


def parts(spec: ClusterSpec, day: date) -> list[Lasting]:
    """Return what a stack uses, each product once."""
    return list(dict.fromkeys(_parts(spec, day)))


def _parts(spec: ClusterSpec, day: date) -> Iterator[Lasting]:
    minor = releases.minor(spec.kubernetes)
    yield Lasting(f"Kubernetes {spec.kubernetes}", releases.release(minor).end_of_life, _next_kubernetes(minor, day))
    control_plane = () if spec.existing_cluster else (spec.control_plane,)
    for group in (*control_plane, *spec.pools.values()):
        os = group.os.value
        yield Lasting(os, releases.os_end_of_life(os) or "", f"move to {_newer(os)}")
        if getattr(group, "runtime", Runtime.CONTAINERD) is Runtime.DOCKER:
            docker = releases.docker(minor)
            yield Lasting(f"Docker Engine {docker.version}", docker.end_of_life, "write runtime: containerd")
        else:
            line = releases.containerd_of(minor, group.containerd.version)
            yield Lasting(f"containerd {line.version}", line.end_of_life, _next_containerd(minor, day))


def _next_kubernetes(minor: str, day: date) -> str:
    minors = releases.supported_minors()
    later = minors[minors.index(minor) + 1 :]
    good = [each for each in later if not releases.ended(releases.release(each).end_of_life, day.isoformat())]
    if not later:
        return "no newer minor is known to this version of Mullion"
    hops = later[: later.index(good[-1]) + 1] if good else later
    return f"upgrade one minor at a time: {', '.join(newest(each) for each in hops)}"


def _next_containerd(minor: str, day: date) -> str:
    lines = [each for each in releases.containerd_lines() if takes(minor, each)]
    good = [each for each in lines if not releases.ended(runtimes.CONTAINERD[each].end_of_life, day.isoformat())]
    if good:
        return f"write containerd: {{version: {runtimes.CONTAINERD[good[-1]].version}}}"
    return f"no supported containerd works with Kubernetes {minor}: upgrade Kubernetes"


def _newer(os: str) -> str:
    family = [each for each in (*systems.WINDOWS, *systems.LINUX) if each.partition("-")[0] == os.partition("-")[0]]
    return family[-1] if family and family[-1] != os else "another operating system"
