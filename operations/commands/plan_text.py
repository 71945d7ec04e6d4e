"""The plan document as text."""

from collections.abc import Callable, Iterator
from typing import Any

from operations.console.table import table

GIB = 2**30


def text(whole: dict[str, Any]) -> str:
    """Return the document of `operations.commands.plan` for people."""
    return "\n\n".join(part for section in SECTIONS if (part := "\n".join(section(whole))))


def _head(whole: dict[str, Any]) -> Iterator[str]:
    endpoint, network = whole["endpoint"], whole["network"]
    pods = network["pod_addresses"]
    yield f"{whole['cluster']}: Kubernetes {whole['kubernetes']} on {whole['cloud']} in {whole['region']}"
    way = "an internal load balancer" if endpoint["balanced"] else "the control plane's address"
    yield f"  endpoint  {endpoint['url']} ({way}{'; a public one for people' if endpoint['public'] else ''})"
    ranges = ", ".join(f"{name} {network[name]}" for name in ("nodes", "pods", "services"))
    yield f"  network   {network['mode']}: {ranges}"
    yield (
        f"  pods      {pods['available']:,} addresses; {pods['needed_by_node']:,} needed at a /24 for each of"
        f" {pods['nodes']} nodes (surge included), {pods['needed_by_pods']:,} by nodes + nodes x pods"
    )
    paths = whole["reachability"]
    opened = paths["needed"] - len(paths["missing"])
    yield f"  reachability: {opened} of {paths['needed']} paths open (API, stores, downloads, kubelets, pod network)"


def _machines(whole: dict[str, Any]) -> Iterator[str]:
    columns = ("name", "pool", "os", "size", "zone", "address")
    yield f"Machines ({len(whole['machines'])})"
    yield table(columns, [[each[column] for column in columns] for each in whole["machines"]])


def _pools(whole: dict[str, Any]) -> Iterator[str]:
    yield "Pools"
    yield table(
        ("name", "allocatable to pods", "user-data", "limit", "bundle", "sha256", "replace digest"),
        [
            (
                pool["name"],
                _allocatable(pool["allocatable"]),
                f"{pool['user_data']['bytes']:,}",
                f"{pool['user_data']['limit']:,}",
                f"{pool['bundle']['bytes']:,}",
                pool["bundle"]["sha256"][:16],
                "never replaced" if pool["control_plane"] else pool["replace_digest"][:16],
            )
            for pool in whole["pools"]
        ],
    )


def _allocatable(figures: dict[str, int] | None) -> str:
    if figures is None:
        return "unknown size"
    return f"{figures['cpu_milli']}m, {figures['memory_bytes'] / GIB:.2f} GiB"


def _rules(whole: dict[str, Any]) -> Iterator[str]:
    yield f"Firewall rules ({len(whole['rules'])})"
    yield table(
        ("group", "", "peer", "protocol", "ports", "why"),
        [
            (each["group"], each["direction"], each["peer"], each["protocol"], _ports(each), each["why"])
            for each in whole["rules"]
        ],
    )


def _ports(rule: dict[str, Any]) -> str:
    first, last = rule["ports"]
    return "all" if rule["protocol"] == "all" else str(first) if first == last else f"{first}-{last}"


def _warnings(whole: dict[str, Any]) -> Iterator[str]:
    if whole["warnings"]:
        yield f"Warnings ({len(whole['warnings'])})"
    for each in whole["warnings"]:
        yield f"  {each['path']}: {each['wrong']} [{each['id']}]"
        yield f"    acknowledged: {each['acknowledged']}" if each["acknowledged"] else f"    {each['fix']}"


def _resources(whole: dict[str, Any]) -> Iterator[str]:
    if "resources" in whole:
        counts = whole["resources"]
        yield f"Resources ({sum(counts.values())})"
        yield table(("type", "count"), counts.items())


def _against(whole: dict[str, Any]) -> Iterator[str]:
    found = whole.get("against")
    if found is None:
        return
    yield "Against the earlier state"
    for kind in ("added", "removed", "kept"):
        yield f"  {kind:<9} {', '.join(found[kind]) or 'none'}"
    yield f"  replaced  {'none' if not found['replaced'] else ''}".rstrip()
    yield from (f"    {name}: {why}" for name, why in found["replaced"].items())
    if found["control_plane"]:
        yield f"  control plane: {found['control_plane']}"


SECTIONS: tuple[Callable[[dict[str, Any]], Iterator[str]], ...] = (
    _head,
    _machines,
    _pools,
    _rules,
    _warnings,
    _resources,
    _against,
)
