"""Facts about a cluster in its state: owner, creation, expiry, protection.

The component `MixedCluster` in the state is the only source: the engine records its inputs, which are the spec, before
it creates the first resource. So these facts are known after every interruption and without the stack file.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from components.clouds import CLOUDS
from components.spec import expiry
from operations.clouds import cloud_tables
from operations.console.exits import Exit, Stop
from operations.engine import state
from operations.engine.events import CLUSTER
from operations.stacks import target

SANDBOX, BACKEND = "sandbox", "backend"
"""Where a cluster's state is: in its sandbox, or in the backend for real accounts."""


@dataclass(frozen=True)
class ClusterFacts:
    """One cluster, by its state. expires: None if the cluster does not expire, or if it is unknown; `unreadable` then
    has the reason. machines, resources: their numbers in the state. health: result of the last run. region: of the
    provider; empty if unknown. components: names of the clusters' components, which are in the tags. spec: the recorded
    inputs of the component, unchecked. ids: of all resources in the state, by `names_of`.
    """

    name: str
    place: str
    cloud: str = ""
    owner: str = ""
    created: datetime | None = None
    expires: datetime | None = None
    unreadable: str = ""
    protected: bool = False
    machines: int = 0
    resources: int = 0
    health: str = ""
    region: str = ""
    components: tuple[str, ...] = ()
    spec: Mapping[str, Any] = field(default_factory=dict[str, Any])
    ids: frozenset[str] = frozenset()


def read(name: str, place: str, deployment: Mapping[str, Any]) -> ClusterFacts | None:
    """Return the facts of a state as `pulumi stack export` gives it; None if it has no resources."""
    resources: state.State = deployment.get("resources") or []
    if not state.counted(resources):
        return None
    facts = ClusterFacts(
        name,
        place,
        cloud=cloud_tables.of(resources).name,
        protected=bool(state.protected(resources)),
        machines=sum(map(cloud_tables.of(resources).is_machine, resources)),
        resources=state.counted(resources),
        health=_health(deployment, resources),
        region=_region(resources),
        ids=frozenset(name for each in resources if each.get("id") for name in names_of(f"{each['id']}")),
    )
    roots = [each for each in resources if each["type"] == CLUSTER]
    facts = replace(facts, components=tuple(each["urn"].rpartition("::")[2] for each in roots))
    if len(roots) != 1:
        return replace(facts, unreadable=f"its state has {len(roots)} clusters, not one")
    spec = roots[0].get("inputs")
    if not isinstance(spec, Mapping):
        return replace(facts, unreadable="its state has no spec")
    created = state.created(roots[0])
    owner, protect = spec.get("owner"), spec.get("protect", False)
    facts = replace(
        facts,
        owner=owner if isinstance(owner, str) else "",
        created=created,
        protected=facts.protected or protect is not False,
        spec=spec,
    )
    if (text := spec.get("expires")) is None:
        return facts
    ends = expiry.end(text, created) if isinstance(text, str) else None
    return replace(facts, expires=ends, unreadable="" if ends else _wrong(text))


def names_of(identifier: str) -> set[str]:
    """Return the names by which a cloud's list may know a resource with this id, in lower case: the id, of an ARN also
    the path and the name at its end, and of zones and accounts of Google Cloud the name alone.
    """
    lower = identifier.lower()
    if "/managedzones/" in lower or "/serviceaccounts/" in lower:
        return {lower, lower.rpartition("/")[2]}
    if not lower.startswith("arn:"):
        return {lower}
    path = lower.split(":", 5)[-1]
    return {lower, path, path.rpartition("/")[2]}


def _region(resources: state.State) -> str:
    """Return the region that the cloud's provider was configured with; empty if the state has none."""
    package, key = CLOUDS[cloud_tables.of(resources).name].region_key.split(":")
    providers = [each for each in resources if each["type"] == f"pulumi:providers:{package}"]
    found = (str((each.get("inputs") or {}).get(key) or "") for each in providers)
    return next(filter(None, found), "")


def _wrong(text: object) -> str:
    if isinstance(text, str) and expiry.life_seconds(text) is not None:
        return f"expires is {text}, and its state does not say when it was created"
    shown = repr(text)[:60] if isinstance(text, str) else "no text"
    return f"expires is {shown}, neither a duration nor a UTC time"


def _health(deployment: Mapping[str, Any], resources: state.State) -> str:
    """Return whether the last run reached its end, by what it left in the state."""
    if pending := deployment.get("pending_operations"):
        return f"interrupted, {len(pending)} operation{'s' if len(pending) > 1 else ''} without an answer"
    stack = next((each for each in resources if each["type"] == state.STACK), {})
    return "built" if (stack.get("outputs") or {}).get("endpoint") else "incomplete"


def age(facts: ClusterFacts, now: datetime) -> str:
    """Return how long ago a cluster was created: 2h 05m; empty if unknown."""
    return "" if facts.created is None else span(now - facts.created)


def distance(time: datetime, now: datetime) -> str:
    """Return a time relative to now: in 1h 20m, 5m ago."""
    return f"in {span(time - now)}" if time > now else f"{span(now - time)} ago"


def span(time: Any) -> str:
    """Return the absolute value of a timedelta as text: 40s, 12m, 2h 05m, 3d 04h."""
    seconds = abs(int(time.total_seconds()))
    if seconds < 60:
        return f"{seconds}s"
    minutes, hours = seconds // 60, seconds // 3600
    if minutes < 60:
        return f"{minutes}m"
    return f"{hours}h {minutes % 60:02}m" if hours < 48 else f"{hours // 24}d {hours % 24:02}h"


def in_sandbox(name: str) -> Mapping[str, Any]:
    """Return the state in a stack's sandbox, from the file of its backend; empty if there is none.

    It writes nothing, so it does not disturb a run in progress. Raises Stop if the file cannot be read.
    """
    files = sorted((target.sandbox_folder(name) / "state" / ".pulumi" / "stacks").glob(f"*/{name}.json"))
    try:
        found = [json.loads(path.read_text("utf-8"))["checkpoint"].get("latest") or {} for path in files]
    except FileNotFoundError:  # removed meanwhile
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Stop(Exit.REFUSED, f"{files[0]} cannot be read: {error}") from error
    return found[0] if found else {}


def utc(time: datetime | None) -> str:
    """Return a time as 2027-12-24T18:00:00Z; empty for None."""
    return "" if time is None else expiry.written(time.astimezone(timezone.utc))
