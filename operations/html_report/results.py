"""Results of `mullion verify` (JUnit, JSON) and of `mullion run` (result.json), read from files for the report."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from operations.console import faults
from operations.console.exits import Exit, Stop
from operations.verification.verdicts import TITLES, Verdict

LARGEST = 50_000_000
"""Bytes of the largest file that is read; a verify of 500 machines writes less."""


@dataclass(frozen=True)
class Row:
    """One row of a verify, or a phase of a run. said: the reason if it did not pass."""

    check: str
    what: str
    verdict: str
    said: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Results:
    """Rows of one file. run: whether the rows are the phases of a `mullion run`; else they are of a verify.

    code: exit code of a run, None while it runs. kept_until, left: as result.json has them.
    """

    source: str
    rows: tuple[Row, ...]
    run: bool = False
    code: int | None = None
    kept_until: str = ""
    left: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of rows by verdict."""
        return dict(Counter(row.verdict for row in self.rows))

    @property
    def failed(self) -> int:
        return self.counts.get(Verdict.FAILED.value, 0)

    @property
    def not_passed(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.verdict != Verdict.PASSED.value)

    @property
    def by_check(self) -> list[tuple[str, str, dict[str, int]]]:
        """Return id, title, and number of rows by verdict, of each check."""
        found: dict[str, Counter[str]] = {}
        for row in self.rows:
            found.setdefault(row.check, Counter())[row.verdict] += 1
        return [(check, TITLES.get(check, ""), dict(counts)) for check, counts in found.items()]


def read(path: Path) -> Results:
    """Return the results in a file. Raises Stop if it has none of the three formats."""
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it has more than {LARGEST:,} bytes")  # noqa: TRY301 - one message for all
        text = path.read_text("utf-8")
        found = _junit(text) if text.lstrip().startswith("<") else _json(json.loads(text))
    except OSError as error:
        raise Stop(Exit.USAGE, f"--results {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ElementTree.ParseError) as error:
        raise Stop(
            Exit.USAGE,
            f"--results {path}: not written by `mullion verify` (--junit, --json) or `mullion run` (result.json): "
            f"{type(error).__name__}: {error}",
        ) from error
    return replace(found, source=path.name)


def of_run(text: str, source: str) -> Results:
    """Return the results in the text of a result.json."""
    return replace(_json(json.loads(text)), source=source)


def of_folder(folder: Path, names: Sequence[str]) -> Iterator[Results]:
    """Yield the results of those of the named files that exist in a folder."""
    for name in names:
        if (folder / name).is_file():
            yield read(folder / name)


def _json(document: dict[str, Any]) -> Results:
    if "phases" in document:
        rows = tuple(
            Row("run", _text(phase["name"]), _text(phase["result"]), _text(phase["message"]), float(phase["seconds"]))
            for phase in document["phases"]
        )
        code = document["exit_code"]
        return Results(
            "",
            rows,
            run=True,
            code=None if code is None else int(code),
            kept_until=_text(document.get("kept_until", "")),
            left=_text(document.get("left", "")),
        )
    return Results(
        "",
        tuple(
            _row(_text(row["check"]), f"{_text(row['where'])}: {_text(row['what'])}", row["verdict"], row["said"])
            for row in document["rows"]
        ),
    )


def _junit(text: str) -> Results:
    suite = ElementTree.fromstring(text)  # noqa: S314 - a file of the user; expat reads no external entities
    if suite.tag not in ("testsuite", "testsuites"):
        raise ValueError(f"its root is {suite.tag}")
    return Results("", tuple(map(_case, suite.iter("testcase"))))


def _case(case: ElementTree.Element) -> Row:
    check, what = case.get("classname", ""), case.get("name", "")
    if (failure := case.find("failure")) is not None or (failure := case.find("error")) is not None:
        return _row(check, what, Verdict.FAILED.value, failure.get("message", ""))
    if (skipped := case.find("skipped")) is not None:
        verdict, _, said = skipped.get("message", "").partition(": ")
        known = verdict in {each.value for each in Verdict}
        return _row(check, what, verdict if known else Verdict.NOT_COVERED.value, said if known else verdict)
    return _row(check, what, Verdict.PASSED.value, "")


def _row(check: Any, what: Any, verdict: Any, said: Any) -> Row:
    """Return a row; what a passed one said is left out."""
    passed = verdict == Verdict.PASSED.value
    return Row(_text(check), _text(what), _text(verdict), "" if passed else _text(said))


@lru_cache(maxsize=4096)
def _masked(text: str) -> str:
    return faults.redacted(text)


def _text(value: Any) -> str:
    """Return a text without what looks like a secret. Raises TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return _masked(value[:10_000])
