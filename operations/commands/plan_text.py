"""The plan document as text."""

from collections.abc import Iterator
from typing import Any

from components.catalogue.account_limits import REQUEST
from operations.console.table import table
from operations.cost import shown

GIB = 2**30


def text(whole: dict[str, Any], *, firewall: bool = False) -> str:
    """Return the plan document as text. firewall: list every firewall rule."""
    rules = _rules if firewall else _folded_rules
    sections = (_head, _machines, _pools, rules, _warnings, _resources, _against)
    return "\n\n".join(part for section in sections if (part := "\n".join(section(whole))))


def _head(whole: dict[str, Any]) -> Iterator[str]:
    endpoint, network = whole["endpoint"], whole["network"]
    pods, paths = network["pod_addresses"], whole["reachability"]
    yield f"{whole['cluster']}: Kubernetes {whole['kubernetes']} on {whole['cloud']} in {whole['region']}"
    balanced = "an internal load balancer" if endpoint["balanced"] else "the control plane's address"
    if whole["spec"].get("existing_cluster"):
        balanced = "of an existing cluster"
    public = "; a public load balancer for users" if endpoint["public"] else ""
    yield f"  endpoint      {endpoint['url']} ({balanced}{public})"
    yield from map(_load_balancer, whole["load_balancers"])
    yield from _roles(whole["cloud"], whole["spec"].get("pod_identity"))
    ranges = ", ".join(f"{name} {network[name]}" for name in ("nodes", "pods", "services"))
    closed = "; no way to the internet" if network["egress"] == "none" else ""
    yield f"  network       {network['mode']}: {ranges}{closed}"
    yield (
        f"  pods          {pods['available']:,} addresses; {pods['nodes']} nodes (with those that a roll adds) need"
        f" a /24 each, {pods['needed_by_node']:,}; they and their pods use at most {pods['needed_by_pods']:,}"
    )
    yield (
        f"  reachability  {paths['needed'] - len(paths['missing'])} of {paths['needed']} paths open"
        " (API, stores, downloads, kubelets, pod network)"
    )
    exact, by_tag = whole["images"]["by_digest"], whole["images"]["by_tag"]
    if exact or by_tag:
        others = f"; by tag: {', '.join(by_tag)}" if exact and by_tag else ""
        yield f"  images        {len(exact)} of {len(exact) + len(by_tag)} by digest{others}"
    figures = (
        f"{one['what']}: {one['needed']:,} needed, {_of_new_account(one['new_account'])}"
        for one in whole["limits"]
        if one["needed"]
    )
    yield f"  limits        {'; '.join(figures)}"
    known = [limit for limit in whole["limits"] if limit["new_account"] is not None]
    if more := [limit["title"] for limit in known if limit["needed"] > limit["new_account"]]:
        yield f"                a new account needs more of: {', '.join(more)} ({REQUEST[whole['cloud']]})"
    yield f"  cost          {shown.line(whole['cost'], whole['cluster'], whole['region'])}"
    if whole["spec"]["budget"]:
        yield f"  budget        USD {whole['spec']['budget']['month']:,} a month"
    if whole["expires"]:
        yield f"  expires       {whole['expires']}"
    if whole["protect"]:
        yield "  protect       on: `mullion down` asks for the cluster's name"


def _roles(cloud: str, identity: dict[str, Any] | None) -> Iterator[str]:
    """Yield who verifies the tokens of pods, and their roles."""
    if identity is None:
        return
    accounts = {f"{each['namespace']}/{each['name']}": len(each["policies"]) for each in identity["service_accounts"]}
    used = "signs tokens" if identity["issuer"] == "signs" else "is only accepted"
    names = ", ".join(accounts) or "none"
    if cloud == "gcp":
        yield f"  pod roles     a workload identity pool knows the keys; members of policies: {names}"
    elif cloud == "azure":
        yield f"  pod roles     a public website has the issuer, which {used}; managed identities: {names}"
    else:
        roles = ", ".join(f"{name} ({count})" for name, count in accounts.items()) or "none"
        yield f"  pod roles     a public bucket has the issuer, which {used}; roles (policies): {roles}"


def _of_new_account(limit: int | None) -> str:
    return "not known for a new account" if limit is None else f"{limit:,} in a new account"


def _load_balancer(balancer: dict[str, Any]) -> str:
    where = f"internal, {', '.join(balancer['addresses'])}" if balancer["internal"] else "public"
    ports = ", ".join(f"{one['port']} to node port {one['node_port']}" for one in balancer["ports"])
    clients = ", ".join(balancer["allow"])
    return f"  balancer      {balancer['name']} ({where}): {ports} of {', '.join(balancer['pools'])}; open to {clients}"


def _machines(whole: dict[str, Any]) -> Iterator[str]:
    columns = ["name", "pool", "os", "size", "zone", "address"]
    if any("pods" in machine for machine in whole["machines"]):
        columns.append("pods")
    yield f"Machines ({len(whole['machines'])})"
    yield table(columns, [[machine[column] for column in columns] for machine in whole["machines"]])


def _pools(whole: dict[str, Any]) -> Iterator[str]:
    yield "Pools"
    for pool in whole["pools"]:
        disks = f"{pool['disk_gb']} GiB disk{_etcd_disk(pool)}"
        yield f"  {pool['name']}: {pool['count']} x {pool['size']}, {pool['os']}, {disks}"
        yield from (f"    {label:<12} {value}" for label, value in _pool(pool))


def _etcd_disk(pool: dict[str, Any]) -> str:
    """Return etcd's disk in words; empty if etcd has none of its own."""
    disk = pool.get("etcd_disk")
    return f", {disk['size_gb']} GiB {disk['type']} for etcd" if disk else ""


def _pool(pool: dict[str, Any]) -> Iterator[tuple[str, str]]:
    reserved, bundle, data = pool["reserved"], pool["bundle"], pool["user_data"]
    yield "image", pool["image"] or "the newest at the first `up`, then kept"
    yield "labels", ", ".join(pool["labels"]) or "none"
    yield "taints", ", ".join(pool["taints"]) or "none"
    kept = [f"{kind} {_pairs(reserved[kind], ' ')}" for kind in ("system", "kube") if reserved[kind]]
    yield "reserved", ", ".join([*kept, f"eviction below {_pairs(reserved['eviction'], ' ')}"])
    yield "allocatable", _allocatable(pool["allocatable"])
    yield "user-data", f"{data['bytes']:,} of {data['limit']:,} bytes"
    yield "bundle", f"{bundle['bytes']:,} bytes, sha256 {bundle['sha256'][:16]}"
    yield (
        "replacement",
        "never: changes are made in place"
        if pool["control_plane"]
        else f"if image, versions, runtime, network or reserves change (digest {pool['replace_digest'][:16]})",
    )


def _pairs(values: dict[str, str], between: str) -> str:
    return " and ".join(f"{name}{between}{value}" for name, value in values.items())


def _allocatable(figures: dict[str, int] | None) -> str:
    if figures is None:
        return "unknown, because Mullion's tables lack this size"
    return f"{figures['cpu_milli']}m CPU and {figures['memory_bytes'] / GIB:.2f} GiB for the pods of a node"


def _folded_rules(whole: dict[str, Any]) -> Iterator[str]:
    """Yield one line for the rules of each security group in each direction."""
    folded: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for rule in whole["rules"]:
        folded.setdefault((rule["group"], rule["direction"]), []).append(rule)
    yield f"Firewall rules ({len(whole['rules'])}; `mullion plan {whole['cluster']} --firewall` lists them)"
    rows = [
        (group, direction, len(rules), "; ".join(dict.fromkeys(rule["why"] for rule in rules)))
        for (group, direction), rules in folded.items()
    ]
    yield table(("group", "", "rules", "for"), rows)


def _rules(whole: dict[str, Any]) -> Iterator[str]:
    yield f"Firewall rules ({len(whole['rules'])})"
    yield table(
        ("group", "", "peer", "protocol", "ports", "why"),
        [
            (rule["group"], rule["direction"], rule["peer"], rule["protocol"], _ports(rule), rule["why"])
            for rule in whole["rules"]
        ],
    )


def _ports(rule: dict[str, Any]) -> str:
    first, last = rule["ports"]
    return "all" if rule["protocol"] == "all" else str(first) if first == last else f"{first}-{last}"


def _warnings(whole: dict[str, Any]) -> Iterator[str]:
    if whole["warnings"]:
        yield f"Warnings ({len(whole['warnings'])})"
    for warning in whole["warnings"]:
        yield f"  {warning['path']}: {warning['wrong']} [{warning['id']}]"
        yield f"    acknowledged: {warning['acknowledged']}" if warning["acknowledged"] else f"    {warning['fix']}"


def _resources(whole: dict[str, Any]) -> Iterator[str]:
    if "resources" in whole:
        counts = whole["resources"]
        yield f"Resources ({sum(counts.values())})"
        yield table(("type", "count"), counts.items())


def _against(whole: dict[str, Any]) -> Iterator[str]:
    if "against" in whole:
        yield f"Compared with {whole['against']['with']}"
        yield from comparison(whole["against"])


def comparison(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of what `plan_against.compare` returned."""
    yield from _options(found["options"])
    for kind in ("added", "removed"):
        yield f"  {kind:<9} {', '.join(found[kind]) or 'none'}"
    yield f"  replaced  {'none' if not found['replaced'] else ''}".rstrip()
    yield from (f"    {name}: {reason}" for name, reason in found["replaced"].items())
    for pool, waves in found["waves"].items():
        yield f"  waves of {pool}: {', then '.join(' and '.join(wave) for wave in waves)}"
    yield f"  {'kept':<9} {', '.join(found['kept']) or 'none'}"
    if found["control_plane"]:
        yield f"  control plane: {found['control_plane']}"


def _options(changed: list[dict[str, Any]] | None) -> Iterator[str]:
    if changed is None:
        yield "  options   unknown: the spec of the built cluster is not recorded"
        return
    yield f"  options   {'none changed' if not changed else ''}".rstrip()
    if changed:
        rows = [(row["path"], _value(row, "built"), _value(row, "now"), row["effect"] or "") for row in changed]
        yield table(("option", "built", "stack file", "effect"), rows, "    ")


def _value(row: dict[str, Any], key: str) -> str:
    from operations.commands import spec_changes

    return spec_changes.shown(row.get(key, spec_changes.ABSENT))
