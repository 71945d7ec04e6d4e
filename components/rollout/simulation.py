"""Whether a stack's machines run: in a cloud or a booted sandbox, but not in an unbooted one."""

import pulumi

from components.machine.service_urls import SANDBOX

BOOTED = "mullion:booted"
"""Configuration key that only `mullion` sets: URL of the Kubernetes API on the host where machines are booted."""


def api() -> str:
    """Return the URL of the API on this host; empty if no machines are booted."""
    return pulumi.Config("mullion").get("booted") or ""


def is_simulated(target: str) -> bool:
    """Return whether machines exist only in the sandbox's state, ready as soon as they are created."""
    return target == SANDBOX and not api()
