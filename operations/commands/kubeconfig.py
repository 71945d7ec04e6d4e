"""`mullion outputs` and `mullion kubeconfig`: what a stack's state holds for people."""

import base64
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import yaml
from pulumi import automation as auto

from components.machine import pki
from operations.commands import report
from operations.console.exits import Exit, Stop
from operations.engine import failures, locate, state
from operations.engine.workspace import backend, existing, opened
from operations.stacks import boot_site, stack_files, target

STALE = timedelta(days=5)
"""A certificate that ends sooner is issued anew."""

STASH = "pulumi:index:Stash"


def outputs(name: str, *, as_json: bool) -> None:
    """Print a stack's outputs; secret ones only as [secret]."""
    with built(name) as run:
        found = {key: "[secret]" if value.secret else value.value for key, value in run.outputs().items()}
    if as_json:
        print(json.dumps(found, indent=2))
        return
    lines: list[str] = []
    for key, value in sorted(found.items()):
        text = value if isinstance(value, str) else json.dumps(value)
        lines.append(f"{key}: {text.strip()}" if "\n" not in text.strip() else f"{key}:\n{text.strip()}")
    print("\n".join(lines))


def kubeconfig(name: str, output: str | None) -> None:
    """Write the administrator's kubeconfig, with a fresh certificate where the stored one ends soon."""
    if output is not None and Path(output).is_dir():
        raise Stop(Exit.USAGE, f"-o {output or '.'} is a folder; name a file in it, or - for standard output")
    with built(name) as run:
        found = run.outputs().get("kubeconfig")
        if found is None:
            raise Stop(Exit.FAILED, f"stack {name} has no kubeconfig yet; `mullion up {name}` makes it")
        text = current(name, found.value, run)
    if output == "-" or (output is None and not sys.stdout.isatty()):
        print(text, end="")
        return
    path = report.kubeconfig(name, text) if output is None else Path(output)
    if output is not None and not _written(path, text):
        return
    if target.in_sandbox(name) and not boot_site.api(name):
        print(f"mullion: nothing answers at its server yet: {boot_site.not_booted(name)}", file=sys.stderr)
    print(f"kubeconfig of {name}: {path}\n  export KUBECONFIG={os.path.abspath(path)}")  # noqa: PTH100 - keeps a link


def _written(path: Path, text: str) -> bool:
    """Write it for this user's eyes only. False where what is there is a pipe or device, not to be replaced."""
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, "utf-8")
            return False
        target.write(path.resolve(), text)  # a link stays, and what it leads to is replaced
        return True
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links, before Python 3.13
        raise Stop(Exit.USAGE, f"-o {path}: {error}; name a file that can be written") from error


def current(name: str, stored: str, run: auto.Stack) -> str:
    """Return the stored kubeconfig, or one whose certificate is new where the stored one is about to end."""
    document = yaml.safe_load(stored)
    user = document["users"][0]["user"]
    ends = pki.not_after(base64.b64decode(user["client-certificate-data"]).decode())
    if ends - datetime.now(timezone.utc) > STALE:
        return boot_site.reached(name, stored)
    pair = pki.administrator_certificate(_authority(name, run), name)
    user["client-certificate-data"] = base64.b64encode(pair["certificate"].encode()).decode()
    user["client-key-data"] = base64.b64encode(pair["key"].encode()).decode()
    print(f"mullion: the stored certificate ends {ends:%Y-%m-%d}; issued a new one", file=sys.stderr)
    return boot_site.reached(name, yaml.safe_dump(document, sort_keys=False))


def _authority(name: str, run: auto.Stack) -> pki.KeyPair:
    """The cluster CA as stored: decrypted by the engine into this process's memory, never on disk."""
    deployment = run.workspace.export_stack(name)  # the Automation API exports with --show-secrets
    for each in state.resources_of(deployment):
        if each["type"] == STASH and each["urn"].endswith(f"::{name}-cluster-ca"):
            found: Any = each["outputs"]["output"]
            while isinstance(found, dict) and "plaintext" in found:
                found = json.loads(found["plaintext"])
            return {"certificate": found["certificate"], "key": found["key"]}
    raise Stop(Exit.FAILED, f"the state of {name} holds no cluster CA; `mullion up {name}` goes on where it was cut")


@contextmanager
def built(name: str) -> Iterator[auto.Stack]:
    """A stack that exists, in the world it belongs to."""
    stack_files.file(name)
    program = locate.find()
    never = f"stack {name} was never built; `mullion up {name}` first"
    if target.recall(name) is None and not (backend() or os.environ.get("PULUMI_ACCESS_TOKEN")):
        raise Stop(Exit.FAILED, never)
    with opened(name, program, sandbox=target.in_sandbox(name)) as workspace, failures.reported(name):
        found = existing(name, workspace)
        if found is None:
            raise Stop(Exit.FAILED, never)
        yield found
