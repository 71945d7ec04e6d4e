"""Random temporary clusters: `mullion run` with commands and runners that end badly, and reapers between them.

Each run is judged by the sandbox's database, the files of the clone, and the processes of this machine. A hard link
keeps the database after `mullion run` has deleted its folder.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sandbox import faults
from sandbox.cloud_state import CloudState

from . import sampling
from .clone import Clone

TOMORROW = (
    "from datetime import timedelta; from components.spec import expiry; now = expiry.now; "
    "expiry.now = lambda: now() + timedelta(days=1); from operations.__main__ import main; main()"
)
"""Program that runs `mullion` with a clock that is a day ahead."""
TOKEN = "MULLION_RANDOM_RUNS"
"""Environment variable that identifies all processes of a clone."""
LINES = 190
"""About as many lines as a whole run prints; a signal is sent at a random one of them."""
RUN_SECONDS = 900
"""Seconds after which a run counts as hung."""
END_SECONDS = 10
"""Seconds in which processes that were killed, or whose run has ended, must be gone."""
LATE = 124
"""Exit code after a command that ran until the expiry."""


@dataclass(frozen=True)
class Ending:
    """How a run is meant to end. command: shell text. codes: exit codes allowed; None for any.

    signals: (line of output, signal) sent to the runner. cloud: kind and type of call of a planned fault.
    """

    name: str
    command: str = "true"
    codes: frozenset[int] | None = frozenset({0})
    options: tuple[str, ...] = ()
    signals: tuple[tuple[int, signal.Signals], ...] = ()
    fault: tuple[str, int] | None = None
    kept: bool = False
    """Whether the cluster stays on purpose."""
    may_stay: bool = False
    """Whether the cluster may be left to the reaper."""
    ttl: str = "2h"


def _codes(*codes: int) -> frozenset[int]:
    return frozenset(codes)


def _passes(dice: random.Random) -> Ending:
    return Ending("the command passes", 'test -s "$KUBECONFIG"')


def _fails(dice: random.Random) -> Ending:
    code = dice.randint(1, 120)
    return Ending("the command fails", f"exit {code}", _codes(code))


def _ended(dice: random.Random) -> Ending:
    return Ending("a signal ends the command", "kill -KILL $$", _codes(137))


def _hangs(dice: random.Random) -> Ending:
    ttl = f"{dice.randint(30, 90)}s"  # on a busy machine it may end while the cluster is built: `up` refuses it with 1
    return Ending("the command hangs", "trap '' TERM; sleep 3000 & wait", _codes(LATE, 1), ttl=ttl)


def _daemon(dice: random.Random) -> Ending:
    return Ending("the command leaves a process", "sleep 3000 & exit 3", _codes(3))


def _kept(dice: random.Random) -> Ending:
    code = dice.randint(1, 120)
    return Ending("a failed cluster is kept", f"exit {code}", _codes(code), ("--keep-on-failure", "1h"), kept=True)


def _kills_runner(dice: random.Random) -> Ending:
    return Ending("the command kills the runner", "kill -KILL $PPID", None, may_stay=True)


def _stopped(dice: random.Random) -> Ending:
    sent = dice.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    return Ending("a signal stops the runner", "sleep 2", None, signals=((dice.randint(1, LINES), sent),))


def _stopped_twice(dice: random.Random) -> Ending:
    first, then = dice.randint(1, LINES), dice.choice([signal.SIGTERM, signal.SIGINT])
    signals = ((first, signal.SIGINT), (first + dice.randint(1, 40), then))
    return Ending("two signals stop the runner", "sleep 2", None, signals=signals, may_stay=then is signal.SIGINT)


def _killed(dice: random.Random) -> Ending:
    return Ending(
        "the runner is killed", "sleep 2", None, signals=((dice.randint(1, LINES), signal.SIGKILL),), may_stay=True
    )


def _refused(dice: random.Random) -> Ending:
    return Ending("the cloud refuses a call", "true", None, fault=("fail", dice.randint(1, 150)), may_stay=True)


def _died(dice: random.Random) -> Ending:
    kind = dice.choice(["die-before", "die-after"])
    return Ending("the provider dies", "true", None, fault=(kind, dice.randint(1, 150)), may_stay=True)


ENDINGS: tuple[Callable[[random.Random], Ending], ...] = (
    *(_passes, _fails, _ended, _hangs, _daemon, _kept),
    *(_kills_runner, _kills_runner, _stopped, _stopped, _stopped_twice, _killed, _killed, _killed, _refused, _died),
)


@dataclass
class RandomRuns:
    """A clone with the clusters that earlier runs left. stay: those kept on purpose. may: those left to the reaper."""

    clone: Clone
    dice: random.Random
    say: Callable[[str], None]
    stay: set[str] = field(default_factory=set[str])
    may: set[str] = field(default_factory=set[str])
    worlds: dict[str, Path] = field(default_factory=dict[str, Path])
    """Hard link to the database of each run's sandbox."""

    def __post_init__(self) -> None:
        self.clone.environment[TOKEN] = str(self.clone.folder)
        (self.clone.folder / "worlds").mkdir()

    def sequence(self, length: int) -> None:
        """Do `length` runs with reapers between them, and a last reaper a day ahead; then nothing may exist."""
        for number in range(length):
            self._one(f"ci-{number}")
            if self.dice.random() < 0.5:
                self._reaped(tomorrow=False)
            if self.dice.random() < 0.25:
                self._reaped(tomorrow=True)
        self._reaped(tomorrow=True)
        assert self._existing() == set()
        shutil.rmtree(self.clone.folder / "worlds")

    def _one(self, name: str) -> None:
        ending = self.dice.choice(ENDINGS)(self.dice)
        template = f"{self.dice.choice(sampling.CLOUDS)}-ci"
        reaper_at = self.dice.choice([None, self.dice.randint(1, LINES)])
        self.say(f"{name} from {template}: {ending.name}{_moments(ending)}")
        began, (code, errors) = time.monotonic(), self._ran(name, template, ending, reaper_at)
        took = time.monotonic() - began
        assert took < RUN_SECONDS, errors
        self.say(f"  ended with {code} after {took:.0f} s")
        assert ending.codes is None or code in ending.codes, f"{name} ended with {code}:\n{errors}"
        assert code < 0 or "Traceback" not in errors, errors
        left = name in self._existing()
        assert left or not ending.kept, f"{name} was not kept:\n{errors}"
        if left:
            assert ending.kept or ending.may_stay, f"{name} is left:\n{errors}"
            told = f"cluster {name} still exists" in errors or f"cluster {name} is kept until" in errors
            assert code < 0 or (code != 0 and told), f"{name} is left, and {code} does not say so:\n{errors}"
            (self.stay if ending.kept else self.may).add(name)
        self._judge()

    def _ran(self, name: str, template: str, ending: Ending, reaper_at: int | None) -> tuple[int, str]:
        """Run until the end; return the exit code and standard error."""
        clone = self.clone
        clone.sandbox = clone.folder / ".mullion" / "sandbox" / name
        words = ("run", template, "--sandbox", "--name", name, "--ttl", ending.ttl, *ending.options)
        with clone.start(*words, "--", "sh", "-c", ending.command) as process:
            assert process.stdout
            assert process.stderr
            watch = threading.Timer(RUN_SECONDS, self._end_all)
            watch.start()
            lines = list[str]()
            reapers = list[threading.Thread]()
            for line in process.stderr:
                lines.append(line)
                self._keep(name, ending if len(lines) == 1 else None)
                for at, number in ending.signals:
                    if at == len(lines):
                        self._send(process, number)
                if reaper_at == len(lines):
                    reapers.append(threading.Thread(target=self._reaper, kwargs={"tomorrow": False}))
                    reapers[-1].start()
            code = process.wait()
            watch.cancel()
            for pipe in (process.stdout, process.stderr):
                pipe.close()
        for each in reapers:
            each.join()
        if code < 0:
            self._end_all()  # a runner that dies takes all its processes along
        return code, "".join(lines)

    def _keep(self, name: str, ending: Ending | None) -> None:
        """Link the sandbox's database; plan the fault of the ending at the first line."""
        if ending and ending.fault:
            self.clone.sandbox.mkdir(parents=True, exist_ok=True)
            with self.clone.cloud_state() as cloud_state:
                faults.plan(cloud_state, ending.fault[0], ending.fault[1])
        linked = self.clone.folder / "worlds" / f"{name}.db"
        if name not in self.worlds and (source := self.clone.sandbox / "world.db").exists():
            with suppress(FileNotFoundError):
                linked.hardlink_to(source)
                self.worlds[name] = linked

    def _send(self, process: subprocess.Popen[str], number: signal.Signals) -> None:
        if number is signal.SIGKILL:
            self._end_all()
        elif process.poll() is None:
            process.send_signal(number)

    def _end_all(self) -> None:
        """Kill every process that the clone's commands started, the oldest first; also those that start meanwhile."""
        end = time.monotonic() + END_SECONDS
        while (left := sorted(self._processes())) and time.monotonic() < end:
            for process in left:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.05)

    def _processes(self) -> Iterator[int]:
        mark = f"{TOKEN}={self.clone.folder}".encode()
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended meanwhile
                if mark in (place / "environ").read_bytes().split(b"\0") and int(place.name) != os.getpid():
                    yield int(place.name)

    def _reaper(self, *, tomorrow: bool) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *(("-c", TOMORROW) if tomorrow else ("-m", "operations"))]
        return subprocess.run(
            [*command, "reap", "--sandbox", "--yes", "--max", "50", "--format", "json"],
            cwd=self.clone.folder,
            env=self.clone.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )

    def _reaped(self, *, tomorrow: bool) -> None:
        """Run a reaper. With the present time it keeps every cluster, a day ahead it removes all."""
        before = self._existing()
        ran = self._reaper(tomorrow=tomorrow)
        self.say(f"  reaper of {'tomorrow' if tomorrow else 'now'}: {ran.returncode}, before: {sorted(before)}")
        assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
        results = {each["name"]: each["result"] for each in json.loads(ran.stdout)["clusters"]}
        assert set(results.values()) <= {"removed" if tomorrow else "kept"}, ran.stdout
        assert set(results) >= self.stay, ran.stdout
        if tomorrow:
            self.stay.clear()
            self.may.clear()
        self._judge()

    def _existing(self) -> set[str]:
        """Return the clusters that still have a stack file, a sandbox or a record."""
        root = self.clone.folder / ".mullion"
        files = {each.stem.removeprefix("Pulumi.") for each in (self.clone.folder / "stacks").glob("Pulumi.ci-*.yaml")}
        folders = {each.name for place in (root, root / "sandbox") for each in place.glob("ci-*")}
        return files | folders

    def _judge(self) -> None:
        """Assert that only clusters that are kept, or left to the reaper, have anything left."""
        assert self._existing() == self.stay | self.may
        for name, path in list(self.worlds.items()):
            if name in self.stay | self.may:
                continue
            world = CloudState(path)
            try:
                left, done = world.resources(), len(world.operations())
            finally:
                world.close()
            assert not left, f"{name} left {[(each.type, each.id) for each in left]}"
            self.say(f"  sandbox of {name}: {done} operations, nothing left")
            del self.worlds[name]
        end = time.monotonic() + END_SECONDS
        while (running := list(self._processes())) and time.monotonic() < end:
            time.sleep(0.1)
        assert not running, subprocess.run(["ps", "-fp", ",".join(map(str, running))], capture_output=True, check=False)


def _moments(ending: Ending) -> str:
    sent = "".join(f", {number.name} at line {at}" for at, number in ending.signals)
    return sent + (f", {ending.fault[0]} at call {ending.fault[1]}" if ending.fault else "")
