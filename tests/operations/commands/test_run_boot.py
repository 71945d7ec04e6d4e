"""`mullion run --boot`, and the ways into a cluster that `--keep-on-failure` kept; the engine is a stand-in here."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from lab import cluster as programs
from operations.commands import run, sandbox_boot
from operations.console.exits import Exit
from tests.operations.commands.runs import Cluster, nothing_left

Run = Callable[..., Result]


@pytest.fixture
def hosts_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines boot on this host; programs of 1.37.1 alone are built."""
    monkeypatch.setattr(sandbox_boot, "lacking", lambda: "")
    monkeypatch.setattr(programs, "is_built", lambda version, needs: version == "1.37.1")
    monkeypatch.setattr(programs, "built", lambda needs: ["1.37.1"])


@pytest.mark.subprocess
@pytest.mark.usefixtures("hosts_boot")
def test_boot_builds_bootable_machines_and_boots_them_instead_of_waiting(cluster: Cluster, mullion_run: Run) -> None:
    result = mullion_run("--boot", "--set", "kubernetes=1.37.1", "--set", "acknowledge={}", "--verify", "none")
    assert result.exit_code == 0, result.stderr
    assert cluster.bootable
    assert cluster.calls == ["up", "boot", "down"]


@pytest.mark.subprocess
@pytest.mark.usefixtures("hosts_boot")
def test_verify_begins_while_machines_that_run_no_pods_still_boot(
    clone: Path, cluster: Cluster, mullion_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run.boot_site, "api", lambda name: "https://127.0.0.1:6443")
    result = mullion_run("--boot", "--set", "kubernetes=1.37.1", "--set", "acknowledge={}")
    assert result.exit_code == 0, result.stderr
    assert cluster.calls == ["up", "boot what runs pods", "verify", "boot", "down"]
    phases = json.loads((clone / "art" / "result.json").read_text())["phases"]
    assert [phase["name"] for phase in phases] == ["up", "wait", "verify", "command", "down"]


@pytest.mark.usefixtures("hosts_boot")
def test_a_version_that_is_not_built_is_refused_with_the_setting_that_chooses_another(
    clone: Path, cluster: Cluster, mullion_run: Run
) -> None:
    result = mullion_run("--boot")
    assert result.exit_code == Exit.FAILED
    assert "Or boot a version that is built: --set kubernetes=1.37.1" in result.stderr
    assert cluster.calls == []
    assert nothing_left(clone)


def test_a_host_on_which_no_machine_boots_is_refused_before_anything_is_built(
    clone: Path, cluster: Cluster, mullion_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_boot, "lacking", lambda: "it needs root")
    result = mullion_run("--boot")
    assert (result.exit_code, cluster.calls) == (Exit.FAILED, [])
    assert "no machine can boot here: it needs root" in result.stderr
    assert nothing_left(clone)


def test_boot_without_the_sandbox_is_refused(clone: Path, cluster: Cluster, mullion: Run) -> None:
    result = mullion("run", "small", "--boot", "--yes", "--", "true")
    assert (result.exit_code, cluster.calls) == (Exit.USAGE, [])
    assert "--boot needs --sandbox" in result.stderr


SESSION = ("--set", "access=session")
PUBLIC = ("--set", "api={access: public, allow: [198.51.100.7/32]}")


@pytest.mark.subprocess
@pytest.mark.parametrize(
    ("options", "says", "not_said"),
    [
        ((), ("export KUBECONFIG=", "kubectl get nodes   # the API is private"), "mullion kubectl"),
        (SESSION, ("mullion kubectl ci-1 -- get nodes", "mullion connect ci-1 "), "export KUBECONFIG="),
        (PUBLIC, ("export KUBECONFIG=", "kubectl get nodes\n"), "private"),
        ((*SESSION, *PUBLIC), ("export KUBECONFIG=", "kubectl get nodes\n"), "mullion kubectl"),
    ],
)
def test_a_kept_cluster_is_reached_by_its_kubeconfig_or_by_sessions(
    options: tuple[str, ...], says: tuple[str, ...], not_said: str, cluster: Cluster, mullion_run: Run
) -> None:
    result = mullion_run("--keep-on-failure", "1h", *options, command=("false",))
    printed = result.stderr.partition("is kept until")[2]
    assert all(each in printed for each in says), result.stderr
    assert not_said not in printed
