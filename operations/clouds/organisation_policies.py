"""Organisation policies of Google Cloud that refuse what a plan needs (docs/gcp.md has the same list).

Source: Organization Policy Service, "Organization policy constraints"; gcloud, resource-manager org-policies describe
--effective, which includes policies of the folders and the organisation. A caller without the right to read them gets
no answer, and then nothing is known.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components import releases
from components.plan import ClusterPlan
from components.spec.models import Cloud, NetworkMode
from operations.clouds import account_state
from operations.clouds.identity import Identity


@dataclass(frozen=True)
class Constraint:
    """One constraint. needs: what a plan needs of it, as the values of its list; empty if the plan does not need it.

    subject: what it refuses. instead: what to write in the stack file.
    """

    name: str
    needs: Callable[[ClusterPlan], Sequence[str]]
    subject: str
    instead: str


ANY = "any"
"""Stands for a value that no list names, such as an instance: only a policy without values allows it."""


def _when(condition: Callable[[ClusterPlan], bool]) -> Callable[[ClusterPlan], Sequence[str]]:
    return lambda plan: (ANY,) if condition(plan) else ()


def _balancers(plan: ClusterPlan) -> Sequence[str]:
    internal = plan.endpoint.has_balancers or any(each.internal for each in plan.load_balancers)
    external = plan.endpoint.public or any(not each.internal for each in plan.load_balancers)
    return [*["INTERNAL_TCP_UDP"] * internal, *["EXTERNAL_NETWORK_TCP_UDP"] * external]


def _projects(plan: ClusterPlan) -> Sequence[str]:
    """Return the projects of the images, as the constraint's values name them."""
    named = [group.image or releases.image("gcp", group.os) for group in plan.machine_groups if group.machines]
    return sorted({f"projects/{each.removeprefix('projects/').partition('/')[0]}" for each in named})


CONSTRAINTS = (
    Constraint(
        "compute.vmExternalIpAccess",
        _when(lambda plan: plan.has_public_machines),
        "machines with public addresses",
        "write network.egress: nat",
    ),
    Constraint(
        "compute.vmCanIpForward",
        _when(lambda plan: plan.spec.network.mode is NetworkMode.L2BRIDGE),
        "machines that forward packets of pods",
        "write network.mode: overlay",
    ),
    Constraint("compute.trustedImageProjects", _projects, "machine images of other projects", "copy the images"),
    Constraint(
        "compute.restrictLoadBalancerCreationForTypes",
        _balancers,
        "passthrough load balancers",
        "write one control plane, api.access: private and no ingress.load_balancers",
    ),
    Constraint(
        "compute.restrictCloudNATUsage",
        _when(lambda plan: bool(plan.network.gateways)),
        "Cloud NAT",
        "use an existing network",
    ),
    Constraint("iam.disableServiceAccountCreation", _when(lambda _: True), "service accounts of machines", ""),
)


def rows(plan: ClusterPlan, identity: Identity) -> Iterator[tuple[str, str]]:
    """Yield a line and a fault for each policy that refuses what the plan needs."""
    if plan.spec.cloud is not Cloud.GCP:
        return
    for each in CONSTRAINTS:
        if needed := each.needs(plan):
            command = ("gcloud", "resource-manager", "org-policies", "describe", each.name)
            answer = account_state.asked((*command, "--effective", "--format=json"), "", identity)
            if isinstance(answer, dict) and (refused := _refused(answer, needed)):
                what = f"{each.subject} ({', '.join(refused)})" if refused != [ANY] else each.subject
                instead = f", or {each.instead}" if each.instead else ""
                yield (
                    f"the organisation policy constraints/{each.name} refuses {what}",
                    f"ask the organisation's administrators for an exception for the project{instead}",
                )


def _refused(policy: Mapping[str, Any], needed: Sequence[str]) -> list[str]:
    """Return the needed values that a policy refuses; none if it is not known, such as by a group of values."""
    if (policy.get("booleanPolicy") or {}).get("enforced") is True:
        return list(needed)
    listed: Mapping[str, Any] = policy.get("listPolicy") or {}
    if listed.get("allValues") in ("DENY", "ALLOW"):
        return list(needed) if listed["allValues"] == "DENY" else []
    allowed, denied = (
        [str(each).removeprefix("is:") for each in listed.get(key) or ()] for key in ("allowedValues", "deniedValues")
    )
    if any(each.startswith(("in:", "under:")) for each in allowed):
        return []
    return [each for each in needed if (allowed and each not in allowed) or each in denied]
