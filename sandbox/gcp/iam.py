"""Service accounts, custom roles, and grants on projects, buckets and secrets."""

import re

from sandbox.cloud import Reference, Refusal, Request, ResourceType, Rule, Unique
from sandbox.gcp import rights
from sandbox.gcp.firewalls import ACCOUNT
from sandbox.gcp.quotas import QUOTAS, SERVICE_ACCOUNTS

ROLE, PROJECT_MEMBER = rights.CUSTOM_ROLE, rights.PROJECT_MEMBER
_MEMBER = re.compile(r"(serviceAccount|user|group|domain|principal|principalSet):\S+|allUsers|allAuthenticatedUsers")
_PERMISSION = re.compile(r"[a-z]+(\.[A-Za-z]+){2}")
PREDEFINED = frozenset(
    [
        *rights.ROLES,
        *("roles/logging.logWriter", "roles/monitoring.metricWriter", "roles/viewer"),
    ]
)
"""Predefined roles that a node may need (IAM, "IAM basic and predefined roles reference")."""


def bad_request(message: str) -> Refusal:
    """Return IAM's refusal of a malformed value."""
    return Refusal("badRequest", f"googleapi: Error 400: {message}")


def grant(resource: str) -> Rule:
    """Return a rule that checks a grant as setIamPolicy does: role, member and condition."""

    def rule(request: Request) -> None:
        role, member = str(request.inputs["role"]), str(request.inputs["member"])
        custom = role.startswith(("projects/", "organizations/"))
        if custom and request.cloud_state.find(ROLE, role) is None:
            raise bad_request(f"The role name must be in the form of a role that exists; there is no {role}.")
        if not custom and role not in PREDEFINED:
            raise bad_request(f"Role {role} is not supported for this resource ({resource}).")
        if not _MEMBER.fullmatch(member):
            raise bad_request(
                f"Invalid argument: '{member}'. The member must have a type prefix, such as serviceAccount:."
            )
        _known(request, member)
        condition = request.inputs.get("condition")
        try:
            rights.holds(condition["expression"] if condition else "", "")
        except ValueError as error:
            raise bad_request(f"Invalid condition expression: {error}") from None

    return rule


def _known(request: Request, member: str) -> None:
    kind, _, email = member.partition(":")
    suffix = f"@{request.place.account}.iam.gserviceaccount.com"
    id = f"projects/{request.place.account}/serviceAccounts/{email}"
    if kind == "serviceAccount" and email.endswith(suffix) and request.cloud_state.find(ACCOUNT, id) is None:
        raise bad_request(f"Service account {email} does not exist.")


def member_type(resource: str, key: str, id: str, *references: Reference, rules: tuple[Rule, ...] = ()) -> ResourceType:
    """Return a grant's row: one role for one member. key: the property that names the resource."""
    return ResourceType(
        id=id,
        immutable=(key, "role", "member", "condition"),
        outputs={"etag": "BwX{hex:9}="},
        references=references,
        rules=(grant(resource), *rules),
    )


def _permissions(request: Request) -> None:
    for permission in request.inputs.get("permissions") or []:
        if not _PERMISSION.fullmatch(permission):
            raise bad_request(f"Permission {permission} is not valid.")


_ACCOUNT = "{in_.accountId}@{account}.iam.gserviceaccount.com"

TYPES: dict[str, ResourceType] = {
    ACCOUNT: ResourceType(
        id=f"projects/{{account}}/serviceAccounts/{_ACCOUNT}",
        immutable=("accountId", "project"),
        chosen=("project",),
        fallback={"disabled": False},
        outputs={
            "project": "{account}",
            "email": _ACCOUNT,
            "member": f"serviceAccount:{_ACCOUNT}",
            "name": f"projects/{{account}}/serviceAccounts/{_ACCOUNT}",
        },
        derive=lambda request: {"uniqueId": str(int(request.digits(17, "unique"), 16)).zfill(21)},
        at_least_one=(("accountId",),),
        patterns={
            "accountId": (
                re.compile(r"[a-z]([-a-z0-9]{4,28}[a-z0-9])"),
                "6 to 30 lower-case letters, digits and hyphens, a letter first and no hyphen last",
            )
        },
        unique=(
            Unique(
                "service account",
                ("accountId",),
                "alreadyExists",
                "googleapi: Error 409: Service account {in_.accountId} already exists within project"
                " projects/{account}.",
            ),
        ),
        rules=(QUOTAS.at_most(SERVICE_ACCOUNTS),),
    ),
    ROLE: ResourceType(
        id="projects/{account}/roles/{in_.roleId}",
        immutable=("roleId", "project"),
        chosen=("project",),
        fallback={"stage": "GA"},
        derive=lambda request: {"deleted": False},
        outputs={"project": "{account}", "name": "projects/{account}/roles/{in_.roleId}"},
        unordered=("permissions",),
        at_least_one=(("roleId",),),
        patterns={"roleId": (re.compile(r"[a-zA-Z0-9_.]{3,64}"), "3 to 64 letters, digits, _ and .")},
        unique=(
            Unique(
                "custom role",
                ("roleId",),
                "alreadyExists",
                "googleapi: Error 409: A role named {in_.roleId} in projects/{account} already exists.",
            ),
        ),
        rules=(_permissions,),
    ),
    PROJECT_MEMBER: member_type("projects", "project", "{in_.project}/{in_.role}/{in_.member}"),
    rights.ACCOUNT_MEMBER: member_type(
        "serviceAccounts",
        "serviceAccountId",
        "{in_.serviceAccountId}/{in_.role}/{in_.member}",
        Reference("serviceAccountId", ACCOUNT, "notFound", "googleapi: Error 404: Unknown service account", "vanish"),
    ),
}
