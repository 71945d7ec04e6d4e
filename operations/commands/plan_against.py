"""`mullion plan --against`: the machines that a change adds, removes and replaces.

The plan is compared with an earlier `mullion plan --json` or with a state, where
the tags of instances hold their digests.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.releases import in_order
from components.releases.skew import refusal
from components.rollout.spec_gate import built_spec, fewer_control_planes, refusals
from components.spec.authorities import Authorities
from components.spec.models import ClusterSpec
from operations.clouds import cloud_tables
from operations.commands import spec_changes
from operations.commands.spec_changes import Change
from operations.console.exits import Exit, Stop

CONTROL_PLANE = "control-plane"
DIGEST = 16
"""Characters of the replace digest in the tag mullion:digest."""

FACTS = ("os", "size", "disk_gb", "image")
"""Fields of a pool in a plan document that replace its machines."""

PLAN = "its node plan differs"
UNCHANGED = "no option changed, so another version of Mullion, or a changed file that the stack names, is the reason"
UNKNOWN = "the option is unknown, because the spec of the built cluster is not recorded"

POINTER_KEY, _WORKERS = "desired-state.json", re.compile(r"mullion:\w+:Workers")
POINTER = "machines stay; changes reach them through the desired-state pointer"


@dataclass(frozen=True)
class Was:
    """A machine of the earlier cluster. digest: empty for the control plane, which no change replaces."""

    pool: str
    address: str
    digest: str


@dataclass(frozen=True)
class Earlier:
    """An earlier cluster: machines by name, sha256 of the control plane's bundle, FACTS of pools by name.

    kubernetes: oldest version that its control plane may have; None if unknown.
    spec: the spec that was built; None if it is not recorded.
    """

    cluster: str
    machines: dict[str, Was]
    bundle: str | None
    pools: dict[str, dict[str, Any]]
    kubernetes: str | None = None
    spec: ClusterSpec | None = None


def read(path: Path) -> Earlier:
    """Return the cluster that FILE describes. Raises Stop if it is neither a plan document nor a state."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise Stop(Exit.USAGE, f"--against {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Stop(
            Exit.USAGE, f"--against {path} is not JSON: give a file from `mullion plan --json` or `pulumi stack export`"
        ) from error
    try:
        if found.get("format") == 1:
            return from_plan(found)
        return from_state(found["deployment"].get("resources") or [], f"--against {path}")
    except (AttributeError, KeyError, TypeError) as error:  # a field is missing or of another type
        raise Stop(
            Exit.USAGE, f"--against {path}: neither from `mullion plan --json` nor from `pulumi stack export`"
        ) from error


def from_plan(found: dict[str, Any]) -> Earlier:
    """Return the cluster that a plan document describes."""
    pools = {each["name"]: each for each in found["pools"]}
    machines = {
        _name(machine["name"]): Was(machine["pool"], machine["address"], _digest(pools[machine["pool"]]))
        for machine in found["machines"]
    }
    joins = (found.get("spec") or {}).get("existing_cluster")
    bundle = None if joins else pools[CONTROL_PLANE]["bundle"]["sha256"]
    facts = {name: {fact: each[fact] for fact in FACTS} for name, each in pools.items()}
    spec = built_spec(found.get("spec"))
    return Earlier(_name(found["cluster"]), machines, bundle, facts, found.get("kubernetes"), spec)


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _digest(pool: dict[str, Any]) -> str:
    return "" if pool["name"] == CONTROL_PLANE else pool["replace_digest"][:DIGEST]


def from_state(resources: list[dict[str, Any]], where: str) -> Earlier:
    """Return the cluster that a state describes. where: its name in messages."""
    machines: dict[str, Was] = {}
    clusters: set[str] = set()
    # skips machines that wait for their deletion: they have been replaced already
    cloud = cloud_tables.of(resources)
    for machine in filter(cloud.is_machine, resources):
        given, name = machine.get("inputs", {}), machine["urn"].rsplit("::", 1)[-1]
        cluster, pool, digest = (cloud.tag(given, key) for key in ("cluster", "pool", "digest"))
        if not cluster:
            continue
        if not pool:
            raise KeyError("pool")
        clusters.add(cluster)
        machines[name.removeprefix(f"{cluster}-")] = Was(pool, cloud.address_of(given), digest)
    if len(clusters) > 1:
        raise Stop(Exit.USAGE, f"{where}: it describes several clusters ({', '.join(sorted(clusters))})")
    objects = {each.get("inputs", {}).get(cloud.key, ""): each for each in resources if each["type"] == cloud.stored}
    keys = list(objects)
    bundles = [key for key in keys if key.startswith(f"bundles/{CONTROL_PLANE}/")]
    bundle = Path(bundles[-1]).stem if bundles else None
    given = next((each.get("inputs") for each in resources if each["type"] == spec_changes.CLUSTER_TYPE), None)
    spec = built_spec(given)
    return Earlier(clusters.pop() if clusters else "", machines, bundle, {}, _version(resources, objects), spec)


def _version(resources: list[dict[str, Any]], objects: dict[str, dict[str, Any]]) -> str | None:
    """Return the version of the pools, which the control plane has reached; without pools the desired version."""
    outputs = [each.get("outputs") or {} for each in resources if _WORKERS.fullmatch(each["type"])]
    if known := in_order(each["kubernetes"] for each in outputs if "kubernetes" in each):
        return known[-1]
    given = objects.get(POINTER_KEY, {}).get("inputs", {})
    content = given.get("content") or given.get("source", {}).get("text") or "{}"  # a plain text, or an asset
    if isinstance(content, dict):  # GCP's provider marks the content of every object as secret
        content = json.loads(content.get("plaintext") or '"{}"')
    # an asset's text may be `<contents elided>`: the engine printed the asset before it wrote the state
    return json.loads(content).get("kubernetes") if content.startswith("{") else None


def refuse(planned: dict[str, Any], earlier: Earlier) -> None:
    """Raise Stop with path, reason and fix for each change that one `up` cannot make."""
    pools = {each["name"] for each in planned["pools"]}
    faults = [*_taken(planned, earlier, pools)]
    if earlier.kubernetes and (why := refusal([earlier.kubernetes], planned["kubernetes"])):
        faults.append(f"kubernetes: {why}")
    number = ((planned.get("spec") or {}).get("rotation") or {}).get("certificate_authorities", 0)
    if earlier.spec and (why := Authorities(number).refusal(earlier.spec.rotation.certificate_authorities)):
        faults.append(f"rotation.certificate_authorities: {why} (docs/pki.md)")
    now = built_spec(planned.get("spec"))
    if earlier.spec and now:
        faults.extend(refusals(earlier.spec, now))
    built = sum(was.pool == CONTROL_PLANE for was in earlier.machines.values())
    if why := fewer_control_planes(built, sum(each["pool"] == CONTROL_PLANE for each in planned["machines"])):
        faults.append(why)
    if faults:
        raise Stop(
            Exit.USAGE,
            "\n".join([f"`up` cannot make these changes to stack {planned['cluster']}; nothing was changed", *faults]),
        )


def _taken(planned: dict[str, Any], earlier: Earlier, pools: set[str]) -> Iterator[str]:
    """Yield a message for each pool with a machine whose planned address another machine still has."""
    holders = {was.address: name for name, was in earlier.machines.items() if was.address}
    said: set[str] = set()
    for machine in planned["machines"]:
        holder = holders.get(machine["address"])
        if holder is None or holder == machine["name"] or machine["pool"] in said:
            continue
        said.add(machine["pool"])
        old = earlier.machines[holder].pool
        first = "" if old in pools else f", or first remove pool {old} and run `up`"
        yield (
            f"pools.{machine['pool']}.slot: {machine['name']} would have the address {machine['address']}, which "
            f"{holder} has until it is deleted. Write a slot with free addresses{first}"
        )


def compare(planned: dict[str, Any], earlier: Earlier) -> dict[str, Any]:
    """Return the machines `added`, `removed`, `kept` and `replaced`, each replaced one with its reason.

    `options`: options that differ, None if the earlier spec is unknown. `waves`: replaced machines by pool.
    `control_plane`: a note if its bundle differs.
    """
    if earlier.cluster not in ("", planned["cluster"]):
        raise Stop(Exit.USAGE, f"--against: the file is about cluster {earlier.cluster}, not {planned['cluster']}")
    refuse(planned, earlier)
    pools = {pool["name"]: pool for pool in planned["pools"]}
    now = {machine["name"]: machine for machine in planned["machines"]}
    kept = {name: _difference(machine, pools[machine["pool"]], earlier) for name, machine in now.items()}
    differing = {now[name]["pool"] for name, difference in kept.items() if difference}
    spec = built_spec(planned.get("spec"))
    fields = _fields(planned["cluster"], earlier.spec, spec, differing)
    replaced = {
        name: _reason(difference, now[name]["pool"], earlier, fields)
        for name, difference in kept.items()
        if difference is not None and difference
    }
    members = {name: [each for each, machine in now.items() if machine["pool"] == name] for name in pools}
    changed = earlier.bundle and earlier.bundle != pools[CONTROL_PLANE]["bundle"]["sha256"]
    options = spec_changes.changes(earlier.spec, spec) if earlier.spec and spec else None
    return {
        "options": None if options is None else [option.document() for option in options],
        "added": [name for name in now if name not in earlier.machines],
        "removed": [name for name in earlier.machines if name not in now],
        "replaced": replaced,
        "kept": [name for name in now if name in earlier.machines and name not in replaced],
        "waves": {
            name: spec_changes.waves(pools[name], members[name], replaced) for name in pools if name in differing
        },
        "control_plane": POINTER if changed else None,
    }


def _fields(
    cluster: str, built: ClusterSpec | None, now: ClusterSpec | None, pools: set[str]
) -> dict[str, list[Change]]:
    """Return the changes that replace each pool's machines; empty if a spec is unknown."""
    return spec_changes.behind(cluster, built, now) if pools and built and now else {}


def _difference(machine: dict[str, Any], pool: dict[str, Any], earlier: Earlier) -> str:
    """Return how a machine differs: its address or node plan; empty if it is new or unchanged."""
    was = earlier.machines.get(machine["name"])
    if was is None:
        return ""
    if was.address and was.address != machine["address"]:
        return f"address {was.address} -> {machine['address']}"
    if _digest(pool) == was.digest:
        return ""
    before = earlier.pools.get(machine["pool"], pool)
    facts = [f"{fact} {before[fact]} -> {pool[fact]}" for fact in FACTS if before[fact] != pool[fact]]
    return ", ".join(facts) or PLAN


def _reason(difference: str, pool: str, earlier: Earlier, fields: dict[str, list[Change]]) -> str:
    """Return why a machine is replaced, with every option that causes it."""
    behind = "; ".join(map(str, fields.get(pool, ())))
    if behind:
        return f"{difference} ({behind})" if difference.startswith("address") else behind
    if difference != PLAN:
        return difference
    return f"{PLAN}; {UNCHANGED if earlier.spec else UNKNOWN}"
