"""The file of artefact entries that a stack names, read once, with the stack: its entries become part of the spec."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from components.checks.check import Path as Place
from components.spec.form import FORMS
from components.spec.options import ArtifactEntry
from components.spec.report import Problem
from components.spec.wording import shown
from components.stack_files.validation_errors import explain

PROJECT = Path(__file__).resolve().parents[2]
"""The folder of Pulumi.yaml in a clone or a project made from the template: relative names start here."""

WHERE = "artifacts.file"

DEFAULT = "artifacts.json"
"""The file beside Pulumi.yaml that stacks without `artifacts.file` read if it is there; `mullion pin` writes it."""


def with_file(document: Mapping[str, Any], project: Path = PROJECT) -> tuple[dict[str, Any], list[Problem]]:
    """A `mullion:cluster` object with the entries of its artefact file before its own, and what is wrong with the file.

    An entry that cannot be used is reported and left out. Whatever has the wrong shape outside the file is passed on.
    """
    whole = dict(document)
    options = whole.get("artifacts", {})
    name = cast(Mapping[str, Any], options).get("file") if isinstance(options, Mapping) else None
    if name is None and (project / "Pulumi.yaml").is_file() and (project / DEFAULT).exists():
        name = DEFAULT
    own = cast(Mapping[str, Any], options).get("entries", []) if isinstance(options, Mapping) else None
    if not isinstance(name, str) or not name or not isinstance(own, list):
        return whole, []
    found, wrong = _read(name, project)
    problems = [wrong] if wrong else [problem for index, each in enumerate(found) for problem in _wrong(index, each)]
    usable = [each for index, each in enumerate(found) if not list(_wrong(index, each))]
    whole["artifacts"] = {**cast(Mapping[str, Any], options), "entries": [*usable, *cast(list[Any], own)]}
    return whole, problems


def _read(name: str, project: Path) -> tuple[list[Any], Problem | None]:
    if not Path(name).is_absolute() and not (project / "Pulumi.yaml").is_file():
        # a component package has no project folder of its own
        return [], FORMS["artifact-file-relative"].problem(WHERE, value=name)
    try:
        found: Any = json.loads((project / name).read_text(encoding="utf-8"))
    except OSError as failure:
        return [], FORMS["artifact-file-unreadable"].problem(WHERE, value=name, why=failure.strerror or str(failure))
    except (ValueError, RecursionError) as failure:
        return [], FORMS["artifact-file-unreadable"].problem(WHERE, value=name, why=f"no JSON: {failure}")
    if not isinstance(found, list):
        return [], FORMS["wrong-type"].problem(f"{WHERE}: {name}", value=shown(found), expected="a list of entries")
    return cast(list[Any], found), None


def _wrong(index: int, entry: Any) -> Iterator[Problem]:
    try:
        ArtifactEntry.model_validate(entry)
    except ValidationError as failure:
        for each in failure.errors(include_url=False):
            inside: Place = tuple(str(key) for key in each["loc"])
            problem = explain(("artifacts", "entries", str(index), *inside), each)
            yield replace(problem, path=".".join((f"{WHERE}[{index}]", *inside)))
