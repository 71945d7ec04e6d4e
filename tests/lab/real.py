"""One real program, on whichever system it runs: what it knows, and what it says of a rendering."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.judge import Judgement, Windows, run
from tests.lab.rendered import write

CONFIG = {"linux": "config.json", "windows": r"C:\lab\config.json"}

NEXT = {
    "kubelet": r"unable to load bootstrap kubeconfig|unable to load client CA file|invalid kubeconfig",
    "kube-proxy": r"(stat|open|CreateFile|GetFileAttributesEx) .*node\.conf: ",
}
"""What each program misses first, once its command line and its configuration are in order."""


@dataclass(frozen=True)
class Real:
    """A program of one version: on this machine, or on a Windows one."""

    name: str
    os: str
    path: Path
    folder: Path
    """Where it may write."""
    windows: Windows | None = None

    def each(self, lines: Iterable[Sequence[str]]) -> list[str]:
        """What the program says to each command line."""
        if self.windows is None:
            return [run([self.path, *line], self.folder).text for line in lines]
        program = self.windows.install(self.path, rf"C:\lab\{self.path.name}")
        return self.windows.each([program, *line] for line in lines)

    def known_flags(self) -> frozenset[str]:
        """Flags that the program's help lists: all but hidden ones."""
        (text,) = self.each([["--help"]])
        return frozenset(re.findall(r"(?m)^\s+(?:-\w, )?--([a-z0-9-]+)", text))

    def refused(self, flags: Iterable[str]) -> frozenset[str]:
        """Which of the flags the program does not know; it ends before it does anything (--version)."""
        wanted = sorted(flags)
        # no flag takes @ for a number, a truth value or a duration: what is wrong then is the value, not the name
        said = self.each([f"--{each}=@", "--version"] for each in wanted)
        return frozenset(
            flag for flag, text in zip(wanted, said, strict=True) if re.search(rf"unknown flag: --{flag}\b", text)
        )

    def read(self, document: Any, arguments: Sequence[str] = ()) -> Judgement:
        """Start the program with a configuration; it ends at the first thing that is not there."""
        own = [each for each in arguments if each != "--windows-service"]  # that needs the service manager
        if self.windows is None:
            return run([self.path, *self._here(own, write(self.folder, CONFIG["linux"], document))], self.folder)
        program = self.windows.install(self.path, rf"C:\lab\{self.path.name}")
        config = CONFIG["windows"]
        write(self.windows.path(config).parent, "config.json", document)
        given = _with(own, "--config", config)
        said = self.windows.run([program, *given])
        return Judgement(said.code, said.text + self._log(given))

    def _here(self, arguments: Sequence[str], config: Path) -> list[str]:
        """The arguments, with this machine's own files left alone."""
        moved = [f"{self.folder}{each}" if each.startswith("/") else each for each in arguments]
        if self.name != "kubelet":
            return _with(moved, "--config", str(config))
        scratch = {"--root-dir": "root", "--cert-dir": "pki", "--kubeconfig": "none", "--bootstrap-kubeconfig": "none"}
        for flag, name in {"--config": str(config), **scratch}.items():
            moved = _with(moved, flag, name if flag == "--config" else str(self.folder / name))
        return moved

    def _log(self, arguments: Sequence[str]) -> str:
        """What a program of a minor that still writes its own log wrote there."""
        files = [each.partition("=")[2] for each in arguments if each.startswith("--log-file=")]
        assert self.windows
        paths = [self.windows.path(each) for each in files]
        found = "".join(path.read_text("utf-8", "replace") for path in paths if path.is_file())
        for path in paths:
            path.unlink(missing_ok=True)
        return found

    def objections(self, said: Judgement) -> list[str]:
        """Lines in which the program objects; that it did not come to what it misses first is one too."""
        came = re.search(NEXT[self.name], said.text)
        return said.objections + ([] if came else [f"ended early: {said.text[-1500:]}"])


def _with(arguments: Sequence[str], flag: str, value: str) -> list[str]:
    """The arguments with the flag's value replaced, or added."""
    given = list(arguments)
    if flag in given:
        given[given.index(flag) + 1] = value
        return given
    return [*given, flag, value]
