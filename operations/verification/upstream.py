"""Kubernetes' own end-to-end suite for Windows (SMK-15): the command line for a cluster, and how its run is judged.

Source: kubernetes/test/e2e/windows/README.md and kubernetes-sigs/windows-testing, README.md (flags, image lists).
"""

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from operations.verification.questions import Node
from operations.verification.verdicts import Row, Verdict

CHECK = "SMK-15"
FOCUS = r"\[sig-windows\]"
EXCLUDED: dict[str, str] = {
    r"\[LinuxOnly\]": "not for Windows",
    r"\[Serial\]|\[Disruptive\]|\[Slow\]": "they disturb what else runs, or take hours",
    r"GMSA": "it needs a domain",
    r"\[Feature:WindowsHyperVContainers\]": "containers are isolated by processes here",
}
"""Tests that are left out, and why."""
ON_DOCKER = {r"\[Feature:WindowsHostProcessContainers\]": "Docker has no HostProcess containers"}
IMAGES = "KUBE_TEST_REPO_LIST"
"""Variable that names a file with other registries of test images: those of windows-testing for a cluster's builds."""
HOURS = 4


@dataclass(frozen=True)
class Suite:
    """How to run it: the program e2e.test of the cluster's version, and a list of images, if not the suite's own."""

    program: Path
    images: Path | None = None


def command(suite: Suite, kubeconfig: Path, nodes: Iterable[Node], report: Path) -> list[str]:
    """The command line for a cluster with these nodes."""
    mine = [each for each in nodes if each.os == "windows"]
    excluded = {**EXCLUDED, **({} if all(each.runtime.startswith("containerd") for each in mine) else ON_DOCKER)}
    return [
        str(suite.program),
        "--provider=skeleton",
        f"--kubeconfig={kubeconfig}",
        "--node-os-distro=windows",
        f"--ginkgo.focus={FOCUS}",
        f"--ginkgo.skip={'|'.join(excluded)}",
        "--ginkgo.no-color",
        f"--report-dir={report}",
    ]


def run(suite: Suite, kubeconfig: Path, nodes: Iterable[Node], report: Path) -> Row:
    """Run it; what it says goes to report/e2e.log."""
    report.mkdir(parents=True, exist_ok=True)
    images = {IMAGES: str(suite.images)} if suite.images else {}
    argv = command(suite, kubeconfig, nodes, report)
    with (report / "e2e.log").open("wb") as log:
        try:
            ran = subprocess.run(
                argv, stdout=log, stderr=log, check=False, env={**os.environ, **images}, timeout=HOURS * 3600
            )
            said = "" if ran.returncode == 0 else f"it ended with {ran.returncode}"
        except (OSError, subprocess.TimeoutExpired) as error:
            said = str(error)
    verdict = Verdict.FAILED if said else Verdict.PASSED
    return Row(CHECK, "cluster", f"e2e.test {FOCUS}", verdict, f"{said} {report / 'e2e.log'}".strip())
