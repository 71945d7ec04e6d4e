"""Runs conformance cases with node.py, as root, each on its own machine (linux_machine.py)."""

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from components.rollout.signed_documents import founding_record
from tests.cloud_init.cloud import FakeCloud
from tests.conformance import authority, judge, linux_areas, linux_booted
from tests.conformance.case import Case, Run, placed, plan_document
from tests.conformance.downloads import Downloads
from tests.conformance.linux_booted import BootedMachine
from tests.conformance.linux_fork import Fork
from tests.conformance.linux_machine import BUNDLE, PROGRAMS, ROOT, SECONDS, LinuxMachine, install, machine
from tests.conformance.state import State


def why_not() -> str | None:
    """Return why cases cannot run here, or None."""
    lacking = [each for each in ("unshare", "nsenter", "chroot", "setpriv", "dpkg") if not shutil.which(each)]
    if os.geteuid() != 0:
        return "cases run in mount namespaces of their own, which takes root"
    return f"there is no {', '.join(lacking)}" if lacking else None


@dataclass
class OnLinux:
    """One case on its machine. `problems` lists the differences from the case; empty if it passes."""

    case: Case
    machine: LinuxMachine
    downloads: Downloads
    cloud: FakeCloud
    record: bool = True
    """Whether the machine can reach the cloud, and so write its status record."""
    set: Mapping[str, Callable[[LinuxMachine, Any], None]] = field(default_factory=lambda: linux_areas.SET)
    read: Mapping[str, Callable[[LinuxMachine], Any]] = field(default_factory=lambda: linux_areas.READ)
    seen: list[judge.Seen] = field(default_factory=list[judge.Seen])
    problems: list[str] = field(default_factory=list[str])

    def fill(self, kind: str, name: str) -> str:
        """Return the value of a placeholder."""
        if kind in ("root", "programs"):
            return f"{ROOT if kind == 'root' else PROGRAMS}/{name}".rstrip("/")
        if kind in ("sha256", "sha512"):
            return self.downloads.digest(kind, name)
        if kind == "state":
            return f"/var/lib/mullion/{name}"
        named = {
            "instance": self.cloud.account.instance,
            "machine": "web-0",
            "port": self.downloads.urls["url"].rpartition(":")[2],
        }
        if kind in named:
            return named[kind]
        if kind == "certificate":
            return authority.node_pem(name)
        if kind == "ca":
            return authority.other_pem() if name else authority.pem(authority.authority())
        return f"{self.downloads.urls[kind]}/{name}".rstrip("/")

    @property
    def status(self) -> str:
        """Return the key of the machine's status record."""
        return f"/status/AROAEXAMPLE:{self.cloud.account.instance}.json"

    def told(self) -> dict[str, Any]:
        """Return machine.json."""
        facts = {name: value for name, value in self.cloud.facts.items() if self.record or name != "status_url"}
        facts |= self.case.facts
        return {"machine": {"name": "web-0", "address": "10.20.1.4"}, "facts": placed(facts, self.fill)}

    def play(self) -> list[str]:
        """Play the whole case; return its problems."""
        self.machine.readers = {area: partial(read, self.machine) for area, read in self.read.items()}
        self.machine.readers |= {"secrets": self.secrets, "objects": self.objects, "starts": self.starts}
        self.downloads.serve(self.case.served, self.downloads.urls)
        programs = {
            name: program.model_copy(update=placed(program.model_dump(), self.fill))
            for name, program in self.case.programs.items()
        }
        self.cloud.secrets |= {"desired-state": "a2V5IG9mIHRoZSBwb2ludGVy", **self.case.secrets}
        install(self.machine, self.told(), programs)
        self.machine.place(ROOT).mkdir(parents=True, exist_ok=True)
        self.machine.place(ROOT).chmod(0o755)
        self.arrange(State.model_validate(placed(self.case.start.model_dump(), self.fill)))
        for number, run in enumerate(self.case.runs):
            filled = Run.model_validate(placed(run.model_dump(), self.fill))
            before = len(self.problems)
            self.one(filled, placed(plan_document(self.case, run, "linux"), self.fill), number)
            self.problems[before:] = [f"run {number + 1}: {each}" for each in self.problems[before:]]
        time.sleep(self.case.settle)
        self.finish()
        return self.problems

    def arrange(self, state: State) -> None:
        """Set up the state of cloud and system, and the machine's files."""
        for area, value in state.system.items():
            if area == "secrets":
                self.cloud.secrets |= value
            elif area == "objects":
                self.cloud.objects |= {
                    f"/snapshots/{key}": self.signed(key, text).encode() for key, text in value.items()
                }
            else:
                self.set[area](self.machine, value)
        self.machine.arrange(state)

    def one(self, run: Run, plan: dict[str, Any], number: int) -> None:
        """Do one run and judge it."""
        if run.rebooted:
            self.machine.boot()
        self.arrange(run.before)
        self.cloud.secrets |= run.secrets
        self.machine.write(f"{BUNDLE}/plan.json", json.dumps(plan))
        for each in ("/run/case-notes", "/run/case-met", "/run/case-go", "/var/lib/mullion/result.json"):
            self.machine.place(each).unlink(missing_ok=True)
        self.cloud.objects.pop(self.status, None)
        self.downloads.forget()
        if run.disk:
            self.machine.fill(True)
        seen = self.start(run, number)
        if run.disk:
            self.machine.fill(False)
        self.seen.append(seen)
        if run.cut:
            died = seen.exit == -signal.SIGKILL
            self.problems += [] if died else [f"the power was not cut at {run.cut}: exit {seen.exit}, {seen.output}"]
        else:
            self.problems += judge.run_problems(run, seen, self.downloads)

    def start(self, run: Run, number: int) -> judge.Seen:
        """Start the executor, apply the run's events, and wait for its end."""
        step, _, cut = (run.cut or "").rpartition("/")
        spec = {"words": ["--check"] if run.check else [], "metadata": self.cloud.url, "clock": run.clock}
        spec |= {"cut": {"step": step, "cut": cut} if step else None, "meet": run.twice}
        process = self.machine.start(spec, number)
        if cut == "during-download":
            wanted = next(each for each in self.case.steps if each["name"] == step)["url"].rpartition("/")[2]
            self.downloads.on_body = lambda name: self.power_off(process) if name == wanted else None
        try:
            second = self.meanwhile(number) if run.twice else None
            output, _ = process.communicate(timeout=SECONDS)
        finally:
            self.downloads.on_body = None
            process.kill()
        return self.looked(run, process.returncode, output, second)

    def power_off(self, process: Fork) -> None:
        """Kill the process now."""
        time.sleep(0.05)  # requests that were sent still arrive
        process.kill()
        process.wait()

    def meanwhile(self, number: int) -> int | None:
        """Start a second run during the first; return its exit code."""
        while not self.machine.place("/run/case-met").exists():
            time.sleep(0.01)
        spec = {"words": [], "metadata": self.cloud.url, "clock": 0, "cut": None, "meet": False}
        output, _ = self.machine.start(spec, number + 100).communicate(timeout=SECONDS)
        self.machine.place("/run/case-go").touch()
        code = re.search(r"\bE(\d+) ", output)
        return int(code[1]) if code else None

    def looked(self, run: Run, code: int, output: str, second: int | None) -> judge.Seen:
        """Return what was observed after the run."""
        place = self.machine.place("/var/lib/mullion/result.json")
        text = output.splitlines()[-1] if run.check and output else place.read_text() if place.exists() else ""
        result = json.loads(text) if text.startswith("{") else None
        notes_place = self.machine.place("/run/case-notes")
        lines = notes_place.read_text().splitlines() if notes_place.exists() else []
        notes = [json.loads(line) for line in lines]
        waits = [value for kind, value in notes if kind == "wait"]
        arguments = [" ".join(value) for kind, value in notes if kind == "program"]
        record = self.cloud.objects.get(self.status)
        stored = json.loads(record) if record else None
        return judge.Seen(code, result, output, waits, arguments, second, self.record, stored)

    def finish(self) -> None:
        """Compare the machine with the end state."""
        end = State.model_validate(placed(self.case.end.model_dump(), self.fill))
        self.problems += [f"end: {each}" for each in judge.end_problems(end, self.machine)]
        folders = [self.machine.place(each) for each in (ROOT, "/var/lib/mullion", "/etc/systemd/system", "/run")]
        allowed = {self.machine.place(path) for path in [*end.files, *end.parsed, *end.documents]}
        self.problems += judge.lack_problems(self.case, self.seen, folders, allowed)

    def secrets(self) -> dict[str, str]:
        """Return the secrets in the secret service."""
        return dict(self.cloud.secrets)

    def objects(self) -> dict[str, str]:
        """Return the objects in the snapshot store; founding records without their MAC if it is right."""
        places = [path for path in self.cloud.objects if path.startswith("/snapshots/")]
        texts = {path.removeprefix("/snapshots/"): self.cloud.objects[path].decode() for path in places}
        return {key: self.unsigned(text) if key.startswith("founding/") else text for key, text in texts.items()}

    def signed(self, key: str, text: str) -> str:
        """Return an object of a case; a founding record gets its MAC unless the case gives it one."""
        body = json.loads(text) if key.startswith("founding/") else {"mac": ""}
        return text if "mac" in body else founding_record(self.cloud.secrets["desired-state"], body)

    def unsigned(self, text: str) -> str:
        """Return a founding record without its MAC; unchanged if the MAC is not the cluster's."""
        body = json.loads(text)
        body.pop("mac", None)
        return json.dumps(body) if founding_record(self.cloud.secrets["desired-state"], body) == text else text

    def starts(self) -> dict[str, int]:
        """Return how often steps started each service."""
        words = [line.split() for seen in self.seen for line in seen.arguments]
        names = [each[2].removesuffix(".service") for each in words if each[:2] == ["systemctl", "restart"]]
        return linux_areas.Else(0, {name: names.count(name) for name in names})


def play(case: Case, folder: Path, downloads: Downloads, cloud: FakeCloud) -> list[str]:
    """Return the problems of a case on a fresh machine."""
    folder.mkdir()
    with machine(folder, limited=any(run.disk for run in case.runs)) as here:
        return OnLinux(case, here, downloads, cloud).play()


def play_booted(case: Case, here: BootedMachine, downloads: Downloads, cloud: FakeCloud) -> list[str]:
    """Return the problems of a case on the booted machine."""
    here.clean()
    return OnLinux(case, here, downloads, cloud, record=False, set=linux_booted.SET, read=linux_booted.READ).play()
