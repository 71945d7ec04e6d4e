""".github/workflows/audit.yml: an advisory fails the nightly run, an incomplete answer does not."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from tools import audit

pytestmark = pytest.mark.subprocess
WORKFLOW = audit.ROOT / ".github" / "workflows" / "audit.yml"


@pytest.mark.parametrize(
    ("code", "ends", "heading", "warns"),
    [
        (0, 0, "### No advisory\n", False),
        (audit.FOUND, audit.FOUND, "### Vulnerable\n", False),
        (audit.INCOMPLETE, 0, "### Incomplete: a database did not answer, so this is no verdict\n", True),
        (127, 127, "### Not run: exit code 127\n", False),
    ],
)
def test_the_nightly_run_tells_an_advisory_from_an_incomplete_answer(
    tmp_path: Path, code: int, ends: int, heading: str, warns: bool
) -> None:
    program = tmp_path / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho "tools/go.mod: said by $*"\nexit {code}\n')
    program.chmod(0o755)
    steps = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]["audit"]["steps"]
    [script] = [step["run"] for step in steps if step.get("name") == "Look up advisories"]
    summary = tmp_path / "summary.md"
    # GitHub runs steps with these options
    ended = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)},
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert ended.returncode == ends, ended.stderr
    assert summary.read_text("utf-8").startswith(heading)
    assert "tools/go.mod: said by -m tools.audit" in summary.read_text("utf-8")
    assert ("::warning title=Audit incomplete::" in ended.stdout) is warns
