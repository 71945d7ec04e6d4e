"""The cloud account that this environment uses, and the question for confirmation."""

import json
import os
import shutil
import subprocess
import sys
from functools import reduce
from operator import getitem

from operations.clouds.cloud_tables import Cloud
from operations.clouds.identity import Identity
from operations.console.exits import Exit, Stop


def account(cloud: Cloud, identity: Identity) -> str:
    """Return the account of a provider, by its settings or by the cloud's command line; empty if neither knows it."""
    command, path = cloud.account
    program = shutil.which(command[0])
    if identity.account or not identity.certain or not program:
        return identity.account
    try:
        done = subprocess.run(
            [program, *command[1:], *identity.options],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
        )
        return str(reduce(getitem, path, json.loads(done.stdout))) if done.returncode == 0 else ""
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return ""


def chosen(cloud: Cloud) -> str:
    """Return the variables of the environment that choose the identity, or "the default profile"."""
    variables = [f"{name}={os.environ[name]}" for name in cloud.chosen_by if os.environ.get(name)]
    return ", ".join(variables) or "the default profile"


def confirm(question: str, answer: str = "yes") -> None:
    """Ask a question. Raises Stop unless the answer is the expected one, or if there is no terminal."""
    if not sys.stdin.isatty():
        raise Stop(Exit.REFUSED, f"{question} Cannot ask without a terminal; nothing was changed")
    try:
        typed = input(f"{question} Type {answer!r} to continue: ")
    except EOFError:  # Ctrl-D
        print()
        typed = ""
    if typed.strip() != answer:
        raise Stop(Exit.REFUSED, "not confirmed; nothing was changed")
