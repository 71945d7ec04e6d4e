"""The report of `mullion run`: its phases, as JUnit XML."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from xml.etree import ElementTree

from components.rollout.plain_text import plain
from operations.commands.run_command import CommandFailed
from operations.console import faults
from operations.console.exits import Exit, ending

PHASES = ("up", "wait", "verify", "command", "down")
"""Phases in order."""


def explained(error: BaseException) -> tuple[int, str]:
    """Return exit code and message of what ended a phase."""
    if isinstance(error, CommandFailed):
        return error.code, str(error)
    code, message = ending(error)
    return int(code), "interrupted" if code is Exit.INTERRUPTED else message


@dataclass
class Phase:
    """One phase that was begun. failure: message of its end; skipped: why nothing was done."""

    name: str
    seconds: float = 0
    failure: str = ""
    skipped: str = ""


@dataclass
class RunReport:
    """The phases of one run."""

    stack: str
    phases: list[Phase] = field(default_factory=list[Phase])

    @contextmanager
    def phase(self, name: str) -> Iterator[Phase]:
        """Time a phase, and record the error that ends it."""
        phase, began = Phase(name), time.monotonic()
        self.phases.append(phase)
        try:
            yield phase
        except BaseException as error:
            phase.failure = explained(error)[1] or type(error).__name__
            raise
        finally:
            phase.seconds = time.monotonic() - began

    def junit(self) -> str:
        """Return JUnit XML: a test case for each phase, skipped if it was not reached. Secrets are masked."""
        begun = {phase.name: phase for phase in self.phases}
        cases = [begun.get(name) or Phase(name, skipped="not reached") for name in PHASES]
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
            text = plain(faults.redacted(case.failure or case.skipped), keep="\n")
            if case.failure:
                failure = ElementTree.SubElement(element, "failure", message=text.partition("\n")[0])
                failure.text = text
            elif case.skipped:
                ElementTree.SubElement(element, "skipped", message=text)
        ElementTree.indent(suite)
        return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
