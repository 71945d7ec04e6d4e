"""Kubernetes' own suite for Windows (SMK-15): its command line, and its verdict."""

from pathlib import Path

import pytest

from operations.verification.questions import Node
from operations.verification.upstream import EXCLUDED, FOCUS, ON_DOCKER, Suite, command, run
from operations.verification.verdicts import Verdict

CONTAINERD = Node("web-0", "windows", "10.20.0.6", True, False, "10.0.17763", "containerd://2.1.4")
DOCKER = Node("web-1", "windows", "10.20.0.7", True, False, "10.0.17763", "docker://28.5.2")
LINUX = Node("linux-0", "linux", "10.20.0.5", True, False, "", "containerd://2.1.4")


@pytest.mark.parametrize(("node", "more"), [(CONTAINERD, {}), (DOCKER, ON_DOCKER)], ids=["containerd", "docker"])
def test_smk_15_the_command_line_has_the_focus_and_the_exclusions_of_the_runtime(
    node: Node, more: dict[str, str], tmp_path: Path
) -> None:
    words = command(Suite(Path("/e2e.test")), tmp_path / "kubeconfig", [LINUX, node], tmp_path / "report")
    flags: dict[str, str] = {each.partition("=")[0]: each.partition("=")[2] for each in words[1:]}
    assert (words[0], flags["--node-os-distro"], flags["--ginkgo.focus"]) == ("/e2e.test", "windows", FOCUS)
    assert flags["--kubeconfig"] == str(tmp_path / "kubeconfig")
    assert set("|".join({**EXCLUDED, **more}).split("|")) == set(flags["--ginkgo.skip"].split("|"))


@pytest.mark.subprocess
@pytest.mark.parametrize(("code", "verdict"), [(0, Verdict.PASSED), (1, Verdict.FAILED)], ids=["passes", "fails"])
def test_smk_15_the_exit_code_decides_the_verdict_and_the_output_is_kept(
    code: int, verdict: Verdict, tmp_path: Path
) -> None:
    program = tmp_path / "e2e.test"
    program.write_text(f'#!/bin/sh\necho "images $KUBE_TEST_REPO_LIST"\nexit {code}\n')
    program.chmod(0o755)
    row = run(Suite(program, Path("/list")), tmp_path / "kubeconfig", [CONTAINERD], tmp_path / "report")
    assert (row.check, row.verdict) == ("SMK-15", verdict)
    assert (tmp_path / "report" / "e2e.log").read_text() == "images /list\n"


@pytest.mark.subprocess
def test_smk_15_a_program_that_cannot_start_fails_with_the_reason(tmp_path: Path) -> None:
    row = run(Suite(tmp_path / "none"), tmp_path / "kubeconfig", [CONTAINERD], tmp_path / "report")
    assert row.verdict is Verdict.FAILED
    assert "none" in row.said
