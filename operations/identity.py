"""Which account of a cloud this environment leads to, and asking whether that is meant."""

import json
import os
import shutil
import subprocess
import sys

from operations.exits import Exit, Stop

HINTS = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_ROLE_ARN")
"""Variables that choose an identity; only whether a key is set is shown, never a secret one."""


def account() -> str:
    """Return the account id that the AWS command line reports, or nothing where it cannot say."""
    program = shutil.which("aws")
    if not program:
        return ""
    try:
        done = subprocess.run(
            [program, "sts", "get-caller-identity", "--output", "json"],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
        )
        return str(json.loads(done.stdout)["Account"]) if done.returncode == 0 else ""
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return ""


def chosen() -> str:
    """Say what in the environment chooses the identity."""
    given = [f"{name}={os.environ[name]}" for name in HINTS if os.environ.get(name)]
    return ", ".join(given) or "the default profile"


def confirm(question: str, answer: str = "yes") -> None:
    """Ask, and stop unless the answer is the expected one."""
    if not sys.stdin.isatty():
        raise Stop(Exit.REFUSED, f"{question} Not asked, because there is no terminal; nothing was changed")
    try:
        said = input(f"{question} Type {answer!r} to go on: ")
    except EOFError:  # Ctrl-D
        print()
        said = ""
    if said.strip() != answer:
        raise Stop(Exit.REFUSED, "not confirmed; nothing was changed")
