"""IAM and STS for the account's owner. Sources: API references of IAM (2010-05-08) and STS (2011-06-15)."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.aws.iam import ATTACHMENT, PROFILE, ROLE, ROLE_POLICY
from sandbox.aws.regions import ACCOUNT
from sandbox.aws.web_identity import PROVIDER
from sandbox.records import Record
from sandbox.services import xml
from sandbox.services.aws.owner.holdings import Holdings, document, fields, tags
from sandbox.services.calls import Answer, Call, Codes, Refused, worded

CODES: Codes = {
    "malformed": (400, "IncompleteSignature"),
    "mismatch": (403, "SignatureDoesNotMatch"),
    "skewed": (403, "SignatureDoesNotMatch"),
    "scope": (403, "SignatureDoesNotMatch"),
    "unsigned-headers": (403, "SignatureDoesNotMatch"),
    "wrong-digest": (403, "SignatureDoesNotMatch"),
    "NoSuchEntity": (404, "NoSuchEntity"),
    "DeleteConflict": (409, "DeleteConflict"),
}
Fields = Mapping[str, str]


def answer(holdings: Holdings, call: Call) -> Answer:
    """Answer a call. Raises Refused."""
    given = fields(call)
    action, version = given.get("Action", ""), given.get("Version", "")
    if action not in ACTIONS:
        raise Refused("InvalidAction", f"Could not find operation {action} for version {version}")
    return document(action, f"https://iam.amazonaws.com/doc/{version}/", ACTIONS[action](holdings, given))


def refusal(refused: Refused) -> tuple[Answer, str]:
    """Return a refusal in the format of IAM, STS, Elastic Load Balancing and Route 53, and its code."""
    status, code = worded(refused, CODES)
    error = {"Type": "Sender", "Code": code, "Message": refused.message}
    body = xml.document("ErrorResponse", {"Error": error, "RequestId": str(uuid.uuid4())})
    return Answer(status, body, {"content-type": "text/xml"}), code


def _role(holdings: Holdings, given: Fields) -> Record:
    return holdings.get(ROLE, given["RoleName"], "NoSuchEntity", anywhere=True)


def _profile(holdings: Holdings, given: Fields) -> Record:
    return holdings.get(PROFILE, given["InstanceProfileName"], "NoSuchEntity", anywhere=True)


def _roles(holdings: Holdings, given: Fields) -> dict[str, Any]:
    found = holdings.cloud_state.resources(ROLE)
    rows = [{"RoleName": one.id, "Arn": one.outputs["arn"], "CreateDate": one.outputs["createDate"]} for one in found]
    return {"Roles": {"member": rows}, "IsTruncated": False}


def _profile_row(one: Record) -> dict[str, Any]:
    roles = [{"RoleName": one.inputs["role"]}] if one.inputs.get("role") else []
    return {"InstanceProfileName": one.id, "Roles": {"member": roles}}


def _profiles(holdings: Holdings, given: Fields) -> dict[str, Any]:
    rows = [_profile_row(one) for one in holdings.cloud_state.resources(PROFILE)]
    return {"InstanceProfiles": {"member": rows}, "IsTruncated": False}


def _get_profile(holdings: Holdings, given: Fields) -> dict[str, Any]:
    one = _profile(holdings, given)
    return {"InstanceProfile": {**_profile_row(one), "Tags": tags(one, "member")}}


def _remove_role(holdings: Holdings, given: Fields) -> dict[str, Any]:
    one = _profile(holdings, given)
    if one.inputs.get("role") != given["RoleName"]:
        raise Refused("NoSuchEntity", f"The role {given['RoleName']} is not in the profile")
    holdings.change(one, "role")
    return {}


def _delete_profile(holdings: Holdings, given: Fields) -> dict[str, Any]:
    one = _profile(holdings, given)
    if one.inputs.get("role"):
        raise Refused("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
    holdings.delete(one)
    return {}


def _policies(holdings: Holdings, given: Fields) -> dict[str, Any]:
    role = _role(holdings, given)
    found = [one for one in holdings.cloud_state.resources(ROLE_POLICY) if one.inputs["role"] == role.id]
    return {"PolicyNames": {"member": [one.inputs["name"] for one in found]}, "IsTruncated": False}


def _delete_policy(holdings: Holdings, given: Fields) -> dict[str, Any]:
    id = f"{given['RoleName']}:{given['PolicyName']}"
    holdings.delete(holdings.get(ROLE_POLICY, id, "NoSuchEntity", anywhere=True))
    return {}


def _attached(holdings: Holdings, given: Fields) -> dict[str, Any]:
    role = _role(holdings, given)
    attached = [one for one in holdings.cloud_state.resources(ATTACHMENT) if one.inputs["role"] == role.id]
    arns = [*(role.inputs.get("managedPolicyArns") or []), *(one.inputs["policyArn"] for one in attached)]
    return {"AttachedPolicies": {"member": [{"PolicyArn": arn} for arn in arns]}, "IsTruncated": False}


def _detach(holdings: Holdings, given: Fields) -> dict[str, Any]:
    id = f"{given['RoleName']}/{given['PolicyArn']}"
    holdings.delete(holdings.get(ATTACHMENT, id, "NoSuchEntity", anywhere=True))
    return {}


def _provider(holdings: Holdings, given: Fields) -> Record:
    return holdings.get(PROVIDER, given["OpenIDConnectProviderArn"], "NoSuchEntity", anywhere=True)


def _providers(holdings: Holdings, given: Fields) -> dict[str, Any]:
    rows = [{"Arn": one.id} for one in holdings.cloud_state.resources(PROVIDER)]
    return {"OpenIDConnectProviderList": {"member": rows}}


def _provider_tags(holdings: Holdings, given: Fields) -> dict[str, Any]:
    return {"Tags": tags(_provider(holdings, given), "member"), "IsTruncated": False}


def _delete_provider(holdings: Holdings, given: Fields) -> dict[str, Any]:
    holdings.delete(_provider(holdings, given))
    return {}


def _delete_role(holdings: Holdings, given: Fields) -> dict[str, Any]:
    holdings.delete(_role(holdings, given))
    return {}


def _identity(holdings: Holdings, given: Fields) -> dict[str, Any]:
    return {"Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:user/owner", "UserId": "AIDAOWNER"}


ACTIONS: Mapping[str, Callable[[Holdings, Fields], dict[str, Any]]] = {
    "GetCallerIdentity": _identity,
    "ListRoles": _roles,
    "ListRoleTags": lambda holdings, given: {"Tags": tags(_role(holdings, given), "member"), "IsTruncated": False},
    "ListInstanceProfiles": _profiles,
    "GetInstanceProfile": _get_profile,
    "RemoveRoleFromInstanceProfile": _remove_role,
    "DeleteInstanceProfile": _delete_profile,
    "ListRolePolicies": _policies,
    "DeleteRolePolicy": _delete_policy,
    "ListAttachedRolePolicies": _attached,
    "DetachRolePolicy": _detach,
    "ListOpenIDConnectProviders": _providers,
    "ListOpenIDConnectProviderTags": _provider_tags,
    "DeleteOpenIDConnectProvider": _delete_provider,
    "DeleteRole": _delete_role,
}
