"""A Windows machine of the lab whose kubelet is real: what Wine lacks for it is done from outside."""

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.cloud_init.windows import WINE_CRASHED
from tests.whole_way.windows import Server
from tests.windows_node.losses import reboot
from tests.windows_node.registry import add
from tests.windows_node.server import BOOK_FOLDER, SYSTEM
from tests.windows_node.server import CURRENT as CURRENT_VERSION

CRI = "127.0.0.1:10233"
PKI = r"C:\var\lib\kubelet\pki"
UPDATE = 6293
"""Of Windows Server 2019, as Kubernetes on winpwsh machines reports it."""
WMIC = "@echo off\r\necho UUID\r\necho 4C4C4544-0000-1000-8000-000000000000\r\n"
"""Old kubelets ask `wmic csproduct get UUID` and end where that fails, as Wine's own does (pkg/kubelet/winstats)."""
CURRENT = "kubelet-client-current.pem"


@dataclass(kw_only=True)
class Joining(Server):
    """A server whose kubelet gets its certificate although Wine makes no links."""

    linked: list[str] = field(default_factory=list[str])
    """Certificates that were linked, in order."""
    _written: "IO[str] | None" = None

    def __post_init__(self) -> None:
        """What Windows Server brings that winpwsh does not."""
        version = {"CurrentBuildNumber": "17763", "UBR": f"dword:{UPDATE:08x}"}
        add(self.folder, {**SYSTEM, CURRENT_VERSION: version})
        self.path(r"C:\windows\system32\wmic.bat").write_text(WMIC)

    def output(self) -> IO[str] | int:
        """A file: services that a run starts keep a pipe open for as long as they live."""
        self._close()
        self._written = (self.folder / "output").open("w")
        return self._written

    def _close(self) -> None:
        if self._written:
            self._written.close()

    def pwsh(self, command: str, seconds: int = 90, *, again: bool = True) -> tuple[int, str]:
        """Exit code and output of a run."""
        run = self.start(command, seconds)
        run.wait(seconds + 20)
        if run.returncode == WINE_CRASHED and again:
            return self.pwsh(command, seconds, again=False)
        return run.returncode, (self.folder / "output").read_text(errors="replace")

    def cut(self) -> None:
        """The power goes, and with it what Windows keeps in memory alone."""
        super().cut()
        self._close()
        reboot(self.path(BOOK_FOLDER))

    def run(self, *words: str, seconds: int = 60) -> str:
        """What a Windows program says, where the machine's other programs run."""
        command = [*self.entry, self.tool, "run", str(self.folder), *words]
        environment = {**os.environ, "WINPWSH_TIMEOUT": str(seconds)}
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds + 20,
            check=False,
            env=environment,
        )
        return ran.stdout + ran.stderr

    @contextmanager
    def links(self) -> Iterator[None]:
        """Meanwhile link the kubelet's certificate once it has one, and start the kubelet anew.

        The kubelet writes kubelet-client-<time>.pem, then fails to link it (symlinks are not in Wine 8), and would ask
        for another certificate again and again. Real Windows lets SYSTEM make links.
        """
        done = threading.Event()

        def watch() -> None:
            while not done.wait(0.3):
                self._link()

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _link(self) -> None:
        folder = self.path(PKI)
        current = folder / CURRENT
        written = sorted(each for each in folder.glob("kubelet-client-*.pem") if each.name != CURRENT)
        if not written or current.exists():
            return
        while b"PRIVATE KEY" not in written[0].read_bytes():
            time.sleep(0.05)
        self.run("sc.exe", "stop", "kubelet")
        current.symlink_to(written[0].name)
        self.linked.append(written[0].name)
        for _ in range(20):  # a service that stops cannot be started yet
            self.run("sc.exe", "start", "kubelet")
            if "RUNNING" in self.run("sc.exe", "query", "kubelet"):
                return
            time.sleep(0.5)


@contextmanager
def no_runtime(program: Path, space: str) -> Iterator[None]:
    """A container runtime that is never ready, on the machine's loopback."""
    command = ["nsenter", f"--net=/run/netns/{space}", str(program), CRI]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        running.terminate()
        running.wait(30)
