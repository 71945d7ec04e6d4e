"""Runs the command of `mullion run` with the cluster's kubeconfig, and ends all its processes."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from operations.console.exits import Exit, Stop
from operations.engine import workspace

GRACE_SECONDS = 10.0
"""Time between SIGTERM and SIGKILL; a cancelled job of GitHub Actions has 7.5 s (its documentation, "Canceling a
workflow")."""
CREDENTIALS = (
    *workspace.REMOVED,
    *("ACTIONS_ID_TOKEN_", "ACTIONS_RUNTIME_TOKEN"),
    *("SYSTEM_ACCESSTOKEN", "SYSTEM_OIDCREQUESTURI", "MULLION_PASSPHRASE"),
    *("OIDC_TOKEN", "CI_JOB_TOKEN", "COMMENT_TOKEN"),
)
"""Prefixes of the variables that the command does not get: of the clouds and the engine, then those with which a job at
GitHub, Azure Pipelines and GitLab asks for tokens."""
LATE = 124
"""Exit code if the command still ran at the expiry; the same as that of timeout(1)."""


class CommandFailed(Exception):
    """The command ended with this code, not 0."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def refuse_unknown(words: Sequence[str]) -> None:
    """Raise Stop if the program does not exist, before a cluster is built for it."""
    if not words:
        raise Stop(Exit.USAGE, "the command is missing; write it after --: mullion run aws-ci -- make test")
    if shutil.which(words[0]) is None:
        raise Stop(Exit.USAGE, f"there is no program {words[0]!r} to run; nothing was built")


def without_credentials(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables that sign in to a cloud or open the state.

    A command under test runs code of a pull request, and needs the cluster alone.
    """
    return {name: value for name, value in environment.items() if not name.startswith(CREDENTIALS)}


def run(words: Sequence[str], environment: Mapping[str, str], seconds: float, *, credentials: bool = False) -> None:
    """Run a command for at most `seconds`. Raises CommandFailed with its exit code, 128 + n for signal n.

    credentials: whether it gets those of this process. Without a terminal it gets its own session, so all its child
    processes can be ended.
    """
    alone = not sys.stdin.isatty()
    sys.stdout.flush()
    inherited = dict(os.environ) if credentials else without_credentials(os.environ)
    process = subprocess.Popen(list(words), env={**inherited, **environment}, start_new_session=alone)
    try:
        code = process.wait(max(0.0, seconds))
    except subprocess.TimeoutExpired:
        raise CommandFailed(LATE, f"{words[0]} still ran when the cluster expired, and was ended") from None
    finally:
        _end(process, alone=alone)
    if code:
        said = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
        raise CommandFailed(128 - code if code < 0 else code, f"{words[0]} {said}")


def _end(process: "subprocess.Popen[bytes]", *, alone: bool) -> None:
    """End a command and the processes it started: SIGTERM, then SIGKILL."""

    def send(number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if alone:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)

    if process.poll() is None:
        send(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
    if alone or process.poll() is None:
        send(signal.SIGKILL)
    process.wait()
