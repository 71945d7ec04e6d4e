"""Secrets Manager and the search by tags for the account's owner, in JSON 1.1.

Sources: API references of AWS Secrets Manager and of the Resource Groups Tagging API.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sandbox.aws.s3 import BUCKET
from sandbox.aws.secretsmanager import ENTRY
from sandbox.services.aws.owner.holdings import Holdings, tags
from sandbox.services.aws.secretsmanager import JSON
from sandbox.services.calls import Answer, Call, Refused


def answer(holdings: Holdings, call: Call) -> Answer:
    """Answer a call. Raises Refused."""
    action = call.headers.get("x-amz-target", "").rpartition(".")[2]
    if action not in ACTIONS or call.method != "POST":
        raise Refused("UnknownOperationException", f"{call.method} {action}")
    body = json.dumps(ACTIONS[action](holdings, json.loads(call.body))).encode()
    return Answer(200, body, {"content-type": JSON})


def _list(holdings: Holdings, given: Mapping[str, Any]) -> dict[str, Any]:
    keys = [value for each in given["Filters"] if each["Key"] == "tag-key" for value in each["Values"]]
    rows = [
        {
            "ARN": one.id,
            "Name": one.inputs["name"],
            "CreatedDate": datetime.fromisoformat(one.created.replace("Z", "+00:00")).timestamp(),
            "Tags": tags(one),
        }
        for one in holdings.all(ENTRY)
        if any(tag.startswith(key) for tag in one.tags for key in keys)
    ]
    return {"SecretList": rows}


def _delete(holdings: Holdings, given: Mapping[str, Any]) -> dict[str, Any]:
    if given.get("ForceDeleteWithoutRecovery") is not True:
        raise Refused("InvalidParameterException", "the sandbox deletes secrets without recovery only")
    one = holdings.get(ENTRY, given["SecretId"], "ResourceNotFoundException")
    holdings.delete(one, recoveryWindowInDays=0)
    return {"ARN": one.id, "Name": one.inputs["name"]}


def _tagged(holdings: Holdings, given: Mapping[str, Any]) -> dict[str, Any]:
    if given["ResourceTypeFilters"] != ["s3"]:
        raise Refused("InvalidParameterException", "the sandbox searches buckets only")
    keys = [each["Key"] for each in given["TagFilters"]]
    rows = [
        {"ResourceARN": f"arn:aws:s3:::{one.id}", "Tags": tags(one)}
        for one in holdings.all(BUCKET)
        if all(key in one.tags for key in keys)
    ]
    return {"PaginationToken": "", "ResourceTagMappingList": rows}


ACTIONS = {"ListSecrets": _list, "DeleteSecret": _delete, "GetResources": _tagged}
