"""The report of `mullion run`: its phases, as JUnit XML and as JSON."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from components.rollout.plain_text import plain
from components.spec import expiry
from operations.commands.run_command import CommandFailed
from operations.console import faults
from operations.console.exits import Exit, ending

PHASES = ("up", "wait", "verify", "command", "down")
"""Phases in order."""


def explained(error: BaseException) -> tuple[int, str]:
    """Return exit code and message of the error that ended a phase."""
    if isinstance(error, CommandFailed):
        return error.code, str(error)
    code, message = ending(error)
    return int(code), "interrupted" if code is Exit.INTERRUPTED else message


@dataclass
class Phase:
    """One phase that has begun. failure: message of the error that ended it. skipped: why nothing was done."""

    name: str
    seconds: float = 0
    failure: str = ""
    skipped: str = ""
    ended: bool = False

    @property
    def result(self) -> str:
        """Return passed, failed, skipped or running."""
        if not self.ended:
            return "running"
        return "failed" if self.failure else "skipped" if self.skipped else "passed"


def _unreached(name: str) -> Phase:
    return Phase(name, skipped="not reached", ended=True)


def _ignore() -> None:
    """Ignore a change."""


@dataclass
class RunReport:
    """The phases of one run. code: its exit code, once it is known. changed: called after each change of a phase."""

    stack: str
    template: str = ""
    phases: list[Phase] = field(default_factory=list[Phase])
    code: int | None = None
    kept_until: str = ""
    left: str = ""
    """Why the cluster still exists; empty if it was removed or kept, or if the run has not ended."""
    changed: Callable[[], None] = _ignore
    began: str = field(default_factory=lambda: expiry.written(expiry.now()))

    @contextmanager
    def phase(self, name: str) -> Iterator[Phase]:
        """Time a phase, and record the error that ends it. A phase that begins again counts its seconds before too."""
        earlier = [each for each in self.phases if each.name == name]
        phase, began = Phase(name), time.monotonic() - (earlier[-1].seconds if earlier else 0)
        self.phases.append(phase)
        self.changed()
        try:
            yield phase
        except BaseException as error:
            phase.failure = explained(error)[1] or type(error).__name__
            raise
        finally:
            phase.seconds, phase.ended = time.monotonic() - began, True
            self.changed()

    def _all(self) -> list[Phase]:
        begun = {phase.name: phase for phase in self.phases}
        return [begun.get(name) or _unreached(name) for name in PHASES]

    def result(self, artifacts: dict[str, str]) -> str:
        """Return JSON: exit code (null while it runs), phases, and each artifact with "written" or why it is missing.

        Seconds are rounded to a thousandth; times are UTC. Secrets are masked.
        """
        document: dict[str, Any] = {
            "cluster": self.stack,
            "template": self.template,
            "began": self.began,
            "exit_code": self.code,
            "phases": [
                {
                    "name": phase.name,
                    "result": phase.result,
                    "seconds": round(phase.seconds, 3),
                    "message": _masked(phase.failure or phase.skipped),
                }
                for phase in self._all()
            ],
            "kept_until": self.kept_until,
            "left": _masked(self.left),
            "artifacts": {name: _masked(text) for name, text in sorted(artifacts.items())},
        }
        return json.dumps(document, indent=2) + "\n"

    def junit(self) -> str:
        """Return JUnit XML: a test case for each phase, skipped if it was not reached. Secrets are masked."""
        cases = self._all()
        counts = {
            "tests": len(cases),
            "failures": sum(bool(case.failure) for case in cases),
            "skipped": sum(bool(case.skipped) for case in cases),
        }
        suite = ElementTree.Element(
            "testsuite", {"name": f"mullion run {self.stack}", **{key: str(count) for key, count in counts.items()}}
        )
        for case in cases:
            element = ElementTree.SubElement(
                suite, "testcase", classname="mullion.run", name=case.name, time=f"{case.seconds:.3f}"
            )
            text = _masked(case.failure or case.skipped)
            if case.failure:
                failure = ElementTree.SubElement(element, "failure", message=text.partition("\n")[0])
                failure.text = text
            elif case.skipped:
                ElementTree.SubElement(element, "skipped", message=text)
        ElementTree.indent(suite)
        return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _masked(text: str) -> str:
    return plain(faults.redacted(text), keep="\n")
