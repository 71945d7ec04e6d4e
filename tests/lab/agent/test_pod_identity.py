"""Tokens of real API servers with the planned flags, judged by PyJWT with what the issuer's bucket publishes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import jwt
import pytest
import yaml

from components.aws.issuer_bucket import open_documents
from components.aws.pod_identity import AUDIENCE
from components.machine import pki
from components.machine.issuer import discovery, key_set
from components.spec.pod_identity import DISCOVERY, KEYS
from sandbox.aws.cloud import AWS
from sandbox.cloud_state import SERVICES, CloudState
from sandbox.services.server import Services
from tests.docs import pages
from tests.lab.agent.second_servers import SecondServer, issuers
from tests.lab.agent.served import Served
from tests.lab.rendered import VALUES
from tests.sandbox.account import Account
from tests.sandbox.aws.account import REGION

pytestmark = pytest.mark.lab

URL = VALUES["node.issuer"]
BUCKET = URL.removeprefix("https://").partition(".")[0]
SIGNS, ACCEPTS = {"pod_identity": {}}, {"pod_identity": {"issuer": "accepted"}}
PAGE = pages.ROOT / "docs" / "pod-identity.md"


class Bucket:
    """The issuer's bucket in the sandbox, as the program makes it, and a reader without an identity."""

    def __init__(self, cloud_state: CloudState, services: Services) -> None:
        with cloud_state.transaction():
            cloud_state.set_setting(SERVICES, "http")
        self.account = account = Account(cloud_state, AWS, REGION)
        account.create("Bucket", "issuer", bucket=BUCKET)
        opened = {"blockPublicAcls": True, "ignorePublicAcls": True}
        opened |= {"blockPublicPolicy": False, "restrictPublicBuckets": False}
        account.create("BucketPublicAccessBlock", "issuer", bucket=BUCKET, **opened)
        policy = open_documents(f"arn:aws:s3:::{BUCKET}", "dev")
        account.create("BucketPolicy", "issuer", bucket=BUCKET, policy=policy)
        self._put("discovery", DISCOVERY, discovery(URL))
        self.keys = self._put("keys", KEYS, key_set([]))
        self.place = services.listen()

    def _put(self, name: str, key: str, text: str) -> Any:
        kind = "application/json"
        return self.account.create("BucketObjectv2", name, bucket=BUCKET, key=key, content=text, contentType=kind)

    def publish(self, *keys: pki.SigningKey) -> None:
        """Publish these public keys."""
        self.keys = self.account.update(self.keys, content=key_set([each["public"] for each in keys]))

    def read(self, url: str) -> Any:
        """Return a JSON document at a URL of the bucket: asked at the sandbox, with the host of the URL."""
        host, _, path = url.removeprefix("https://").partition("/")
        with urlopen(Request(f"{self.place}/{path}", headers={"Host": host})) as answer:
            return json.load(answer)

    def verified(self, token: str) -> dict[str, Any]:
        """Return the claims of a token as a verifier finds its key: by discovery of the issuer that the token names."""
        issuer = jwt.decode(token, options={"verify_signature": False})["iss"]
        document = self.read(f"{issuer}/{DISCOVERY}")
        assert document["issuer"] == issuer
        key = jwt.PyJWKSet.from_dict(self.read(document["jwks_uri"]))[jwt.get_unverified_header(token)["kid"]]
        algorithms = document["id_token_signing_alg_values_supported"]
        return jwt.decode(token, key, algorithms=algorithms, audience=AUDIENCE, issuer=issuer)


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Bucket]:
    cloud_state = CloudState(tmp_path / "world", seed="test")
    with Services(Path(cloud_state.path)) as services:
        yield Bucket(cloud_state, services)
    cloud_state.close()


@pytest.fixture(scope="module")
def shop(served: Served) -> Served:
    """Return the cluster with the namespace and the service account of the page's manifests."""
    served.kubectl("create", "namespace", "shop")
    served.kubectl("create", "serviceaccount", "uploads", "--namespace", "shop")
    return served


@pytest.fixture(scope="module")
def keys() -> list[pki.SigningKey]:
    """Return three generations of keys of service-account tokens, oldest first."""
    return [pki.signing_key() for _ in range(3)]


def test_another_verifier_accepts_the_tokens_before_and_after_a_rotation(
    shop: Served, bucket: Bucket, keys: list[pki.SigningKey], tmp_path: Path
) -> None:
    first, second, third = keys
    flags = issuers(shop.kubernetes, **SIGNS)
    bucket.publish(first)
    with SecondServer(shop, tmp_path / "first", flags, [first]) as server:
        old = server.token("uploads", "--audience", AUDIENCE)
        claims = bucket.verified(old)
        assert (claims["iss"], claims["sub"]) == (URL, "system:serviceaccount:shop:uploads")
        other = server.token("uploads")
        years = server.token("uploads", "--audience", AUDIENCE, "--duration", "87600h")
    long = bucket.verified(years)
    assert long["exp"] - long["iat"] == 24 * 3600, "nobody gets a token of a role for years"
    with pytest.raises(jwt.InvalidAudienceError):
        bucket.verified(other)
    bucket.publish(second, first)  # as `up` does, before the secret has the new key
    assert bucket.verified(old)["iss"] == URL
    with SecondServer(shop, tmp_path / "second", flags, [second, first]) as server:
        new = server.token("uploads", "--audience", AUDIENCE)
        assert jwt.get_unverified_header(new)["kid"] != jwt.get_unverified_header(old)["kid"]
        assert [bucket.verified(each)["iss"] for each in (old, new)] == [URL, URL]
    bucket.publish(third, second)
    assert bucket.verified(new)["iss"] == URL
    with pytest.raises(KeyError):
        bucket.verified(old)


def test_the_published_documents_are_those_of_the_api_server(
    shop: Served, bucket: Bucket, keys: list[pki.SigningKey], tmp_path: Path
) -> None:
    bucket.publish(keys[0])
    with SecondServer(shop, tmp_path / "one", issuers(shop.kubernetes, **SIGNS), keys[:1]) as server:
        assert server.document("/openid/v1/jwks") == bucket.read(f"{URL}/{KEYS}")
        assert server.document(f"/{DISCOVERY}") == bucket.read(f"{URL}/{DISCOVERY}")


def test_nobody_reads_anything_else_of_the_bucket(bucket: Bucket) -> None:
    for path in ("", "other", "openid/v1/"):
        with pytest.raises(HTTPError) as refused:
            bucket.read(f"{URL}/{path}")
        with refused.value as error:
            assert error.code == 403


def test_tokens_of_each_step_are_accepted_by_the_steps_beside_it(
    shop: Served, keys: list[pki.SigningKey], tmp_path: Path
) -> None:
    """Without the step between, control planes refuse each other's tokens while they take turns."""
    steps: dict[str, dict[str, Any]] = {"none": {}, "accepted": ACCEPTS, "signs": SIGNS}
    accepted: dict[tuple[str, str], bool] = {}
    tokens: dict[str, str] = {}
    for name, cluster in steps.items():
        flags = issuers(shop.kubernetes, **cluster)
        with SecondServer(shop, tmp_path / name, flags, keys[:1]) as server:
            tokens[name] = server.token("uploads")
    for name, cluster in steps.items():
        with SecondServer(shop, tmp_path / f"{name}-again", issuers(shop.kubernetes, **cluster), keys[:1]) as server:
            accepted |= {(of, name): server.accepts(token) for of, token in tokens.items()}
    assert {pair for pair, taken in accepted.items() if not taken} == {("signs", "none")}


def test_the_manifests_of_the_page_are_accepted_strictly(shop: Served, tmp_path: Path) -> None:
    texts = [text for language, text in pages.fences(PAGE) if language == "yaml" and "apiVersion:" in text]
    documents = [each for text in texts for each in yaml.safe_load_all(text)]
    kinds = ["Namespace", "ServiceAccount", "Pod", "Pod", "ConfigMap", "Pod", "Pod", "Pod"]
    assert [each["kind"] for each in documents] == kinds
    place = tmp_path / "manifests.yaml"
    place.write_text("---\n".join(texts))
    said = shop.kubectl("apply", "--dry-run=server", "--validate=strict", "--filename", str(place))
    assert "pod/uploads created" in said and "pod/uploads-windows created" in said
