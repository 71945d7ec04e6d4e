"""Tokens of pods at the sandbox's Entra ID: Microsoft's own clients exchange them, and read a store with the result.

The clients speak to the hosts of Azure; a transport of this test sends their requests to the services on loopback.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import jwt
import pytest
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
from azure.core.pipeline.transport import HttpRequest, RequestsTransport
from azure.identity import ClientAssertionCredential, WorkloadIdentityCredential
from azure.storage.blob import BlobClient

from components.azure.pod_identity import AUDIENCE
from components.machine import issuer as documents
from components.machine import pki
from components.spec.pod_identity import DISCOVERY, KEYS
from sandbox.azure.cloud import AZURE
from sandbox.azure.regions import SUBSCRIPTION, TENANT
from sandbox.cloud_state import CloudState
from sandbox.services.server import Services
from tests.sandbox.account import Account, Thing

IN = {"resourceGroupName": "rg"}
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg"
URL, SUBJECT = "https://issuera1b2.z6.web.core.windows.net", "system:serviceaccount:shop:uploads"
STORAGE = "https://storage.azure.com/.default"
CONTRIBUTOR = "/providers/Microsoft.Authorization/roleDefinitions/ba92f5b4-2d11-453d-a403-e96b0029c9fe"


class Loopback(RequestsTransport):
    """Sends a request for a host of Azure to one address, with the host's name in its header."""

    def __init__(self, to: str) -> None:
        super().__init__()
        self._to = to

    def send(self, request: HttpRequest, **more: Any) -> Any:
        address = urlsplit(request.url)
        request.headers["Host"] = address.netloc
        request.url = request.url.replace(f"https://{address.netloc}", self._to, 1)
        return super().send(request, **more)


@dataclass
class Cluster:
    """An issuer with its documents, an identity that trusts a service account of it, and a store with one object."""

    account: Account
    at: str
    folder: Path
    keys: list[pki.SigningKey] = field(default_factory=lambda: [pki.signing_key()])
    identity: Thing = field(init=False)

    def __post_init__(self) -> None:
        make = self.account.create
        make("ResourceGroup", "rg", **IN)
        store = {"kind": "StorageV2", "sku": {"name": "Standard_LRS"}}
        for name in ("issuera1b2", "uploadsa1b2"):
            make("StorageAccount", name, **IN, **store, accountName=name)
        make("StorageAccountStaticWebsite", "issuer", **IN, accountName="issuera1b2")
        self.publish(DISCOVERY, documents.discovery(URL))
        self.publish(KEYS, documents.key_set([each["public"] for each in self.keys]))
        container = make("BlobContainer", "uploads", **IN, accountName="uploadsa1b2", containerName="uploads")
        self.account.cloud_state.put_object("uploadsa1b2/uploads", "a.txt", b"hello", "text/plain", versioned=False)
        self.identity = make("UserAssignedIdentity", "pods", **IN, resourceName="pods")
        trust = {"issuer": URL, "subject": SUBJECT, "audiences": [AUDIENCE]}
        named = {"resourceName": "pods", "federatedIdentityCredentialResourceName": "kubernetes"}
        self.trusted = make("FederatedIdentityCredential", "pods", **IN, **named, **trust)
        make(
            "RoleAssignment",
            "uploads",
            scope=container.id,
            roleDefinitionId=CONTRIBUTOR,
            principalId=self.identity.outputs["principalId"],
        )

    def publish(self, key: str, text: str) -> None:
        self.account.cloud_state.put_object("issuera1b2/$web", key, text.encode(), "application/json", versioned=False)

    def token(self, key: int = 0, **claims: Any) -> str:
        now, signer = int(time.time()), self.keys[key]
        said = {"iss": URL, "sub": SUBJECT, "aud": [AUDIENCE], "iat": now, "nbf": now, "exp": now + 3600} | claims
        named = json.loads(documents.key_set([signer["public"]]))["keys"][0]["kid"]
        return jwt.encode(said, signer["private"], "RS256", {"kid": named})

    @contextmanager
    def credential(self, token: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClientAssertionCredential]:
        """Return Microsoft's credential with the environment that docs/pod-identity.md gives a pod."""
        file = self.folder / "azure-identity-token"
        file.write_text(token)
        monkeypatch.setenv("AZURE_CLIENT_ID", self.identity.outputs["clientId"])
        monkeypatch.setenv("AZURE_TENANT_ID", TENANT)
        monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(file))
        monkeypatch.setenv("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com/")
        with WorkloadIdentityCredential(transport=Loopback(self.at), retry_total=0) as made:
            yield made

    def refused(self, token: str, monkeypatch: pytest.MonkeyPatch) -> str:
        """Return what Microsoft's credential says after Entra ID has refused a token."""
        with self.credential(token, monkeypatch) as made, pytest.raises(ClientAuthenticationError) as caught:
            made.get_token(STORAGE)
        return str(caught.value)


@pytest.fixture
def cluster(cloud_state: CloudState, tmp_path: Path) -> Iterator[Cluster]:
    with Services(Path(cloud_state.path)) as services:
        yield Cluster(Account(cloud_state, AZURE, "westeurope"), services.listen(), tmp_path)


def test_a_pod_reads_what_its_identity_may_read(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster.credential(cluster.token(), monkeypatch) as credential:
        blob = BlobClient(
            "https://uploadsa1b2.blob.core.windows.net",
            "uploads",
            "a.txt",
            credential=credential,
            transport=Loopback(cluster.at),
        )
        assert blob.download_blob().readall() == b"hello"
        other = BlobClient(
            "https://issuera1b2.blob.core.windows.net",
            "$web",
            KEYS,
            credential=credential,
            transport=Loopback(cluster.at),
        )
        with pytest.raises(HttpResponseError):
            other.upload_blob(b"{}", overwrite=True)


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"sub": "system:serviceaccount:shop:other"}, "AADSTS700213"),
        ({"iss": "https://kubernetes.default.svc.cluster.local"}, "AADSTS700211"),
        ({"aud": ["https://kubernetes.default.svc.cluster.local"]}, "AADSTS700212"),
        ({"exp": 1}, "AADSTS700024"),
    ],
)
def test_a_token_that_the_credential_does_not_name_is_refused(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, claims: dict[str, Any], code: str
) -> None:
    assert code in cluster.refused(cluster.token(**claims), monkeypatch)


def test_a_key_is_good_as_long_as_the_website_has_it(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.keys.append(pki.signing_key())
    assert "AADSTS7000272" in cluster.refused(cluster.token(key=1), monkeypatch)
    cluster.publish(KEYS, documents.key_set([each["public"] for each in reversed(cluster.keys)]))
    with cluster.credential(cluster.token(key=1), monkeypatch) as credential:
        assert credential.get_token(STORAGE).token
    cluster.publish(KEYS, documents.key_set([cluster.keys[1]["public"]]))
    assert "AADSTS7000272" in cluster.refused(cluster.token(key=0), monkeypatch)


def test_nobody_has_an_identity_whose_issuer_the_public_cannot_read(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = next(one for one in cluster.account.cloud_state.resources() if one.type.endswith("StaticWebsite"))
    cluster.account.provider.delete(site.urn, site.id, site.outputs)
    assert "AADSTS90061" in cluster.refused(cluster.token(), monkeypatch)


def test_a_signature_of_another_key_under_the_same_id_is_refused(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = jwt.get_unverified_header(cluster.token())["kid"]
    said = jwt.decode(cluster.token(), options={"verify_signature": False})
    forged = jwt.encode(said, pki.signing_key()["private"], "RS256", {"kid": named})
    assert "AADSTS50013" in cluster.refused(forged, monkeypatch)


def test_everybody_reads_the_documents_and_pyjwt_verifies_a_token_by_them(cluster: Cluster) -> None:
    def read(key: str, method: str = "GET") -> httpx.Response:
        return httpx.request(method, f"{cluster.at}/{key}", headers={"Host": URL.removeprefix("https://")})

    document = read(DISCOVERY)
    assert document.headers["content-type"] == "application/json" and document.json()["issuer"] == URL
    assert document.json()["jwks_uri"] == f"{URL}/{KEYS}"
    keys = jwt.PyJWKSet.from_dict(read(KEYS).json())
    token = cluster.token()
    key = keys[jwt.get_unverified_header(token)["kid"]]
    assert jwt.decode(token, key, algorithms=["RS256"], audience=AUDIENCE, issuer=URL)["sub"] == SUBJECT
    assert read("other").status_code == 404
    assert read(KEYS, "PUT").status_code == 405
