"""`mullion ls`: every cluster of this clone's sandboxes and of the backend, with owner, age, expiry and health."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from pulumi.automation import CommandError, LocalWorkspace

from components.rollout.plain_text import plain
from components.spec import expiry
from operations.clouds import cloud_tables
from operations.console.exits import Exit, Stop
from operations.console.table import table
from operations.cost import so_far
from operations.engine import backend_files, clusters, failures, locate, workspace
from operations.engine.clusters import BACKEND, SANDBOX, ClusterFacts, age, distance, utc
from operations.recovery import stateless
from operations.recovery.stateless import Stateless
from operations.stacks import target

FILES = ("file:", *(f"{each}:" for each in backend_files.BUCKETS))
"""Beginnings of the URLs of backends whose stacks are files."""
REPAIR = "bring an older version of its file back (docs/recovery.md), or use a newer engine if it asks for features"


@dataclass(frozen=True)
class Inventory:
    """Clusters found by their states, resources without a state, and messages about unreadable states."""

    clusters: list[ClusterFacts]
    stateless: list[Stateless]
    unread: list[str]

    @property
    def names(self) -> set[str]:
        """Names of the clusters with a state: of their stacks, and of their components, which are in the tags."""
        return {name for each in self.clusters for name in (each.name, *each.components)}


def ls(*, sandbox: bool, as_json: bool) -> None:
    """Print the clusters; with sandbox only those of this clone's sandboxes."""
    found, now = of_sandboxes(), expiry.now()
    if not sandbox and workspace.has_backend():
        real = of_backend()
        found = Inventory(found.clusters + real.clusters, found.stateless + real.stateless, found.unread + real.unread)
    for line in found.unread:
        print(f"mullion: {line}", file=sys.stderr)
    if as_json:
        listed = [document(each, now) for each in found.clusters]
        print(json.dumps({"clusters": listed, **stateless_document(found)}, indent=2))
        return
    print(shown(found, now) or "no clusters")
    if not sandbox and not workspace.has_backend():
        print("Only sandboxes: no backend for real accounts is set (pulumi login).")


def shown(found: Inventory, now: datetime) -> str:
    """Return tables of the clusters and of the resources without a state; empty if there are none."""
    rows = [
        (
            *(each.name, each.place, each.cloud, each.owner, age(each, now), ends(each, now)),
            *(cost.text if (cost := cost_of(each, now)) else "unknown", each.machines, each.health),
        )
        for each in found.clusters
    ]
    headers = ("cluster", "state", "cloud", "owner", "age", "expires", "cost so far", "machines", "health")
    parts = [table(headers, rows)] if rows else []
    return "\n\n".join([*parts, *without_state(found.stateless)])


def cost_of(facts: ClusterFacts, now: datetime) -> so_far.SoFar | None:
    """Return what a cluster has cost since its creation; None if its state does not say what it is."""
    return so_far.so_far(facts.name, facts.spec, facts.region, now - facts.created if facts.created else None)


def without_state(found: Sequence[Stateless]) -> list[str]:
    """Return a text for each sandbox that has resources without a state, with commands that remove them."""
    return [
        f"Without a state, in the sandbox {each.sandbox}: {_counted(len(each.things))} of cluster "
        f"{plain(each.cluster) or '(no tag)'}, owner {plain(each.owner) or '(no tag)'}, "
        f"expires {plain(each.expires) or '(no tag)'}."
        + "".join(f"\n  {plain(command)}" for command in ("To remove them:", *each.commands))
        for each in found
    ]


def _counted(count: int) -> str:
    return f"{count} resource{'s' if count > 1 else ''}"


def searches(found: Sequence[ClusterFacts]) -> list[str]:
    """Return commands that list all resources with Mullion's tags in the clouds of these clusters; in all clouds if
    there are no clusters.
    """
    clouds = sorted({each.cloud for each in found}) or sorted(cloud_tables.CLOUDS)
    return [cloud_tables.CLOUDS[cloud].search_all for cloud in clouds]


def ends(facts: ClusterFacts, now: datetime) -> str:
    """Return a cluster's expiry for people: in 1h 20m, 5m ago, never, unknown; and whether it is protected."""
    if facts.unreadable:
        text = "unknown"
    elif facts.expires is None:
        text = "never"
    else:
        text = distance(facts.expires, now)
    return f"{text}, protected" if facts.protected else text


def document(facts: ClusterFacts, now: datetime) -> dict[str, Any]:
    """Return a cluster for JSON: times as UTC texts or null, the age in seconds or null, the cost since its creation
    in USD or null.
    """
    cost = cost_of(facts, now)
    return {
        "name": facts.name,
        "state": facts.place,
        "cloud": facts.cloud,
        "owner": facts.owner or None,
        "created": utc(facts.created) or None,
        "age_seconds": None if facts.created is None else int((now - facts.created).total_seconds()),
        "expires": utc(facts.expires) or None,
        "expired": facts.expires is not None and facts.expires <= now,
        "expiry_unreadable": facts.unreadable or None,
        "protected": facts.protected,
        "usd_so_far": round(cost.usd, 2) if cost else None,
        "without_price": list(cost.unknown) if cost else None,
        "machines": facts.machines,
        "resources": facts.resources,
        "health": facts.health,
    }


def stateless_document(found: Inventory) -> dict[str, Any]:
    return {
        "without_state": [
            {
                "sandbox": each.sandbox,
                "cluster": each.cluster or None,
                "owner": each.owner or None,
                "expires": each.expires or None,
                "resources": [{"type": kind, "id": key} for kind, key in each.things],
                "remove": list(each.commands),
            }
            for each in found.stateless
        ]
    }


def of_sandboxes() -> Inventory:
    """Return the clusters in this clone's sandboxes."""
    found = Inventory([], [], [])
    for folder in sorted((target.root() / "sandbox").glob("*/")):
        name = folder.name
        if not target.STACK_NAME.fullmatch(name):
            continue
        try:
            deployment = clusters.in_sandbox(name)
            facts = clusters.read(name, SANDBOX, deployment)
            orphans = stateless.in_sandbox(name, deployment)
        except Stop as error:
            found.unread.append(str(error))
            continue
        found.clusters.extend([facts] if facts else [])
        found.stateless.extend([orphans] if orphans else [])
    return found


def of_backend() -> Inventory:
    """Return the clusters in the backend for real accounts. Raises Stop if it cannot be listed."""
    found = Inventory([], [], [])
    with workspace.opened("", locate.find(), sandbox=False) as space, failures.reported("(all)"):
        for name in _names(space):
            try:
                exported = space.pulumi_command.run(["stack", "export", "--stack", name], space.work_dir, {}).stdout
                facts = clusters.read(name, BACKEND, json.loads(exported)["deployment"] or {})
            except (CommandError, ValueError, KeyError, TypeError, AttributeError) as error:
                if "no stack named" not in str(error):  # it was removed meanwhile
                    found.unread.append(f"the state of {name} cannot be read: {failures.reason(error)}; {REPAIR}")
                continue
            found.clusters.extend([facts] if facts else [])
    return found


def _names(space: LocalWorkspace) -> list[str]:
    """Return the names of the backend's stacks; if the engine cannot read one of them, those of the state files."""
    try:
        return [each.name for each in space.list_stacks() if each.resource_count]
    except CommandError as error:
        place = workspace.real_backend()
        if not place.startswith(FILES):
            raise
        try:
            names = backend_files.stacks(place)
        except Stop as why:
            raise Stop(
                Exit.FAILED,
                f"the states in {urlsplit(place).scheme}:// cannot be listed: {failures.reason(error)};"
                f" nor the names of their files: {why}. If the first is about one state, list the files below"
                f" .pulumi/stacks/ of the backend, and run pulumi stack export --stack NAME for each; {REPAIR}",
            ) from error
        if not names:  # a folder that is not mounted: the search by tags must not take its clusters for stateless
            raise
        return names
