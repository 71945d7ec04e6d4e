"""`mullion join --check`: kubeconfigs that cannot be used, and an API that does not answer.

tests/lab/agent/test_existing_cluster.py runs it against a real API server.
"""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import Result

from components.machine import pki

Mullion = Callable[..., Result]


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.fixture(scope="module")
def keys() -> dict[str, str]:
    authority = pki.certificate_authority("other")
    pair = pki.administrator_certificate(authority, "other", days=1)
    return {"ca": authority["certificate"], "certificate": pair["certificate"], "key": pair["key"]}


def kubeconfig(keys: dict[str, str], **changes: Any) -> dict[str, Any]:
    user = {"client-certificate-data": encoded(keys["certificate"]), "client-key-data": encoded(keys["key"])}
    cluster = {"server": "https://127.0.0.1:9", "certificate-authority-data": encoded(keys["ca"])}
    return {
        "current-context": "here",
        "contexts": [{"name": "there", "context": {}}, {"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {**cluster, **changes.get("cluster", {})}}],
        "users": [{"name": "u", "user": changes.get("user", user)}],
    }


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"user": {"username": "ann", "password": "t0p-secret"}}, "has no client-certificate-data"),
        ({"user": {"exec": {"command": "aws"}}}, "its user signs in by a plug-in"),
        ({"cluster": {"certificate-authority-data": "?"}}, "has no certificate-authority-data"),
        ({"cluster": {"server": "http://127.0.0.1:9"}}, "is no https:// address"),
    ],
)
def test_a_kubeconfig_that_lacks_something_is_refused_with_what_to_do(
    keys: dict[str, str], changes: dict[str, Any], said: str, mullion: Mullion, tmp_path: Path
) -> None:
    path = tmp_path / "other.conf"
    path.write_text(yaml.safe_dump(kubeconfig(keys, **changes)))
    ended = mullion("join", "--check", str(path))
    assert ended.exit_code == 2
    assert said in ended.stderr
    assert str(path) in ended.stderr
    assert "t0p-secret" not in ended.output


@pytest.mark.parametrize("text", ["", "[", "a: 1", "[]", "current-context: x\ncontexts: []"])
def test_a_file_that_is_no_kubeconfig_is_refused(text: str, mullion: Mullion, tmp_path: Path) -> None:
    path = tmp_path / "other.conf"
    path.write_text(text)
    ended = mullion("join", "--check", str(path))
    assert ended.exit_code == 2
    assert "is no kubeconfig" in ended.stderr


def test_an_api_that_does_not_answer_is_named(keys: dict[str, str], mullion: Mullion, tmp_path: Path) -> None:
    path = tmp_path / "other.conf"
    path.write_text(yaml.safe_dump(kubeconfig(keys)))
    ended = mullion("join", "--check", str(path))
    assert ended.exit_code == 1
    assert "the API at https://127.0.0.1:9 failed" in ended.stderr
    assert keys["key"].splitlines()[1] not in ended.output


def test_a_text_that_is_no_version_is_refused(mullion: Mullion, tmp_path: Path) -> None:
    ended = mullion("join", "--check", str(tmp_path / "none"), "--kubernetes", "newest")
    assert ended.exit_code == 2
    assert "--kubernetes newest is not a version" in ended.stderr
