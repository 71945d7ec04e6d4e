"""A machine of Compute Engine as its record has it."""

from typing import Any

from sandbox.cloud_state import CloudState
from sandbox.records import Record
from sandbox.services.calls import Call

INSTANCE = "gcp:compute/instance:Instance"
PROJECT_NUMBER = "123456789012"
"""Of every project here: names that services answer with hold the number in the place of the id."""


def find(cloud_state: CloudState, call: Call) -> Record | None:
    """The instance that the listener belongs to, or else the one with the caller's address."""
    if call.machine:
        return cloud_state.find(INSTANCE, call.machine)
    found = [one for one in cloud_state.resources(INSTANCE) if interface(one).get("networkIp") == call.source]
    return found[-1] if found else None


def interface(machine: Record) -> dict[str, Any]:
    """Its first network interface."""
    return (machine.outputs.get("networkInterfaces") or [{}])[0]


def zone(machine: Record) -> str:
    """The zone's name."""
    return str(machine.outputs["zone"]).rpartition("/")[2]


def account(machine: Record) -> tuple[str, list[str]]:
    """E-mail of its service account, and the scopes as URLs; an empty one where it has none."""
    given = machine.outputs.get("serviceAccount") or {}
    scopes = [each if "/" in each else f"https://www.googleapis.com/auth/{each}" for each in given.get("scopes") or []]
    return given.get("email") or "", scopes
