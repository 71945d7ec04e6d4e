"""What `mullion chaos` changes in a stack file: one function for each kind of change."""

import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from components.spec.choices import OperatingSystem
from sandbox.aws.regions import images as image_ids

Document = dict[str, Any]
"""A stack file's cluster."""


@dataclass(frozen=True)
class Change:
    """What was changed, the cluster that results, and the ends of the URNs of secrets that may be new then."""

    text: str
    document: Document
    renewed: tuple[str, ...] = ()
    scaled: tuple[str, ...] = ()
    """Pool and count, where `mullion scale` is to make the change itself."""


Draw = Callable[[random.Random, Document, str], Change]
"""Draws a change of a cluster in a region; the document given stays as it is."""

MEMORY = (  # the first is the default on Windows
    "2Gi",
    "2304Mi",
    "2560Mi",
    "3Gi",
)
SIZES = ("t3.large", "m6i.xlarge", "m6i.2xlarge", "c6i.2xlarge")
ROTATED = {
    "service_account": ("-service-account",),
    "desired_state": ("-desired-state",),
    "administrator": ("-administrator",),
    "encryption": (),  # a key is added, none renewed
    "images": (),
}
"""Options of `rotation` that one may raise at any time, and the ends of the names of the secrets that are new then."""


def _nothing(rng: random.Random, cluster: Document, region: str) -> Change:
    return Change("nothing", deepcopy(cluster))


def _scale(rng: random.Random, cluster: Document, region: str) -> Change:
    changed, name, pool = _pool(rng, cluster)
    count = rng.choice([each for each in range(5) if each != pool.get("count", 1)])
    pool["count"] = count
    return Change(f"scale {name} to {count}", changed, scaled=(name, str(count)))


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
    return Change(f"reserve {reserved['memory']} on {name}", changed)


def _size(rng: random.Random, cluster: Document, region: str) -> Change:
    changed, name, pool = _pool(rng, cluster)
    pool["size"] = _other(rng, SIZES, pool.get("size"))
    return Change(f"size {name} {pool['size']}", changed)


def _unavailable(rng: random.Random, cluster: Document, region: str) -> Change:
    changed, name, pool = _pool(rng, cluster)
    most = rng.randint(1, 3)
    pool["rollout"] = {**pool.get("rollout", {}), "max_unavailable": most}
    return Change(f"max_unavailable {most} for {name}", changed)


def _rotation(rng: random.Random, cluster: Document, region: str) -> Change:
    changed = deepcopy(cluster)
    item = rng.choice(list(ROTATED))
    rotation = changed.setdefault("rotation", {})
    rotation[item] = rotation.get(item, 0) + 1
    return Change(f"rotation {item} {rotation[item]}", changed, ROTATED[item])


def _image(rng: random.Random, cluster: Document, region: str) -> Change:
    """Pin the image of a pool's system to another one of its kind, or let go of it."""
    changed, _, pool = _pool(rng, cluster)
    system, images = pool["os"], changed.setdefault("images", {})
    if images.pop(system, None):
        return Change(f"image of {system} as looked up", changed)
    windows = OperatingSystem(system).is_windows
    there = sorted(image_ids(region).items())
    images[system] = rng.choice([key for key, name in there if ("Windows" in name) is windows and "arm64" not in name])
    return Change(f"image of {system} {images[system]}", changed)


CHANGES: tuple[Draw, ...] = (
    _nothing,
    *(_scale, _scale, _scale),
    *(_reserve, _reserve, _image, _size),
    *(_label, _taint, _unavailable, _rotation),
)
"""Those that make or replace machines stand here more often."""


def _pool(rng: random.Random, cluster: Document) -> tuple[Document, str, Document]:
    changed = deepcopy(cluster)
    name = rng.choice(sorted(changed["pools"]))
    return changed, name, changed["pools"][name]


def _other(rng: random.Random, values: Any, current: Any) -> Any:
    return rng.choice([each for each in values if each != current])
