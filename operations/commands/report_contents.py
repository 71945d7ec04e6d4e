"""The values of a stack's HTML report: the plan, the built cluster, times, changes, cost, versions, results."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components import releases
from components.clouds import CLOUDS
from components.cost import bill as bills
from components.plan import ClusterPlan, plan_cluster
from components.spec import expiry
from components.stack_files.stack import Stack
from components.version import VERSION
from operations.commands import plan, plan_against, report_machines, report_times, spec_changes, versions
from operations.commands.report_times import Prediction
from operations.console.exits import Stop
from operations.cost import shown
from operations.engine.clusters import utc
from operations.html_report.built import Known
from operations.html_report.firewall import matrix
from operations.html_report.picture import picture
from operations.html_report.results import Results

SECTIONS = (
    ("results", "Tests"),
    ("warnings", "Warnings"),
    ("topology", "Topology"),
    ("machines", "Machines"),
    ("addresses", "Addresses"),
    ("firewall", "Firewall"),
    ("times", "Times"),
    ("changes", "Changes and waves"),
    ("cost", "Cost"),
    ("versions", "Versions"),
)


def contents(stack: Stack, known: Known, forecast: Prediction, results: Sequence[Results]) -> dict[str, Any]:
    """Return the values that the template names."""
    planned = plan_cluster(stack.name, stack.spec)
    whole, bill = plan.document(stack, planned), bills.bill(planned, stack.region)
    changes, refused = _changes(whole, known)
    lasting = _lasting(stack)
    return {
        "plan": whole,
        "cloud": CLOUDS[stack.spec.cloud.value].title,
        "place": known.place,
        "built": known.built,
        "state_unknown": known.unknown,
        "version": VERSION,
        "made": expiry.written(expiry.now()),
        "day": expiry.now().date().isoformat(),
        "figures_of": releases.FIGURES_OF,
        "sections": SECTIONS,
        "tiles": list(_tiles(whole, shown.summary(bill), known, results)),
        "results": results,
        "picture": picture(planned, _zones(planned, known)),
        **report_machines.values(planned, whole, known.built, known.records, changes),
        "addresses": list(_addresses(whole)),
        "subnets": list(_subnets(planned)),
        "matrix": matrix(planned),
        **report_times.values(forecast, known, results),
        "changes": changes or {},
        "changes_refused": refused,
        **_change_views(changes),
        "bill": shown.document(bill),
        "assumptions": list(shown.assumptions(bill.usage)),
        "lasting": lasting,
        "images": [*whole["images"]["by_digest"], *whole["images"]["by_tag"]],
    }


def _tile(what: str, value: object, more: str = "", *, bad: bool = False) -> dict[str, Any]:
    return {"what": what, "value": str(value), "more": more, "bad": bad}


def _tiles(
    whole: Mapping[str, Any], cost: Mapping[str, Any], known: Known, results: Sequence[Results]
) -> Iterator[dict[str, Any]]:
    built = known.built
    there = "state unknown" if known.unknown else f"{len(built.machines)} built" if built else "not built"
    yield _tile("Machines", len(whole["machines"]), there)
    if built:
        yield _tile("State", built.facts.health, f"{built.facts.resources} resources")
        yield _tile("Created", utc(built.facts.created)[:10] or "unknown", utc(built.facts.created)[11:])
    least = "at least " if cost["unknown"] else ""
    priced = cost["month"] or not cost["unknown"]
    yield _tile("Cost", f"{least}USD {cost['month']:,.0f}" if priced else "unknown", "a month" if priced else "")
    warnings = [each for each in whole["warnings"] if not each["acknowledged"]]
    acknowledged = len(whole["warnings"]) - len(warnings)
    yield _tile("Warnings", len(warnings), f"{acknowledged} acknowledged" if acknowledged else "")
    verified = [each for each in results if not each.run]
    failed = sum(each.failed for each in verified)
    yield _tile(
        "Verification",
        ("failed" if failed else "passed") if verified else "unknown",
        f"{sum(len(each.rows) for each in verified)} rows" if verified else "",
        bad=bool(failed),
    )
    ended = [each for each in results if each.run]
    if ended and ended[-1].code is not None:
        yield _tile(
            "Run", "passed" if ended[-1].code == 0 else "failed", f"exit code {ended[-1].code}", bad=ended[-1].code != 0
        )
    yield _tile("Owner", whole["spec"]["owner"] or "none")
    ends = utc(built.facts.expires) if built and built.facts.expires else whole["expires"]
    day, _, hour = (ends or "never").partition("T")
    yield _tile("Expires", day, ", ".join(part for part in (hour, "protected" if whole["protect"] else "") if part))


def _zones(planned: ClusterPlan, known: Known) -> dict[int, str]:
    """Return names of zones: those of the plan, else those of built machines."""
    names = dict(enumerate(planned.network.zone_names))
    if names or not known.built:
        return names
    machines = known.built.machines
    found = {each.zone: machines[each.name].zone for each in planned.machines if each.name in machines}
    return {zone: name for zone, name in found.items() if name}


def _addresses(whole: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    network, endpoint = whole["network"], whole["endpoint"]
    pods, paths = network["pod_addresses"], whole["reachability"]
    yield "Endpoint", f"{endpoint['url']}{' and a public load balancer for people' if endpoint['public'] else ''}"
    if endpoint["balancer_addresses"]:
        yield "Load balancer", ", ".join(endpoint["balancer_addresses"])
    yield "Network", network["mode"]
    yield "Nodes", network["nodes"]
    yield "Pods", f"{network['pods']}: {pods['available']:,} addresses, {pods['needed_by_pods']:,} used at most"
    yield "Services", network["services"]
    yield "Cluster DNS", network["dns"]
    yield "Reachability", f"{paths['needed'] - len(paths['missing'])} of {paths['needed']} needed paths are open"


def _subnets(planned: ClusterPlan) -> Iterator[dict[str, str]]:
    names = planned.network.zone_names
    for subnet in planned.network.subnets:
        tables = (table for table in planned.network.tables if subnet.name in table.subnets)
        routes = [f"{route.destination} to {route.target}" for table in tables for route in table.routes]
        yield {
            "name": subnet.name,
            "zone": names[subnet.zone] if names else str(subnet.zone),
            "range": str(subnet.cidr),
            "public": "yes" if subnet.public else "no",
            "routes": ", ".join(routes) or ("yours" if planned.network.existing else "none"),
        }


def _changes(whole: dict[str, Any], known: Known) -> tuple[dict[str, Any] | None, str]:
    """Return how the plan differs from the built cluster, or why one `up` cannot make the change."""
    if not known.built:
        return None, ""
    try:
        return plan_against.compare(whole, plan_against.from_state(known.resources, f"state of {whole['cluster']}")), ""
    except Stop as stop:
        return None, str(stop)


def _change_views(changes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the facts of a comparison, the reasons of replacement with their machines, and the options that differ."""
    if changes is None:
        return {"change_facts": [], "reasons": [], "options": []}
    facts = [(title, ", ".join(changes[key]) or "none") for title, key in (("Added", "added"), ("Removed", "removed"))]
    facts += [("Replaced", ", ".join(changes["replaced"]) or "none"), ("Kept", f"{len(changes['kept'])} machines")]
    if changes["control_plane"]:
        facts.append(("Control plane", changes["control_plane"]))
    options = changes["options"]
    if options is None:
        facts.append(("Options", "unknown: the spec that was built is not recorded"))
    elif not options:
        facts.append(("Options", "none changed"))
    reasons: dict[str, list[str]] = {}
    for machine, reason in changes["replaced"].items():
        reasons.setdefault(reason, []).append(machine)
    rows = [(each["path"], _value(each, "built"), _value(each, "now"), each["effect"] or "") for each in options or []]
    return {"change_facts": facts, "reasons": list(reasons.items()), "options": rows}


def _value(option: Mapping[str, Any], key: str) -> str:
    return spec_changes.shown(option.get(key, spec_changes.ABSENT))


def _lasting(stack: Stack) -> list[dict[str, str]]:
    day = expiry.now().date()
    states = [(each, versions.state(each.end, day) if each.end else "") for each in versions.parts(stack.spec, day)]
    return [
        {"what": each.what, "end": each.end, "state": state, "todo": each.next if state else ""}
        for each, state in states
    ]
