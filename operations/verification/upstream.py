"""Kubernetes' own end-to-end suite for Windows (SMK-15): its command line, and the verdict on its run.

Source: kubernetes/test/e2e/windows/README.md and kubernetes-sigs/windows-testing, README.md (flags, image lists).
"""

import os
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from operations.console.heartbeat import Heartbeat
from operations.verification.questions import Node
from operations.verification.verdicts import Row, Verdict

CHECK = "SMK-15"
FOCUS = r"\[sig-windows\]"
EXCLUDED: dict[str, str] = {
    r"\[LinuxOnly\]": "not for Windows",
    r"\[Serial\]|\[Disruptive\]|\[Slow\]": "they disturb other workloads, or take hours",
    r"GMSA": "it needs an Active Directory domain, and makes credential specs that the stack file does not have",
    r"\[Feature:WindowsHyperVContainers\]": "containers here have process isolation",
}
"""Excluded tests, with the reason."""
ON_DOCKER = {r"\[Feature:WindowsHostProcessContainers\]": "Docker has no HostProcess containers"}
IMAGES = "KUBE_TEST_REPO_LIST"
"""Environment variable: a file with registries of test images, such as those of windows-testing for a Windows build."""
HOURS = 4
"""Longest run."""
POLL_SECONDS = 1.0
"""Seconds between two checks of the run."""


@dataclass(frozen=True)
class Suite:
    """The program e2e.test of the cluster's version, and its list of test images (default: built in)."""

    program: Path
    images: Path | None = None


def command(suite: Suite, kubeconfig: Path, nodes: Iterable[Node], report: Path) -> list[str]:
    """Return the command line for a cluster with these nodes."""
    windows = [node for node in nodes if node.os == "windows"]
    excluded = {**EXCLUDED, **({} if all(node.runtime.startswith("containerd") for node in windows) else ON_DOCKER)}
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
    """Run the suite, with its output in report/e2e.log, and return its row. Prints every 15 s that it still runs."""
    report.mkdir(parents=True, exist_ok=True)
    images = {IMAGES: str(suite.images)} if suite.images else {}
    argv = command(suite, kubeconfig, nodes, report)
    heart, end = Heartbeat(), time.monotonic() + HOURS * 3600
    failure = ""
    with (report / "e2e.log").open("wb") as log:
        try:
            with subprocess.Popen(argv, stdout=log, stderr=log, env={**os.environ, **images}) as suite_run:
                try:
                    while suite_run.poll() is None and time.monotonic() < end:
                        heart.beat(f"{suite.program}; its output: {report / 'e2e.log'}")
                        with suppress(subprocess.TimeoutExpired):
                            suite_run.wait(POLL_SECONDS)
                    failure = "" if suite_run.poll() is not None else f"it ran longer than {HOURS} h"
                finally:
                    suite_run.kill()
            failure = failure or (f"exit code {suite_run.returncode}" if suite_run.returncode else "")
        except OSError as error:
            failure = str(error)
    verdict = Verdict.FAILED if failure else Verdict.PASSED
    return Row(CHECK, "cluster", f"e2e.test {FOCUS}", verdict, f"{failure} {report / 'e2e.log'}".strip())
