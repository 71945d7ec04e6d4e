"""Deletion of Google Cloud's resources, by kind: the calls, their order, and refusals that end by themselves."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from operations.clouds.bearer import Requests, printed
from operations.console.exits import Exit, Stop
from operations.reaping.things import TIER, Thing

COMPUTE, STORAGE, DNS = "compute.googleapis.com", "storage.googleapis.com", "dns.googleapis.com"
SECRETS, IAM = "secretmanager.googleapis.com", "iam.googleapis.com"
PROJECTS = "cloudresourcemanager.googleapis.com"
RANKS: Mapping[str, int] = {
    "forwardingRules": 0,
    "backendServices": 1,
    "healthChecks": 2,
    "routes": 3,
    "firewalls": 4,
    "instances": TIER,
    "instanceGroups": TIER + 1,
    "addresses": TIER + 2,
    "disks": TIER + 2,
    "snapshots": TIER + 2,
    "managed-zone": TIER + 3,
    "routers": TIER + 4,
    "subnetworks": TIER + 5,
    "grant": TIER + 6,
    "role": TIER + 7,
    "workload-identity-pool": TIER + 7,
    "service-account": TIER + 8,
    "networks": TIER + 9,
    "secret": 2 * TIER,
    "bucket": 2 * TIER + 1,
}
"""Order of deletion by kind. Instances come after firewall rules and routes, which are found by them in a
network of the user; secrets and buckets, by which the others are found, come last."""
WAITS = frozenset(
    {
        *("resourceInUseByAnotherResource", "resourceNotReady", "conflict", "containerNotEmpty", "conditionNotMet"),
        *("FAILED_PRECONDITION", "ABORTED", "operationInProgress", "resourceOperationRateExceeded"),
    }
)
"""Refusals that end once other resources are gone, or another change has ended."""


def token() -> tuple[str, str]:
    """Return an access token and the project, from the command line of Google Cloud. Raises Stop if there is none."""
    missing = "no credentials of Google Cloud: install gcloud, and sign in with gcloud auth login"
    program = shutil.which("gcloud")
    if not program:
        raise Stop(Exit.USAGE, missing)
    command = [program, "auth", "print-access-token"]
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if done.returncode or not done.stdout.strip():
        last = (done.stderr.strip() or "it printed no token").splitlines()[-1]
        raise Stop(Exit.USAGE, f"gcloud auth print-access-token: {last}")
    project = os.environ.get("GOOGLE_PROJECT") or os.environ.get("GOOGLE_CLOUD_PROJECT") or ""
    project = project or (printed(("gcloud", "config", "list", "--format", "json"), missing).get("core") or {}).get(
        "project", ""
    )
    if not project:
        raise Stop(Exit.USAGE, "no project is chosen: gcloud config set project NAME, or GOOGLE_PROJECT")
    return done.stdout.strip(), project


def deletion(kind: str) -> Callable[[Requests, str, Thing], None]:
    """Return the function that deletes resources of a kind in a project."""
    return _DELETIONS.get(kind, _compute)


def _compute(requests: Requests, project: str, thing: Thing) -> None:
    requests.call("DELETE", COMPUTE, f"/compute/v1/{thing.id}")


def _secret(requests: Requests, project: str, thing: Thing) -> None:
    requests.call("DELETE", SECRETS, f"/v1/{thing.id}")


def _zone(requests: Requests, project: str, thing: Thing) -> None:
    """Delete a zone with its records; those of type NS and SOA at its apex go with it."""
    path = f"/dns/v1/projects/{project}/managedZones/{thing.id}"
    apex = requests.call("GET", DNS, path)["dnsName"]
    for page in requests.pages(DNS, f"{path}/rrsets", {}):
        for row in page.get("rrsets") or []:
            if row["type"] not in ("NS", "SOA") or row["name"] != apex:
                requests.call("DELETE", DNS, f"{path}/rrsets/{row['name']}/{row['type']}")
    requests.call("DELETE", DNS, path)


def _bucket(requests: Requests, project: str, thing: Thing) -> None:
    """Delete all versions of all objects, then the bucket."""
    path = f"/storage/v1/b/{thing.id}"
    for page in requests.pages(STORAGE, f"{path}/o", {"versions": "true"}):
        for row in page.get("items") or []:
            name = quote(row["name"], safe="")
            requests.call("DELETE", STORAGE, f"{path}/o/{name}", {"generation": str(row["generation"])})
    requests.call("DELETE", STORAGE, path)


def _account(requests: Requests, project: str, thing: Thing) -> None:
    requests.call("DELETE", IAM, f"/v1/projects/{project}/serviceAccounts/{thing.id}")


def _of_iam(requests: Requests, project: str, thing: Thing) -> None:
    requests.call("DELETE", IAM, f"/v1/{thing.id}")


def _grant(requests: Requests, project: str, thing: Thing) -> None:
    """Take a member out of the project's policy. The policy's etag refuses the change if another one came first."""
    role, _, member = thing.id.partition(" ")
    wanted: dict[str, Any] = {"options": {"requestedPolicyVersion": 3}}  # else conditions would be lost
    policy = requests.call("POST", PROJECTS, f"/v1/projects/{project}:getIamPolicy", body=wanted)
    for binding in policy.get("bindings") or []:
        if binding["role"] == role:
            binding["members"] = [each for each in binding["members"] if each != member]
    policy["bindings"] = [each for each in policy.get("bindings") or [] if each["members"]]
    requests.call("POST", PROJECTS, f"/v1/projects/{project}:setIamPolicy", body={"policy": policy})


_DELETIONS: Mapping[str, Callable[[Requests, str, Thing], None]] = {
    "secret": _secret,
    "managed-zone": _zone,
    "bucket": _bucket,
    "service-account": _account,
    "role": _of_iam,
    "workload-identity-pool": _of_iam,
    "grant": _grant,
}
"""Kinds that are not of Compute Engine."""
