"""Identities of pods on Azure on the real engine: website and keys come in their order, rotate, go and come back."""

import json
from collections.abc import Callable
from typing import Any

import jwt
import pulumi.automation as auto
import pytest

from components.machine.issuer import md5
from components.spec.pod_identity import DISCOVERY, KEYS
from sandbox import tamper
from sandbox.azure.names import BLOB, CREDENTIAL, IDENTITY, SITE, STORE, WEB
from sandbox.services.azure.website import Websites

from .conftest import Stack
from .test_pod_identity import ended

pytestmark = pytest.mark.engine

WANTED = {"pod_identity": {"service_accounts": [{"namespace": "shop", "name": "uploads"}]}, "pools": {"web": None}}


def published(stack: Stack, issuer: str, key: str) -> Any:
    """Return a document of the issuer as everybody reads it."""
    account = issuer.removeprefix("https://").partition(".")[0]
    return json.loads(Websites(stack.cloud_state).file(account, key)[0])


def keys(stack: Stack, issuer: str) -> list[str]:
    return [each.key_id or "" for each in jwt.PyJWKSet.from_dict(published(stack, issuer, KEYS)).keys]


def pods(stack: Stack) -> dict[str, str]:
    """Return principal ids of identities of pods by name."""
    found = stack.cloud_state.resources(IDENTITY.token)
    return {one.inputs["resourceName"]: one.outputs["principalId"] for one in found if "-pods-" in one.id}


def test_an_issuer_comes_rotates_goes_and_returns_under_its_url(new_stack: Callable[[str], Stack]) -> None:
    stack = new_stack("azure-dev")
    stack.edit(pools={"web": None})
    built = stack.up().outputs
    machines = stack.machines()
    assert not built["issuer"] and "pod_tenant" not in built
    stack.edit(**WANTED)
    names = [name for _, name in ended(stack, stack.up)]
    secret, pointer = names.index("azure-dev-pki"), names.index("azure-dev-desired-state")
    for name in ("azure-dev-issuer-discovery", "azure-dev-issuer-keys"):
        assert names.index(name) < secret < pointer, "control planes learn of the issuer once it is public"
    assert stack.machines() == machines, "no machine changes"

    again = stack.up()
    assert again.steps == {}
    issuer = again.outputs["issuer"]
    assert published(stack, issuer, DISCOVERY)["issuer"] == issuer
    [trusted], [identity] = stack.cloud_state.resources(CREDENTIAL.token), pods(stack)
    assert (trusted.inputs["issuer"], trusted.inputs["subject"]) == (issuer, "system:serviceaccount:shop:uploads")
    assert again.outputs["pod_principals"] == {"shop/uploads": pods(stack)[identity]}

    current, ahead = keys(stack, issuer)
    [file] = [one for one in stack.cloud_state.resources(BLOB.token) if one.inputs["blobName"] == KEYS]
    tamper.change(stack.cloud_state, file, {"contentMd5": md5("{}")})
    stack.cloud_state.put_object(f"{file.inputs['accountName']}/{WEB}", KEYS, b"{}", "text/plain", versioned=False)
    stack.up(refresh=True)
    assert keys(stack, issuer) == [current, ahead], "keys of somebody else do not stay"

    stack.edit(**WANTED, rotation={"service_account": 1})
    names = [name for _, name in ended(stack, stack.up)]
    assert names.index("azure-dev-issuer-keys") < names.index("azure-dev-pki"), "the key is public before it can sign"
    assert "azure-dev-issuer-discovery" not in names
    assert keys(stack, issuer)[:2] == [ahead, current] and len(keys(stack, issuer)) == 3

    stack.edit(pools={"web": None}, rotation={"service_account": 1})
    with pytest.raises(auto.CommandError, match="pod_identity: without it API servers refuse the tokens"):
        stack.preview()
    stack.edit(pod_identity={"issuer": "accepted"}, pools={"web": None}, rotation={"service_account": 1})
    stack.up()
    assert pods(stack) == {} and stack.cloud_state.resources(CREDENTIAL.token) == []
    stack.edit(pools={"web": None}, rotation={"service_account": 1})
    stack.up()
    assert stack.cloud_state.resources(SITE.token) == [] and len(stack.cloud_state.resources(STORE.token)) == 2

    stack.edit(**WANTED, rotation={"service_account": 1})
    outputs = stack.up().outputs
    assert outputs["issuer"] == issuer and keys(stack, issuer)[:2] == [ahead, current]
    assert stack.machines() == machines
    stack.down()
    assert stack.cloud_state.resources(SITE.token) == [] == stack.cloud_state.resources(IDENTITY.token)
    assert stack.calls_without_permissions() == []
