"""`mullion request kubeconfig`: the key is made here, and the portal's answer is not trusted."""

import base64
import ssl
from pathlib import Path

import pytest
import yaml

from components.machine import pki
from operations.console.exits import Exit
from tests.portal.test_changes import SignIn, built
from tests.portal.test_kubeconfig import AUTHORITY, URL, answer_inquiries, issuing
from tests.portal.test_request import Run, portal_server, request_

__all__ = ["issuing", "portal_server", "request_"]  # fixtures


def test_request_writes_a_kubeconfig_that_works_with_the_key_made_here(
    request_: Run,
    sign_in: SignIn,
    issuing: list[list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    data: Path,
) -> None:
    from operations.commands import request_inquiry

    monkeypatch.setattr(request_inquiry.time, "sleep", lambda _: answer_inquiries())
    built(sign_in("alice"))
    file = data / "red.kubeconfig"
    ended = request_("kubeconfig", "red-one", "-o", str(file))
    assert ended.exit_code == 0, ended.output
    assert "mullion:alice with the role view" in ended.stdout
    assert file.stat().st_mode & 0o777 == 0o600
    user = yaml.safe_load(file.read_text())["users"][0]["user"]
    key = user["client-key-data"]
    _loads(data, user)
    assert not any(key.encode() in path.read_bytes() for path in data.glob("portal.db*"))
    assert not any("PRIVATE" in word for words in issuing for word in words)


def _loads(folder: Path, user: dict[str, str]) -> None:
    """Let OpenSSL load certificate and key; it refuses a key of another certificate."""
    pair = folder / "pair.pem"
    pair.write_bytes(b"".join(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")))
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(pair)


@pytest.mark.parametrize("certificate", ["", pki.administrator_certificate(AUTHORITY, "red-one")["certificate"]])
def test_request_refuses_an_answer_without_a_certificate_of_its_key(
    certificate: str, monkeypatch: pytest.MonkeyPatch, request_: Run, tmp_path: Path
) -> None:
    from operations.commands import request

    parts = {"server": URL, "server_name": "api", "certificate_authority": AUTHORITY["certificate"]}
    named = {"user": "mullion:alice", "role": "edit", "expires": "2026-12-01T00:00:00Z"}
    found = {"id": 1, "state": "done", "said": "", "kubeconfig": {**parts, **named, "certificate": certificate}}
    monkeypatch.setattr(request.Portal, "call", lambda *_, **__: found)
    ended = request_("kubeconfig", "red-one", "-o", str(tmp_path / "out"))
    assert (ended.exit_code, "no certificate for the key" in ended.stderr) == (Exit.FAILED, True)
    assert not (tmp_path / "out").exists()
