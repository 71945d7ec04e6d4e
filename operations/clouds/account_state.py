"""An account's limits, their use and the enabled services, as the cloud's command line prints them.

Mullion has no API client of a cloud: if the command line is missing or has no credentials, they are unknown.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from components.catalogue.account_limits import (
    ADDRESSES,
    ENDPOINTS,
    EVERYWHERE,
    FIREWALLS,
    NETWORKS,
    REQUEST,
    SSD,
    STATIC,
    VCPUS,
)
from components.plan import ClusterPlan
from components.spec.models import Cloud
from operations.clouds.account_limits import account_limits
from operations.clouds.identity import Identity

SECONDS = 30
"""Time limit of one command."""


@dataclass(frozen=True)
class Quota:
    """A limit of an account in one region. used: None if the command does not print it. title: the limit's name in the
    cloud's console, if no table of ours has it.
    """

    limit: int
    used: int | None
    title: str = ""


@dataclass(frozen=True)
class _Question:
    """A command that prints JSON, and the function that reads limits from it.

    {region} in the command is replaced by the region; the identity's options are added.
    """

    command: tuple[str, ...]
    read: Callable[[Any], Mapping[str, Quota]]


def _aws(what: str) -> Callable[[Any], Mapping[str, Quota]]:
    return lambda answer: {what: Quota(int(answer["Quota"]["Value"]), None)}


def _azure(what: str, name: str) -> Callable[[Any], Mapping[str, Quota]]:
    def read(answer: Any) -> Mapping[str, Quota]:
        rows = [each for each in answer if each["name"]["value"].lower() == name.lower()]
        found = [Quota(int(each["limit"]), int(each["currentValue"])) for each in rows]
        return {what: found[0]} if found else {}

    return read


def of_family(name: str) -> str:
    """Return what Azure limits by a quota for one family of sizes, such as standardDSv5Family."""
    return f"{VCPUS} of {name}"


def _azure_vcpus(answer: Any) -> Mapping[str, Quota]:
    """Read the quota of vCPU in all, and those of families."""
    found = dict(_azure(VCPUS, "cores")(answer))
    for each in answer:
        name = str(each["name"]["value"])
        if name.lower().endswith("family"):
            title = str(each["name"].get("localizedValue") or name)
            with suppress(KeyError, TypeError, ValueError):  # one family in another form leaves the others known
                found[of_family(name)] = Quota(int(each["limit"]), int(each["currentValue"]), title)
    return found


_METRICS = {"IN_USE_ADDRESSES": ADDRESSES, "SSD_TOTAL_GB": SSD, "STATIC_ADDRESSES": STATIC}


def _gcp(plan: ClusterPlan) -> Callable[[Any], Mapping[str, Quota]]:
    """Return a reader of the region's quotas; it reads vCPU only if one quota counts all machines of the plan.

    Compute Engine, "Allocation quotas": N2 has a quota of its own, E2, N1 and shared-core machines share CPUS.
    """
    families = {group.size.partition("-")[0] for group in plan.machine_groups if group.machines}
    cores = "N2_CPUS" if families == {"n2"} else "CPUS" if families <= {"e2", "n1", "f1", "g1"} else ""

    return partial(_gcp_quotas, {**_METRICS, cores: VCPUS})


def _gcp_project(plan: ClusterPlan) -> Callable[[Any], Mapping[str, Quota]]:
    """Return a reader of the project's quotas (Compute Engine API, projects: quotas).

    CPUS_ALL_REGIONS counts machines of all families. The host project of a network of the user's has quotas of its own.
    """
    of_network = {} if plan.network.existing else {"NETWORKS": NETWORKS, "FIREWALLS": FIREWALLS}
    return partial(_gcp_quotas, {"CPUS_ALL_REGIONS": EVERYWHERE, **of_network})


def _gcp_quotas(names: Mapping[str, str], answer: Any) -> Mapping[str, Quota]:
    """Read quotas of a region or project. names: what is limited, by metric."""
    rows = [each for each in answer["quotas"] if each["metric"] in names]
    return {names[each["metric"]]: Quota(int(each["limit"]), int(each["usage"])) for each in rows}


def _service_quota(code: str, service: str = "ec2") -> tuple[str, ...]:
    command = ("aws", "service-quotas", "get-service-quota", "--service-code", service, "--quota-code", code)
    return (*command, "--region", "{region}", "--output", "json")


_STANDARD = frozenset("acdhimrtz")
"""First letters of AWS's instance families under L-1216C47A (EC2 user guide, "On-Demand Instance quotas")."""


def _questions(plan: ClusterPlan) -> tuple[_Question, ...]:
    """Return the commands that print the limits of a plan's cloud.

    Sources: AWS CLI "service-quotas", Azure CLI "vm list-usage" and "network list-usages", gcloud "compute regions
    describe". AWS prints no use.
    """
    here, text = ("--location", "{region}"), ("--output", "json")
    match plan.spec.cloud:
        case Cloud.AWS:
            standard = all(group.size[0] in _STANDARD for group in plan.machine_groups if group.machines)
            cores = [_Question(_service_quota("L-1216C47A"), _aws(VCPUS))] if standard else []
            inside = [_Question(_service_quota("L-29B6F2EB", "vpc"), _aws(ENDPOINTS))] if plan.private_endpoints else []
            return (*cores, _Question(_service_quota("L-0263D0A3"), _aws(ADDRESSES)), *inside)
        case Cloud.AZURE:
            addresses = _azure(ADDRESSES, "IPv4StandardSkuPublicIpAddresses")
            return (
                _Question(("az", "vm", "list-usage", *here, *text), _azure_vcpus),
                _Question(("az", "network", "list-usages", *here, *text), addresses),
            )
        case Cloud.GCP:
            command = ("gcloud", "compute", "regions", "describe", "{region}")
            project = ("gcloud", "compute", "project-info", "describe", "--format=json(quotas)")
            return (_Question((*command, "--format=json"), _gcp(plan)), _Question(project, _gcp_project(plan)))


@dataclass(frozen=True)
class _Services:
    """Services that an account must have enabled. command: prints a JSON list of the enabled services."""

    needed: tuple[str, ...]
    command: tuple[str, ...]
    enable: str
    same: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other name of a service, in older accounts."""
    sessions: tuple[str, ...] = ()
    """Services that `access: session` needs too."""
    pods: tuple[str, ...] = ()
    """Services that `pod_identity` needs too."""


SERVICES: Mapping[str, _Services] = {
    "azure": _Services(
        tuple(f"Microsoft.{name}" for name in ("Compute", "Network", "Storage", "KeyVault", "ManagedIdentity")),
        ("az", "provider", "list", "--query", "[?registrationState=='Registered'].namespace", "--output", "json"),
        "az provider register --namespace {}",
    ),
    "gcp": _Services(
        tuple(
            f"{name}.googleapis.com"
            for name in ("compute", "dns", "iam", "cloudresourcemanager", "secretmanager", "storage")
        ),
        ("gcloud", "services", "list", "--enabled", "--format=json(config.name)"),
        "gcloud services enable {}",
        # older projects have only the Cloud Storage JSON API enabled
        {"storage.googleapis.com": "storage-api.googleapis.com"},
        ("iap.googleapis.com",),
        # pods exchange their tokens there (IAM, "Configure Workload Identity Federation with Kubernetes")
        ("sts.googleapis.com",),
    ),
}
"""By cloud; AWS enables all services. docs/azure.md and docs/gcp.md list the same services."""


def quotas(plan: ClusterPlan, region: str, identity: Identity) -> dict[str, Quota]:
    """Return the limits that the cloud's command line prints, by what is limited; empty if it prints none."""
    found: dict[str, Quota] = {}
    for question in _questions(plan):
        answer = asked(question.command, region, identity)
        try:
            found |= question.read(answer) if answer is not None else {}
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
        ):  # another version of the command line prints another format
            continue
    return found


def disabled(cloud: str, identity: Identity, *, sessions: bool = False, pods: bool = False) -> list[str]:
    """Return a command for each needed service that is not enabled; empty if the command line does not answer.

    sessions: the cluster has `access: session`. pods: it has `pod_identity`.
    """
    services = SERVICES.get(cloud)
    answer = asked(services.command, "", identity) if services else None
    if services is None or not isinstance(answer, list) or not answer:
        return []
    names = {str(each["config"]["name"] if isinstance(each, dict) else each).lower() for each in answer}
    needed = (*services.needed, *(services.sessions if sessions else ()), *(services.pods if pods else ()))
    missing = [name for name in needed if not names & {name.lower(), services.same.get(name, name).lower()}]
    return [" ".join((services.enable.format(name), *identity.options)) for name in missing]


def in_sandbox(path: Path, cloud: str, region: str) -> dict[str, Quota]:
    """Return the limits of the account in the sandbox with this file, by what is limited; empty without the file."""
    if not path.exists():
        return {}
    from sandbox import account_use
    from sandbox.cloud_state import CloudState

    cloud_state = CloudState(path)
    try:
        return {what: Quota(*found) for what, found in account_use.quotas(cloud_state, cloud, region).items()}
    finally:
        cloud_state.close()


def compared(plan: ClusterPlan, found: Mapping[str, Quota], *, built: bool) -> list[tuple[str, str]]:
    """Return a line and a fault for each known limit; the fault is empty if the limit suffices.

    built: the cluster exists, so its own machines count among those in use.
    """
    lines: list[tuple[str, str]] = []
    for row in account_limits(plan):
        quota = found.get(row["what"])
        if quota is None:
            continue
        lines.append(judged(row["what"], row["title"], row["needed"], quota, plan.spec.cloud.value, built=built))
    return lines


def judged(what: str, title: str, needed: int, quota: Quota, cloud: str, *, built: bool) -> tuple[str, str]:
    """Return a line about a limit, and a fault if a cluster needs more than the account has left.

    title: the limit's name in the cloud's console.
    """
    used = 0 if built or quota.used is None else quota.used
    in_use = "" if quota.used is None else f", {quota.used} in use"
    line = f"{what}: the cluster takes {needed}, the account has {quota.limit}{in_use}"
    short = needed > quota.limit - used
    return line, f"ask for more {title!r} ({REQUEST[cloud]}), or plan fewer machines" if short else ""


def asked(command: tuple[str, ...], region: str, identity: Identity, seconds: float = SECONDS) -> Any:
    """Return the JSON that a command prints; None if it fails, or if the program is missing.

    {region} in its words is replaced. seconds: its time limit.
    """
    program = shutil.which(command[0])
    words = [*(word.format(region=region) for word in command[1:]), *identity.options]
    if not program or (command[0] == "gcloud" and not identity.account):
        return None
    try:
        done = subprocess.run(
            [program, *words], check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds
        )
        return json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
