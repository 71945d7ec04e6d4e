"""Whether a stack's machines run: in a cloud or a booted sandbox, but not in an unbooted one."""

import json

import pulumi

from components.machine.service_urls import SANDBOX

BOOTED = "mullion:booted"
"""Configuration key that only `mullion` sets: URL of the Kubernetes API on the host where machines are booted."""
SESSIONS = "mullion:sessions"
"""Configuration key that only `mullion` sets: words before a cloud's session command in a booted sandbox, as JSON."""


def api() -> str:
    """Return the URL of the API on this host; empty if no machines are booted."""
    return pulumi.Config("mullion").get("booted") or ""


def sessions() -> list[str]:
    """Return the words before a cloud's session command that start the sandbox's stand-in; empty in a real cloud."""
    return json.loads(pulumi.Config("mullion").get("sessions") or "[]")


def is_simulated(target: str) -> bool:
    """Return whether machines exist only in the sandbox's state, ready as soon as they are created."""
    return target == SANDBOX and not api()
