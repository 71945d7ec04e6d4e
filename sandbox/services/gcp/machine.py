"""A Compute Engine instance from its record."""

from typing import Any

from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.calls import Call

INSTANCE = "gcp:compute/instance:Instance"
PROJECT_NUMBER = "123456789012"
"""Project number of every project in the sandbox: services answer with names that hold the number, not the id."""


def find(cloud_state: CloudState, call: Call) -> Record | None:
    """Return the instance of the listener, or else the instance with the caller's address."""
    if call.machine:
        return cloud_state.find(INSTANCE, call.machine)
    found = [one for one in cloud_state.resources(INSTANCE) if interface(one).get("networkIp") == call.source]
    return found[-1] if found else None


def interface(machine: Record) -> dict[str, Any]:
    """Return the first network interface."""
    return (machine.outputs.get("networkInterfaces") or [{}])[0]


def zone(machine: Record) -> str:
    """Return the name of the zone."""
    return str(machine.outputs["zone"]).rpartition("/")[2]


def account(machine: Record) -> tuple[str, list[str]]:
    """Return e-mail and scope URLs of the service account; an empty e-mail without an account."""
    given = machine.outputs.get("serviceAccount") or {}
    scopes = [each if "/" in each else f"https://www.googleapis.com/auth/{each}" for each in given.get("scopes") or []]
    return given.get("email") or "", scopes
