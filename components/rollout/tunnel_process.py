"""Run a command until this program's standard input ends, then end the command and the programs that it started.

A tunnel's owner holds the other end of standard input, so a tunnel ends with its owner, even if that is killed. Only
ending the command is not enough: `aws` leaves session-manager-plugin running. Imports the standard library only.
"""

import os
import signal
import subprocess
import sys
import threading
import time

GRACE_SECONDS = 3.0
"""Time for the command to end its session after SIGTERM."""


def _stay(_number: int, _frame: object) -> None:
    """Ignore a signal."""


def main(words: list[str]) -> None:
    """Run the command; end with its exit code, or with 1 if a signal ended it."""
    os.setsid()
    signal.signal(signal.SIGTERM, _stay)  # sent to the whole group below; a handler is not inherited
    command = subprocess.Popen(words, stdin=subprocess.DEVNULL)

    def follow() -> None:
        code = command.wait()
        os.killpg(0, signal.SIGTERM)
        os._exit(max(code, 0) or 1)

    threading.Thread(target=follow, daemon=True).start()
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGTERM)
    time.sleep(GRACE_SECONDS)  # `follow` ends this process earlier
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
