"""Routing of requests to services, and the program that serves a cloud state."""

import signal
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from sandbox.cloud_state import SERVICES, CloudState
from sandbox.services.aws import target
from sandbox.services.calls import Call, Target

S3, KEY = "b.s3.eu-west-1.amazonaws.com", "status/A:i-1.json"
CASES = {
    "a bucket's own name": (S3, "/status/A%3Ai-1.json", {}, Target("s3", "eu-west-1", "b", KEY)),
    "a name and a port": (f"{S3}:80", "/k", {}, Target("s3", "eu-west-1", "b", "k")),
    "the name of all buckets": ("s3.eu-west-1.amazonaws.com", "/b/k", {}, Target("s3", "eu-west-1", "b", "k")),
    "secrets": ("secretsmanager.us-east-1.amazonaws.com", "/", {}, Target("secretsmanager", "us-east-1")),
    "machines": ("ec2.eu-west-1.amazonaws.com", "/", {}, Target("ec2", "eu-west-1")),
    "metadata": ("169.254.169.254", "/latest/meta-data/", {}, Target("metadata")),
    "an object whose name begins like metadata": (S3, "/latest/a", {}, Target("s3", "eu-west-1", "b", "latest/a")),
    "metadata on loopback": ("127.0.0.1:9", "/latest/api/token", {}, Target("metadata")),
    "secrets on loopback": ("127.0.0.1:9", "/", {"x-amz-target": "secretsmanager.X"}, Target("secretsmanager")),
    "machines on loopback": ("127.0.0.1:9", "/", {}, Target("ec2")),
    "objects on loopback": ("127.0.0.1:9", "/b/a/c", {}, Target("s3", "", "b", "a/c")),
}


@pytest.mark.parametrize(("host", "path", "headers", "expected"), CASES.values(), ids=CASES)
def test_the_host_or_the_request_selects_the_service(host: str, path: str, headers: dict, expected: Target) -> None:
    assert target(Call("GET", path, "", {"host": host, **headers}, b"")) == expected


def served(*words: object) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-m", "sandbox.services", *map(str, words)]
    return subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
    )


@pytest.mark.subprocess
def test_the_program_serves_until_a_signal(tmp_path: Path) -> None:
    cloud_state = CloudState(tmp_path / "world")
    with cloud_state.transaction():
        cloud_state.set_setting(SERVICES, "http")
    cloud_state.close()
    with served(tmp_path / "world", "--address", "127.0.0.1:0") as run:
        assert run.stdout is not None
        url = run.stdout.readline().strip()
        with pytest.raises(HTTPError) as caught:
            urlopen(f"{url}/nobodys/key")
        with caught.value as error:
            assert b"<Code>NoSuchBucket</Code>" in error.read()
        run.send_signal(signal.SIGTERM)
        assert run.wait(20) == 0


@pytest.mark.subprocess
def test_the_program_refuses_a_missing_cloud_state_and_one_with_https_machines(tmp_path: Path) -> None:
    CloudState(tmp_path / "world").close()
    for path, said in ((tmp_path / "world", "services = http"), (tmp_path / "none", "there is no cloud state")):
        with served(path) as run:
            assert said in " ".join(run.communicate(timeout=20)[1].split())
            assert run.returncode == 2
    assert not (tmp_path / "none").exists()
