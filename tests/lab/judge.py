"""Output of real programs for rendered files: lines with objections, and the point that the programs reached."""

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

OBJECTIONS = re.compile(
    r"unknown flag|unknown field|unknown shorthand|strict decoding error|lenient decoding|unrecognized feature gate"
    r"|cannot set feature gate|failed to (parse|decode|load|validate)|cannot unmarshal|error unmarshaling"
    r"|invalid configuration|invalid argument|[Ii]nvalid value|Ignoring unknown key|level=(warn|error)",
)
"""Patterns of errors about a file or a command line."""

SECONDS = 180
"""Longest run in seconds; programs end at once at the first missing prerequisite."""

WINE_CRASHED = 245
"""Exit code of a segmentation fault of Wine, about 1 of 100 runs."""


@dataclass(frozen=True)
class Judgement:
    """Exit code and output of a run."""

    code: int
    text: str

    @property
    def objections(self) -> list[str]:
        """Return lines with objections."""
        return [line for line in self.text.splitlines() if OBJECTIONS.search(line)]

    def unknown(self) -> set[str]:
        """Return unknown fields by path; a decoder that ends at one gives its name alone."""
        return set(re.findall(r'unknown field \\*"([^"\\]+)', self.text)) | self.first_unknown()

    def first_unknown(self) -> set[str]:
        """Return the field at which a decoder (json-iterator, up to 1.22) ended, or none."""
        return set(re.findall(r"found unknown field: (\w+)", self.text))

    def wrong_types(self) -> list[str]:
        """Return lines about values of a wrong type."""
        return re.findall(r".*cannot unmarshal.*|.*failed to decode: .*(?:unexpected|expects|error found).*", self.text)


def run(command: Sequence[str | Path], folder: Path, seconds: int = SECONDS) -> Judgement:
    """Run a program in a folder; return stdout and stderr in one text."""
    done = subprocess.run(
        [str(each) for each in command],
        check=False,
        cwd=folder,
        env={**os.environ, "WINPWSH_TIMEOUT": str(seconds)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=seconds + 20,
    )
    return Judgement(done.returncode, done.stdout.decode("utf-8", "replace"))


@dataclass(frozen=True)
class Windows:
    """A Windows machine with programs in C:\\k; the same paths as a node has."""

    tool: str
    folder: Path

    @property
    def drive(self) -> Path:
        """Return the host's path of C:."""
        return self.folder / "drive_c"

    def path(self, windows: str) -> Path:
        """Return the host's path of an absolute Windows path; create its folder."""
        path = self.drive.joinpath(*windows.partition(":")[2].strip("\\").split("\\"))
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def install(self, program: Path, windows: str) -> str:
        """Link a program of the cache into the machine; return its Windows path."""
        place = self.path(windows)
        place.unlink(missing_ok=True)
        place.symlink_to(program)
        return windows

    def run(self, command: Sequence[str], seconds: int = SECONDS) -> Judgement:
        """Run a Windows program, once more if Wine crashed."""
        whole = [self.tool, "run", self.folder, *command]
        judgement = run(whole, self.drive, seconds)
        return judgement if judgement.code != WINE_CRASHED else run(whole, self.drive, seconds)

    def each(self, commands: Iterable[Sequence[str]]) -> list[str]:
        """Run many short commands in one process; return their outputs in order."""
        wanted = [subprocess.list2cmdline(each) for each in commands]
        lines = [f"@echo {_MARK}{index}& @{each} 2>&1" for index, each in enumerate(wanted)]
        self.path(r"C:\lab.cmd").write_text("@echo off\r\n" + "\r\n".join(lines) + "\r\n", encoding="ascii")
        output = self.run(["cmd.exe", "/c", r"C:\lab.cmd"], seconds=300).text
        parts = re.split(rf"{_MARK}\d+\s*\n", output)[1:]
        assert len(parts) == len(wanted), output[-2000:]
        return parts


_MARK = "--lab--"
