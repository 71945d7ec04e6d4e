"""`mullion connect` and `mullion kubectl`: what they refuse, and the kubeconfig that kubectl gets."""

import json
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
from operations.stacks import boot_site, stack_files
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
        (AZURE, ("web-0",), "mullion connect dev web-0 -- COMMAND"),
        (AZURE, ("linux-0",), "linux-0 has no shell: on Azure, sessions reach the API only"),
        ({}, ("web-0", "--", "hostname"), "on AWS, run the command in a shell: mullion connect dev web-0"),
        (AZURE, ("web-7", "--", "hostname"), "stack dev has no machine 'web-7'"),
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


@pytest.mark.subprocess
def test_a_shell_replaces_the_command_by_that_of_the_cloud(
    written: Callable[..., None], tunnel: list[MachinePlace], mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    written()
    became: list[list[str]] = []
    monkeypatch.setattr(connect.session_commands.shutil, "which", lambda name: name)
    monkeypatch.setattr(connect.os, "execvp", lambda program, words: became.append(words))
    assert mullion("connect", "dev", "web-0").exit_code == Exit.OK
    assert became == [["aws", "ssm", "start-session", "--target", "i-1", "--region", "eu-west-1"]]


@pytest.mark.subprocess
def test_a_shell_names_credentials_of_the_stack_file_that_the_command_does_not_use(
    written: Callable[..., None], tunnel: list[MachinePlace], mullion: Mullion, monkeypatch: pytest.MonkeyPatch
) -> None:
    written()
    monkeypatch.setattr(connect.session_commands.shutil, "which", lambda name: name)
    monkeypatch.setattr(connect.os, "execvp", lambda *_: None)
    assert "aws ssm" not in mullion("connect", "dev", "web-0").output
    whole, roles = stack_files.config, [{"roleArn": "arn:aws:iam::111122223333:role/build"}]
    monkeypatch.setattr(stack_files, "config", lambda name: {**whole(name), "aws:assumeRoles": roles})
    said = " ".join(mullion("connect", "dev", "web-0").output.split())
    assert "the stack file sets aws:assumeRoles, which `aws ssm` does not use" in said


RESOURCE = "/subscriptions/s/resourceGroups/dev/providers/Microsoft.Compute/virtualMachines/linux-0"
AZ = """#!/bin/sh
echo "$*" > {folder}/words
for word; do case $word in
@*) stat -c %a $(dirname ${{word#@}}) > {folder}/mode; sh ${{word#@}} > {folder}/out;;
esac; done
[ {code} = 0 ] || {{ echo "ERROR: (AuthorizationFailed)" >&2; exit {code}; }}
cat {folder}/answer
"""


@pytest.fixture
def az(
    tunnel: list[MachinePlace], written: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[str, int], None]:
    """Return a function that puts an `az` on PATH with this answer and exit code. It runs the script on this host."""
    written(**AZURE | {"access": "none"})
    monkeypatch.setattr(state, "instances", lambda resources: {"linux-0": {"resource": RESOURCE}})

    def put(answer: str, code: int) -> None:
        program = tmp_path / "az"
        program.write_text(AZ.format(folder=tmp_path, code=code))
        program.chmod(stat.S_IRWXU)
        (tmp_path / "answer").write_text(answer)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return put


def answer(message: str) -> str:
    return json.dumps({"value": [{"code": "ProvisioningState/succeeded", "message": message}]})


@pytest.mark.subprocess
def test_a_command_on_azure_needs_no_session_and_its_words_are_in_a_file_that_is_removed(
    az: Callable[[str, int], None], mullion: Mullion, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    az(answer("Enable succeeded: \n[stdout]\nfour\nmullion-exit-code: 3\n\n[stderr]\na warning\n"), 0)
    ran = mullion("connect", "dev", "linux-0", "--", "echo four; (exit 3)")
    assert (ran.exit_code, ran.stdout, ran.stderr) == (3, "four\n", "a warning\n")
    words = (tmp_path / "words").read_text().split()
    assert words[:7] == ["vm", "run-command", "invoke", "--ids", RESOURCE, "--command-id", "RunShellScript"]
    assert "four" not in " ".join(words) and words[-2:] == ["--output", "json"]
    assert (tmp_path / "mode").read_text() == "700\n"
    assert (tmp_path / "out").read_text() == "four\nmullion-exit-code: 3\n", "a real shell runs the script"
    assert not Path(words[8].removeprefix("@")).exists()


@pytest.mark.subprocess
@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", 1, "Azure did not run the command on linux-0"),
        ("[]", 0, "az printed no result of a run command"),
        (answer("Enable succeeded: \n[stdout]\n\n[stderr]\nsyntax error\n"), 0, "linux-0 reported no exit code"),
    ],
)
def test_a_command_on_azure_without_a_result_fails(
    az: Callable[[str, int], None], mullion: Mullion, text: str, code: int, says: str
) -> None:
    az(text, code)
    ran = mullion("connect", "dev", "linux-0", "--", "true")
    assert ran.exit_code == Exit.FAILED
    assert says in " ".join(ran.output.split())


@pytest.mark.subprocess
def test_output_that_azure_cuts_is_said_to_be_cut(az: Callable[[str, int], None], mullion: Mullion) -> None:
    az(answer(f"Enable succeeded: \n[stdout]\n{4050 * 'x'}\nmullion-exit-code: 0\n\n[stderr]\n"), 0)
    ran = mullion("connect", "dev", "linux-0", "--", "true")
    assert ran.exit_code == Exit.OK
    assert "Azure returns its last 4096 bytes" in ran.output


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
