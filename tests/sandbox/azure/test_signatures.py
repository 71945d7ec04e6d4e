"""Blobs read with a shared access signature, as components/azure/records.py does, and refusals."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pulumi import Output

from components.azure.records import Blobs, parts
from components.rollout.provider_calls import ProviderError
from operations.clouds.azure import names
from sandbox.cloud import Refusal
from tests.sandbox.account import Account
from tests.sandbox.scenes import Scene

SIGN = "azure-native:storage:listStorageAccountServiceSAS"
ASKED = {
    "resourceGroupName": "rg",
    "accountName": "mulliona1b2",
    "canonicalizedResource": "/blob/mulliona1b2/bundles",
    "resource": "c",
    "permissions": "rl",
    "protocols": "https",
    "sharedAccessExpiryTime": "2100-01-01T00:00:00Z",
}


class ProviderCalls:
    """Calls of the sandbox's provider about one container. changes: to the signing request."""

    def __init__(self, account: Account, container: str, changes: dict[str, Any]) -> None:
        self.account, self.container, self.changes, self.functions = account, container, changes, list[str]()

    def run(self, call: Callable[[Blobs], Awaitable[Any]]) -> Any:
        """Return status and text of a blob, as a program reads it."""
        calls: Any = self

        async def program() -> Any:
            return await call(Blobs(calls, Output.from_input(self.container)))

        return asyncio.run(program())

    async def invoke(self, token: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.functions.append(token.rpartition(":")[2])
        return self.account.provider.invoke(token, arguments | (self.changes if token == SIGN else {}))


Reader = Callable[..., ProviderCalls]


@pytest.fixture
def reader(account: Account, scene: Scene) -> Reader:
    """Sign for the container `bundles`, with changes to the request."""
    container = scene("container")
    account.cloud_state.put_object(
        "mulliona1b2/bundles", "status/workers:1.json", b'{"state": "ready"}', "application/json", versioned=False
    )

    return lambda **changes: ProviderCalls(account, container.id, changes)


def test_a_blob_is_read_and_the_token_is_asked_for_once(reader: Reader) -> None:
    calls = reader()

    async def twice(blobs: Blobs) -> list[str]:
        return [await blobs.text("status/workers:1.json") for _ in range(2)]

    assert calls.run(twice) == ['{"state": "ready"}'] * 2
    assert calls.functions == ["listStorageAccountServiceSAS", "getStorageAccount"]


def test_names_are_listed_by_prefix(reader: Reader, account: Account) -> None:
    for name in ("status/a b.json", "other"):
        account.cloud_state.put_object("mulliona1b2/bundles", name, b"{}", "application/json", versioned=False)
    assert reader().run(lambda blobs: names(blobs, "status/")) == ["status/a b.json", "status/workers:1.json"]


@pytest.mark.parametrize(
    ("changes", "name", "code"),
    [
        ({}, "none", "BlobNotFound"),
        ({"permissions": "l"}, "status/workers:1.json", "AuthorizationPermissionMismatch"),
        ({"sharedAccessExpiryTime": "2020-01-01T00:00:00Z"}, "status/workers:1.json", "AuthenticationFailed"),
    ],
)
def test_an_unreadable_blob_says_why(reader: Reader, changes: dict[str, Any], name: str, code: str) -> None:
    with pytest.raises(ProviderError, match=code):
        reader(**changes).run(lambda blobs: blobs.text(name))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"accountName": "other"}, "ResourceNotFound"),
        ({"canonicalizedResource": "/blob/another/bundles"}, "InvalidValuesForRequestParameters"),
        ({"resource": "b"}, "InvalidValuesForRequestParameters"),
        ({"permissions": "rw"}, "InvalidValuesForRequestParameters"),
    ],
)
def test_only_reads_of_containers_are_signed(
    account: Account, scene: Scene, changes: dict[str, Any], code: str
) -> None:
    scene("container")
    with pytest.raises(Refusal) as refused:
        account.provider.invoke(SIGN, ASKED | changes)
    assert refused.value.code == code


def test_an_account_without_shared_keys_signs_nothing(account: Account, scene: Scene) -> None:
    account.update(scene("store"), allowSharedKeyAccess=False)
    with pytest.raises(Refusal, match="KeyBasedAuthenticationNotPermitted"):
        account.provider.invoke(SIGN, ASKED)


def test_a_container_is_named_by_its_id() -> None:
    path = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/a/blobServices/default"
    assert parts(f"{path}/containers/c") == {"group": "g", "account": "a", "container": "c"}
    with pytest.raises(ValueError, match="not the resource id of a blob container"):
        parts(path)
