"""IAM roles, their policies, instance profiles."""

import json
import re
from typing import Any

from sandbox.aws.quotas import QUOTAS
from sandbox.aws.tags import tag_rule
from sandbox.cloud import AutoName, Reference, Refusal, Request, ResourceType, Unique

ROLE, PROFILE = "aws:iam/role:Role", "aws:iam/instanceProfile:InstanceProfile"
ROLE_POLICY, ATTACHMENT = "aws:iam/rolePolicy:RolePolicy", "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
TRUST_LIMIT, POLICIES_LIMIT = 2048, 10240
"""Characters of a role's trust policy, and of its inline policies together (IAM user guide, "IAM and AWS STS quotas").
"""
_ACTION = re.compile(r"\*|[A-Za-z0-9-]+:[A-Za-z0-9*?]+")
_FEDERATED = re.compile(r"arn:aws:iam::\d{12}:(oidc|saml)-provider/\S+|[a-z0-9-]+(\.[a-z0-9-]+)+")
_NAME = r"[A-Za-z0-9+=,.@_-]"
_VERSIONS = ("2012-10-17", "2008-10-17")


def document(value: Any) -> dict[str, Any]:
    """Parse a policy document from text or an object. Raises Refusal MalformedPolicyDocument."""
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
        principal = statement["Principal"]
        for each in _texts(principal, "Federated") if isinstance(principal, dict) else ():
            if not _FEDERATED.fullmatch(each):
                message = "Federated principals must be valid domain names or SAML metadata ARNs"
                raise Refusal("MalformedPolicyDocument", message)


def _identity_policy(request: Request) -> None:
    for statement in document(request.inputs["policy"])["Statement"]:
        if "Principal" in statement:
            raise Refusal("MalformedPolicyDocument", "Policy document should not specify a principal.")
        if not {"Resource", "NotResource"} & set(statement):
            raise Refusal("MalformedPolicyDocument", "Policy statement must contain resources.")
        for action in _texts(statement, "Action"):
            if not _ACTION.fullmatch(action):
                raise Refusal(
                    "MalformedPolicyDocument",
                    f"Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.: {action}",
                )
        for resource in _texts(statement, "Resource"):
            if resource != "*" and not resource.startswith("arn:"):
                raise Refusal("MalformedPolicyDocument", f'Resource {resource} must be in ARN format or "*".')


def _texts(statement: dict[str, Any], field: str) -> list[str]:
    values = [statement.get(field), statement.get(f"Not{field}")]
    return [str(one) for value in values if value for one in (value if isinstance(value, list) else [value])]


def _size(policy: Any) -> int:
    """Return the number of characters without white space, as IAM counts them."""
    text = policy if isinstance(policy, str) else json.dumps(policy)
    return len(re.sub(r"\s", "", text))


def _trust_size(request: Request) -> None:
    if _size(request.inputs["assumeRolePolicy"]) > TRUST_LIMIT:
        raise Refusal("LimitExceeded", f"Cannot exceed quota for ACLSizePerRole: {TRUST_LIMIT}")


def _policies_size(request: Request) -> None:
    """Check the size of a role's inline policies together."""
    role = request.inputs["role"]
    others = [one for one in request.cloud_state.referrers(ROLE, role) if one.type == ROLE_POLICY]
    sizes = [_size(one.inputs["policy"]) for one in others if one.sequence != request.sequence]
    if sum(sizes) + _size(request.inputs["policy"]) > POLICIES_LIMIT:
        raise Refusal("LimitExceeded", f"Maximum policy size of {POLICIES_LIMIT} bytes exceeded for role {role}")


def _in_role(holds: str = "refuse") -> Reference:
    return Reference("role", ROLE, "NoSuchEntity", "The role with name {id} cannot be found.", holds)


def _attached(request: Request) -> None:
    """Refuse to delete a role to which somebody attached policies, unless the provider detaches them before."""
    attached = (request.old.inputs if request.old else {}).get("managedPolicyArns")
    if attached and not request.inputs.get("forceDetachPolicies"):
        raise Refusal("DeleteConflict", "Cannot delete entity, must detach all policies first.")


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
        ranges={"maxSessionDuration": (3600, 43200)},
        rules=(_trust, _trust_size, QUOTAS.at_most("roles per account"), tag_rule("ValidationError")),
        delete_rules=(_attached,),
    ),
    ROLE_POLICY: ResourceType(
        id="{in_.role}:{in_.name}",
        immutable=("role", "name", "namePrefix"),
        documents=("policy",),
        auto_name=AutoName(limit=128),
        at_most_one=(("name", "namePrefix"),),
        patterns={"name": (re.compile(_NAME + "{1,128}"), "1 to 128 letters, digits and +=,.@_-")},
        references=(_in_role(),),
        rules=(_identity_policy, _policies_size),
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
        rules=(QUOTAS.at_most("instance profiles per account"), tag_rule("ValidationError")),
    ),
}
