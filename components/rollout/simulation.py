"""Whether a stack's machines are real in the sandbox: booted there, and so waited for like a cloud's."""

import pulumi

from components.machine.service_urls import SANDBOX

BOOTED = "mullion:booted"
"""Configuration key that only `mullion` sets: the API's URL on the host that machines are booted on."""


def api() -> str:
    """URL of the API on this host; empty where nothing is booted."""
    return pulumi.Config("mullion").get("booted") or ""


def is_simulated(target: str) -> bool:
    """Whether machines are only written down: they are ready within the call that makes them."""
    return target == SANDBOX and not api()
