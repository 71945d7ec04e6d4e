"""Runs conformance cases with node.ps1 under PowerShell for Windows: many on one machine, each in its own folders.

The machine has the host's clock, which no test can set: for a case whose clock jumps, the clock of the cloud's services
is off instead, and tests/cloud_init/test_powershell.py checks that no wait of a script uses the wall clock.
"""

import json
import logging
import re
import time
from dataclasses import dataclass, field
from typing import Any

from components.node.kinds import KINDS, Cut
from sandbox.boot.windows.winpwsh import FOLDER, MULLION, WINE_CRASHED, Machine
from tests.cloud_init.cloud import INSTANCE, FakeCloud
from tests.cloud_init.windows import windows_scripts
from tests.conformance import judge, windows_hns, windows_programs
from tests.conformance.case import Case, Run, placed, plan_document
from tests.conformance.downloads import Downloads
from tests.conformance.state import State
from tests.conformance.windows_case import WindowsCase
from tests.conformance.windows_machine import Driver, PowerGone, clear, fill

AGAIN = 10000
"""Added to a case's number if it is played once more, so it gets new folders."""
STATUS = f"/status/AROAEXAMPLE:{INSTANCE}.json"
"""Key of the machine's status record."""
CUTS: dict[Cut, tuple[str, int]] = {
    Cut.BEFORE_SET: ("Set-{noun}Step", 1),
    Cut.BEFORE_RENAME: ("Move-IntoPlace", 1),
    Cut.DURING_UNPACK: ("Save-Entry", 2),
    Cut.AFTER_SET: ("Test-{noun}Step", 1),
}
"""Cut point -> where power is cut: a command of node.ps1, and the number of its call after the step began to set."""
HALF: dict[str, tuple[str, int]] = {
    "service": ("Set-RegistryValue", 2),
    "task": ("Register-ScheduledTask", 1),
    "hostname": ("Rename-Computer", 1),
    "metadata-route": ("New-NetRoute", 1),
    "hns-network": ("Send-HnsRequest", 3),
    "source-vip": ("Invoke-HostLocal", 1),
    "stale-network": ("Update-Memory", 2),
    "system-service": ("Start-PlannedService", 1),
}
"""Kind -> command and number of its call after which half of the kind's effects are set."""


def noun(kind: str) -> str:
    """Return the noun of a kind's functions: metadata-route has Test-MetadataRouteStep."""
    return "".join(each.capitalize() for each in kind.split("-"))


@dataclass
class OnWindows(WindowsCase):
    """Runs of one case. `problems` lists the differences from the case; empty if it passes."""

    seen: list[judge.Seen] = field(default_factory=list[judge.Seen])
    problems: list[str] = field(default_factory=list[str])

    def play(self) -> list[str]:
        """Play the whole case; return its problems."""
        self.downloads.serve(self.case.served, self.downloads.urls)
        for name in list(self.cloud.secrets):
            del self.cloud.secrets[name]
        self.cloud.secrets |= self.case.secrets
        windows_hns.forget(self.hns)
        for name in ("root", "programs", "fakes", "data"):
            self.machine.path(rf"{self.home}\{name}").mkdir(parents=True)
        self.machine.path(rf"{MULLION}\machine.json").write_text(json.dumps(self.told()))
        for name, program in self.case.programs.items():
            filled = program.model_copy(update=placed(program.model_dump(), self.fill))
            windows_programs.write(self.machine, self.fill("programs", name), self.fill("root", ""), name, filled)
        self.arrange(self.cleared())
        self.arrange(self.filled(self.case.start))
        for number, run in enumerate(self.case.runs):
            before = len(self.problems)
            self.one(Run.model_validate(placed(run.model_dump(), self.fill)), placed(self.plan(run), self.fill))
            self.problems[before:] = [f"run {number + 1}: {each}" for each in self.problems[before:]]
        time.sleep(self.case.settle)
        self.finish()
        return self.problems

    def plan(self, run: Run) -> dict[str, Any]:
        """Return plan.json of a run."""
        return plan_document(self.case, run, "windows")

    def one(self, run: Run, plan: dict[str, Any]) -> None:
        """Do one run and judge it."""
        if run.rebooted:
            features = {
                name: state.replace("InstallPending", "Installed") for name, state in self.book("features").items()
            }
            self.hns.reboot()
            self.write_book("forwarding", {})
            self.arrange(State(system={"features": features}), boot=True)
        self.arrange(run.before)
        self.cloud.secrets |= run.secrets
        self.machine.path(rf"{FOLDER}\plan.json").write_text(json.dumps(plan))
        for path in (self.data / "result.json", self.data / "node.log"):
            path.unlink(missing_ok=True)
        self.cloud.objects.pop(STATUS, None)
        self.downloads.forget()
        self.cloud.services.clock = lambda: time.time() - run.clock
        if run.disk:
            assert self.driver.full is not None
            fill(self.driver.full)
        try:
            self.seen.append(self.start(run, plan))
        except PowerGone as gone:
            self.problems += [] if run.cut else [f"the process ended: {gone}"]
            return
        finally:
            self.downloads.on_body = None
            if run.disk and self.driver.full:
                clear(self.driver.full)
        self.problems += [f"the power was not cut at {run.cut}"] if run.cut else []
        self.problems += judge.run_problems(run, self.seen[-1], self.downloads)

    def cut(self, run: Run, kind: str) -> dict[str, Any]:
        """Return the driver's instruction for where to cut the power."""
        step, _, cut = (run.cut or "").rpartition("/")
        command, hit = HALF[kind] if cut == Cut.HALF_SET.value else CUTS[Cut(cut)]
        if kind in ("reboot", "hypervisor") and cut == Cut.AFTER_SET.value:
            command = "Restart-Machine"
        begin = "Set-{noun}Step"
        if (kind, cut) == ("artifact", Cut.BEFORE_SET.value):
            begin = command = "Save-PhaseArtifact"  # downloads of a phase begin before their steps
        words = {name: text.format(noun=noun(kind)) for name, text in (("begin", begin), ("command", command))}
        return {"step": step, "hit": hit, **words}

    def start(self, run: Run, plan: dict[str, Any]) -> judge.Seen:
        """Start the executor, apply the run's events, and wait for its end."""
        steps = [step for phase in plan["phases"] for step in phase["steps"]]
        kinds = {each["name"]: each["kind"] for each in steps}
        job: dict[str, Any] = {"home": self.home, "fakes": self.fake_folder, "check": run.check}
        step, _, cut = (run.cut or "").rpartition("/")
        if cut == Cut.DURING_DOWNLOAD.value:
            wanted = next(each for each in steps if each["name"] == step)["url"].rpartition("/")[2]
            self.downloads.on_body = lambda name: self.power_off() if name == wanted else None
        elif cut:
            job["cut"] = self.cut(run, kinds[step])
        if run.twice:
            job["meet"] = [noun(each) for each in set(kinds.values()) & KINDS.keys()]
        self.driver.send("run", **job)
        second = self.meanwhile() if run.twice else None
        return self.looked(run, self.driver.answer(), second)

    def power_off(self) -> None:
        """Kill the machine now."""
        time.sleep(0.05)  # requests that were sent still arrive
        self.driver.kill()

    def meanwhile(self) -> int | None:
        """Start a second run during the first; return its exit code."""
        end = time.monotonic() + 60
        while not (self.driver.jobs / "met").exists() and time.monotonic() < end:
            time.sleep(0.02)
        code = re.search(r"\bE(\d+) ", self.driver.second_run(rf"{self.home}\data"))
        (self.driver.jobs / "go").touch()
        return int(code[1]) if code else None

    def looked(self, run: Run, answer: dict[str, Any], second: int | None) -> judge.Seen:
        """Return what was observed after the run."""
        notes: list[tuple[str, Any]] = answer["notes"]
        lines = [line for line in answer["output"].splitlines() if line.startswith("{")]
        place = self.data / "result.json"
        text = (lines or [""])[-1] if run.check else place.read_text() if place.exists() else ""
        self.unix_lines()
        log = self.data / "node.log"
        output = answer["output"] + (log.read_text() if log.exists() else "")
        waits = [value for kind, value in notes if kind == "wait"]
        for kind, name in notes:
            if kind == "start":
                self.starts[name] = self.starts.get(name, 0) + 1
        arguments = [value for kind, value in notes if kind == "program"]
        result, record = json.loads(text) if text else None, self.cloud.objects.get(STATUS)
        stored = json.loads(record) if record else None
        return judge.Seen(answer["exit"], result, output, waits, arguments, second, stored=True, record=stored)

    def unix_lines(self) -> None:
        """Convert the line ends of batch files' output to those of cases."""
        written = [path for each in self.case.programs.values() for path in each.creates]
        places = [
            *self.place(self.fill("root", "ran")).glob("*"),
            *(self.place(self.filled_text(path)) for path in written),
        ]
        for place in places:
            if place.is_file():
                place.write_bytes(place.read_bytes().replace(b"\r\n", b"\n"))

    def finish(self) -> None:
        """Compare the machine with the end state."""
        end = self.filled(self.case.end)
        self.look(end)
        self.problems += [f"end: {each}" for each in judge.end_problems(end, self)]
        allowed = {self.place(path) for path in [*end.files, *end.parsed, *end.documents]}
        folders = [self.machine.path(rf"{self.home}\{each}") for each in ("data", "fakes")]
        folders.append(self.place(self.fill("root", "")))
        self.problems += judge.lack_problems(self.case, self.seen, folders, allowed)


def install(machine: Machine, cloud: FakeCloud) -> None:
    """Install the executor on the machine."""
    for name, content in windows_scripts(cloud).items():
        place = machine.path(rf"{FOLDER}\{name}".replace("/", "\\"))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def play(case: Case, driver: Driver, downloads: Downloads, cloud: FakeCloud, number: int) -> list[str]:
    """Return the problems of a case. If Wine itself crashes, which is not under test, play the case once more."""
    problems: list[str] = []
    for attempt in range(2):
        try:
            problems = OnWindows(case, driver, downloads, cloud, number + AGAIN * attempt).play()
        except PowerGone as gone:
            problems = [f"the process ended: {gone}"]
        if not any(f"exit {WINE_CRASHED}" in each for each in problems):
            break
        logging.warning("%s: Wine crashed (%d); played once more", case.name, WINE_CRASHED)
    return problems
