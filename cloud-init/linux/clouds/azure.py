"""Azure: Instance Metadata Service, Blob Storage, Key Vault, Resource Manager."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import loader

if TYPE_CHECKING:
    from run import Run

MACHINE = re.compile(r"azure://(/subscriptions/.+)")
LISTING: tuple[str, re.Pattern[str]] = ("?restype=container&comp=list&prefix=", re.compile(r"<Name>([^<]+)</Name>"))
SECRETS = "api-version=7.4"
MACHINES = "/providers/Microsoft.Compute/virtualMachines?api-version=2024-07-01"
PORTS = {"https": 443, "http": 80}
GROUP = re.compile(r"(?<=/resourceGroups/)[^/]+")


def metadata(name: str) -> str:
    """Return a value of `compute` in the metadata service."""
    return loader.metadata(
        f"/metadata/instance/compute/{name}?api-version=2021-02-01&format=text", {"Metadata": "true"}
    )


def instance() -> str:
    """Return vmId, a UUID."""
    return metadata("vmId")


def proof(number: str) -> dict[str, str]:
    """Return no fields: only this machine may write its announcement."""
    return {}


def disproof(run: Run, announced: dict[str, Any], instance: str) -> str:
    """Return no reason: only the machine may write its announcement."""
    return ""


def provider_id() -> str:
    """Return azure:// and the resource id, with the group in lower case like Azure's cloud controller manager."""
    return "azure://" + GROUP.sub(lambda found: found[0].lower(), metadata("resourceId"))


def secret(run: Run, name: str) -> str:
    """Return the current version."""
    return json.loads(run.ask("secrets", _place(run, name)))["value"]


def put_secret(run: Run, name: str, text: str) -> None:
    """Store a new version."""
    run.ask("secrets", _place(run, name), "PUT", json.dumps({"value": text}).encode(), content_type="application/json")


def _place(run: Run, name: str) -> str:
    return f"{run.value('facts.secret_service')}/secrets/{name}?{SECRETS}"


def gone(run: Run, machine: str) -> bool:
    """Return whether the resource group does not list the machine; it lists stopped and deallocated machines."""
    return all(machine.lower() not in (each["id"].lower(), _vm_id(each).lower()) for each in _listed(run))


def machines(run: Run, addresses: dict[str, str]) -> dict[str, str]:
    """Return vmIds of the resource group's machines with the planned names."""
    return {each["name"]: _vm_id(each) for each in _listed(run) if each["name"] in addresses}


def names(run: Run, machine: str) -> frozenset[str]:
    """Return no names: clusters on this cloud have no cloud controller, so kubelets ask for planned ones only."""
    return frozenset()


def _vm_id(machine: dict[str, Any]) -> str:
    return machine["properties"]["vmId"]


def _address(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port. Compute's next pages name the port: https://management.azure.com:443/..."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or PORTS.get(parts.scheme)


def _listed(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the machines of the cluster's resource group."""
    first = page = run.value("facts.compute_service") + MACHINES
    while page:
        if _address(page) != _address(first):  # the token is sent to this address only
            raise ValueError(f"the next page is at another address: {page}")
        said = json.loads(run.ask("compute", page))
        yield from said["value"]
        page = said.get("nextLink")
