"""Compares a run and a machine with the case. Both runners use only this module for it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from components.machine.bundle import CLOUD_INIT
from tests.conformance.case import Case, Run
from tests.conformance.downloads import Downloads
from tests.conformance.state import AREAS, State

CODES: dict[str, int] = {
    row["name"]: row["code"] for row in json.loads((CLOUD_INIT / "errors.json").read_text())["errors"]
}
EXITS = {"done": 0, "reboot": 0, "failed": 1}
RECORDED = {"done": "ready", "reboot": "reboot", "failed": "failed"}
"""State of the result -> state of the status record."""
RECORD = {"machine", "instance", "kubernetes", "seconds", "time"}
"""Fields that a status record has in addition to the result."""
LONGEST_MESSAGE = 1000


@dataclass
class Seen:
    """What a runner observed of one run. `result` is result.json; with check it is the document on standard output."""

    exit: int
    result: dict[str, Any] | None
    output: str
    """All output on the console and in logs."""
    waits: list[int] = field(default_factory=list[int])
    """Seconds slept between tries."""
    arguments: list[str] = field(default_factory=list[str])
    """Arguments of all programs that the run started."""
    second: int | None = None
    """Exit code of the run that was started during this one."""
    stored: bool = False
    """Whether the machine had a place for its status record."""
    record: dict[str, Any] | None = None
    """The record after the run; None existed before it."""


class Machine(Protocol):
    """A machine after a run; paths are those of the plan."""

    def place(self, path: str) -> Path:
        """Return the path at which the test can read the file."""
        ...

    def access(self, path: str) -> str:
        """Return private, public, or other rights as text."""
        ...

    def owner(self, path: str) -> str:
        """Return the owner."""
        ...

    def executable(self, path: str) -> bool:
        """Return whether the file is executable."""
        ...

    def link(self, path: str) -> str | None:
        """Return the target of a link, None if it is not a link."""
        ...

    def system(self, area: str) -> Any:
        """Return the system's state of an area of AREAS."""
        ...


def run_problems(run: Run, seen: Seen, downloads: Downloads) -> Iterator[str]:
    """Yield the problems of a run without a cut. Placeholders in `run` are filled in."""
    if seen.result is None:
        yield f"no result; exit {seen.exit}: {seen.output[-800:]}"
        return
    result = seen.result
    outcomes = {step["name"]: step["outcome"] for phase in result["phases"] for step in phase["steps"]}
    report = f"{result.get('message')!r}, outcomes {outcomes}"
    expected = {
        "state": ("checked" if run.check and run.state == "done" else run.state, result["state"]),
        "name": (run.name, result.get("name")),
        "code": (CODES[run.name] if run.name else 0, result.get("code", 0)),
        "step": (run.at, result.get("step")),
        "exit": (_exit(run), seen.exit),
        "second": (CODES["locked"] if run.twice else None, seen.second),
        **{f"outcome of {step}": (outcome, outcomes.get(step)) for step, outcome in run.outcomes.items()},
    }
    if run.waits is not None:
        expected["waits"] = (run.waits, seen.waits)
    yield from (
        f"{what} is {was!r}, not {wanted!r}; {report}" for what, (wanted, was) in expected.items() if was != wanted
    )
    yield from (f"{step} is {each}, not {run.all}" for step, each in outcomes.items() if run.all not in (None, each))
    yield from (f"the message lacks {text!r}: {report}" for text in run.says if text not in result.get("message", ""))
    yield from _download_problems(run, downloads)
    yield from _record_problems(run, seen, result) if seen.stored else ()


def _record_problems(run: Run, seen: Seen, result: dict[str, Any]) -> Iterator[str]:
    """Check that the status record agrees with the result, and that a check writes no record."""
    if run.check or seen.record is None:
        if (seen.record is None) != run.check:
            yield f"the status record is {seen.record}, the result {result}"
        return
    same = {name: result.get(name) for name in ("bundle", "code", "name", "phase", "step")}
    wanted = {**same, "state": RECORDED[result["state"]], "message": result.get("message", "")[:LONGEST_MESSAGE]}
    actual = {name: seen.record.get(name) for name in wanted}
    if actual != wanted or not seen.record.keys() >= RECORD:
        yield f"the status record says {seen.record}, the result {wanted}"


def _exit(run: Run) -> int:
    if run.exit is not None:
        return run.exit
    would = run.check and "would-set" in {run.all, *run.outcomes.values()}
    return 2 if would else EXITS[run.state]


def _download_problems(run: Run, downloads: Downloads) -> Iterator[str]:
    for name, times in run.requests.items():
        if downloads.count(name) != times:
            yield f"{name} was requested {downloads.count(name)} times, not {times}"
    for name, first in run.ranges.items():
        if downloads.first_byte(name) != first:
            yield f"the last request for {name} began at byte {downloads.first_byte(name)}, not {first}"
    if downloads.together < run.together:
        yield f"{downloads.together} downloads ran in parallel, not {run.together}"


def end_problems(end: State, machine: Machine) -> Iterator[str]:
    """Yield the differences of the machine from the end state. Placeholders in `end` are filled in."""
    for path, text in end.files.items():
        place = machine.place(path)
        content = place.read_bytes().decode(errors="replace") if place.is_file() else None
        if content != text:
            yield f"{path} contains {content!r}, not {text!r}"
    for path, access in {**end.folders, **end.access}.items():
        if path in end.folders and not machine.place(path).is_dir():
            yield f"{path} is not a folder"
        elif machine.access(path) != access:
            yield f"{path} is {machine.access(path)}, not {access}"
    for path, target in end.links.items():
        if machine.link(path) != target:
            yield f"{path} links to {machine.link(path)}, not {target}"
    yield from (f"{path} does not belong to {user}" for path, user in end.owners.items() if machine.owner(path) != user)
    yield from (f"{path} exists" for path in end.absent if machine.place(path).exists())
    yield from (f"{path} is not executable" for path in end.executable if not machine.executable(path))
    yield from _content_problems(end, machine)
    for area, wanted in end.system.items():
        yield from _area_problems(area, wanted, machine.system(area))


def _content_problems(end: State, machine: Machine) -> Iterator[str]:
    """Check files with documents, and folders whose entries are listed in full."""
    wanted = {**{path: [each] for path, each in end.parsed.items()}, **end.documents}
    for path, documents in wanted.items():
        place = machine.place(path)
        text = place.read_text(encoding="utf-8") if place.is_file() else ""
        parts = text.split("---\n")[1:] if path in end.documents else [text]
        try:
            actual = [json.loads(each) for each in parts]
        except ValueError:
            actual = [text]
        if actual != documents:
            yield f"{path} contains {actual}, not {documents}"
    for path, names in end.only.items():
        present = sorted(each.name for each in machine.place(path).iterdir())
        if present != sorted(names):
            yield f"{path} has {present}, not {sorted(names)}"


def _area_problems(area: str, wanted: Any, found: Any) -> Iterator[str]:
    """Compare the named members of an area; other members are ignored."""
    if not isinstance(wanted, dict):
        if wanted != found:
            yield f"{area} is {found!r}, not {wanted!r} ({AREAS[area][1]})"
        return
    for name, each in wanted.items():
        if (found or {}).get(name) != each:
            yield f"{area}: {name} is {(found or {}).get(name)!r}, not {each!r} ({AREAS[area][1]})"


def lack_problems(case: Case, seen: list[Seen], folders: list[Path], allowed: set[Path]) -> Iterator[str]:
    """Yield texts of `lacks` found in outputs, results, arguments, and files below the folders except `allowed`."""
    for text in case.lacks:
        for run in seen:
            places = {"output": run.output, "result": json.dumps(run.result), "arguments": "\n".join(run.arguments)}
            places["status record"] = json.dumps(run.record)
            yield from (f"{text!r} is in the {place}" for place, content in places.items() if text in content)
        for folder in folders:
            for file in folder.rglob("*"):
                if (
                    file.is_file()
                    and not file.is_symlink()
                    and file not in allowed
                    and text.encode() in file.read_bytes()
                ):
                    yield f"{text!r} is in {file}"
