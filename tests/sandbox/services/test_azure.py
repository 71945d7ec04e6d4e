"""The services of Azure, judged by Microsoft's own clients."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.core.pipeline.transport import RequestsTransport
from azure.identity import ManagedIdentityCredential
from azure.keyvault.secrets import SecretClient
from azure.storage.blob import BlobBlock, ContainerClient

from sandbox.azure.rights import ASSIGNMENT, BLOBS, GET, holds
from tests.cloud_init.accounts import (
    AZURE_CLIENT,
    AZURE_GROUP,
    AZURE_INSTANCE,
    AZURE_PRINCIPAL,
    AZURE_STORE,
    AZURE_VAULT,
    put,
)
from tests.cloud_init.cloud import FakeCloud

READER, WRITER = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1", "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
SECRETS_USER = "4633458b-17de-408a-b874-0445c86b69e6"
ONCE: dict[str, Any] = {"retry_total": 0}
STORE, VAULT = f"https://{AZURE_STORE}.blob.core.windows.net", f"https://{AZURE_VAULT}.vault.azure.net"


class Loopback(RequestsTransport):
    """Sends requests for Azure to the sandbox's services, which route by the Host header as Azure does."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url

    def send(self, request: Any, **options: Any) -> Any:
        asked, parts = request.url, urlsplit(request.url)
        request.url, request.headers["Host"] = f"{self.url}{parts.path}?{parts.query}", parts.netloc
        try:
            return super().send(request, **options)
        finally:
            request.url = asked


def container(azure: FakeCloud, credential: ManagedIdentityCredential, name: str) -> ContainerClient:
    return ContainerClient(STORE, name, credential=credential, transport=Loopback(azure.url), **ONCE)


@pytest.fixture
def blobs(azure: FakeCloud, credential: ManagedIdentityCredential) -> Iterator[ContainerClient]:
    with container(azure, credential, "snapshots") as made:
        yield made


@pytest.fixture
def secrets(azure: FakeCloud, credential: ManagedIdentityCredential) -> Iterator[SecretClient]:
    with SecretClient(VAULT, credential, transport=Loopback(azure.url), **ONCE) as made:
        yield made


def only(azure: FakeCloud, *rows: tuple[str, str, str]) -> None:
    """From now on the machine's identity has these roles alone: id, scope below the group, condition."""
    cloud_state = azure.services.cloud_state
    for record in cloud_state.resources(ASSIGNMENT):
        cloud_state.remove(record.sequence)
    for role, scope, condition in rows:
        given = {"principalId": AZURE_PRINCIPAL, "scope": f"{AZURE_GROUP}{scope}", "condition": condition}
        given["roleDefinitionId"] = f"/subscriptions/0/providers/Microsoft.Authorization/roleDefinitions/{role}"
        put(cloud_state, ASSIGNMENT, f"{role} {scope}", given)


def code(caught: pytest.ExceptionInfo[Any]) -> str:
    """Return the service's error code, which the client puts on its exception."""
    return caught.value.error_code


def refused(url: str, **headers: str) -> tuple[int, str]:
    """Return status and body of a refused request."""
    with pytest.raises(HTTPError) as caught:
        urlopen(Request(url, headers=headers))
    with caught.value as error:
        return error.code, error.read().decode()


VM, TOKEN = "/metadata/instance/compute/vmId", "/metadata/identity/oauth2/token"
REFUSED: dict[str, tuple[str, dict[str, str], int]] = {
    "what a proxy passes on": (f"{VM}?api-version=2021-02-01&format=text", {"X-Forwarded-For": "10.0.0.1"}, 400),
    "a value without a version": (f"{VM}?format=text", {}, 400),
    "a value as JSON": (f"{VM}?api-version=2021-02-01", {}, 400),
    "what is not there": ("/metadata/instance/compute/none?api-version=2021-02-01&format=text", {}, 404),
    "a token for nothing": (f"{TOKEN}?api-version=2018-02-01&client_id={AZURE_CLIENT}", {}, 400),
    "a token for what is unknown": (f"{TOKEN}?api-version=2018-02-01&resource=https://example.org", {}, 400),
}


@pytest.mark.parametrize(("path", "headers", "status"), REFUSED.values(), ids=REFUSED)
def test_the_metadata_service_refuses(azure: FakeCloud, path: str, headers: dict[str, str], status: int) -> None:
    assert refused(azure.url + path, Metadata="true", **headers)[0] == status


def test_a_metadata_value_needs_the_header_and_is_text(azure: FakeCloud) -> None:
    url = f"{azure.url}{VM}?api-version=2021-02-01&format=text"
    assert refused(url)[0] == 400
    with urlopen(Request(url, headers={"Metadata": "true"})) as answer:
        assert answer.read().decode() == AZURE_INSTANCE


def test_blobs_are_written_read_listed_and_deleted(azure: FakeCloud, blobs: ContainerClient) -> None:
    for key in ("etcd/b", "etcd/a:1", "founding/0"):
        blobs.upload_blob(key, key.encode())
    assert [each.name for each in blobs.list_blobs(name_starts_with="etcd/", results_per_page=1)] == [
        "etcd/a:1",
        "etcd/b",
    ]
    assert [each.name for each in blobs.walk_blobs()] == ["etcd/", "founding/"]
    assert blobs.download_blob("etcd/a:1", validate_content=False).readall() == b"etcd/a:1"
    assert blobs.download_blob("etcd/b", offset=1, length=3).readall() == b"tcd"
    about = blobs.get_blob_client("etcd/b").get_blob_properties()
    assert (about.size, about.blob_type) == (6, "BlockBlob")
    assert azure.objects["/snapshots/etcd/b"] == b"etcd/b"
    blobs.delete_blob("etcd/b")
    with pytest.raises(ResourceNotFoundError) as missing:
        blobs.download_blob("etcd/b")
    assert code(missing) == "BlobNotFound"


def test_conditional_headers_decide_which_write_succeeds(blobs: ContainerClient) -> None:
    blobs.upload_blob("founding/0", b"cp-0")  # the client adds If-None-Match: *
    with pytest.raises(ResourceExistsError) as taken:
        blobs.upload_blob("founding/0", b"cp-1")
    assert (taken.value.status_code, code(taken)) == (409, "BlobAlreadyExists")
    blob = blobs.get_blob_client("founding/0")
    etag = blob.get_blob_properties().etag
    blob.upload_blob(b"again", overwrite=True)
    assert blob.get_blob_properties().etag != etag
    with pytest.raises((ResourceModifiedError, HttpResponseError)) as changed:
        blob.upload_blob(b"x", overwrite=True, etag=etag, match_condition=MatchConditions.IfNotModified)
    assert code(changed) == "ConditionNotMet"


def test_blocks_become_a_blob_once_their_list_is_written(azure: FakeCloud, blobs: ContainerClient) -> None:
    blob = blobs.get_blob_client("etcd/large")
    for id_, content in (("000002", b"second"), ("000001", b"other"), ("000001", b"first "), ("000003", b"unused")):
        blob.stage_block(id_, content)
    assert not list(azure.objects)
    blob.commit_block_list([BlobBlock("000001"), BlobBlock("000002")])
    assert dict(azure.objects) == {"/snapshots/etcd/large": b"first second"}
    with pytest.raises(HttpResponseError) as gone:
        blob.commit_block_list([BlobBlock("000003")])
    assert code(gone) == "InvalidBlockList"
    blob.stage_block("000001", b"x")
    with pytest.raises(HttpResponseError) as longer:
        blob.stage_block("0000002", b"x")
    assert code(longer) == "InvalidBlobOrBlock"
    with pytest.raises(ResourceExistsError):  # the client adds If-None-Match: *
        blob.upload_blob(b"x")


def test_the_client_uploads_large_blobs_in_blocks(azure: FakeCloud, credential: ManagedIdentityCredential) -> None:
    small: dict[str, Any] = {"max_single_put_size": 10, "max_block_size": 10}
    with ContainerClient(
        STORE, "snapshots", credential=credential, transport=Loopback(azure.url), **ONCE, **small
    ) as made:
        made.upload_blob("etcd/large", b"0123456789" * 3 + b"end")
    assert azure.objects["/snapshots/etcd/large"] == b"0123456789" * 3 + b"end"
    assert len(azure.asked) >= 5, "four blocks and their list"


def test_rights_on_blobs_follow_role_scope_and_condition(
    azure: FakeCloud, credential: ManagedIdentityCredential
) -> None:
    path = f"@Resource[{BLOBS}:path] StringStartsWith"
    writes = f"ActionMatches{{'{BLOBS}/write'}}"
    condition = f"((!({writes})) OR ({path} 'status/web:'))"
    store = f"/providers/Microsoft.Storage/storageAccounts/{AZURE_STORE}/blobServices/default/containers/status"
    only(azure, (WRITER, store, condition))
    with container(azure, credential, "status") as own:
        for _ in range(2):
            own.upload_blob("status/web:1.json", b"x", overwrite=True)
        with pytest.raises(HttpResponseError) as other:
            own.upload_blob("status/cp:1.json", b"x", overwrite=True)
        assert (other.value.status_code, code(other)) == (403, "AuthorizationPermissionMismatch")
    with (
        container(azure, credential, "bundles") as others,
        pytest.raises(HttpResponseError, match="not authorized"),
    ):
        others.download_blob("ca.crt")


def test_a_request_to_a_store_needs_its_token_and_an_api_version(
    azure: FakeCloud, credential: ManagedIdentityCredential
) -> None:
    azure.objects["/bundles/ca.crt"] = b"x"
    url, version = f"{azure.url}/{AZURE_STORE}/bundles/ca.crt", {"x-ms-version": "2023-11-03"}
    tokens = {
        name: credential.get_token(f"https://{name}/.default").token
        for name in ("storage.azure.com", "vault.azure.net")
    }
    good, wrong = ({"Authorization": f"Bearer {each}"} for each in tokens.values())
    assert urlopen(Request(url, headers=good | version)).read() == b"x"
    for headers, status, code in (
        (version, 409, "PublicAccessNotPermitted"),
        (wrong | version, 401, "InvalidAuthenticationInfo"),
        ({"Authorization": f"{good['Authorization']}x"} | version, 401, "InvalidAuthenticationInfo"),
        (good, 400, "MissingRequiredHeader"),
    ):
        found, said = refused(url, **headers)
        assert (found, f"<Code>{code}</Code>" in said) == (status, True), said
    azure.services.faults.plan("blob *", "throttle")
    assert refused(url, **good, **version)[0] == 503


def test_secrets_are_read_and_set_and_their_versions_stay(azure: FakeCloud, secrets: SecretClient) -> None:
    made = secrets.set_secret("join", "one")
    assert made.properties.vault_url == f"https://{AZURE_VAULT}.vault.azure.net"
    secrets.set_secret("join", "two")
    assert secrets.get_secret("join").value == "two" == azure.secrets["join"]
    assert secrets.get_secret("join", made.properties.version).value == "one"
    with pytest.raises(ResourceNotFoundError, match="SecretNotFound"):
        secrets.get_secret("nobodys")
    with pytest.raises(HttpResponseError, match="BadParameter"):
        secrets.set_secret("join", "x" * 26000)
    assert secrets.set_secret("join", "two", content_type="text/plain").properties.content_type == "text/plain"
    with pytest.raises(HttpResponseError, match="contentType has at most 255"):
        secrets.set_secret("join", "two", content_type="x" * 256)
    azure.services.faults.plan("keyvault *", "throttle")
    with pytest.raises(HttpResponseError, match="Throttled") as throttled:
        secrets.get_secret("join")
    assert throttled.value.status_code == 429


def test_a_right_to_read_one_secret_covers_no_other_and_no_write(azure: FakeCloud, secrets: SecretClient) -> None:
    for name in ("join", "pki"):
        secrets.set_secret(name, name)
    only(azure, (SECRETS_USER, f"/providers/Microsoft.KeyVault/vaults/{AZURE_VAULT}/secrets/join", ""))
    assert secrets.get_secret("join").value == "join"
    for call in (lambda: secrets.get_secret("pki"), lambda: secrets.set_secret("join", "x")):
        with pytest.raises(HttpResponseError, match="Forbidden") as denied:
            call()
        assert denied.value.status_code == 403


def test_machines_of_a_group_are_listed_in_pages_to_permitted_callers(
    azure: FakeCloud, credential: ManagedIdentityCredential
) -> None:
    for number in range(60):
        id = f"{AZURE_GROUP}/providers/Microsoft.Compute/virtualMachines/more-{number}"
        put(azure.services.cloud_state, "azure-native:compute:VirtualMachine", id, {}, vmId=f"id-{number}")
    token = credential.get_token("https://management.azure.com/.default").token
    place = f"{azure.url}{AZURE_GROUP}/providers/Microsoft.Compute/virtualMachines"
    url, found = f"{place}?api-version=2024-07-01", list[Any]()
    while url:
        with urlopen(Request(url, headers={"Authorization": f"Bearer {token}"})) as answer:
            said = json.load(answer)
        found, url = found + said["value"], said.get("nextLink")
    assert len({each["properties"]["vmId"] for each in found}) == 61
    assert "MissingApiVersionParameter" in refused(place, Authorization=f"Bearer {token}")[1]
    only(azure, (READER, "", ""))
    status, said = refused(f"{place}?api-version=2024-07-01", Authorization=f"Bearer {token}")
    assert (status, "AuthorizationFailed" in said) == (403, True)


CONDITIONS: dict[str, tuple[str, bool]] = {
    "of another action": (f"!(ActionMatches{{'{BLOBS}/delete'}})", True),
    "a beginning": (f"@Resource[{BLOBS}:path] StringStartsWith 'status/'", True),
    "the whole": (f"@Resource[{BLOBS}:path] StringEquals 'status/'", False),
    "a pattern": (f"@Resource[{BLOBS}:path] StringLike 'status/*.json'", True),
    "a sub-operation": (f"ActionMatches{{'{BLOBS}/read'}} AND NOT SubOperationMatches{{'Blob.List'}}", True),
    "one of two": (f"(@Resource[{BLOBS}:path] StringEquals 'x' OR @Resource[{BLOBS}:path] StringLike 's*')", True),
}


@pytest.mark.parametrize(("condition", "passes"), CONDITIONS.values(), ids=CONDITIONS)
def test_a_condition_of_an_assignment_allows_or_denies_an_action(condition: str, passes: bool) -> None:
    assert holds(condition, f"{BLOBS}/read", "", "status/a.json") is passes


@pytest.mark.parametrize("condition", ["@Principal[x] StringEquals 'y'", "(", f"ActionMatches{{'{GET}'}} nonsense"])
def test_an_unknown_condition_raises_an_error(condition: str) -> None:
    with pytest.raises(ValueError, match="condition"):
        holds(condition, GET, "", "")
