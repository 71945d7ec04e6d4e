"""The wait step: it changes nothing on a machine, so a change of the step replaces no machine."""

from typing import Any

from components.node.kinds import OnChange, Step, step


def wait(name: str, timeout_seconds: int = 300, error: str | None = None, **condition: Any) -> Step:
    """Return a wait for one condition: address, tcp, url, file or service; `error` ends the run (default 404)."""
    fields: dict[str, Any] = {"condition": condition, "timeout_seconds": timeout_seconds}
    return step("wait", name, on_change=OnChange.NEW_NODES, **fields, **({"error": error} if error else {}))
