"""The folder of `mullion run`: reports that are written while it runs, and the logs collected at its end.

Every change is written at once, so the folder is complete even if the CI runner is killed.
"""

import json
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from components.rollout.kubernetes_api import Refused, Unreachable
from operations.commands import logs, reached_api
from operations.commands.run_report import RunReport, explained
from operations.console import faults
from operations.console.exits import Exit, Stop
from operations.stacks import boot_site, target

JUNIT, VERIFY, RESULT = "junit.xml", "verify.xml", "result.json"
ENGINE, EVENTS, MACHINES, PAGE = "engine.log", "events.json", "machines", "report.html"
QUICK_SECONDS = 3.0
"""Longest wait for the events of an interrupted run. GitHub Actions kills a cancelled step 10 s after its first signal
(docs.github.com, "Workflow cancellation reference")."""


@dataclass
class RunFolder:
    """The folder of one run. missing: why a file could not be collected, by its name.

    page: gives the HTML report for a result.json; set once the cluster was looked at, before it is removed.
    """

    path: Path
    report: RunReport
    missing: dict[str, str] = field(default_factory=dict)
    page: Callable[[str], str] | None = None

    @classmethod
    def begun(cls, path: Path, report: RunReport) -> "RunFolder":
        """Create the folder, and delete reports of an earlier run of this name. Raises Stop if the path is a file."""
        if path.exists() and not path.is_dir():
            raise Stop(Exit.USAGE, f"--artifacts {path} is a file; name a folder")
        path.mkdir(parents=True, exist_ok=True)
        for name in (JUNIT, VERIFY, RESULT, ENGINE, EVENTS, PAGE):
            (path / name).unlink(missing_ok=True)
        for archive in (path / MACHINES).glob("*.zip"):
            archive.unlink()
        folder = cls(path, report)
        report.changed = folder.write
        return folder

    def write(self) -> None:
        """Write result.json and junit.xml. A full disk does not end the run: the cluster must still be removed."""
        why = {
            VERIFY: self._why_no_verify(),
            ENGINE: "no engine was started",
            EVENTS: "not collected",
            MACHINES: "not collected",
            PAGE: "not collected",
            **self.missing,
        }
        written = [file.relative_to(self.path).as_posix() for file in self.path.glob("**/*") if file.is_file()]
        known = {name: "written" for name in written if name in why or name.startswith(f"{MACHINES}/")}
        lacking = {name: text for name, text in why.items() if name not in known}
        if MACHINES not in self.missing and any(name.startswith(f"{MACHINES}/") for name in known):
            del lacking[MACHINES]
        try:
            target.write(self.path / JUNIT, self.report.junit())
            target.write(self.path / RESULT, self.report.result({**known, **lacking, JUNIT: "written"}))
        except OSError as error:
            print(f"mullion: the reports could not be written: {explained(error)[1]}", file=sys.stderr)

    def _why_no_verify(self) -> str:
        for phase in self.report.phases:
            if phase.name == "verify":
                return phase.failure or phase.skipped or "verify has not ended"
        return "verify was not reached"

    def collect(self, name: str, *, interrupted: bool) -> None:
        """Write events and the logs of all machines; record why a part is missing.

        interrupted: collect only the events, for at most QUICK_SECONDS.
        """
        if target.recall(name) is None:
            self._lack(EVENTS, "nothing was built")
            self._lack(MACHINES, "nothing was built")
            self._lack(PAGE, "nothing was built")
            return
        try:
            why = _bounded(self._direct_events, name) if interrupted else self._events(name)
        except (Exception, KeyboardInterrupt) as error:
            why = explained(error)[1]
        if why:
            self._lack(EVENTS, why)
        self.write()
        if interrupted:
            self._lack(MACHINES, "interrupted: machines take minutes to answer")
            self._lack(PAGE, "interrupted: reading the state takes too long")
            return
        self._look(name)
        try:
            problems = logs.fetch_all(name, self.path / MACHINES)
        except (Exception, KeyboardInterrupt) as error:
            problems = [explained(error)[1]]
        if problems:
            self._lack(MACHINES, "\n".join(problems))

    def _look(self, name: str) -> None:
        """Write the HTML report of the cluster as it is now; `end` repeats it with the last phases."""
        try:
            from operations.commands import html_report

            self.page = html_report.of_run(name, self.path)
            self._write_page()
        except (Exception, KeyboardInterrupt) as error:
            self.page = None
            self._lack(PAGE, explained(error)[1])

    def _write_page(self) -> None:
        if self.page:
            target.write(self.path / PAGE, self.page(self.report.result({})))

    def end(self) -> None:
        """Write everything for the last time, the HTML report too."""
        try:
            self._write_page()
        except OSError as error:
            print(f"mullion: {PAGE} could not be written: {explained(error)[1]}", file=sys.stderr)
        self.write()

    def _lack(self, part: str, why: str) -> None:
        self.missing[part] = why
        print(f"mullion: no {part}: {why}" if part != MACHINES else f"mullion: {why}", file=sys.stderr)
        self.write()

    def _events(self, name: str) -> str:
        """Write Kubernetes' events of all namespaces, through a tunnel if the API is private. Return why there
        are none, or an empty text.
        """
        return self._asked(name, reached_api.reached)

    def _direct_events(self, name: str) -> str:
        """The same without a tunnel, whose opening takes longer than an interrupted run may wait."""
        return self._asked(name, lambda _, text: nullcontext(text))

    def _asked(self, name: str, reached: Callable[[str, str], AbstractContextManager[str]]) -> str:
        if target.in_sandbox(name) and not boot_site.api(name):
            return "this sandbox only simulates machines, so no API answers"
        kubeconfig = target.folder(name) / "kubeconfig"
        if not kubeconfig.exists():
            return "the cluster has no kubeconfig yet"
        try:
            with reached(name, kubeconfig.read_text("utf-8")) as text:
                events = reached_api.client(text).ask("GET", "/api/v1/events")
        except (Unreachable, Refused) as error:
            return f"the API failed: {error}"
        target.write(self.path / EVENTS, faults.redacted(json.dumps(events, indent=1)) + "\n")
        return ""


def _bounded(ask: Callable[[str], str], name: str) -> str:
    """Return the result of `ask`, or a message after QUICK_SECONDS. The thread that asks ends with the process."""
    answers: list[str] = []

    def answer() -> None:
        with suppress(Exception):
            answers.append(ask(name))

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    thread.join(QUICK_SECONDS)
    return answers[0] if answers else f"interrupted: the API did not answer in {QUICK_SECONDS:.0f} s"
