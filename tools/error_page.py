"""Renders docs/errors.md from the one table of errors that both executors read."""

import json

from components.bundle import CLOUD_INIT, ERRORS

HEADER = """# Errors of a machine

Written by `make generate` from `cloud-init/errors.json`, which both executors read.

A run that fails says so in its result (`/var/lib/mullion/result.json`, `C:\\ProgramData\\mullion\\result.json`), on the
serial console and in its status record: the number, the name, phase, step, and a message without secrets. What may pass
is tried again with growing waits before it ends the run; everything is tried again at the next boot.
"""

GROUPS = {
    1: "The plan and the run",
    2: "Downloads, archives, stores",
    3: "Files",
    4: "Programs, services, checks",
    5: "Windows, restarts, the network, what a node lacks",
    9: "Anything else",
}


def render() -> str:
    """The page, in Markdown."""
    rows = json.loads((CLOUD_INIT / ERRORS).read_text(encoding="ascii"))["errors"]
    parts = [HEADER]
    for group, title in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += ["| code | name | cause | what to do | tried again |", "|---|---|---|---|---|"]
        parts += [_row(**each) for each in rows if each["code"] // 100 == group]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _row(code: int, name: str, retry: bool, cause: str, remedy: str) -> str:
    return f"| {code} | `{name}` | {cause} | {remedy} | {'yes' if retry else 'no'} |"
