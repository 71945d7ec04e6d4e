"""The administrator's kubeconfig: the stored one, or one with a new certificate of the stored authority."""

import base64
import json
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from pulumi import automation as auto
from typer.testing import Result

from components.machine import pki
from components.rollout.authority_gate import fingerprint
from operations.commands import kubeconfig, report
from operations.console.exits import Exit, Stop

Mullion = Callable[..., Result]
AUTHORITY = pki.certificate_authority("kubernetes")


def stored(days: int) -> str:
    administrator = pki.administrator_certificate(AUTHORITY, "dev", days)
    url, own = "https://people.example:6443", "api.dev.mullion.internal"
    return pki.administrator_kubeconfig("dev", url, own, AUTHORITY["certificate"], administrator)


def engine_stack(*authorities: pki.KeyPair) -> auto.Stack:
    """A stack whose export holds the authorities, oldest first, as `pulumi stack export --show-secrets` writes them."""
    rows: list[dict[str, Any]] = [
        {
            "type": "pulumi:index:Stash",
            "urn": "a::b::c::dev-cluster-ca" + (f"-{generation}" if generation else ""),
            "outputs": {
                "output": {
                    "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
                    "plaintext": json.dumps(pair),
                }
            },
        }
        for generation, pair in enumerate(authorities or (AUTHORITY,))
    ]
    deployment = auto.Deployment(version=3, deployment={"resources": rows})
    return cast(auto.Stack, SimpleNamespace(workspace=SimpleNamespace(export_stack=lambda _: deployment)))


def certificate(text: str) -> str:
    return base64.b64decode(yaml.safe_load(text)["users"][0]["user"]["client-certificate-data"]).decode()


@pytest.mark.parametrize(("days", "renewed"), [(30, False), (6, False), (4, True), (0, True)])
def test_a_certificate_that_expires_within_five_days_is_replaced(
    days: int, renewed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    before = stored(days)
    text = kubeconfig.current("dev", before, engine_stack())
    assert (text != before) == renewed
    pki.verify(certificate(text), AUTHORITY["certificate"])
    assert [each["cluster"] for each in yaml.safe_load(text)["clusters"]] == [
        each["cluster"] for each in yaml.safe_load(before)["clusters"]
    ]
    assert "PRIVATE KEY" not in "".join(capsys.readouterr()), "keys go nowhere but into the file"


def test_after_a_rotation_the_signing_authority_issues_the_certificate(capsys: pytest.CaptureFixture[str]) -> None:
    new = pki.certificate_authority("kubernetes-1")
    bundle = new["certificate"] + AUTHORITY["certificate"]
    old = pki.administrator_certificate(AUTHORITY, "dev", 0)
    before = pki.administrator_kubeconfig("dev", "https://people.example:6443", "api", bundle, old)
    pki.verify(certificate(kubeconfig.current("dev", before, engine_stack(AUTHORITY, new))), new["certificate"])
    assert "PRIVATE KEY" not in "".join(capsys.readouterr())
    reported = tuple(fingerprint(each["certificate"]) for each in (new, AUTHORITY))
    assert kubeconfig.authorities(before) == reported, "what a machine with this CA file reports"


@pytest.fixture
def built(clone: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A built stack without an engine: its kubeconfig."""
    text = stored(30)

    @contextmanager
    def stack(name: str) -> Iterator[Any]:
        yield SimpleNamespace(outputs=lambda: {"kubeconfig": SimpleNamespace(value=text, secret=True)})

    monkeypatch.setattr(kubeconfig, "built", stack)
    return text


def test_kubeconfig_replaces_a_file_with_mode_0600_and_keeps_a_link_to_it(built: str, tmp_path: Path) -> None:
    path, link = tmp_path / "config", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o644)
    link.symlink_to(path)
    kubeconfig.kubeconfig("small", str(link))
    assert link.is_symlink()
    assert path.read_text() == built
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("write", [report.kubeconfig, report.sign_in_kubeconfig])
def test_only_its_owner_may_read_a_kubeconfig(clone: Path, write: Callable[[str, str], Path]) -> None:
    mask = os.umask(0)
    try:
        path = write("small", "text")
    finally:
        os.umask(mask)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_kubeconfig_writes_to_a_pipe_and_keeps_it(
    built: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, heard = tmp_path / "pipe", list[str]()
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: heard.append(path.read_text()), daemon=True)
    reader.start()
    kubeconfig.kubeconfig("small", str(path))
    reader.join(10)
    assert heard == [built]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert capsys.readouterr().out == "", "it may be the pipe that this would go to"


def test_kubeconfig_writes_to_a_process_substitution(built: str) -> None:
    reads, writes = os.pipe()
    kubeconfig.kubeconfig("small", f"/dev/fd/{writes}")
    os.close(writes)
    with os.fdopen(reads) as file:
        assert file.read() == built


@pytest.mark.parametrize(
    "output", ["", ".", "/proc/x", "stacks/Pulumi.small.yaml/sub", "loop", "loop/x", "/dev/full", "new/x"]
)
def test_kubeconfig_refuses_a_path_that_cannot_be_written(
    output: str, built: str, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clone)
    (clone / "loop").symlink_to("loop")
    with pytest.raises(Stop, match="name a file") as stop:
        kubeconfig.kubeconfig("small", output)
    assert stop.value.code is Exit.USAGE
    assert built not in str(stop.value)
    assert not (clone / "new").exists()


@pytest.mark.parametrize(
    "command", ["kubeconfig", "outputs", "wait", "logs", "plan", "roll", "replace-control-plane", "restore"]
)
def test_a_stack_that_was_never_built_is_refused_without_asking_an_account(
    command: str, clone: Path, mullion: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PULUMI_ACCESS_TOKEN", raising=False)
    monkeypatch.setattr(kubeconfig, "has_backend", lambda: False)
    monkeypatch.setattr(kubeconfig.locate, "find", lambda: None)
    file = clone / "stacks" / "Pulumi.small.yaml"
    file.write_text(file.read_text() + "    control_plane: {count: 3}\n")
    words = {
        "logs": ["web-0"],
        "plan": ["--against"],
        "roll": ["web", "--yes"],
        "replace-control-plane": ["control-plane-0"],
    }.get(command, [])
    result = mullion(command, "small", *words)
    assert result.exit_code == 2
    assert "stack small is not built; `mullion up small` builds it" in result.stderr


def test_kubeconfig_for_people_has_the_provider_and_no_secret(built: str, clone: Path, mullion: Mullion) -> None:
    file = clone / "stacks" / "Pulumi.small.yaml"
    file.write_text(file.read_text() + "    api: {oidc: {issuer: https://login.example.com, client: kubernetes}}\n")
    ended = mullion("kubeconfig", "small", "--oidc", "-o", "-")
    assert ended.exit_code == 0, ended.output
    document = yaml.safe_load(ended.stdout)
    assert document["users"][0]["user"]["exec"]["args"][2:] == [
        "--oidc-issuer-url=https://login.example.com",
        "--oidc-client-id=kubernetes",
    ]
    assert document["clusters"] == yaml.safe_load(built)["clusters"]
    assert "key-data" not in ended.stdout


def test_kubeconfig_for_people_names_the_missing_option(built: str, clone: Path, mullion: Mullion) -> None:
    ended = mullion("kubeconfig", "small", "--oidc")
    assert ended.exit_code == Exit.REFUSED
    assert "mullion:cluster.api.oidc" in ended.output and "issuer and client" in ended.output
