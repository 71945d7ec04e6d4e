"""The services of Google Cloud, judged by Google's own clients."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request as Plain
from urllib.request import urlopen

import botocore
import botocore.session
import google.auth.compute_engine._metadata as mds
import google.auth.jwt
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from google.api_core.exceptions import BadRequest, Forbidden, NotFound, ServiceUnavailable, TooManyRequests
from google.auth.exceptions import TransportError
from google.auth.transport.requests import AuthorizedSession, Request
from google.cloud.compute_v1 import InstancesClient
from google.cloud.compute_v1.services.instances.transports import InstancesRestTransport
from google.cloud.secretmanager_v1 import SecretManagerServiceClient, SecretPayload
from google.cloud.secretmanager_v1.services.secret_manager_service.transports import (
    SecretManagerServiceRestTransport,
)
from google.oauth2.credentials import Credentials
from google.resumable_media.requests import Download

from sandbox import tamper
from sandbox.gcp.firewalls import ACCOUNT
from sandbox.gcp.rights import BUCKET_MEMBER, CUSTOM_ROLE, ENTRY_MEMBER, PROJECT_MEMBER
from sandbox.services.gcp import secretmanager
from tests.cloud_init.accounts import GCP_EMAIL, GCP_INSTANCE, GCP_NAME, GCP_PROJECT, GCP_ZONE, put
from tests.cloud_init.cloud import FakeCloud, serving

MEMBER = f"serviceAccount:{GCP_EMAIL}"
JOIN = f"projects/{GCP_PROJECT}/secrets/join"


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCloud]:
    with serving(tmp_path, cloud="gcp") as here:
        place = here.url.removeprefix("http://")
        monkeypatch.setattr(mds, "_GCE_METADATA_HOST", place)
        yield here


@pytest.fixture
def credentials(cloud: FakeCloud) -> Credentials:
    """A token of the machine's service account, from the metadata server."""
    return Credentials(mds.get_service_account_token(Request())[0])


@pytest.fixture
def secrets(cloud: FakeCloud, credentials: Credentials) -> SecretManagerServiceClient:
    host = cloud.url.removeprefix("http://")
    transport = SecretManagerServiceRestTransport(host=host, url_scheme="http", credentials=credentials)
    return SecretManagerServiceClient(transport=transport)


@pytest.fixture
def instances(cloud: FakeCloud, credentials: Credentials) -> InstancesClient:
    host = cloud.url.removeprefix("http://")
    return InstancesClient(transport=InstancesRestTransport(host=host, url_scheme="http", credentials=credentials))


@pytest.fixture
def s3(cloud: FakeCloud, credentials: Credentials) -> Any:
    """A client of S3, as Google says one may use it with the XML API, with a token in the place of a signature."""
    made = botocore.session.Session().create_client(
        "s3",
        region_name="auto",
        endpoint_url=cloud.url,
        config=Config(
            signature_version=botocore.UNSIGNED, s3={"addressing_style": "path"}, retries={"max_attempts": 0}
        ),
    )

    def show(request: Any, **_: Any) -> None:
        request.headers["Authorization"] = f"Bearer {credentials.token}"

    made.meta.events.register("before-send.s3", show)
    return made


def only(cloud: FakeCloud, *rows: tuple[str, str, dict[str, Any]]) -> None:
    """From now on the machine's account has these rights alone: type, role, and what they are on."""
    for record in cloud.services.cloud_state.resources(PROJECT_MEMBER):
        cloud.services.cloud_state.remove(record.sequence)
    for type, role, place in rows:
        put(cloud.services.cloud_state, type, f"{type} {role}", {"role": role, "member": MEMBER, **place})


def test_googles_client_reads_values_and_gets_a_cached_token(cloud: FakeCloud) -> None:
    request = Request()
    assert mds.get_project_id(request) == GCP_PROJECT
    about: Any = mds.get_service_account_info(request)
    assert (about["email"], about["aliases"]) == (GCP_EMAIL, ["default"])
    assert about["scopes"] == ["https://www.googleapis.com/auth/cloud-platform"]
    assert mds.get(request, "instance/id") == GCP_INSTANCE
    tokens = [mds.get_service_account_token(request)[0] for _ in range(2)]
    assert tokens[0] == tokens[1]
    cloud.services.clock = lambda: 4e9
    assert mds.get_service_account_token(request)[0] not in tokens


@pytest.mark.parametrize("full", [True, False])
def test_identity_tokens_verify_with_the_published_keys(cloud: FakeCloud, full: bool) -> None:
    query = urlencode({"audience": "urn:x", "format": "full" if full else "standard"})
    token = mds.get(Request(), f"instance/service-accounts/default/identity?{query}")
    with urlopen(f"{cloud.url}/oauth2/v3/certs") as answer:
        [key] = json.load(answer)["keys"]
    n, e = (int.from_bytes(base64.urlsafe_b64decode(key[each] + "=="), "big") for each in ("n", "e"))
    pem = RSAPublicNumbers(e, n).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    said = google.auth.jwt.decode(token, {key["kid"]: pem}, audience="urn:x")
    assert said["iss"] == "https://accounts.google.com"
    machine = said.get("google", {}).get("compute_engine", {})
    assert machine.get("instance_id") == (GCP_INSTANCE if full else None)
    assert machine.get("project_id") == (GCP_PROJECT if full else None)


REFUSED = {
    "a value without the header": ("/computeMetadata/v1/instance/id", {}, 403),
    "what a proxy passes on": ("/computeMetadata/v1/instance/id", {"X-Forwarded-For": "10.0.0.1"}, 403),
    "a value as a folder": ("/computeMetadata/v1/instance/id/", {}, 404),
    "what is not there": ("/computeMetadata/v1/instance/nothing", {}, 404),
    "another account's token": ("/computeMetadata/v1/instance/service-accounts/other@x/token", {}, 404),
    "an identity token without audience": ("/computeMetadata/v1/instance/service-accounts/default/identity", {}, 400),
    "scopes that it has not": ("/computeMetadata/v1/instance/service-accounts/default/token?scopes=drive", {}, 400),
}


@pytest.mark.parametrize(("path", "headers", "status"), REFUSED.values(), ids=REFUSED)
def test_the_metadata_server_refuses(cloud: FakeCloud, path: str, headers: dict[str, str], status: int) -> None:
    flavor = {} if status == 403 and not headers else {"Metadata-Flavor": "Google"}
    with pytest.raises(HTTPError) as caught:
        urlopen(Plain(cloud.url + path, headers=flavor | headers))
    with caught.value as error:
        assert error.code == status
        assert error.headers["Metadata-Flavor"] == "Google"


def test_secrets_are_read_versioned_and_destroyed(
    cloud: FakeCloud, secrets: SecretManagerServiceClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.secrets["join"] = "one"
    latest = f"{JOIN}/versions/latest"
    first = secrets.access_secret_version(name=latest)
    assert (first.payload.data, first.name.rpartition("/")[2]) == (b"one", "1")
    assert first.payload.data_crc32c
    made = secrets.add_secret_version(parent=JOIN, payload=SecretPayload(data=b"two"))
    assert made.name.endswith("/versions/2")
    assert secrets.access_secret_version(name=latest).payload.data == b"one", "the alias is eventually consistent"
    assert secrets.access_secret_version(name=made.name).payload.data == b"two"
    monkeypatch.setattr(secretmanager, "LAG_SECONDS", 0.0)
    assert secrets.access_secret_version(name=latest).payload.data == b"two"
    secrets.destroy_secret_version(name=f"{JOIN}/versions/1")
    with pytest.raises(BadRequest, match="DESTROYED"):
        secrets.access_secret_version(name=f"{JOIN}/versions/1")
    with pytest.raises(NotFound, match=r"\[.*/versions/7\] not found"):
        secrets.access_secret_version(name=f"{JOIN}/versions/7")
    cloud.services.faults.plan("secretmanager *", "throttle")
    with pytest.raises(TooManyRequests):
        secrets.access_secret_version(name=latest, retry=None)


def test_a_missing_secret_and_a_denied_one_get_the_same_answer(
    cloud: FakeCloud, secrets: SecretManagerServiceClient
) -> None:
    cloud.secrets |= {"join": "one", "pki": "two"}
    only(cloud, (ENTRY_MEMBER, "roles/secretmanager.secretAccessor", {"secretId": JOIN}))
    assert secrets.access_secret_version(name=f"{JOIN}/versions/latest").payload.data == b"one"
    for name in ("pki", "nobodys"):
        with pytest.raises(Forbidden, match=r"secretmanager\.versions\.access"):
            secrets.access_secret_version(name=f"projects/{GCP_PROJECT}/secrets/{name}/versions/latest")
    with pytest.raises(Forbidden, match=r"secretmanager\.versions\.add"):
        secrets.add_secret_version(parent=JOIN, payload=SecretPayload(data=b"x"))


def test_instances_of_all_zones_are_listed_filtered_and_paged(cloud: FakeCloud, instances: InstancesClient) -> None:
    for place in ("b", "c"):
        zone = GCP_ZONE[:-1] + place
        given = {"name": f"more-{place}", "zone": zone, "project": GCP_PROJECT}
        id = f"projects/{GCP_PROJECT}/zones/{zone}/instances/more-{place}"
        computed = {"instanceId": f"77{ord(place)}", "networkInterfaces": []}
        put(cloud.services.cloud_state, "gcp:compute/instance:Instance", id, given, **computed)

    def names(**asked: Any) -> list[str]:
        pages = instances.aggregated_list(request={"project": GCP_PROJECT, **asked})
        return [one.name for _, found in pages for one in found.instances]

    assert names() == names(max_results=1) == [GCP_NAME, "more-b", "more-c"]
    assert names(filter=f"id = {GCP_INSTANCE}") == [GCP_NAME]
    assert names(filter='name = "more-c"') == ["more-c"]
    only(cloud)
    with pytest.raises(Exception, match=r"compute\.instances\.list"):
        names()


def test_a_silent_zone_fails_a_list_unless_a_part_is_enough(cloud: FakeCloud, instances: InstancesClient) -> None:
    cloud.services.cloud_state.set_setting("unreachable/us-central1-a", "1")
    with pytest.raises(ServiceUnavailable, match="us-central1-a"):
        list(instances.aggregated_list(request={"project": GCP_PROJECT}, retry=None))
    [page] = instances.aggregated_list(request={"project": GCP_PROJECT, "return_partial_success": True}).pages
    assert page.items["zones/us-central1-a"].warning.code == "UNREACHABLE" and page.unreachables


def test_an_object_is_read_with_its_checksum_and_written_on_conditions_of_generations(
    cloud: FakeCloud, credentials: Credentials
) -> None:
    session, url = AuthorizedSession(credentials), f"{cloud.url}/snapshots/founding/a%20b"
    made = session.put(url, data=b"claimed", headers={"x-goog-if-generation-match": "0"})
    assert made.status_code == 200
    first = made.headers["x-goog-generation"]
    taken = session.put(url, data=b"mine", headers={"x-goog-if-generation-match": "0"})
    assert (taken.status_code, "<Code>PreconditionFailed</Code>" in taken.text) == (412, True)
    again = session.put(url, data=b"again", headers={"x-goog-if-generation-match": first})
    assert again.headers["x-goog-generation"] != first
    for checksum in ("md5", "crc32c"):  # the client compares the content with x-goog-hash
        assert Download(url, checksum=checksum).consume(session).content == b"again"
    part = Download(url, start=1, end=2).consume(session)
    assert (part.status_code, part.content) == (206, b"ga")
    assert session.put(url, data=b"x", headers={"If-None-Match": "*"}).status_code == 501


def test_an_s3_client_lists_pages_and_deletes_by_the_xml_api(cloud: FakeCloud, s3: Any) -> None:
    for key in ("etcd/b", "etcd/a", "etcd/c:1", "founding/0"):
        s3.put_object(Bucket="snapshots", Key=key, Body=key.encode())
    found = s3.get_paginator("list_objects_v2").paginate(
        Bucket="snapshots", Prefix="etcd/", PaginationConfig={"PageSize": 2}
    )
    assert [one["Key"] for each in found for one in each["Contents"]] == ["etcd/a", "etcd/b", "etcd/c:1"]
    folders = s3.list_objects_v2(Bucket="snapshots", Delimiter="/")["CommonPrefixes"]
    assert [each["Prefix"] for each in folders] == ["etcd/", "founding/"]
    s3.delete_object(Bucket="snapshots", Key="etcd/a")
    with pytest.raises(ClientError) as missing:
        s3.get_object(Bucket="snapshots", Key="etcd/a")
    assert missing.value.response["Error"]["Code"] == "NoSuchKey"


def test_rights_on_objects_follow_binding_conditions_and_overwriting_needs_delete(
    cloud: FakeCloud, credentials: Credentials
) -> None:
    role = f"projects/{GCP_PROJECT}/roles/writer"
    permissions = {"roleId": "writer", "permissions": ["storage.objects.create", "storage.objects.get"]}
    put(cloud.services.cloud_state, CUSTOM_ROLE, role, permissions)
    name = "projects/_/buckets/status/objects/status/web:"
    when = {"condition": {"title": "own", "expression": f'resource.name.startsWith("{name}")'}}
    only(cloud, (BUCKET_MEMBER, role, {"bucket": "status", **when}))
    session = AuthorizedSession(credentials)
    own, others = (f"{cloud.url}/status/status/{each}%3A1.json" for each in ("web", "cp"))
    assert session.put(own, data=b"first").status_code == 200
    assert session.get(own).content == b"first"
    overwritten = session.put(own, data=b"second")
    assert overwritten.status_code == 403
    assert "storage.objects.delete" in overwritten.text
    assert session.put(others, data=b"x").status_code == 403
    missing = session.get(f"{cloud.url}/status/status/web%3A2.json")
    assert missing.status_code == 403, "who may not list does not learn what is missing"
    assert "storage.objects.list" in missing.text


def test_forged_expired_and_too_narrow_tokens_are_refused(cloud: FakeCloud) -> None:
    cloud.secrets["join"] = "one"
    url = f"{cloud.url}/v1/{JOIN}/versions/latest:access"

    def refused(headers: dict[str, str]) -> tuple[int, str]:
        with pytest.raises(HTTPError) as caught:
            urlopen(Plain(url, headers=headers))
        with caught.value as error:
            return error.code, json.loads(error.read())["error"]["status"]

    token = mds.get_service_account_token(Request())[0]
    assert refused({}) == (401, "UNAUTHENTICATED")
    assert refused({"Authorization": f"Bearer {token}x"}) == (401, "UNAUTHENTICATED")
    cloud.services.clock = lambda: 4e9
    assert refused({"Authorization": f"Bearer {token}"}) == (401, "UNAUTHENTICATED")
    machine = cloud.services.cloud_state.resources("gcp:compute/instance:Instance")[0]
    narrow = {"email": GCP_EMAIL, "scopes": ["devstorage.read_write"]}
    tamper.change(cloud.services.cloud_state, machine, {"serviceAccount": narrow})
    token = mds.get_service_account_token(Request())[0]
    assert refused({"Authorization": f"Bearer {token}"}) == (403, "PERMISSION_DENIED")


def test_a_deleted_service_account_gives_no_tokens_and_neither_does_a_new_one_of_its_name(cloud: FakeCloud) -> None:
    cloud_state = cloud.services.cloud_state
    [account] = cloud_state.resources(ACCOUNT)
    assert mds.get_service_account_token(Request())[0]
    tamper.remove(cloud_state, account)
    for _ in range(2):
        with pytest.raises(TransportError, match="404"):
            mds.get_service_account_token(Request())
        with cloud_state.transaction():
            cloud_state.put(replace(account, sequence=cloud_state.next_sequence()))
