"""The token file of GitHub jobs on Azure: the action writes it, a process renews it, and Azure's SDK reads it."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import yaml
from azure.core.exceptions import ClientAuthenticationError
from azure.core.pipeline.transport import HttpTransport
from azure.identity import WorkloadIdentityCredential

from operations.stacks.paths import REPOSITORY
from tests.awaited import until

from . import token_service, workspace

pytestmark = pytest.mark.subprocess

RENEWED_SECONDS = 60
"""Longest wait for a renewed token on a busy machine."""


class Entra(HttpTransport[Any, Any]):
    """Microsoft Entra ID: records the assertion of each request, and refuses it."""

    def __init__(self) -> None:
        self.assertions: list[str] = []

    def send(self, request: Any, **kwargs: Any) -> Any:
        body = request.body or request.data or ""
        body = body if isinstance(body, str) else "&".join(f"{key}={value}" for key, value in body.items())
        self.assertions += parse_qs(body).get("client_assertion", [])
        raise ClientAuthenticationError("refused by the test")

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def __exit__(self, *args: Any) -> None:
        pass


@pytest.fixture
def job(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Give the environment of a job, in a process group of the test that is ended after it."""
    with token_service.serving(fails=2) as variables:
        yield workspace.environment(
            tmp_path,
            **variables,
            RUNNER_TEMP=str(tmp_path),
            GITHUB_ENV=str(tmp_path / "env"),
            PERIOD="0.2",
            CLIENT="client",
            TENANT="tenant",
            SUBSCRIPTION="subscription",
        )
    for each in Path("/proc").glob("[0-9]*/environ"):
        try:
            mine = f"RUNNER_TEMP={tmp_path}".encode() in each.read_bytes().split(b"\0")
        except OSError:
            continue
        if mine and int(each.parent.name) != os.getpid():
            os.kill(int(each.parent.name), signal.SIGKILL)


def script() -> str:
    """Return the step's script."""
    action = yaml.safe_load((REPOSITORY / ".github" / "actions" / "setup" / "action.yml").read_text())
    [found] = [each["run"] for each in action["runs"]["steps"] if "github_token" in each.get("run", "")]
    return found


def asserted(variables: dict[str, str]) -> str:
    """Return the assertion that Azure's SDK sends for an access token, as a new process of the engine does."""
    entra = Entra()
    with pytest.raises(ClientAuthenticationError):
        WorkloadIdentityCredential(
            tenant_id=variables["AZURE_TENANT_ID"],
            client_id=variables["AZURE_CLIENT_ID"],
            token_file_path=variables["AZURE_FEDERATED_TOKEN_FILE"],
            disable_instance_discovery=True,
            transport=entra,
        ).get_token("https://storage.azure.com/.default")
    return entra.assertions[0] if entra.assertions else ""


def ran(job: dict[str, str]) -> tuple[int, str]:
    """Run the step; return its code and output. What it starts goes on, as on a runner until the job ends."""
    output = Path(job["RUNNER_TEMP"]) / "output"
    with output.open("w") as out:
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script()]
        done = subprocess.run(words, cwd=REPOSITORY, env=job, stdout=out, stderr=out, check=False, timeout=120)
    return done.returncode, output.read_text()


def test_the_backend_reads_a_token_that_is_renewed_for_the_whole_job(job: dict[str, str]) -> None:
    code, output = ran(job)
    assert code == 0, output
    variables = dict(line.split("=", 1) for line in Path(job["GITHUB_ENV"]).read_text().splitlines())
    assert variables["ARM_USE_OIDC"] == "true"
    file = Path(variables["AZURE_FEDERATED_TOKEN_FILE"])
    first = asserted(variables)
    assert first.startswith("token-")
    assert file.stat().st_mode & 0o077 == 0
    end = time.monotonic() + RENEWED_SECONDS
    while file.read_text() in (first, "token-2") and time.monotonic() < end:
        time.sleep(0.1)
    renewed = asserted(variables)
    assert int(renewed.removeprefix("token-")) > 2, "the second request failed, and a later one was tried"
    log = (Path(job["RUNNER_TEMP"]) / "mullion-azure-token.log").read_text()
    assert "no new token: HTTP Error 500" in log
    assert "token-" not in log


def test_az_is_signed_in_again_with_a_fresh_token_that_no_command_line_has(job: dict[str, str], tmp_path: Path) -> None:
    """`az` keeps the token of its sign-in, and GitHub's are valid for five minutes."""
    programs, calls = tmp_path / "programs", tmp_path / "calls"
    programs.mkdir()
    az = programs / "az"
    az.write_text(
        f'#!/bin/bash\nfor word; do [[ $word != @* ]] || echo "read $(<"${{word#@}}")" >>{calls}; done\n'
        f'echo "az $*" >>{calls}\necho "a secret of az" >&2\n[[ $1 == login ]]\n'
    )
    az.chmod(0o755)
    job["PATH"] = f"{programs}:{job['PATH']}"
    code, output = ran(job)
    assert code == 0, output
    until(lambda: calls.exists() and calls.read_text().count("az login") > 1, "waiting for a second sign-in", 60)
    lines = calls.read_text().splitlines()
    file = Path(job["RUNNER_TEMP"]) / "mullion-azure-token"
    assert lines[1] == (
        f"az login --service-principal --username client --tenant tenant --federated-token @{file} --output none"
        " --only-show-errors"
    )
    assert lines[2] == "az account set --subscription subscription --output none --only-show-errors"
    first, second = [line for line in lines if line.startswith("read token-")][:2]
    assert first != second
    log = (Path(job["RUNNER_TEMP"]) / "mullion-azure-token.log").read_text()
    assert "no new token: az account ended with 1" in log
    assert "a secret of az" not in log


def test_a_job_without_the_right_to_a_token_fails_at_once(job: dict[str, str]) -> None:
    del job["ACTIONS_ID_TOKEN_REQUEST_URL"]
    code, output = ran(job)
    assert code == 1
    assert "ACTIONS_ID_TOKEN_REQUEST_URL" in output
    assert not Path(job["GITHUB_ENV"]).exists()
