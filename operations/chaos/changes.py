"""Random changes of a stack file for `mullion chaos`: one function for each kind."""

import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from components import releases
from components.catalogue import artifacts
from components.spec.choices import OperatingSystem
from sandbox import clouds

Document = dict[str, Any]
"""The `mullion:cluster` object of a stack file."""


@dataclass(frozen=True)
class Change:
    """One change: its description, the changed cluster, and its allowed effects."""

    text: str
    document: Document
    renewed: tuple[str, ...] = ()
    """URN suffixes of secrets that the change may renew."""
    replaced: tuple[str, ...] | None = ()
    """Pools or machines that the change replaces, and no others; None if unknown."""
    words: tuple[str, ...] = ("up",)
    """The command that applies the change, without the stack."""
    calls: int = 4
    """A disturbance hits one of the first `calls` calls to the cloud."""

    @property
    def scales(self) -> bool:
        """Whether `mullion scale` writes the stack file itself."""
        return self.words[0] == "scale"


Draw = Callable[[random.Random, Document, str], Change | None]
"""Draws a change of a cluster in a region, or None if its kind does not apply; does not modify the document."""

MEMORY = (  # the first is the default on Windows
    "2Gi",
    "2304Mi",
    "2560Mi",
    "3Gi",
)
SIZES = {
    "aws": ("t3.large", "m6i.xlarge", "m6i.2xlarge", "c6i.2xlarge"),
    "azure": ("Standard_D2s_v5", "Standard_D4s_v5", "Standard_D8s_v5", "Standard_D4s_v4"),
    "gcp": ("e2-standard-2", "n2-standard-4", "n2-standard-8", "n2d-standard-8"),
}
ROTATED = {
    "desired_state": ("-desired-state",),
    "administrator": ("-administrator",),
    "service_account": ("-service-account-{gone}",),
    "encryption": (),  # adds a key, renews none
    "images": (),
}
"""Options of `rotation` that may be raised at any time -> name suffixes of the secrets that are created or deleted.
{gone}: the number of the generation before the last."""


def older(rng: random.Random, cluster: Document, region: str) -> Change:
    """Return the cluster for the first build: at its version or an older one, so upgrades remain."""
    known = artifacts.versions("kubernetes-node")
    version = rng.choice([each for each in known if not releases.older(cluster["kubernetes"], each)])
    return Change(f"up at {version}", {**deepcopy(cluster), "kubernetes": version})


def _nothing(rng: random.Random, cluster: Document, region: str) -> Change:
    return Change("nothing", deepcopy(cluster))


def _scale(rng: random.Random, cluster: Document, region: str) -> Change:
    changed, name, pool = _pool(rng, cluster)
    count = rng.choice([each for each in range(5) if each != pool.get("count", 1)])
    pool["count"] = count
    return Change(f"scale {name} to {count}", changed, words=("scale", name, str(count)))


def _label(rng: random.Random, cluster: Document, region: str) -> Change:
    changed, name, pool = _pool(rng, cluster)
    value = f"v{rng.randrange(1000)}"
    pool["labels"] = {**pool.get("labels", {}), "chaos": value}
    return Change(f"label {name} chaos={value}", changed)


def _taint(rng: random.Random, cluster: Document, region: str) -> Change:
    changed, name, pool = _pool(rng, cluster)
    own = ["os=windows:NoSchedule"] if pool["os"].startswith("windows") else []
    pool["taints"] = [*own, f"chaos=v{rng.randrange(1000)}:NoSchedule"]
    return Change(f"taint {name} {pool['taints'][-1]}", changed)


def _reserve(rng: random.Random, cluster: Document, region: str) -> Change:
    changed, name, pool = _pool(rng, cluster)
    reserved = pool.setdefault("kubelet", {}).setdefault("system_reserved", {})
    reserved["memory"] = _other(rng, MEMORY, reserved.get("memory", MEMORY[0]))
    return Change(f"reserve {reserved['memory']} on {name}", changed, replaced=(name,))


def _size(rng: random.Random, cluster: Document, region: str) -> Change:
    changed, name, pool = _pool(rng, cluster)
    pool["size"] = _other(rng, SIZES[cluster["cloud"]], pool.get("size"))
    return Change(f"size {name} {pool['size']}", changed, replaced=(name,))


def _unavailable(rng: random.Random, cluster: Document, region: str) -> Change:
    changed, name, pool = _pool(rng, cluster)
    most = rng.choice((1, 2, 3, "50%"))
    pool["rollout"] = {**pool.get("rollout", {}), "max_unavailable": most}
    return Change(f"max_unavailable {most} for {name}", changed)


def _rotation(rng: random.Random, cluster: Document, region: str) -> Change:
    changed = deepcopy(cluster)
    item = rng.choice(list(ROTATED))
    rotation = changed.setdefault("rotation", {})
    rotation[item] = rotation.get(item, 0) + 1
    replaced = None if item == "images" else ()
    renewed = tuple(each.format(gone=rotation[item] - 2) for each in ROTATED[item])
    return Change(f"rotation {item} {rotation[item]}", changed, renewed, replaced)


def _image(rng: random.Random, cluster: Document, region: str) -> Change:
    """Pin the image of a pool's operating system to another of its kind, or unpin it."""
    changed, _, pool = _pool(rng, cluster)
    system, images = pool["os"], changed.setdefault("images", {})
    if images.pop(system, None):
        return Change(f"image of {system} as looked up", changed, replaced=None)
    windows = OperatingSystem(system).is_windows
    there = sorted(clouds.images(cluster["cloud"], region).items())
    known = [key for key, name in there if ("windows" in name.lower()) is windows and "arm64" not in name]
    images[system] = rng.choice(known)
    return Change(f"image of {system} {images[system]}", changed, replaced=None)


def _roll(rng: random.Random, cluster: Document, region: str) -> Change | None:
    """Replace a pool's machines, or one of them, without a change of the spec."""
    changed, name, pool = _pool(rng, cluster)
    count = pool.get("count", 1)
    if not count:
        return None
    machine = f"{name}-{rng.randrange(count)}" if rng.random() < 0.3 else None
    words = ("roll", name, "--machine", machine) if machine else ("roll", name)
    return Change(f"roll {machine or name}", changed, replaced=(machine or name,), words=words, calls=6)


def _patch(rng: random.Random, cluster: Document, region: str) -> Change | None:
    """Upgrade to a later patch version."""
    return _kubernetes(rng, cluster, "patch", releases.minor(cluster["kubernetes"]))


def _minor(rng: random.Random, cluster: Document, region: str) -> Change | None:
    """Upgrade to a version of the next minor."""
    return _kubernetes(rng, cluster, "minor", releases.next_minor(releases.minor(cluster["kubernetes"])))


def _kubernetes(rng: random.Random, cluster: Document, kind: str, minor: str | None) -> Change | None:
    """Upgrade to a later version of this minor, if there is one: control plane and pools in one run."""
    known = artifacts.versions("kubernetes-node")
    later = [each for each in known if releases.minor(each) == minor and releases.older(cluster["kubernetes"], each)]
    if not later:
        return None
    version = rng.choice(later)
    changed = {**deepcopy(cluster), "kubernetes": version}
    return Change(f"{kind} {version}", changed, replaced=tuple(changed["pools"]), calls=10)


CHANGES: tuple[Draw, ...] = (
    _nothing,
    *(_scale, _scale, _scale),
    *(_reserve, _reserve, _image, _size, _roll, _roll, _patch, _minor),
    *(_label, _taint, _unavailable, _rotation),
)
"""All kinds of changes; those that create or replace machines occur more often."""


def _pool(rng: random.Random, cluster: Document) -> tuple[Document, str, Document]:
    changed = deepcopy(cluster)
    name = rng.choice(sorted(changed["pools"]))
    return changed, name, changed["pools"][name]


def _other(rng: random.Random, values: Any, current: Any) -> Any:
    return rng.choice([each for each in values if each != current])
