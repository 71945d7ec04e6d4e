"""`mullion ls --by-tags`: the clusters of an account by the tags of their resources, with a state or without one."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from components.spec import expiry
from operations.commands import ls
from operations.commands.ls import Inventory
from operations.console.exits import Exit, Stop
from operations.console.table import table
from operations.cost.so_far import SoFar
from operations.engine import workspace
from operations.engine.clusters import ClusterFacts, distance, span, utc
from operations.reaping import accounts
from operations.reaping.things import Remains

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Found:
    """One cluster of an account. state: whether the backend (or a sandbox) has its state; None if that is unknown.
    facts: those of the state; None without one.
    """

    account: str
    remains: Remains
    state: bool | None
    facts: ClusterFacts | None = None

    def cost(self, now: datetime) -> SoFar | None:
        """Return what the cluster has cost; None without a state: the tags do not say what its machines are."""
        return ls.cost_of(self.facts, now) if self.facts else None


def run(cloud: str, regions: Sequence[str], *, sandbox: bool, as_json: bool) -> None:
    """Print the clusters of the account. Raises Stop if its resources cannot be listed, or a state cannot be read."""
    accounts.check(cloud)
    stated = _stated(sandbox=sandbox)
    with accounts.opened(cloud, regions, sandbox=sandbox) as opened:
        found = [_found(account.name, each, stated) for account in opened for each in accounts.clusters_of(account)]
    now = expiry.now()
    if as_json:
        print(json.dumps({"cloud": cloud, "clusters": [_document(each, now) for each in found]}, indent=2))
    else:
        print(shown(found, now) or "no clusters with Mullion's tags")
    if stated is None:
        print("mullion: no backend for real accounts is set (pulumi login): the states are unknown", file=sys.stderr)
    elif stated.unread:
        raise Stop(Exit.FAILED, "\n".join(stated.unread))


def _found(account: str, remains: Remains, stated: Inventory | None) -> Found:
    known = stated.clusters if stated else []
    facts = next((each for each in known if remains.has_state((each.name, *each.components))), None)
    return Found(account, remains, True if facts else (False if stated and not stated.unread else None), facts)


def _stated(*, sandbox: bool) -> Inventory | None:
    """Return the clusters with a state; None if no backend is set."""
    if sandbox:
        return ls.of_sandboxes()
    return ls.of_backend() if workspace.has_backend() else None


def shown(found: Sequence[Found], now: datetime) -> str:
    """Return a table of the clusters; empty if there are none."""
    headers = (
        *("cluster", "account", "regions", "owner", "age", "expires", "cost so far"),
        *("machines", "resources", "state", "health"),
    )
    rows = [
        (
            *(each.remains.cluster, each.account, ", ".join(filter(None, each.remains.regions)), each.remains.owner),
            *(_age(each.remains, now), _expires(each.remains, now)),
            *(cost.text if (cost := each.cost(now)) else UNKNOWN, each.remains.machines, len(each.remains.things)),
            {True: "yes", False: "no", None: UNKNOWN}[each.state],
            each.facts.health if each.facts else UNKNOWN,
        )
        for each in found
    ]
    return table(headers, rows) if rows else ""


def _age(remains: Remains, now: datetime) -> str:
    return span(now - remains.created) if remains.created else ""


def _expires(remains: Remains, now: datetime) -> str:
    """Return when a cluster expires, or why it does not or why the time is unknown."""
    return distance(remains.expires, now) if remains.expires else remains.why


def _document(found: Found, now: datetime) -> dict[str, object]:
    """Return a cluster for JSON: times as UTC texts or null; cost (USD) and health by its state, or null."""
    remains, cost = found.remains, found.cost(now)
    return {
        "name": remains.cluster,
        "account": found.account,
        "regions": list(remains.regions),
        "owner": remains.owner or None,
        "created": utc(remains.created) or None,
        "expires": utc(remains.expires) or None,
        "expired": remains.expires is not None and remains.expires <= now,
        "without_expiry": remains.why or None,
        "usd_so_far": round(cost.usd, 2) if cost else None,
        "without_price": list(cost.unknown) if cost else None,
        "machines": remains.machines,
        "resources": len(remains.things),
        "has_state": found.state,
        "health": found.facts.health if found.facts else None,
    }
