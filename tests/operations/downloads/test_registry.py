"""Digests of images, from a registry on loopback."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from operations.downloads import fetch
from operations.downloads import registry as client
from tests.operations.downloads.registries import (
    BOTH,
    INDEX,
    MANIFEST,
    PASSWORD,
    SIGNED_IN,
    TOKEN,
    Registry,
    manifest_list,
    serving,
    trusted,
)

NAME = "localhost:1/team/pause:3.10"
"""An image of a registry at a closed port, so that only mirrors answer."""


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Registry]:
    """Start a mirror; use an empty Docker configuration, and skip waits between tries."""
    monkeypatch.setattr(fetch.time, "sleep", lambda seconds: None)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with serving() as here:
        here.manifests["team/pause:3.10"] = BOTH
        yield here


@pytest.fixture
def itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """Start a registry over https with a certificate that this process trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted(tmp_path)))
    with serving(tmp_path / "server.pem") as here:
        yield here


def sign_in(registry: Registry, tmp_path: Path, text: str = SIGNED_IN) -> None:
    auths = {"auths": {urlsplit(registry.url).netloc: {"auth": text}, "localhost:1": {"auth": "b3RoZXI6c2VjcmV0"}}}
    (tmp_path / "config.json").write_text(json.dumps(auths))


def found(registry: Registry, systems: tuple[str, ...] = ("linux", "windows")) -> client.Found:
    return client.digest(NAME, systems, [registry.url])


@pytest.mark.parametrize("content", [BOTH, manifest_list(("linux", "amd64"), ("windows", "amd64"), media_type=INDEX)])
def test_the_digest_is_computed_from_the_bytes_of_the_manifest(registry: Registry, content: bytes) -> None:
    registry.manifests["team/pause:3.10"] = content
    digest, url, confirmed = found(registry)
    assert digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert registry.asked == [("/v2/team/pause/manifests/3.10?ns=localhost%3A1", "")]
    assert url == f"{registry.url}{registry.asked[0][0]}"
    assert not confirmed, "the registry itself did not answer"


def single(registry: Registry, os: str, architecture: str = "amd64") -> bytes:
    """Serve one manifest with its configuration; return the manifest."""
    config = json.dumps({"os": os, "architecture": architecture}).encode()
    digest = f"sha256:{hashlib.sha256(config).hexdigest()}"
    content = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": {"digest": digest}, "layers": []})
    registry.manifests |= {"team/pause:3.10": content.encode(), f"team/pause:{digest}": config}
    return content.encode()


def test_the_operating_system_of_a_single_manifest_is_read_from_its_configuration(registry: Registry) -> None:
    content = single(registry, "windows")
    assert found(registry, ("windows",))[0] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    for wanted, why in ((("linux",), "no image for linux on amd64"), (("linux", "windows"), "a single manifest")):
        with pytest.raises(client.NoDigest, match=why):
            found(registry, wanted)
    single(registry, "windows", "arm64")
    with pytest.raises(client.NoDigest, match="no image for windows on amd64"):
        found(registry, ("windows",))
    single(registry, "windows")
    registry.manifests |= {name: b"{}" for name in registry.manifests if ":sha256:" in name}
    with pytest.raises(client.NoDigest, match="a configuration with the digest sha256:44136fa3"):
        found(registry, ("windows",))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (manifest_list(("linux", "amd64")), "no image for windows on amd64"),
        (manifest_list(("linux", "arm64"), ("windows", "amd64")), "no image for linux on amd64"),
        (b"<html>sign in</html>", "gave no JSON"),
        (b"[" * 100_000, "gave no JSON"),
        (b'{"schemaVersion": 1}', "gave no manifest of schema 2"),
        (b"[]", "gave no manifest"),
        (b'{"schemaVersion": 2, "manifests": 5}', "gave no list of manifests"),
        (b'{"schemaVersion": 2, "manifests": [{"platform": "x"}, 7]}', "no image for linux and windows on amd64"),
        (b'{"schemaVersion": 2, "manifests": [{"platform": {"architecture": "amd64", "os": []}}]}', "no image for"),
    ],
)
def test_an_image_without_the_operating_systems_of_the_machines_is_refused(
    registry: Registry, content: bytes, why: str
) -> None:
    registry.manifests["team/pause:3.10"] = content
    with pytest.raises(client.NoDigest, match=why):
        found(registry)


@pytest.mark.parametrize("scheme", ["Bearer", "Basic"])
def test_credentials_of_docker_are_sent_to_a_private_registry_and_are_in_no_message(
    registry: Registry, tmp_path: Path, scheme: str
) -> None:
    registry.private = scheme
    sign_in(registry, tmp_path)
    assert found(registry)[0].startswith("sha256:")
    registry.manifests.clear()
    with pytest.raises(client.NoDigest, match="404") as refused:
        found(registry)
    for secret in (PASSWORD, SIGNED_IN, TOKEN):
        assert secret not in str(refused.value)


def test_the_error_about_wrong_credentials_names_only_the_registry(registry: Registry, tmp_path: Path) -> None:
    registry.private = "Bearer"
    sign_in(registry, tmp_path, "d3Jvbmc6c2VjcmV0")
    with pytest.raises(client.NoDigest, match="401") as refused:
        found(registry)
    assert "d3Jvbmc6c2VjcmV0" not in str(refused.value)


def test_credentials_are_not_sent_to_a_token_server_over_plain_http(registry: Registry, tmp_path: Path) -> None:
    registry.private, registry.realm = "Bearer", "http://tokens.example/token"
    sign_in(registry, tmp_path)
    with pytest.raises(client.NoDigest, match=r"run docker login 127\.0\.0\.1"):
        found(registry)
    assert {authorization for _, authorization in registry.asked} == {""}


def test_a_remote_registry_cannot_name_a_token_server_on_loopback() -> None:
    """Another user of the computer may listen there."""
    assert not client.may_get_password("http://localhost:8000/token", "https://registry.example/v2/")
    assert not client.may_get_password("ftp://tokens.example", "https://registry.example/v2/")
    assert client.may_get_password("http://localhost:8000/token", "https://localhost:5000/v2/")
    assert client.may_get_password("https://tokens.example", "https://registry.example/v2/")


def test_a_mirror_does_not_receive_the_credentials_of_its_registry(registry: Registry, tmp_path: Path) -> None:
    registry.private = "Basic"
    (tmp_path / "config.json").write_text(json.dumps({"auths": {"localhost:1": {"auth": SIGNED_IN}}}))
    with pytest.raises(client.NoDigest, match=r"401|asks for credentials"):
        found(registry)
    assert {authorization for _, authorization in registry.asked} == {""}


def test_a_mirror_with_a_plain_http_address_is_not_used(registry: Registry) -> None:
    digest, url, _ = client.digest(NAME, ["linux"], ["http://mirror.example", f"{registry.url}/v2/"])
    assert url.startswith(f"{registry.url}/v2/team/")
    assert digest.startswith("sha256:")


def test_the_next_mirror_is_used_if_one_lacks_the_image(registry: Registry) -> None:
    with serving() as empty, serving() as wrong:
        wrong.everything = b'{"schemaVersion": 2, "manifests": 5}'
        assert client.digest(NAME, ["linux"], [empty.url, wrong.url, registry.url])[1].startswith(registry.url)


def test_the_digest_of_the_registry_takes_precedence_over_the_mirrors(
    registry: Registry, tmp_path: Path, itself: Registry
) -> None:
    name = f"{urlsplit(itself.url).netloc}/team/pause:3.10"
    itself.everything = BOTH
    asked = client.digest(name, ["linux", "windows"], [registry.url])
    assert asked.confirmed and asked.url.startswith(itself.url)
    itself.everything = manifest_list(("windows", "amd64"), ("linux", "amd64"))
    with pytest.raises(client.NoDigest, match=f"{registry.url}.*gives sha256.*but {itself.url}"):
        client.digest(name, ["linux", "windows"], [registry.url])
    itself.everything = b"{}"
    with pytest.raises(client.NoDigest, match="no manifest of schema 2"):
        client.digest(name, ["linux", "windows"], [registry.url])
