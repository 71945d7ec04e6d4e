"""A private cluster with `access: session`, booted by the command: people and rolls reach its API by a tunnel.

The lab's stand-ins of the clouds' session commands carry the tunnels (docs/private-access.md).
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.stack_files.stack import CLUSTER
from lab import build
from lab.programs import cluster_programs
from operations.engine.locate import Engine
from operations.stacks.paths import REPOSITORY
from tests.awaited import until
from tests.lab.cluster.asking import IMAGE
from tests.lab.cluster.clone import Clone

pytestmark = [pytest.mark.lab, pytest.mark.engine]

CLOUDS = ("aws", pytest.param("azure", marks=pytest.mark.soak), pytest.param("gcp", marks=pytest.mark.soak))
GRACE_SECONDS = 5
"""Longest time in which a pod of the test ends."""


def private(cloud: str) -> dict[str, Any]:
    """Return the cluster of CLOUD-dev with sessions to a private API, and without its Windows pool."""
    text = (REPOSITORY / "stacks" / f"Pulumi.{cloud}-dev.yaml").read_text("utf-8")
    config = yaml.safe_load(text)["config"]
    cluster = config[CLUSTER]
    pools = {"linux": cluster["pools"]["linux"]}
    api = {**cluster.get("api", {}), "access": "private"}
    return {**config, CLUSTER: {**cluster, "access": "session", "api": api, "pools": pools}}


class Private(Clone):
    """The clone with a booted private cluster, whose commands find kubectl."""

    def __init__(self, folder: Path, cloud: str, kubernetes: str) -> None:
        super().__init__(folder, f"{cloud}-dev")
        file = folder / "stacks" / f"Pulumi.{self.stack}.yaml"
        file.write_text(yaml.safe_dump({"config": private(cloud)}), "utf-8")
        (kubectl,) = (each for each in cluster_programs(kubernetes) if (each.name, each.os) == ("kubectl", "linux"))
        self.kubectl_program = build.place(kubectl)

    def kubectl(self, *words: str) -> str:
        """Run `mullion kubectl`; return its output."""
        return self.mullion("kubectl", self.stack, "--", *words)

    def document(self, *words: str) -> Any:
        """Return the object that kubectl prints."""
        return json.loads(self.kubectl(*words, "--output", "json"))


@pytest.fixture(scope="module", params=CLOUDS)
def cluster(
    request: pytest.FixtureRequest, built: str, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Private]:
    """Return the booted cluster of a cloud."""
    made = Private(tmp_path_factory.mktemp("private"), request.param, built)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{made.kubectl_program.parent}{os.pathsep}{os.environ['PATH']}")
        made.mullion("up", made.stack, "--sandbox", "--yes", "--bootable", "--kubernetes", built)
        try:
            made.mullion("sandbox", "boot", made.stack)
            yield made
        finally:
            made.mullion("down", made.stack, "--sandbox", "--yes")


@contextmanager
def connected(made: Private) -> Iterator[Path]:
    """Open a tunnel with `mullion connect`, as a person does in another terminal; yield the kubeconfig's path."""
    words = made.argv("connect", made.stack)
    with subprocess.Popen(words, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as tunnel:
        assert tunnel.stdout
        try:
            printed = [tunnel.stdout.readline() for _ in range(3)]
            assert printed[0].startswith(f"kubeconfig of {made.stack}: "), printed
            yield REPOSITORY / printed[0].partition(": ")[2].strip()
        finally:
            tunnel.terminate()
    assert tunnel.returncode == 0


def test_kubectl_reaches_the_private_api_only_by_the_tunnel(cluster: Private) -> None:
    with connected(cluster) as path:
        assert path.stat().st_mode & 0o077 == 0
        words = [cluster.kubectl_program, "--kubeconfig", path, "get", "nodes", "--output", "name"]
        assert subprocess.check_output(words, text=True).split() == ["node/control-plane-0", "node/linux-0"]
        server = yaml.safe_load(path.read_text())["clusters"][0]["cluster"]["server"]
        assert server.startswith("https://127.0.0.1:")
        kept = path.with_name("copy")
        kept.write_bytes(path.read_bytes())
    assert not path.exists()
    again = [cluster.kubectl_program, "--kubeconfig", kept, "get", "nodes", "--request-timeout", "5s"]
    assert "refused" in subprocess.run(again, capture_output=True, text=True, check=False).stderr
    assert len(cluster.document("get", "nodes")["items"]) == 2


@pytest.mark.soak
def test_verify_opens_a_tunnel_itself(cluster: Private) -> None:
    report = json.loads(cluster.mullion("verify", cluster.stack, "--json"))
    assert report["failed"] == 0
    assert "SMK-02" in {row["check"] for row in report["rows"] if row["verdict"] == "passed"}


def test_a_roll_drains_the_worker_through_a_tunnel(cluster: Private) -> None:
    cluster.kubectl(
        *("create", "deployment", "web", "--image", IMAGE, "--", "/bin/busybox", "sleep", "99999"),
    )
    patch = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": GRACE_SECONDS}}}}
    cluster.kubectl("patch", "deployment", "web", "--patch", json.dumps(patch))
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=240s")
    until(lambda: len(pods(cluster)) == 1, "the pod before the patch is gone")
    (pod,) = pods(cluster)
    before = cluster.document("get", "node", "linux-0")["metadata"]["uid"]
    printed = cluster.mullion("roll", cluster.stack, "linux", "--sandbox", "--yes")
    assert "not drained" not in printed
    assert cluster.document("get", "node", "linux-0")["metadata"]["uid"] != before
    assert any(f"/pods/{pod}/eviction" in line for line in cluster.audit_lines()), "the pod was not evicted"
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=240s")
    cluster.kubectl("delete", "deployment", "web")


def pods(cluster: Private) -> list[str]:
    """Return the names of the test's pods."""
    items = cluster.document("get", "pods", "--selector", "app=web")["items"]
    return [each["metadata"]["name"] for each in items]


def test_a_person_gets_a_shell_or_runs_a_command_on_a_machine(cluster: Private) -> None:
    azure = cluster.stack.startswith("azure")
    words = cluster.argv("connect", cluster.stack, "linux-0", *(("--", "id -un && hostname") if azure else ()))
    typed = None if azure else "id -un && hostname\n"
    ran = subprocess.run(words, cwd=REPOSITORY, input=typed, capture_output=True, text=True, check=False, timeout=120)
    assert ran.stdout.split()[-2:] == ["root", "linux-0"], ran.stdout + ran.stderr
