"""Waiting, which changes nothing on a machine and so replaces none."""

from typing import Any

from components.node.kinds import OnChange, Step, step


def wait(name: str, timeout_seconds: int = 300, error: str | None = None, **condition: Any) -> Step:
    """A wait for one condition: address, tcp, url, file or service; `error`: what ends the run (default 404)."""
    fields: dict[str, Any] = {"condition": condition, "timeout_seconds": timeout_seconds}
    return step("wait", name, on_change=OnChange.NEW_NODES, **fields, **({"error": error} if error else {}))
