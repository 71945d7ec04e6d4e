"""A stand-in of the engine for tests of `mullion run`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from operations.console.exits import Exit, Stop
from operations.stacks import ephemeral, stack_files, target
from operations.stacks.target import Target


class Cluster:
    """What the engine would do. fails: phases that fail with Stop, and the code."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.fails: dict[str, Exit] = {}
        self.spec: Any = None
        self.expires: list[Any] = []
        self.asked = self.bootable = False

    def _call(self, phase: str) -> None:
        self.calls.append(phase)
        if phase in self.fails:
            raise Stop(self.fails[phase], f"{phase} broke with password: hunter2hunter2")

    def up(self, name: str, *, sandbox: bool, yes: bool, created: Callable[[], None], bootable_as: Any = None) -> None:
        sys.stdout.write("progress of the engine\n")
        if "name" in self.fails:
            self._call("name")
        created()
        self.spec = stack_files.load(name).spec
        self.asked = not sandbox and not yes
        self.bootable = bootable_as is not None
        target.remember(name, Target("sandbox" if sandbox else "aws"))
        target.write(target.folder(name) / "kubeconfig", "{}")
        self._call("up")

    def wait(self, name: str, timeout: str) -> None:
        self._call("wait")

    def boot(self, name: str, timeout: str, *, pods_only: bool = False) -> None:
        self._call("boot what runs pods" if pods_only else "boot")

    def verify(self, name: str, **options: Any) -> None:
        self._call("verify")

    def down(self, name: str, *, sandbox: bool, yes: bool, confirmed: str | None) -> None:
        self._call("down")
        target.forget(name)
        ephemeral.forget(name)

    def logs(self, name: str, folder: Path) -> list[str]:
        self._call("logs")
        folder.mkdir()
        return ["web-0 did not answer"]

    def expire(self, name: str, at: Any, *, sandbox: bool, yes: bool) -> None:
        self._call("expire")
        self.expires.append(at)


def nothing_left(clone: Path) -> bool:
    """Whether the run of ci-1 left neither a stack file nor a folder."""
    return stack_files.names() == ["small"] and not (clone / ".mullion" / "ci-1").exists()
