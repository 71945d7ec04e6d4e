"""`mullion kubeconfig --user`: options that are refused, and what a person gets. A real API server judges the rights in
tests/lab/test_person_kubeconfig.py.
"""

import base64
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from cryptography import x509
from typer.testing import Result

from components.machine import pki
from components.rollout.kubernetes_api import Refused
from operations.commands import kubeconfig, person_kubeconfig
from operations.console.exits import Exit, Stop
from tests.operations.commands.test_kubeconfig import AUTHORITY, certificate, engine_stack, stored

Mullion = Callable[..., Result]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--user", "alice"), "--role: write one of view, edit, admin, cluster-admin"),
        (("--user", "alice", "--role", "root"), "root is none of them"),
        (("--user", "system:admin", "--role", "edit"), "--user system:admin: write another name"),
        (("--user", "kubernetes-admin", "--role", "edit"), "write another name"),
        (("--user", "a" * 65, "--role", "edit"), "at most 64 bytes"),
        (("--user", "é" * 33, "--role", "edit"), "at most 64 bytes"),
        (("--user", "alice", "--role", "view", "--group", "kubeadm:cluster-admins"), "--group kubeadm:cluster-admins"),
        (("--user", "alice", "--role", "view", "--group", "mullion:role:admin"), "--group mullion:role:admin"),
        (("--user", "alice", "--role", "edit", "--group", "system:masters"), "--group system:masters"),
        (("--user", "alice", "--role", "edit", "--hours", "25"), "less than or equal to 24"),
        (("--role", "edit"), "need --user"),
        (("--user", "alice", "--oidc"), "--oidc takes no --user"),
    ],
)
def test_names_of_kubernetes_and_options_that_do_not_fit_are_refused(
    words: tuple[str, ...], said: str, mullion: Mullion
) -> None:
    result = mullion("kubeconfig", "aws-dev", *words)
    assert (result.exit_code, said in result.stderr.replace("\n", " ")) == (Exit.USAGE, True), result.stderr


@pytest.mark.parametrize("text", ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n", pki.signing_key()["public"]])
def test_a_file_without_a_public_key_on_p_256_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(text)
    with pytest.raises(Stop, match="--public-key"):
        person_kubeconfig.person("alice", "edit", (), 1, tmp_path / "key")


def _run(monkeypatch: pytest.MonkeyPatch, *, sandbox: bool = True) -> None:
    run: Any = engine_stack()
    run.outputs = lambda: {"kubeconfig": SimpleNamespace(value=stored(30))}
    monkeypatch.setattr(kubeconfig, "built", lambda _: nullcontext(run))
    monkeypatch.setattr(person_kubeconfig.target, "in_sandbox", lambda _: sandbox)


def test_a_person_without_a_key_gets_one_that_fits_the_certificate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(monkeypatch)
    monkeypatch.setattr(person_kubeconfig.boot_site, "api", lambda _: "")
    file = tmp_path / "alice"
    person_kubeconfig.write("dev", person_kubeconfig.Person("alice", "view", hours=2), str(file))
    text = file.read_text()
    pki.verify(certificate(text), AUTHORITY["certificate"])
    key = base64.b64decode(yaml.safe_load(text)["users"][0]["user"]["client-key-data"]).decode()
    assert "BEGIN PRIVATE KEY" in key
    assert x509.load_pem_x509_certificate(certificate(text).encode()).subject.rfc4514_string() == (
        "CN=alice,OU=dev,O=mullion:role:view"
    )
    assert "PRIVATE" not in "".join(capsys.readouterr())


def test_the_longest_name_fits_a_certificate_and_no_two_names_share_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(person_kubeconfig.target, "folder", lambda _: tmp_path)
    _run(monkeypatch)
    monkeypatch.setattr(person_kubeconfig.boot_site, "api", lambda _: "")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    names = ("a.b", "a-b", "a/b", "oidc", "é" * 32)
    for each in names:
        person_kubeconfig.write("dev", person_kubeconfig.person(each, "view", (), 1, None), None)
    files = sorted(tmp_path.iterdir())
    assert len(files) == len(names)
    assert tmp_path / "kubeconfig-oidc" not in files, "`mullion kubeconfig --oidc` writes it"


def test_nothing_is_written_if_the_api_does_not_bind_the_role(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def ask(*_: Any) -> Any:
        raise Refused(500, "no")

    _run(monkeypatch, sandbox=False)
    monkeypatch.setattr(person_kubeconfig.reached_api, "reached", lambda _, text: nullcontext(text))
    monkeypatch.setattr(person_kubeconfig.reached_api, "client", lambda _: SimpleNamespace(ask=ask))
    with pytest.raises(Stop, match="no kubeconfig was written"):
        person_kubeconfig.write("dev", person_kubeconfig.Person("alice", "view"), str(tmp_path / "alice"))
    assert not list(tmp_path.iterdir())
