"""What real programs say of a rendering: the lines in which they object, and how far they came."""

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
"""What programs write when they read a file or a command line with which something is wrong."""

SECONDS = 180
"""Programs end at once, at the first thing that is missing; this ends one that does not."""

WINE_CRASHED = 245
"""Exit code where Wine ended with a segmentation fault, about once in a hundred runs."""


@dataclass(frozen=True)
class Judgement:
    """Exit code and output of a run."""

    code: int
    text: str

    @property
    def objections(self) -> list[str]:
        """Lines in which the program objects."""
        return [line for line in self.text.splitlines() if OBJECTIONS.search(line)]

    def unknown(self) -> set[str]:
        """Fields that the program does not know, by their paths; of a decoder that ends at one, its name alone."""
        return set(re.findall(r'unknown field \\*"([^"\\]+)', self.text)) | self.first_unknown()

    def first_unknown(self) -> set[str]:
        """The one field, if any, at which a decoder (json-iterator, up to 1.22) ended."""
        return set(re.findall(r"found unknown field: (\w+)", self.text))

    def wrong_types(self) -> list[str]:
        """Lines about values of another type than their field's."""
        return re.findall(r".*cannot unmarshal.*|.*failed to decode: .*(?:unexpected|expects|error found).*", self.text)


def run(command: Sequence[str | Path], folder: Path, seconds: int = SECONDS) -> Judgement:
    """Run a program in a folder; stdout and stderr in one text."""
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
        """C:, as the host sees it."""
        return self.folder / "drive_c"

    def path(self, windows: str) -> Path:
        """The host's path of an absolute Windows path; its folder is there."""
        path = self.drive.joinpath(*windows.partition(":")[2].strip("\\").split("\\"))
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def install(self, program: Path, windows: str) -> str:
        """The program's Windows path, once it is there; the same file as in the cache, which nothing writes to."""
        place = self.path(windows)
        place.unlink(missing_ok=True)
        place.symlink_to(program)
        return windows

    def run(self, command: Sequence[str], seconds: int = SECONDS) -> Judgement:
        """Run a Windows program; once more where Wine itself ended, which is not under test."""
        whole = [self.tool, "run", self.folder, *command]
        said = run(whole, self.drive, seconds)
        return said if said.code != WINE_CRASHED else run(whole, self.drive, seconds)

    def each(self, commands: Iterable[Sequence[str]]) -> list[str]:
        """Run many short commands in one process of the machine's; what each of them said, in order."""
        wanted = [subprocess.list2cmdline(each) for each in commands]
        lines = [f"@echo {_MARK}{index}& @{each} 2>&1" for index, each in enumerate(wanted)]
        self.path(r"C:\lab.cmd").write_text("@echo off\r\n" + "\r\n".join(lines) + "\r\n", encoding="ascii")
        said = self.run(["cmd.exe", "/c", r"C:\lab.cmd"], seconds=300).text
        parts = re.split(rf"{_MARK}\d+\s*\n", said)[1:]
        assert len(parts) == len(wanted), said[-2000:]
        return parts


_MARK = "--lab--"
