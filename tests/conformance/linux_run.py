"""Starts node.py on a case's machine with the events of the case: power cuts, a clock that jumps.

    python linux_run.py SPEC.json    {words, metadata, clock, cut: {step, cut} | null, meet: bool}

It runs below the machine's own root, and changes the interpreter that node.py runs in, never node.py. It writes the
sleeps between tries and the arguments of all programs to NOTES, one per line. It uses only the standard library.
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
"""Files: the run creates MET in its first step that sets something; the test creates GO after the second run ended."""


def note(kind: str, value: Any) -> None:
    """Write one line of notes for the test."""
    with NOTES.open("a") as file:
        file.write(json.dumps([kind, value]) + "\n")


def power_off() -> None:
    """Kill this process: no handler, no flush, no `finally`."""
    os.kill(os.getpid(), signal.SIGKILL)


def wrap(owner: Any, name: str, before: Callable[..., None], after: Callable[[], None] = lambda: None) -> None:
    """Call `before` and `after` around each call of a function, in every module that imported it."""
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
    """The point at which power is cut: a cut point of a named step."""

    def __init__(self, step: str, cut: str) -> None:
        self.step, self.cut = step, cut
        self.inside, self.effects = False, 0

    def enter(self, run: Any, step: dict[str, Any]) -> None:
        """Begin to set a step; cut here if the cut point is before-set."""
        self.inside = step["name"] == self.step
        if self.inside and self.cut == "before-set":
            power_off()

    def leave(self) -> None:
        """End a step that was set or failed; cut here if the cut point is after-set."""
        if self.inside and self.cut == "after-set":
            power_off()
        self.inside = False

    def rename(self, *_: Any) -> None:
        """Cut before a file gets its final name if the cut point is before-rename."""
        if self.inside and self.cut == "before-rename":
            power_off()
        self.effect()

    def effect(self, *_: Any) -> None:
        """Count an effect of the step; cut before the second if the cut point is within the step."""
        if self.inside and self.cut in ("half-set", "during-unpack") and self.effects:
            power_off()
        self.effects += self.inside


def every_make(before: Callable[..., None], after: Callable[[], None] = lambda: None) -> None:
    """Call `before` and `after` around the setting of every step."""
    kinds = import_module("kinds").KINDS
    for name, kind in kinds.items():
        holder = SimpleNamespace(make=kind.make)
        wrap(holder, "make", before, after)
        kinds[name] = kind._replace(make=holder.make)


def arrange(spec: dict[str, Any]) -> None:
    """Change the interpreter as the spec says. The executor's modules have been imported."""
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
    """Wait in the first step that sets something until the other run has ended."""
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
