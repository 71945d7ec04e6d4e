"""Order of calls at power-on and power cut of a Windows machine, without Windows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab import build
from sandbox.boot.windows import machine
from sandbox.boot.windows.machine import WITH, WindowsMachine
from sandbox.boot.windows.server import Failed, Server


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Calls in order."""
    noted: list[str] = []

    def note(what: str) -> Callable[..., None]:
        return lambda *words: noted.append(what)

    @contextmanager
    def runtime(program: Path, space: str, address: str) -> Iterator[Any]:
        noted.append("runtime answers")
        try:
            yield SimpleNamespace(pid=1)
        finally:
            noted.append("runtime ends")

    def install(self: Server, os: str) -> None:
        self.folder.mkdir()
        noted.append(f"new disk of {os}")

    monkeypatch.setattr(machine, "no_runtime", runtime)
    monkeypatch.setattr(build, "place", lambda program: Path("/lab/crinotready"))
    monkeypatch.setattr(Server, "install", install)
    monkeypatch.setattr(Server, "begin", note("Windows starts its services"))
    monkeypatch.setattr(machine, "links", nullcontext)
    monkeypatch.setattr(Server, "go_on", lambda self, is_off: noted.append("tasks run"))
    monkeypatch.setattr(Server, "cut", note("power goes"))
    return noted


def web(folder: Path) -> WindowsMachine:
    """A Windows worker in a fake network."""
    network: Any = SimpleNamespace(
        cloud_state=SimpleNamespace(path=folder / "world.db"),
        address=lambda record: "10.20.0.9",
        document=lambda record: {"facts": {"cloud": "aws"}, "machine": {"name": "web-0"}},
        resolver="10.20.0.2",
    )
    record: Any = None
    return WindowsMachine(network, record, "web-0", folder / "web-0", "net-x", {"os": "windows-2019"})


BOOT = ["runtime answers", "Windows starts its services", "tasks run"]
"""Order of a boot: a kubelet without runtime ends at once, which Wine's service manager does not notice."""


def test_each_boot_starts_the_container_runtime_before_windows_starts_the_kubelet(
    tmp_path: Path, done: list[str]
) -> None:
    here = web(tmp_path)
    for _ in range(2):
        here.boot()
        here.cut()
    life = [*BOOT, "runtime ends"]
    assert [each for each in done if each != "power goes"] == ["new disk of windows-2019", *life, *life]
    assert done[-1] == "power goes", "also of processes that were about to start"
    assert (here.folder / WITH).is_file()


def test_a_failed_boot_raises_its_reason_and_ends_the_runtime(
    tmp_path: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Server) -> None:
        raise Failed("EC2Launch ended with 7")

    monkeypatch.setattr(Server, "begin", fail)
    with pytest.raises(RuntimeError, match="web-0 did not boot: EC2Launch ended with 7"):
        web(tmp_path).boot()
    assert done[-2:] == ["runtime ends", "power goes"]
