"""Routes of a user's network on Google Cloud to Google's services, and which networks see the user's private zones.

No function of the provider shows them (components/gcp/existing_names.py), so gcloud is asked, or the sandbox. What
it does not print is unknown, and gives no row.

Sources: gcloud, compute routes list and dns managed-zones describe; VPC, "Configure Private Google Access".
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from components.clouds import GOOGLE_APIS
from components.plan import ClusterPlan
from components.spec.existing import ExistingNetwork
from components.spec.models import Cloud, Egress
from components.topology.service_zones import RESTRICTED_APIS
from operations.clouds import account_state
from operations.clouds.identity import Identity

Ask = Callable[[tuple[str, ...], str], Any]
"""Returns the JSON that a command of gcloud prints about a project; None if it fails."""

GATEWAY = "default-internet-gateway"
ROUTES = ("gcloud", "compute", "routes", "list", "--format=json(destRange,network,nextHopGateway,tags)")
ZONE = ("gcloud", "dns", "managed-zones", "describe", "--format=json(privateVisibilityConfig)")
"""The zone's name follows."""


def by_command_line(identity: Identity) -> Ask:
    """Return a function that asks gcloud with an identity's credentials."""

    def ask(command: tuple[str, ...], project: str) -> Any:
        return account_state.asked(command, "", replace(identity, options=("--project", project), account=project))

    return ask


def in_sandbox(path: Path) -> Ask:
    """Return a function that asks the sandbox with this file; it answers None without the file."""

    def ask(command: tuple[str, ...], project: str) -> Any:
        if not path.exists():
            return None
        from sandbox.cloud_state import CloudState
        from sandbox.gcp import command_line

        cloud_state = CloudState(path)
        try:
            return command_line.answer(cloud_state, command, project)
        finally:
            cloud_state.close()

    return ask


def rows(plan: ClusterPlan, ask: Ask) -> list[tuple[str, str]]:
    """Return a line and a fault for each route and zone that machines without a way to the internet need.

    The fault is empty if nothing is wrong. Empty for other clusters.
    """
    spec = plan.spec
    existing = spec.network.existing
    if spec.cloud is not Cloud.GCP or spec.network.egress is not Egress.NONE or existing is None:
        return []
    return [*_routes(plan, existing, ask), *_zones(existing, ask)]


def _routes(plan: ClusterPlan, existing: ExistingNetwork, ask: Ask) -> Iterator[tuple[str, str]]:
    _, project, *_, name = existing.network.split("/")
    answer = ask(ROUTES, project)
    if not isinstance(answer, list):
        return
    routed = [IPv4Network(each["destRange"]) for each in answer if _leads_out(each, existing.network)]
    for index, (what, ranges) in enumerate(_needed(plan).items()):
        found = any(each.subnet_of(route) for each in ranges for route in routed)
        command = f"gcloud compute routes create {name}-google-{index} --project {project} --network {name}"
        command += f" --destination-range {ranges[0]} --next-hop-gateway {GATEWAY}"
        line = f"network.existing.network: {'a' if found else 'no'} route leads to {what}"
        yield line, "" if found else f"let the network's owner run: {command}"


def _needed(plan: ClusterPlan) -> dict[str, list[IPv4Network]]:
    """Return the ranges of which machines need a route to one, by what is there."""
    needed = {"Google's APIs": [GOOGLE_APIS, RESTRICTED_APIS]}
    if any(group.os.is_windows and group.machines for group in plan.machine_groups):
        private = plan.spec.cloud.facts.private_ranges
        needed["the server that activates Windows"] = [each for each in private if each != GOOGLE_APIS]
    return needed


def _leads_out(route: Mapping[str, Any], network: str) -> bool:
    """Return whether a route of this network leads to the gateway, from every machine and for IPv4."""
    out = str(route.get("nextHopGateway") or "").endswith(f"/{GATEWAY}")
    own = str(route.get("network") or "").endswith(f"/{network}")
    return out and own and not route.get("tags") and ":" not in str(route["destRange"])


def _zones(existing: ExistingNetwork, ask: Ask) -> Iterator[tuple[str, str]]:
    for index, id_ in enumerate(existing.service_zones):
        _, project, _, name = id_.split("/")
        answer = ask((*ZONE, name), project)
        if not isinstance(answer, dict):
            continue
        config: Mapping[str, Any] = answer.get("privateVisibilityConfig") or {}
        seen = [str(each.get("networkUrl")) for each in config.get("networks") or ()]
        found = any(each.endswith(f"/{existing.network}") for each in seen)
        # the command replaces the list
        networks = ",".join((*seen, f"https://www.googleapis.com/compute/v1/{existing.network}"))
        command = f"gcloud dns managed-zones update {name} --project {project} --networks {networks}"
        line = f"network.existing.service_zones.{index}: the network {'sees' if found else 'does not see'} {id_}"
        yield line, "" if found else f"let the zone's owner run: {command}"
