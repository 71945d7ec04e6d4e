"""Organisation policies of Google Cloud that refuse what a plan needs (docs/gcp.md has the same list).

Sources: Organization Policy Service, "Organization policy constraints" and "Managed constraints"; gcloud,
resource-manager org-policies describe and org-policies describe, both with --effective, which includes policies of the
folders and the organisation. A caller without the right to read them gets no answer, and then nothing is known; for
managed constraints that is so in projects without the Organization Policy API.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from components import releases
from components.plan import ClusterPlan
from components.spec.models import Cloud, NetworkMode
from components.spec.pod_identity import kubeadms_issuer
from operations.clouds import account_state
from operations.clouds.identity import Identity


@dataclass(frozen=True)
class Constraint:
    """One constraint. needs: what a plan needs of it, as the values of its list; empty if the plan does not need it.

    subject: what it refuses. instead: what to write in the stack file. managed: name of the managed constraint of the
    same effect, which has no list.
    """

    name: str
    needs: Callable[[ClusterPlan], Sequence[str]]
    subject: str
    instead: str = ""
    managed: str = ""


ANY = "any"
"""Stands for a value that no list names, such as an instance: only a policy without values allows it."""
REGION = "REGION"
"""Stands for the region of the cluster."""
AT_ONCE = 4
"""Commands that run at the same time; each takes about two seconds."""


def _when(condition: Callable[[ClusterPlan], bool], *values: str) -> Callable[[ClusterPlan], Sequence[str]]:
    return lambda plan: (values or (ANY,)) if condition(plan) else ()


def _balancers(plan: ClusterPlan) -> Sequence[str]:
    internal = plan.endpoint.balanced or any(each.internal for each in plan.load_balancers)
    external = plan.endpoint.public or any(not each.internal for each in plan.load_balancers)
    return [*["INTERNAL_TCP_UDP"] * internal, *["EXTERNAL_NETWORK_TCP_UDP"] * external]


def _projects(plan: ClusterPlan) -> Sequence[str]:
    """Return the projects of the images, as the constraint's values name them."""
    named = [group.image or releases.image("gcp", group.os) for group in plan.machine_groups if group.machines]
    return sorted({f"projects/{each.removeprefix('projects/').partition('/')[0]}" for each in named})


def _key_project(plan: ClusterPlan) -> Sequence[str]:
    """Return the project of the cluster's key, as the constraint's values name it."""
    return ["/".join((plan.spec.encryption_key or "").split("/")[:2])] if plan.spec.encryption_key else []


def _issuer(plan: ClusterPlan) -> Sequence[str]:
    """Return the issuer of the tokens that the workload identity pool accepts."""
    return [kubeadms_issuer(plan.spec.network.domain)] if plan.spec.pod_identity else []


def _subnets(plan: ClusterPlan) -> Sequence[str]:
    existing = plan.spec.network.existing
    return [each.id for each in existing.subnets] if existing else []


CONSTRAINTS = (
    Constraint(
        "compute.vmExternalIpAccess",
        _when(lambda plan: plan.has_public_machines),
        "machines with public addresses",
        "write network.egress: nat",
        "compute.managed.vmExternalIpAccess",
    ),
    Constraint(
        "compute.vmCanIpForward",
        _when(lambda plan: plan.spec.network.mode is NetworkMode.L2BRIDGE),
        "machines that forward packets of pods",
        "write network.mode: overlay",
        "compute.managed.vmCanIpForward",
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
    Constraint(
        "iam.disableServiceAccountCreation",
        _when(lambda _: True),
        "service accounts of machines",
        managed="iam.managed.disableServiceAccountCreation",
    ),
    Constraint(
        "compute.restrictNonConfidentialComputing",
        _when(lambda _: True, "compute.googleapis.com"),
        "machines without Confidential Computing",
        managed="compute.managed.restrictNonConfidentialComputing",
    ),
    Constraint(
        "gcp.restrictNonCmekServices",
        _when(
            lambda plan: not plan.spec.encryption_key,
            *("compute.googleapis.com", "secretmanager.googleapis.com", "storage.googleapis.com"),
        ),
        "what has no key of yours",
        "write encryption_key",
    ),
    Constraint(
        "gcp.restrictCmekCryptoKeyProjects", _key_project, "keys of other projects", "use a key of those projects"
    ),
    # its values are issuers (IAM, "Manage workload identity pools and providers", constraints)
    Constraint(
        "iam.workloadIdentityPoolProviders",
        _issuer,
        "the workload identity pool with the issuer of this cluster",
        "remove pod_identity",
    ),
    # buckets delete at once, because older objects are versions (components/gcp/storage.py)
    Constraint("storage.softDeletePolicySeconds", _when(lambda _: True, "0"), "buckets without soft deletion"),
    Constraint("gcp.resourceLocations", _when(lambda _: True, REGION), "resources in the region", "use another region"),
    Constraint("compute.restrictSharedVpcSubnetworks", _subnets, "subnetworks of another project"),
)


def rows(plan: ClusterPlan, identity: Identity, region: str = "") -> Iterator[tuple[str, str]]:
    """Yield a line and a fault for each policy that refuses what the plan needs. region: empty if it is not known."""
    if plan.spec.cloud is not Cloud.GCP:
        return
    asked: list[tuple[Constraint, str, list[str]]] = []
    for each in CONSTRAINTS:
        needed = [region if value == REGION else value for value in each.needs(plan)]
        # the constraint about shared subnetworks is not about those of the project itself
        needed = [value for value in needed if not value.startswith(f"projects/{identity.account}/")]
        asked += [(each, name, needed) for name in (each.name, each.managed) if name and any(needed)]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = threads.map(lambda one: _effective(one[1], identity), asked)
        for (each, name, needed), answer in zip(asked, list(answers), strict=True):
            if isinstance(answer, dict) and (refused := _refused(answer, needed)):
                named = name == each.name and refused != [ANY]
                what = f"{each.subject} ({', '.join(refused)})" if named else each.subject
                instead = f", or {each.instead}" if each.instead else ""
                yield (
                    f"the organisation policy constraints/{name} refuses {what}",
                    f"ask the organisation's administrators for an exception for the project{instead}",
                )


def _effective(name: str, identity: Identity) -> Any:
    """Return the policy of a constraint that is in force; None if it is not known."""
    service = ("org-policies",) if ".managed." in name else ("resource-manager", "org-policies")
    return account_state.asked(("gcloud", *service, "describe", name, "--effective", "--format=json"), "", identity)


def _refused(policy: Mapping[str, Any], needed: Sequence[str]) -> list[str]:
    """Return the needed values that a policy refuses; none if it is not known, such as by a group of values."""
    if (policy.get("booleanPolicy") or {}).get("enforced") is True or _enforced(policy):
        return list(needed)
    listed: Mapping[str, Any] = policy.get("listPolicy") or {}
    if listed.get("allValues") in ("DENY", "ALLOW"):
        return list(needed) if listed["allValues"] == "DENY" else []
    allowed, denied = ([str(each) for each in listed.get(key) or ()] for key in ("allowedValues", "deniedValues"))
    return [
        each
        for each in needed
        if (allowed and all(_names(value, each) is False for value in allowed))
        or any(_names(value, each) for value in denied)
    ]


def _enforced(policy: Mapping[str, Any]) -> bool:
    """Return whether a managed constraint is enforced; a rule with a condition may free the project."""
    found: Sequence[Mapping[str, Any]] = (policy.get("spec") or {}).get("rules") or []
    return any(each.get("enforce") is True for each in found) and not any(
        each.get("condition") or each.get("parameters") for each in found
    )


_REGION_GROUP = re.compile(r"in:([a-z]+-[a-z]+\d+)-locations")


def _names(value: str, needed: str) -> bool | None:
    """Return whether a value of a policy's list names what is needed; None if only Google knows, as for groups."""
    if group := _REGION_GROUP.fullmatch(value):
        return group[1] == needed
    if value.startswith("under:projects/"):
        whole = value.removeprefix("under:")
        return needed == whole or needed.startswith(f"{whole}/")
    if value.startswith(("in:", "under:")):
        return None
    value = value.removeprefix("is:")
    # beside issuers a list may have words of Google's for kinds of providers
    return None if needed.startswith("https://") and not value.startswith("https://") else value == needed
