"""`mullion connect` and `mullion kubectl`: what they refuse, and the kubeconfig that kubectl gets."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from typer.testing import Result

from components.rollout import api_tunnel
from components.rollout.session_commands import MachinePlace
from components.rollout.tunnel import NoTunnel
from operations.commands import connect, kubeconfig
from operations.console.exits import Exit
from operations.engine import state
from operations.stacks import boot_site
from tests.operations.commands.test_kubeconfig import stored

Mullion = Callable[..., Result]
AWS: dict[str, Any] = {
    "cloud": "aws",
    "kubernetes": "1.36.4",
    "access": "session",
    "pools": {"linux": {"os": "ubuntu-24.04"}, "web": {"os": "windows-2022"}},
}

AZURE: dict[str, Any] = {"cloud": "azure", "api": {"access": "private", "allow": ["198.18.0.0/24"]}}
REGIONS = {
    "aws": {"aws:region": "eu-west-1"},
    "azure": {"azure-native:location": "westeurope"},
    "gcp": {"gcp:project": "our-project", "gcp:region": "europe-west1"},
}


@pytest.fixture
def written(clone: Path) -> Callable[..., None]:
    """Return a function that writes the stack `dev` with changed options."""

    def write(**changes: Any) -> None:
        cluster = {**AWS, **changes}
        text = yaml.safe_dump({"config": {**REGIONS[cluster["cloud"]], "mullion:cluster": cluster}})
        (clone / "stacks").mkdir(exist_ok=True)
        (clone / "stacks" / "Pulumi.dev.yaml").write_text(text)

    return write


@pytest.fixture
def tunnel(clone: Path, monkeypatch: pytest.MonkeyPatch) -> list[MachinePlace]:
    """Let the stack be built, and tunnels open; return the machines to which one was asked for."""
    asked: list[MachinePlace] = []

    @contextmanager
    def built(name: str) -> Iterator[Any]:
        yield SimpleNamespace()

    def opened(places: list[MachinePlace], *_: Any) -> Any:
        asked.extend(places)
        return SimpleNamespace(url="https://127.0.0.1:40001", is_open=True, close=lambda: None)

    machine = {"id": "i-1", "zone": "eu-west-1a", "pool": "control-plane"}
    monkeypatch.setattr(kubeconfig, "built", built)
    monkeypatch.setattr(kubeconfig, "administrator", lambda name: stored(30))
    monkeypatch.setattr(state, "resources", lambda run: [])
    monkeypatch.setattr(state, "instances", lambda resources: {"control-plane-0": machine, "web-0": machine})
    monkeypatch.setattr(api_tunnel, "answers_directly", lambda url: False)
    monkeypatch.setattr(api_tunnel, "open_tunnel", opened)
    return asked


@pytest.mark.parametrize(
    ("changes", "words", "says"),
    [
        ({"access": "none"}, (), "stack dev has no sessions; set access: session in"),
        ({"access": "none"}, ("web-0",), "stack dev has no sessions; set access: session in"),
        ({"api": {"access": "public", "allow": ["198.18.0.0/24"]}}, (), "run: mullion kubeconfig dev"),
        ({}, ("web-7",), "stack dev has no machine 'web-7'; it has control-plane-0, linux-0, web-0"),
        ({"cloud": "gcp"}, ("web-0",), "web-0 has no shell: on GCP"),
        (AZURE, ("web-0",), "--name web-0 --command-id RunPowerShellScript"),
        (AZURE, ("linux-0",), "linux-0 has no shell: on Azure, sessions reach the API only"),
    ],
)
def test_connect_refuses_with_what_to_do(
    written: Callable[..., None], mullion: Mullion, changes: dict[str, Any], words: tuple[str, ...], says: str
) -> None:
    written(**changes)
    ran = mullion("connect", "dev", *words)
    assert ran.exit_code == Exit.USAGE
    assert says in " ".join(ran.output.split())


def test_connect_names_the_program_that_is_missing(
    written: Callable[..., None], mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    written()
    monkeypatch.setattr(connect.session_commands.shutil, "which", lambda name: None)
    ran = mullion("connect", "dev", "web-0")
    assert ran.exit_code == Exit.FAILED
    assert "session-manager-plugin is not on PATH" in ran.output


def test_a_shell_replaces_the_command_by_that_of_the_cloud(
    written: Callable[..., None], tunnel: list[MachinePlace], mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    written()
    became: list[list[str]] = []
    monkeypatch.setattr(connect.session_commands.shutil, "which", lambda name: name)
    monkeypatch.setattr(connect.os, "execvp", lambda program, words: became.append(words))
    assert mullion("connect", "dev", "web-0").exit_code == Exit.OK
    assert became == [["aws", "ssm", "start-session", "--target", "i-1", "--region", "eu-west-1"]]


KUBECTL = """#!/bin/sh
cp "$KUBECONFIG" {folder}/seen
stat -c %a "$KUBECONFIG" > {folder}/mode
echo "$KUBECONFIG $*" > {folder}/words
exit 9
"""


@pytest.mark.subprocess
def test_kubectl_gets_the_tunnel_and_the_server_name_and_its_code_is_kept(
    written: Callable[..., None],
    tunnel: list[MachinePlace],
    mullion: Mullion,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    written()
    program = tmp_path / "kubectl"
    program.write_text(KUBECTL.format(folder=tmp_path))
    program.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert mullion("kubectl", "dev", "--", "get", "nodes", "-o", "wide").exit_code == 9
    assert [place.instance for place in tunnel] == ["i-1"]
    cluster = yaml.safe_load((tmp_path / "seen").read_text())["clusters"][0]["cluster"]
    assert (cluster["server"], cluster["tls-server-name"]) == ("https://127.0.0.1:40001", "api.dev.mullion.internal")
    path, *words = (tmp_path / "words").read_text().split()
    assert words == ["get", "nodes", "-o", "wide"]
    assert (tmp_path / "mode").read_text() == "600\n"
    assert not Path(path).exists(), "the kubeconfig is removed"


def test_kubectl_says_why_no_tunnel_opens(
    written: Callable[..., None], tunnel: list[MachinePlace], mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    written()

    def refuse(*_: Any) -> None:
        raise NoTunnel("aws is not on PATH; install it")

    monkeypatch.setattr(api_tunnel, "open_tunnel", refuse)
    ran = mullion("kubectl", "dev", "--", "get", "nodes")
    assert ran.exit_code == Exit.FAILED
    assert "the API of dev is private, and no tunnel to it opens: aws is not on PATH" in ran.output


def test_a_sandbox_without_machines_is_refused(
    written: Callable[..., None], mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    written()
    monkeypatch.setattr(boot_site, "in_sandbox", lambda name: True)
    for words in (("connect", "dev"), ("kubectl", "dev", "--", "version")):
        assert mullion(*words).exit_code == Exit.USAGE
