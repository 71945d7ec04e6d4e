"""The registries of Azure and Google Cloud: what a container runtime asks, with the right to pull and without."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from sandbox.azure.rights import ASSIGNMENT
from sandbox.gcp.rights import PROJECT_MEMBER
from tests.cloud_init.accounts import AZURE_CLIENT, AZURE_GROUP, AZURE_PRINCIPAL, GCP_EMAIL, GCP_PROJECT, put
from tests.cloud_init.cloud import FakeCloud, serving

ACR_PULL, CONTRIBUTOR = "7f951dda-4ed3-4680-a7ca-43fe172d538d", "b24988ac-6180-42a0-ab88-20f7382dd24c"
SUBSCRIPTION = "/".join(AZURE_GROUP.split("/")[:3])
SHOP, IMAGE = "shop.azurecr.io", "/v2/app/web/manifests/1"
GAR, PLACE = "europe-west1-docker.pkg.dev", f"{GCP_PROJECT}/images/web"
NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def google(tmp_path: Path) -> Iterator[FakeCloud]:
    with serving(tmp_path, cloud="gcp") as here:
        yield here


def ask(cloud: FakeCloud, host: str, path: str, form: dict[str, str] | None = None, **headers: str) -> tuple[int, Any]:
    """Return status and JSON body; of a challenge the header."""
    body = urlencode(form).encode() if form else None
    try:
        with urlopen(Request(cloud.url + path, data=body, headers={"Host": host, **headers})) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            said = json.load(error)
            return error.code, error.headers.get("www-authenticate") or said["errors"][0]["code"]


def may(azure: FakeCloud, role: str, scope: str) -> None:
    """Give the machine's identity a role."""
    given = {"principalId": AZURE_PRINCIPAL, "scope": scope, "condition": ""}
    given["roleDefinitionId"] = f"/subscriptions/0/providers/Microsoft.Authorization/roleDefinitions/{role}"
    put(azure.services.cloud_state, ASSIGNMENT, f"{role} {scope}", given)


def entra(azure: FakeCloud, resource: str = "https://containerregistry.azure.net") -> str:
    query = urlencode({"api-version": "2018-02-01", "resource": resource, "client_id": AZURE_CLIENT})
    return ask(azure, "169.254.169.254", f"/metadata/identity/oauth2/token?{query}", Metadata="true")[1]["access_token"]


def exchanged(azure: FakeCloud, token: str, **changed: str) -> tuple[int, Any]:
    form = {"grant_type": "access_token", "service": SHOP, "access_token": token, **changed}
    return ask(azure, SHOP, "/oauth2/exchange", form)


def allowed(azure: FakeCloud, refresh: str, scope: str = "repository:app/web:pull") -> tuple[int, Any]:
    form = {"grant_type": "refresh_token", "service": SHOP, "refresh_token": refresh, "scope": scope}
    return ask(azure, SHOP, "/oauth2/token", form)


def test_azures_registry_names_its_token_server(azure: FakeCloud) -> None:
    realm = f'Bearer realm="https://{SHOP}/oauth2/token",service="{SHOP}"'
    assert ask(azure, SHOP, "/v2/") == (401, realm)
    assert ask(azure, SHOP, IMAGE) == (401, f'{realm},scope="repository:app/web:pull"')
    assert ask(azure, SHOP, IMAGE, Authorization=f"Bearer {entra(azure)}")[0] == 401, "that token is no access token"


@pytest.mark.parametrize(
    ("role", "scope", "pulls"),
    [
        (ACR_PULL, SUBSCRIPTION, True),
        (ACR_PULL, AZURE_GROUP, False),
        (CONTRIBUTOR, AZURE_GROUP, False),
        (ACR_PULL, "/subscriptions/11111111-1111-4111-8111-111111111111", False),
    ],
)
def test_an_identity_pulls_only_with_the_role_at_a_scope_around_the_registry(
    azure: FakeCloud, role: str, scope: str, pulls: bool
) -> None:
    may(azure, role, scope)
    status, refresh = exchanged(azure, entra(azure))
    assert status == 200, "the exchange only says who asks"
    status, access = allowed(azure, refresh["refresh_token"])
    assert status == (200 if pulls else 401)
    if pulls:
        bearer = f"Bearer {access['access_token']}"
        assert ask(azure, SHOP, IMAGE, Authorization=bearer) == (404, "MANIFEST_UNKNOWN")
        assert ask(azure, SHOP, "/v2/other/manifests/1", Authorization=bearer)[0] == 401, "another repository"
        assert ask(azure, "other.azurecr.io", IMAGE, Authorization=bearer)[0] == 401, "another registry"


def test_the_refresh_token_is_the_password_of_a_user_of_zeros(azure: FakeCloud) -> None:
    """How container runtimes send what a credential provider gives them."""
    may(azure, ACR_PULL, SUBSCRIPTION)
    refresh = exchanged(azure, entra(azure))[1]["refresh_token"]
    query = urlencode({"service": SHOP, "scope": "repository:app/web:pull"})
    for user, status in ((NOBODY, 200), ("someone", 401)):
        basic = base64.b64encode(f"{user}:{refresh}".encode()).decode()
        assert ask(azure, SHOP, f"/oauth2/token?{query}", Authorization=f"Basic {basic}")[0] == status
        form = {"grant_type": "password", "service": SHOP, "username": user, "password": refresh}
        assert ask(azure, SHOP, "/oauth2/token", form)[0] == status


@pytest.mark.parametrize(
    "changed",
    [
        {"service": "other.azurecr.io"},
        {"tenant": "11111111-1111-4111-8111-111111111111"},
        {"grant_type": "password"},
        {"access_token": "a.b.c"},
    ],
    ids=str,
)
def test_the_exchange_refuses(azure: FakeCloud, changed: dict[str, str]) -> None:
    assert exchanged(azure, entra(azure), **changed) == (401, "UNAUTHORIZED")


def test_the_exchange_refuses_a_token_for_another_service(azure: FakeCloud) -> None:
    assert exchanged(azure, entra(azure, "https://vault.azure.net")) == (401, "UNAUTHORIZED")
    assert exchanged(azure, entra(azure, "https://management.azure.com/"))[0] == 200


def google_token(google: FakeCloud) -> str:
    path = "/computeMetadata/v1/instance/service-accounts/default/token"
    # Google's credential provider asks for the name with a last dot
    return ask(google, "metadata.google.internal.", path, None, **{"Metadata-Flavor": "Google"})[1]["access_token"]


def google_pull(google: FakeCloud, user: str, password: str, place: str = PLACE) -> tuple[int, Any]:
    basic = base64.b64encode(f"{user}:{password}".encode()).decode()
    query = urlencode({"service": GAR, "scope": f"repository:{place}:pull"})
    return ask(google, GAR, f"/v2/token?{query}", Authorization=f"Basic {basic}")


def reader(google: FakeCloud) -> None:
    given = {"project": GCP_PROJECT, "member": f"serviceAccount:{GCP_EMAIL}", "role": "roles/artifactregistry.reader"}
    put(google.services.cloud_state, PROJECT_MEMBER, "reader", given)


def test_google_gives_a_token_only_to_accounts_that_may_read_the_projects_images(google: FakeCloud) -> None:
    token = google_token(google)
    assert google_pull(google, "_token", token) == (403, "DENIED")
    reader(google)
    assert google_pull(google, "_token", token, "another-project/images/web") == (403, "DENIED")
    for user, status in (("_token", 200), ("oauth2accesstoken", 200), ("someone", 401)):
        assert google_pull(google, user, token)[0] == status
    assert google_pull(google, "_token", "forged") == (401, "UNAUTHORIZED")


def test_google_serves_images_to_its_own_tokens_only(google: FakeCloud) -> None:
    reader(google)
    path, token = f"/v2/{PLACE}/manifests/1", google_token(google)
    realm = f'Bearer realm="https://{GAR}/v2/token",service="{GAR}",scope="repository:{PLACE}:pull"'
    assert ask(google, GAR, path) == (401, realm)
    given = google_pull(google, "_token", token)[1]["token"]
    assert ask(google, GAR, path, Authorization=f"Bearer {given}") == (404, "MANIFEST_UNKNOWN")
    assert ask(google, "gcr.io", path, Authorization=f"Bearer {given}")[0] == 401, "a token of another host"
