"""Roles: what they may do is named, and so is what they may do it to."""

from collections.abc import Iterator, Mapping
from typing import Any

from policies.rules.rule import Resource, ResourceRule, document, items, known

WITHOUT_RESOURCES = frozenset({"ec2:DescribeInstances", "ecr:GetAuthorizationToken"})
"""Actions that take no resource but `*` (Service Authorization Reference, "Resource types" empty), and that roles of
machines may have."""
BROAD = ("AdministratorAccess", "PowerUserAccess", "FullAccess")
"""Endings of AWS's managed policies that no machine has."""

POLICIES = frozenset({"aws:iam/rolePolicy:RolePolicy", "aws:iam/policy:Policy"})
ROLE = "aws:iam/role:Role"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"


def _listed(value: Any) -> list[str]:
    return [str(each) for each in (value if isinstance(value, list) else [value]) if known(each)]


def _everything(arn: str) -> bool:
    """Whether a resource is `*`, or each of a service: arn:aws:s3:::*."""
    return arn == "*" or (arn.startswith("arn:") and arn.split(":", 5)[-1] in ("*", "*/*"))


def _statement(statement: Mapping[str, Any]) -> Iterator[str]:
    if statement.get("Effect") != "Allow":
        return
    for key in ("NotAction", "NotResource"):
        if key in statement:
            yield f"a statement allows by {key}, which is all but a few; list what it needs"
    actions, resources = _listed(statement.get("Action")), _listed(statement.get("Resource"))
    for action in actions:
        if "*" in action:
            yield f"it allows {action}; list the actions"
    for arn in filter(_everything, resources):
        wide = [each for each in actions if each not in WITHOUT_RESOURCES]
        if wide:
            yield f"it allows {', '.join(wide)} on {arn}; name the resources"


def _narrow(resource: Resource) -> Iterator[str]:
    for holder in (resource.properties, *items(resource.properties, "inlinePolicies")):
        for statement in items(document(holder.get("policy")), "Statement"):
            yield from _statement(statement)
    for arn in [*_listed(resource.properties.get("policyArn")), *_listed(resource.properties.get("managedPolicyArns"))]:
        if arn.endswith(BROAD):
            yield f"it has the policy {arn.rpartition('/')[2]}; write one with what it needs"


RULES = (
    ResourceRule(
        "permissions-narrow",
        "Roles are allowed named actions on named resources.",
        POLICIES | {ROLE, ATTACHMENT},
        _narrow,
    ),
)
