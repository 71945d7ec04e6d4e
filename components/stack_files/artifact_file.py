"""The JSON file that `artifacts.file` names: its entries become part of the spec when the stack is read."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from components.checks.check import Path as Place
from components.spec.form import FORMS
from components.spec.options import ArtifactEntry, ImageEntry
from components.spec.report import Problem
from components.stack_files.validation_errors import explain

PROJECT = Path(__file__).resolve().parents[2]
"""Folder of Pulumi.yaml, in a clone or in a project made from the template; `artifacts.file` is relative to it."""

WHERE = "artifacts.file"

DEFAULT = "artifacts.json"
"""The file beside Pulumi.yaml that stacks without `artifacts.file` read if it is there; `mullion pin` writes it."""


def with_file(document: Mapping[str, Any], project: Path = PROJECT) -> tuple[dict[str, Any], list[Problem]]:
    """Return a `mullion:cluster` object with the entries of its artefact file before its own, and the file's problems.

    Entries with the key `image` become `artifacts.images`, where the stack file's own digests win. A wrong entry is
    reported and left out. Values of the wrong shape outside the file are returned unchanged.
    """
    whole = dict(document)
    options = whole.get("artifacts", {})
    name = cast(Mapping[str, Any], options).get("file") if isinstance(options, Mapping) else None
    if name is None and (project / "Pulumi.yaml").is_file() and (project / DEFAULT).exists():
        name = DEFAULT
    own = cast(Mapping[str, Any], options).get("entries", []) if isinstance(options, Mapping) else None
    if not isinstance(name, str) or not name or not isinstance(own, list):
        return whole, []
    entries, wrong = _read(name, project)
    problems = (
        [wrong] if wrong else [problem for index, entry in enumerate(entries) for problem in _wrong(index, entry)]
    )
    usable = [entry for index, entry in enumerate(entries) if not list(_wrong(index, entry))]
    files = [entry for entry in usable if not is_image(entry)]
    artifacts = {**cast(Mapping[str, Any], options), "entries": [*files, *cast(list[Any], own)]}
    images = {entry["image"]: entry["digest"] for entry in usable if is_image(entry)}
    others = artifacts.get("images", {})
    if images and isinstance(others, Mapping):
        artifacts["images"] = {**images, **cast(Mapping[str, Any], others)}
    whole["artifacts"] = artifacts
    return whole, problems


def is_image(entry: Any) -> bool:
    """Return whether an entry is an image with its digest, and not a download."""
    return isinstance(entry, Mapping) and "image" in entry


def _read(name: str, project: Path) -> tuple[list[Any], Problem | None]:
    if not Path(name).is_absolute() and not (project / "Pulumi.yaml").is_file():
        # a component package has no folder with Pulumi.yaml
        return [], FORMS["artifact-file-relative"].problem(WHERE, value=name)
    try:
        entries: Any = json.loads((project / name).read_text(encoding="utf-8"))
    except OSError as failure:
        return [], FORMS["artifact-file-unreadable"].problem(WHERE, value=name, why=failure.strerror or str(failure))
    except (ValueError, RecursionError) as failure:
        return [], FORMS["artifact-file-unreadable"].problem(WHERE, value=name, why=f"it is not JSON: {failure}")
    if not isinstance(entries, list):
        # not its content: the path may be of a file with secrets
        what = f"a JSON {type(entries).__name__}"
        return [], FORMS["wrong-type"].problem(f"{WHERE}: {name}", value=what, expected="a list of entries")
    return cast(list[Any], entries), None


def _wrong(index: int, entry: Any) -> Iterator[Problem]:
    if is_image(entry):
        yield from _wrong_image(index, entry)
        return
    try:
        ArtifactEntry.model_validate(entry)
    except ValidationError as failure:
        for error in failure.errors(include_url=False):
            inside: Place = tuple(str(key) for key in error["loc"])
            problem = explain(("artifacts", "entries", str(index), *inside), error)
            yield replace(problem, path=".".join((f"{WHERE}[{index}]", *inside)))


def _wrong_image(index: int, entry: Any) -> Iterator[Problem]:
    try:
        ImageEntry.model_validate(entry)
    except ValidationError as failure:
        for each in failure.errors(include_url=False):
            where = ".".join((f"{WHERE}[{index}]", *(str(key) for key in each["loc"])))
            expected = "{image: registry/path:tag, digest: sha256:..., source: ...}, as `mullion pin images` does"
            yield FORMS["wrong-value"].problem(where, value="it", reason=each["msg"], expected=expected)
