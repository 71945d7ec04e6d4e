"""IAM roles, their policies, instance profiles."""

import json
import re
from typing import Any

from sandbox.aws.tags import tag_rule
from sandbox.cloud import AutoName, Reference, Refusal, Request, ResourceType, Unique

ROLE, PROFILE = "aws:iam/role:Role", "aws:iam/instanceProfile:InstanceProfile"
_NAME = r"[A-Za-z0-9+=,.@_-]"
_VERSIONS = ("2012-10-17", "2008-10-17")


def document(value: Any) -> dict[str, Any]:
    """A policy document, from text or from an object; MalformedPolicyDocument where it is none."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise Refusal("MalformedPolicyDocument", f"This policy contains invalid Json: {error}") from None
    if not isinstance(value, dict) or "Statement" not in value:
        raise Refusal("MalformedPolicyDocument", "Syntax errors in policy: no Statement.")
    if value.get("Version") not in (None, *_VERSIONS):
        raise Refusal("MalformedPolicyDocument", f"The policy's version {value['Version']!r} is none of {_VERSIONS}.")
    statements = value["Statement"] if isinstance(value["Statement"], list) else [value["Statement"]]
    for statement in statements:
        if not isinstance(statement, dict) or statement.get("Effect") not in ("Allow", "Deny"):
            raise Refusal("MalformedPolicyDocument", "A statement needs an Effect of Allow or Deny.")
        if not {"Action", "NotAction"} & set(statement):
            raise Refusal("MalformedPolicyDocument", "Policy statement must contain actions.")
    return {**value, "Statement": statements}


def _trust(request: Request) -> None:
    for statement in document(request.inputs["assumeRolePolicy"])["Statement"]:
        if "Resource" in statement:
            raise Refusal("MalformedPolicyDocument", "Has prohibited field Resource")
        if "Principal" not in statement:
            raise Refusal("MalformedPolicyDocument", "Missing required field Principal")


def _identity_policy(request: Request) -> None:
    for statement in document(request.inputs["policy"])["Statement"]:
        if "Principal" in statement:
            raise Refusal("MalformedPolicyDocument", "Policy document should not specify a principal.")
        if not {"Resource", "NotResource"} & set(statement):
            raise Refusal("MalformedPolicyDocument", "Policy statement must contain resources.")


def _in_role(holds: str = "refuse") -> Reference:
    return Reference("role", ROLE, "NoSuchEntity", "The role with name {id} cannot be found.", holds)


def _created(request: Request) -> dict[str, Any]:
    return {"createDate": "2025-01-01T00:00:00Z"}


def _taken(kind: str) -> tuple[Unique, ...]:
    return (Unique(kind, ("name",), "EntityAlreadyExists", f"{kind} with name {{in_.name}} already exists."),)


TYPES: dict[str, ResourceType] = {
    ROLE: ResourceType(
        id="{in_.name}",
        immutable=("name", "namePrefix", "path"),
        chosen=("name", "managedPolicyArns", "inlinePolicies"),
        fallback={"path": "/", "maxSessionDuration": 3600, "forceDetachPolicies": False},
        unordered=("managedPolicyArns",),
        documents=("assumeRolePolicy",),
        outputs={"arn": "arn:aws:iam::{account}:role{in_.path}{in_.name}", "uniqueId": "AROA{hex:17}"},
        derive=_created,
        auto_name=AutoName(limit=64),
        at_most_one=(("name", "namePrefix"),),
        patterns={"name": (re.compile(_NAME + "{1,64}"), "1 to 64 letters, digits and +=,.@_-")},
        unique=_taken("Role"),
        in_use=("DeleteConflict", "Cannot delete entity, must remove {holder} from role {id} first."),
        rules=(_trust, tag_rule("ValidationError")),
    ),
    "aws:iam/rolePolicy:RolePolicy": ResourceType(
        id="{in_.role}:{in_.name}",
        immutable=("role", "name", "namePrefix"),
        documents=("policy",),
        auto_name=AutoName(limit=128),
        at_most_one=(("name", "namePrefix"),),
        patterns={"name": (re.compile(_NAME + "{1,128}"), "1 to 128 letters, digits and +=,.@_-")},
        references=(_in_role(),),
        rules=(_identity_policy,),
    ),
    PROFILE: ResourceType(
        id="{in_.name}",
        immutable=("name", "namePrefix", "path"),
        chosen=("name",),
        fallback={"path": "/"},
        outputs={"arn": "arn:aws:iam::{account}:instance-profile{in_.path}{in_.name}", "uniqueId": "AIPA{hex:17}"},
        derive=_created,
        auto_name=AutoName(limit=128),
        at_most_one=(("name", "namePrefix"),),
        patterns={"name": (re.compile(_NAME + "{1,128}"), "1 to 128 letters, digits and +=,.@_-")},
        references=(_in_role(),),
        unique=_taken("Instance Profile"),
        rules=(tag_rule("ValidationError"),),
    ),
}
