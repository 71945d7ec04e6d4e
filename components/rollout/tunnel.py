"""Tunnel: a TCP port on loopback that a child process forwards to a port of a machine."""

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from components.rollout.kubernetes_api import Unreachable
from components.rollout.session_commands import LOCALHOST

PROCESS = Path(__file__).with_name("tunnel_process.py")
OPEN_SECONDS = 60.0
"""Longest wait until the port answers; the services need about five seconds."""
POLL_SECONDS = 0.1
OUTPUT = 800
"""Characters of the command's output in a message."""


class NoTunnel(Unreachable):
    """No tunnel could be opened; the message says why and what to do."""


class Tunnel:
    """An open tunnel; it ends with `close`, with this process, or when its command ends."""

    def __init__(self, command: Callable[[int], Sequence[str]], seconds: float = OPEN_SECONDS) -> None:
        """Start the command for a free local port and wait until the port answers. Blocks.

        Raises NoTunnel with the command's output if the command ends, or after `seconds`.
        """
        self.port, self._written = _free_port(), ""
        words = list(command(self.port))
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the tunnel
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(PROCESS), *words], stdin=subprocess.PIPE, stdout=self._log, stderr=self._log
        )
        end = time.monotonic() + seconds
        while not self._answers():
            if not self.is_open or time.monotonic() > end:
                why = f"did not open the port within {seconds:.0f} s" if self.is_open else "ended"
                self.close()
                raise NoTunnel(f"the tunnel's command {why}: {self.output() or 'it wrote nothing'}")
            time.sleep(POLL_SECONDS)

    @property
    def url(self) -> str:
        """URL of the Kubernetes API behind the tunnel."""
        return f"https://{LOCALHOST}:{self.port}"

    @property
    def is_open(self) -> bool:
        """Whether its command runs."""
        return self._process.poll() is None

    def output(self) -> str:
        """Return the end of what the command wrote."""
        if not self._log.closed:
            self._log.seek(0)
            self._written = self._log.read().decode(errors="replace").strip()[-OUTPUT:]
        return self._written

    def close(self) -> None:
        """End the command and the programs that it started."""
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        self._process.wait()
        self.output()
        self._log.close()

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection((LOCALHOST, self.port), POLL_SECONDS):
            return self.is_open
        return False


def _free_port() -> int:
    """Return a port that nothing listens on. If another program takes it first, the command ends with an error."""
    with socket.create_server((LOCALHOST, 0)) as listener:
        return listener.getsockname()[1]
