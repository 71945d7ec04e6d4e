"""Checks the files of CI: workflows and scripts by actionlint and shellcheck, all pipelines by published schemas.

actionlint is built once from the Go module that tools/actionlint/go.mod pins. shellcheck and the schemas are packages
of requirements.lock. `make lint` runs this.
"""

import importlib
import importlib.resources
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft7Validator, validators

from tools.go_programs import built

ROOT = Path(__file__).resolve().parents[1]
PINS = ROOT / "tools" / "actionlint"
AzureValidator: Any = validators.extend(
    Draft7Validator,
    type_checker=Draft7Validator.TYPE_CHECKER.redefine("boolean", lambda _, value: value in ("true", "false")),
)
"""Accepts the texts `true` and `false` as booleans, because Azure Pipelines reads all scalars as text."""
SCRIPT_KEYS = ("run", "bash", "inlineScript", "before_script", "script", "after_script")
"""Keys whose value is a shell script: of GitHub, Azure Pipelines, GitLab."""
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}|\$\([\w.]+\)")
_NAMES = {".github/workflows": "*.yml", "ci/examples": "github*.yml"}
"""Pattern of the names of GitHub's workflows, by folder."""
SHELLCHECK = Path(sys.executable).parent / "shellcheck"


def main() -> None:
    """Print the errors in the pipelines of this clone; exit with 1 if there are any."""
    wrong = [*schema_errors(ROOT), *shell_errors(ROOT), *workflow_errors(ROOT, built(PINS))]
    print("\n".join(wrong) or "pipelines: no errors")
    sys.exit(bool(wrong))


def scripts(root: Path) -> list[Path]:
    """Return the shell scripts of CI that are files."""
    return [*sorted((root / "ci").rglob("*.sh")), root / ".ci" / "run"]


def actions(root: Path) -> list[Path]:
    """Return GitHub's local actions."""
    return sorted((root / ".github" / "actions").glob("*/action.yml"))


def pipelines(root: Path) -> list[Path]:
    """Return the files of GitLab CI and Azure Pipelines."""
    return [path for part in ("gitlab", "azure", "examples") for path in sorted((root / "ci" / part).glob("*.yml"))]


def inline_scripts(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the scripts inside pipelines and actions: where they are (file: path of keys), and their text.

    Expressions that the service replaces (`${{ }}`, and `$(NAME)` of Azure Pipelines) are words here.
    """
    for file in dict.fromkeys((*workflows(root), *actions(root), *pipelines(root))):
        for where, text in _inline(yaml.load(file.read_text("utf-8"), Loader=yaml.BaseLoader), ""):  # noqa: S506 # nosec B506
            yield f"{file.relative_to(root)}: {where.removeprefix('.')}", _EXPRESSION.sub("replaced", text)


def _inline(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _inline(each, f"{where}[{index}]")
    if not isinstance(value, dict):
        return
    for key, each in value.items():
        path = f"{where}.{key}"
        if key in SCRIPT_KEYS and isinstance(each, str):
            yield path, f"{each}\n"
        elif key in SCRIPT_KEYS and isinstance(each, list):  # GitLab runs the lines in one shell
            yield path, "\n".join([*each, ""])
        else:
            yield from _inline(each, path)


def workflows(root: Path) -> list[Path]:
    """Return GitHub's workflows, with the examples in ci/examples."""
    return [file for folder, names in _NAMES.items() for file in sorted((root / folder).glob(names))]


def schema_errors(root: Path) -> Iterator[str]:
    """Yield the errors by the published schemas of GitHub, GitLab and Azure Pipelines, with their paths."""
    examples = root / "ci" / "examples"
    gitlab = [*sorted((root / "ci" / "gitlab").glob("*.yml")), examples / "gitlab.yml"]
    azure = [*sorted((root / "ci" / "azure").glob("*.yml")), examples / "azure.yml"]
    for schema, files, read in (
        ("github-workflows", workflows(root), _plain),
        ("github-actions", actions(root), _plain),
        ("gitlab-ci", gitlab, _gitlab),
        ("azure-pipelines", azure, _azure),
    ):
        validator = (AzureValidator if schema == "azure-pipelines" else Draft7Validator)(_schema(schema))
        for file in files:
            for error in sorted(validator.iter_errors(read(file.read_text("utf-8"))), key=lambda each: each.json_path):
                best = min(error.context or [error], key=lambda each: -len(each.absolute_path))
                yield f"{file.relative_to(root)}: {best.json_path}: {best.message[:300]} (schema {schema})"


def _schema(name: str) -> Any:
    vendor = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    return json.loads((vendor / f"{name}.json").read_text("utf-8"))


def _plain(text: str) -> Any:
    document = yaml.safe_load(text)
    if True in document:  # YAML 1.1 reads the key `on` as true
        document["on"] = document.pop(True)
    return document


def _gitlab(text: str) -> Any:
    """Return the document with its templates as jobs, because the schema skips names that begin with a dot."""
    jobs = _plain(text)
    whole = {name: {**jobs.get(job.get("extends"), {}), **job} for name, job in jobs.items() if name.startswith(".")}
    return {**jobs, **{name.lstrip("."): job for name, job in whole.items() if "script" in job}}


def _azure(text: str) -> Any:
    """Read every scalar as text, and replace `${{ if }}` and `${{ each }}` by their content."""
    transform = importlib.import_module("check_jsonschema.transforms.azure_pipelines")
    return transform.traverse_data(yaml.load(text, Loader=yaml.BaseLoader))  # noqa: S506 # nosec B506


def shell_errors(root: Path) -> list[str]:
    """Return shellcheck's messages about the scripts, also about those inside pipelines."""
    with tempfile.TemporaryDirectory() as scratch:
        named = {f"{index}.sh": each for index, each in enumerate(inline_scripts(root))}
        for name, (_, text) in named.items():
            (Path(scratch) / name).write_text(text)
        inside = _said([SHELLCHECK, "--format=gcc", "--shell=bash", *named], Path(scratch))
    found = [line.partition(":") for line in inside]
    return [
        *_said([SHELLCHECK, "--format=gcc", *scripts(root)], root),
        *(f"{named[name][0]}: line {rest}" if name in named else name + colon + rest for name, colon, rest in found),
    ]


def workflow_errors(root: Path, program: Path) -> list[str]:
    """Return actionlint's messages about the workflows and their local actions; it also runs shellcheck."""
    with tempfile.TemporaryDirectory() as scratch:
        # actionlint needs the root of a repository to find local actions, and reads workflows only in their folder
        for part in (".github", "ci"):
            shutil.copytree(root / part, Path(scratch) / part)
        for example in (root / "ci" / "examples").glob(_NAMES["ci/examples"]):
            shutil.copy(example, Path(scratch) / ".github" / "workflows" / f"example-{example.name}")
        (Path(scratch) / ".git").mkdir()
        return _said([program, "-oneline", "-shellcheck", SHELLCHECK], Path(scratch))


def _said(command: list[str | Path], folder: Path) -> list[str]:
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode > 1:
        return [f"{Path(command[0]).name} ended with {done.returncode}: {done.stdout}{done.stderr}".strip()]
    return done.stdout.splitlines()


if __name__ == "__main__":
    main()
