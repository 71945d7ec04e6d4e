"""Functions of the package: what `mullion plan`, `cost` and `versions` say, for programs in any language.

They call no cloud. Results have the names of components/package/function_schema.py.
"""

from collections.abc import Callable, Mapping
from typing import Any

from components import releases
from components.catalogue.artifacts import BUILT_IN
from components.catalogue.prices import CURRENCY
from components.clouds import CLOUDS
from components.cost.bill import Usage, bill
from components.package.function_schema import COST, PLAN, VERSIONS
from components.plan import ClusterPlan, plan_cluster
from components.stack_files.stack import CLUSTER, Stack, read_stack


class Wrong(Exception):
    """An argument that cannot work: its path and the reason."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path}: {reason}")


def _read(args: Mapping[str, Any]) -> tuple[Stack, ClusterPlan]:
    """Return the stack and the plan of `name`, `cluster` and `region`. Raises SpecError, or Wrong without a name."""
    for key in ("name", "cluster"):
        if not args.get(key):
            raise Wrong(key, "it is missing; write the cluster's name and the inputs of MixedCluster")
    name, cluster, region = args["name"], args["cluster"], args.get("region")
    facts = CLOUDS.get(str(cluster.get("cloud")))
    regions = {facts.region_key: region} if facts and region else {}
    stack = read_stack(name, {CLUSTER: cluster, **regions}, region_needed=False)
    return stack, plan_cluster(name, stack.spec)


def plan(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return endpoint, machines, pools and warnings of a cluster. Raises SpecError with all problems."""
    stack, planned = _read(args)
    return {
        "endpoint": planned.endpoint.url,
        "machines": [
            {"name": machine.name, "pool": group.name, "address": str(machine.address), "zone": machine.zone}
            for group in planned.machine_groups
            for machine in group.machines
        ],
        "pools": [
            {
                "name": group.name,
                "os": group.os.value,
                "size": group.size,
                "count": len(group.machines),
                "bundle": group.bundle.sha256,
                "replaceDigest": group.replace_digest,
            }
            for group in planned.machine_groups
        ],
        "warnings": [
            {"id": each.id, "path": each.path, "wrong": each.wrong, "fix": each.fix}
            for each in stack.warnings
            if each.acknowledged is None
        ],
    }


def cost(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bill of a cluster in a region. Raises SpecError with all problems, Wrong without a region."""
    if not args.get("region"):
        raise Wrong("region", "it is missing, and prices differ by region; write one, such as eu-west-1")
    _, planned = _read(args)
    found = bill(planned, args["region"], Usage(args.get("trafficGb"), args.get("storedGib")))
    items = [
        {"pool": item.pool, "what": item.what, "count": item.count, "unit": item.unit}
        | ({} if item.month is None else {"month": item.month})
        for item in found.items
    ]
    return {
        "currency": CURRENCY,
        "month": found.month,
        "complete": not found.unknown,
        "unknown": list(found.unknown),
        "items": items,
    }


def versions(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the supported Kubernetes minors, or the one of the argument `minor`. Raises Wrong for an unknown one."""
    known, wanted = releases.supported_minors(), args.get("minor")
    if wanted and wanted not in known:
        raise Wrong("minor", f"{wanted} is not supported; write one of {', '.join(known)}")
    minors = [wanted] if wanted else known
    return {"figuresOf": releases.FIGURES_OF, "minors": [_minor(each) for each in minors]}


def _minor(minor: str) -> dict[str, Any]:
    release = releases.release(minor)
    patches = [each for each in BUILT_IN.versions("kubernetes-node") if releases.minor(each) == minor]
    return {
        "minor": minor,
        "endOfLife": release.end_of_life,
        "patches": releases.in_order(patches),
        "containerd": release.containerd.version,
        "windows": list(releases.windows_for(minor)),
    }


BY_TOKEN: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {PLAN: plan, COST: cost, VERSIONS: versions}
"""Functions by their token in the schema."""
