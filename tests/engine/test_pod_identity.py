"""Roles of pods on the real engine: issuer and keys in their order, through a rotation, and nothing left afterwards."""

import json
from collections.abc import Callable
from typing import Any

import jwt
import pulumi.automation as auto
import pytest

from components.spec.pod_identity import DISCOVERY, KEYS
from sandbox.aws.iam import ATTACHMENT, ROLE
from sandbox.aws.web_identity import PROVIDER

from .conftest import Stack

pytestmark = pytest.mark.engine

OBJECT, SECRET = "aws:s3/bucketObjectv2:BucketObjectv2", "aws:secretsmanager/secretVersion:SecretVersion"
POLICY = "arn:aws:iam::000000000000:policy/uploads"
ACCOUNT = {"namespace": "shop", "name": "uploads", "policies": [POLICY]}


def published(stack: Stack, issuer: str, key: str) -> Any:
    """Return a document of the issuer's bucket in the sandbox."""
    bucket = issuer.removeprefix("https://").partition(".")[0]
    return json.loads(stack.cloud_state.objects(bucket)[key].content)


def ended(stack: Stack, run: Callable[[], Any]) -> list[tuple[str, str]]:
    """Return operation and name of all resources that a run changes, in the order in which they are done."""
    first = len(stack.log)
    run()
    events = [json.loads(each) for each in stack.log[first:] if each.startswith("{")]
    found = [each["res_outputs_event"]["metadata"] for each in events if each.get("res_outputs_event")]
    return [(f"{each['type']}", each["urn"].rpartition("::")[2]) for each in found if each["op"] != "same"]


def test_issuer_roles_and_keys_come_rotate_and_go(new_stack: Callable[[str], Stack]) -> None:
    stack = new_stack("aws-dev")
    wanted = {"pod_identity": {"service_accounts": [ACCOUNT]}, "pools": {"web": None}}
    stack.edit(pools={"web": None})
    assert not stack.up().outputs["issuer"]
    stack.edit(**wanted)
    order = ended(stack, stack.up)
    names = [name for _, name in order]
    secret, pointer = names.index("aws-dev-pki"), names.index("aws-dev-desired-state")
    for name in ("aws-dev-issuer-discovery", "aws-dev-issuer-keys"):
        assert names.index(name) < secret < pointer, "control planes learn of the issuer once it is public"
    assert not [name for kind, name in order if kind == stack.cloud.machine], "no machine changes"

    again = stack.up()
    assert again.steps == {}
    issuer, roles = again.outputs["issuer"], again.outputs["pod_roles"]
    assert published(stack, issuer, DISCOVERY)["issuer"] == issuer
    [provider] = stack.cloud_state.resources(PROVIDER)
    assert (provider.inputs["url"], provider.inputs["clientIdLists"]) == (issuer, ["sts.amazonaws.com"])
    [role] = [each for each in stack.cloud_state.resources(ROLE) if "-pods-" in each.id]
    assert roles == {"shop/uploads": role.outputs["arn"]}
    [attached] = stack.cloud_state.resources(ATTACHMENT)
    assert (attached.inputs["role"], attached.inputs["policyArn"]) == (role.id, POLICY)
    trust = json.loads(role.inputs["assumeRolePolicy"])["Statement"][0]
    assert trust["Principal"] == {"Federated": provider.id}

    before = jwt.PyJWKSet.from_dict(published(stack, issuer, KEYS)).keys
    stack.edit(**wanted, rotation={"service_account": 1})
    order = ended(stack, stack.up)
    names = [name for _, name in order]
    assert names.index("aws-dev-issuer-keys") < names.index("aws-dev-pki"), "the key is public before it can sign"
    assert "aws-dev-issuer-discovery" not in names
    after = jwt.PyJWKSet.from_dict(published(stack, issuer, KEYS)).keys
    current, ahead = [each.key_id for each in before]
    assert [each.key_id for each in after][:2] == [ahead, current], "the run before has published the new key"
    assert len(after) == 3 and after[2].key_id not in (current, ahead)

    stack.edit(pools={"web": None}, rotation={"service_account": 1})
    with pytest.raises(auto.CommandError, match="pod_identity: without it API servers refuse the tokens"):
        stack.preview()
    stack.edit(pod_identity={"service_accounts": []}, pools={"web": None}, rotation={"service_account": 1})
    stack.up()
    assert stack.cloud_state.resources(ATTACHMENT) == [] and len(stack.cloud_state.resources(PROVIDER)) == 1
    stack.down()
    assert stack.cloud_state.resources(PROVIDER) == []
    assert stack.calls_without_permissions() == []
