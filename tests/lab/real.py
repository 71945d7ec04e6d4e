"""One real program on Linux or Windows: known flags, and its output for rendered files."""

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
"""The first missing prerequisite of each program with a valid command line and configuration."""


@dataclass(frozen=True)
class Real:
    """A program of one version, on this host or on a Windows machine."""

    name: str
    os: str
    path: Path
    folder: Path
    """Folder for its files."""
    windows: Windows | None = None

    def each(self, lines: Iterable[Sequence[str]]) -> list[str]:
        """Return the program's output for each command line."""
        if self.windows is None:
            return [run([self.path, *line], self.folder).text for line in lines]
        program = self.windows.install(self.path, rf"C:\lab\{self.path.name}")
        return self.windows.each([program, *line] for line in lines)

    def known_flags(self) -> frozenset[str]:
        """Return the flags in the program's help, which lists all but hidden ones."""
        (text,) = self.each([["--help"]])
        return frozenset(re.findall(r"(?m)^\s+(?:-\w, )?--([a-z0-9-]+)", text))

    def refused(self, flags: Iterable[str]) -> frozenset[str]:
        """Return unknown flags; --version ends the program before it acts."""
        wanted = sorted(flags)
        # no flag accepts @ as a number, boolean or duration, so the error is about the value if the name exists
        outputs = self.each([f"--{each}=@", "--version"] for each in wanted)
        return frozenset(
            flag for flag, text in zip(wanted, outputs, strict=True) if re.search(rf"unknown flag: --{flag}\b", text)
        )

    def read(self, document: Any, arguments: Sequence[str] = ()) -> Judgement:
        """Start the program with a configuration; it ends at the first missing prerequisite."""
        own = [each for each in arguments if each != "--windows-service"]  # that needs the service manager
        if self.windows is None:
            return run([self.path, *self._here(own, write(self.folder, CONFIG["linux"], document))], self.folder)
        program = self.windows.install(self.path, rf"C:\lab\{self.path.name}")
        config = CONFIG["windows"]
        write(self.windows.path(config).parent, "config.json", document)
        words = _with(own, "--config", config)
        judgement = self.windows.run([program, *words])
        return Judgement(judgement.code, judgement.text + self._log(words))

    def _here(self, arguments: Sequence[str], config: Path) -> list[str]:
        """Return the arguments, changed so that this host's files are not used."""
        moved = [f"{self.folder}{each}" if each.startswith("/") else each for each in arguments]
        if self.name != "kubelet":
            return _with(moved, "--config", str(config))
        scratch = {"--root-dir": "root", "--cert-dir": "pki", "--kubeconfig": "none", "--bootstrap-kubeconfig": "none"}
        for flag, name in {"--config": str(config), **scratch}.items():
            moved = _with(moved, flag, name if flag == "--config" else str(self.folder / name))
        return moved

    def _log(self, arguments: Sequence[str]) -> str:
        """Return the log file of a program whose minor version writes one."""
        files = [each.partition("=")[2] for each in arguments if each.startswith("--log-file=")]
        assert self.windows
        paths = [self.windows.path(each) for each in files]
        text = "".join(path.read_text("utf-8", "replace") for path in paths if path.is_file())
        for path in paths:
            path.unlink(missing_ok=True)
        return text

    def objections(self, said: Judgement) -> list[str]:
        """Return lines with objections; not reaching the first missing prerequisite is one too."""
        came = re.search(NEXT[self.name], said.text)
        return said.objections + ([] if came else [f"ended early: {said.text[-1500:]}"])


def _with(arguments: Sequence[str], flag: str, value: str) -> list[str]:
    """Return the arguments with a flag's value replaced or added."""
    words = list(arguments)
    if flag in words:
        words[words.index(flag) + 1] = value
        return words
    return [*words, flag, value]
