"""Starts node.py on a case's machine, and does to it from outside what a case says: cuts, a clock that jumps.

    python linux_run.py SPEC.json    {words, metadata, clock, cut: {step, cut} | null, meet: bool}

Runs below the machine's own root. It changes the interpreter that node.py runs in, never node.py. Writes the
sleeps between tries and the arguments of all programs, line by line, to NOTES. Standard library alone.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

BUNDLE = "/opt/mullion/current"
NOTES = Path("/run/case-notes")
MET, GO = Path("/run/case-met"), Path("/run/case-go")
"""Made by the run in its first step that sets something; made by the test when the second run has ended."""


def note(kind: str, value: Any) -> None:
    """One line for the test."""
    with NOTES.open("a") as file:
        file.write(json.dumps([kind, value]) + "\n")


def power_off() -> None:
    """No handler, no flush, nothing in `finally`."""
    os.kill(os.getpid(), signal.SIGKILL)


def wrap(owner: Any, name: str, before: Callable[..., None], after: Callable[[], None] = lambda: None) -> None:
    """Does something more before and after each call of a function, wherever it was imported to."""
    real = getattr(owner, name)

    def wrapped(*args: Any, **others: Any) -> Any:
        before(*args)
        try:
            return real(*args, **others)
        finally:
            after()

    places = [owner, *(each for each in sys.modules.values() if getattr(each, name, None) is real)]
    for each in places:
        setattr(each, name, wrapped)


class Cut:
    """Where power goes: in the named step, at the named place."""

    def __init__(self, step: str, cut: str) -> None:
        self.step, self.cut = step, cut
        self.inside, self.effects = False, 0

    def enter(self, run: Any, step: dict[str, Any]) -> None:
        """The step is about to be set."""
        self.inside = step["name"] == self.step
        if self.inside and self.cut == "before-set":
            power_off()

    def leave(self) -> None:
        """It was set, or failed."""
        if self.inside and self.cut == "after-set":
            power_off()
        self.inside = False

    def rename(self, *_: Any) -> None:
        """A file is about to get its name."""
        if self.inside and self.cut == "before-rename":
            power_off()
        self.effect()

    def effect(self, *_: Any) -> None:
        """Something of several that the step does; it ends before the second."""
        if self.inside and self.cut in ("half-set", "during-unpack") and self.effects:
            power_off()
        self.effects += self.inside


def every_make(before: Callable[..., None], after: Callable[[], None] = lambda: None) -> None:
    """Does something more around the setting of every step."""
    kinds = import_module("kinds").KINDS
    for name, kind in kinds.items():
        holder = SimpleNamespace(make=kind.make)
        wrap(holder, "make", before, after)
        kinds[name] = kind._replace(make=holder.make)


def arrange(spec: dict[str, Any]) -> None:
    """Changes the interpreter as the spec says. The executor's modules are imported already."""
    names = ("loader", "phases", "programs", "run", "writing")
    modules: list[Any] = [import_module(each) for each in names]
    loader, phases, programs, run, writing = modules
    loader.METADATA = spec["metadata"]
    wrap(programs, "start", lambda argv, *_: note("program", list(argv)))
    clock = {"ahead": 0.0}
    real = time.time
    time.time = lambda: real() + clock["ahead"]

    class Time:
        """`time` for phases.py: waits between tries take no time."""

        time, monotonic = staticmethod(time.time), staticmethod(time.monotonic)

        @staticmethod
        def sleep(seconds: float) -> None:
            note("wait", seconds)

    phases.time = Time
    if spec["clock"]:

        def jump(*_: Any) -> None:
            clock["ahead"] += spec["clock"]

        wrap(phases, "reach", lambda *_: None, jump)
        wrap(time, "sleep", jump)
    if spec["cut"]:
        cut = Cut(**spec["cut"])
        every_make(cut.enter, cut.leave)
        wrap(writing, "rename", cut.rename)
        wrap(programs, "start", cut.effect)
        wrap(run.Run, "ask", cut.effect)
        wrap(Path, "write_text", cut.effect)
    if spec["meet"]:
        every_make(meet)


def meet(*_: Any) -> None:
    """Waits in the first step that sets something until the other run has ended."""
    if not MET.exists():
        MET.touch()
        while not GO.exists():
            time.sleep(0.01)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.path.insert(0, BUNDLE)
    node = import_module("node")
    given = json.loads(Path(sys.argv[1]).read_text())
    arrange(given)
    sys.exit(node.main(given["words"]))
