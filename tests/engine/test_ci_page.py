"""docs/ci.md shows what the commands print: the page's outputs against those of the real engine in the sandbox."""

import shutil
import sys
from pathlib import Path

import pytest

from operations.engine.locate import Engine

from .ci_page import NAME, PAGE, lacking, lines, shown
from .clone import Clone
from .test_reap_by_tags import tomorrow

pytestmark = [pytest.mark.sampled, pytest.mark.engine]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Clone:
    copy = Clone(tmp_path_factory.mktemp("clone"), engine)
    copy.sandbox = copy.folder / ".mullion" / "sandbox" / NAME
    return copy


def test_the_page_shows_what_run_ls_and_reap_print(clone: Clone) -> None:
    mullion = f"{sys.executable} -m operations"
    smoke = clone.folder / "smoke.sh"
    smoke.write_text(f"#!/bin/sh\n{mullion} ls >ls.txt && {mullion} reap --sandbox >reap.txt && echo testing {NAME}\n")
    smoke.chmod(0o755)
    ran = clone.run("run", "aws-ci", "--sandbox", "--name", NAME, "--ttl", "2h", "--", "./smoke.sh")
    assert ran.returncode == 0, ran.stderr
    page = shown("$ mullion run aws-ci --sandbox --name ci-4711 --ttl 2h -- ./smoke.sh")
    assert f"testing {NAME}" in page
    assert lacking([line for line in page if line != f"testing {NAME}"], ran.stderr) == []
    assert lines(ran.stdout) == [f"testing {NAME}"]
    assert lacking(shown("$ mullion ls\n"), (clone.folder / "ls.txt").read_text()) == []
    assert lacking(shown("$ mullion reap --sandbox\n"), (clone.folder / "reap.txt").read_text()) == []


def test_the_page_shows_what_a_failed_run_and_the_reapers_print(clone: Clone, tmp_path: Path) -> None:
    words = ("run", "aws-ci", "--sandbox", "--name", NAME, "--ttl", "2h", "--keep-on-failure", "1h")
    ran = clone.run(*words, "--", "sh", "-c", "exit 7")
    assert ran.returncode == 7, ran.stderr
    printed = ran.stderr.replace(f"{clone.folder}/", "")  # the page shows paths in the clone
    assert lacking(shown(f"mullion: cluster {NAME} is kept until"), printed) == [], printed

    shutil.move(clone.sandbox / "state", tmp_path / "state")
    by_tags = ("reap", "--by-tags", "aws", "--regions", "eu-west-1,eu-central-1")
    lost = tomorrow(clone, *by_tags, "--sandbox")
    assert lacking(shown(f"$ mullion {' '.join(by_tags)}\n"), lost.stdout) == [], lost.stdout + lost.stderr
    shutil.move(tmp_path / "state", clone.sandbox / "state")

    reaped = tomorrow(clone, "reap", "--sandbox", "--yes", "--format", "markdown")
    assert reaped.returncode == 0, reaped.stderr
    table = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(("| cluster |", f"| {NAME} |"))]
    assert len(table) == 2
    assert lacking(lines("\n".join(table)), reaped.stdout) == []
