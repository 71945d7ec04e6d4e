"""Waiting, which changes nothing on a machine and so replaces none."""

from typing import Any

from components.node.kinds import OnChange, Step, step


def wait(name: str, timeout_seconds: int = 300, **condition: Any) -> Step:
    """A wait for one condition: address, tcp, url, file or service."""
    return step("wait", name, on_change=OnChange.NEW_NODES, condition=condition, timeout_seconds=timeout_seconds)
