"""Azure: Instance Metadata Service, Blob Storage, Key Vault, Resource Manager, keys of Microsoft Entra ID."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit

import identity_tokens
import loader
import objects
import web

if TYPE_CHECKING:
    from run import Run

REMOTE = "MSFT NVMe Accelerator v1.0"
"""Model of the NVMe controller of managed disks; local disks have another."""
MACHINE = re.compile(r"azure://(/subscriptions/.+)")
LISTING = objects.Listing(
    "?restype=container&comp=list&prefix={prefix}",
    "?restype=container&comp=list&prefix={prefix}&marker={mark}",
    re.compile(r"<Name>([^<]+)</Name>"),
    re.compile(r"<NextMarker>([^<]+)</NextMarker>"),
)
SECRETS = "api-version=7.4"
MACHINES = "/providers/Microsoft.Compute/virtualMachines?api-version=2024-07-01"
EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
PORTS = {"https": 443, "http": 80}
GROUP = re.compile(r"(?<=/resourceGroups/)[^/]+")
OWN_AUDIENCE = loader.AZURE_SERVICES["compute"]
"""Audience of the token that proves an announcement: Resource Manager, for which every identity gets tokens."""
OWN_TOKEN = "/metadata/identity/oauth2/token?" + urlencode({"api-version": "2018-02-01", "resource": OWN_AUDIENCE})
"""Without a client id the metadata service chooses the system-assigned identity, if there is one (managed identities,
"Frequently asked questions")."""
CHOOSES_NONE = 400
"""Status of the metadata service's answer if it has several user-assigned identities to choose from."""
KEYS = ("login.microsoftonline.com", "/common/discovery/keys")
"""Host and path of the keys that sign tokens of version 1.0 (common/.well-known/openid-configuration has them)."""


def metadata(name: str) -> str:
    """Return a value of `compute` in the metadata service."""
    return loader.metadata(
        f"/metadata/instance/compute/{name}?api-version=2021-02-01&format=text", {"Metadata": "true"}
    )


def instance() -> str:
    """Return vmId, a UUID."""
    return metadata("vmId")


def proof(run: Run, number: str) -> dict[str, str]:
    """Return a token of the machine's system-assigned identity, which has no rights and ends with the machine.

    The right to write the announcement stays with the name: a token for it that was stolen from an earlier machine is
    valid for up to a day. Return no fields on a machine without such an identity. There the metadata service returns a
    token of the only user-assigned identity, which must not leave the machine, or refuses to choose one.
    """
    try:
        token = json.loads(loader.metadata(OWN_TOKEN, {"Metadata": "true"}))["access_token"]
        shared = identity_tokens.claim(token, "appid") in ("", run.value("facts.identity"))
    except HTTPError as error:
        if error.code != CHOOSES_NONE:
            raise
        return {}
    except identity_tokens.Refused as refused:
        raise ValueError(f"the metadata service's token: {refused}") from None
    return {} if shared else {"identity": token}


def disproof(run: Run, announced: dict[str, Any], instance: str) -> str:
    """Return why the announcement has no token of the machine's system-assigned identity; empty if it has.

    Also empty for a machine that has no such identity: control planes, and workers that were created before they got
    one.
    """
    if instance not in _identities:
        machines(run, {})
    own = _identities.get(instance)
    if own is None:
        return "the resource group does not list the machine"
    if "systemassigned" not in f"{own.get('type')}".lower():
        return ""
    token, tenant = announced.get("identity"), f"{own.get('tenantId')}"
    if not isinstance(token, str):
        return "it has no token of the machine's system-assigned identity"
    try:
        identity_tokens.read(_published, identity_tokens.keys_url(run, *KEYS), token, web.of_services(run))
        identity_tokens.of_azure(token, _published, OWN_AUDIENCE, tenant, f"{own.get('principalId')}")
    except identity_tokens.Refused as refused:
        return f"{refused}"
    return ""


_published: identity_tokens.Keys = {}
"""The keys of Microsoft Entra ID as they were last read."""
_identities: dict[str, dict[str, Any]] = {}
"""Identity of each machine (type, principalId, tenantId) by vmId, as the resource group last listed them."""


def interrupted() -> bool:
    """Return whether an event Preempt names this machine; at least 30 seconds before the end ("Azure Metadata Service:
    Scheduled Events"). The first question turns the events on, and may take two minutes.
    """
    said = json.loads(loader.metadata(EVENTS, {"Metadata": "true"}))
    return any(each["EventType"] == "Preempt" and metadata("name") in each["Resources"] for each in said["Events"])


def provider_id() -> str:
    """Return azure:// and the resource id, with the group in lower case like Azure's cloud controller manager."""
    return "azure://" + GROUP.sub(lambda found: found[0].lower(), metadata("resourceId"))


def secret(run: Run, name: str) -> str:
    """Return the current version."""
    return json.loads(run.ask("secrets", _place(run, name)))["value"]


def put_secret(run: Run, name: str, text: str) -> None:
    """Store a new version. Policies of landing zones refuse secrets without a content type."""
    body = json.dumps({"value": text, "contentType": "text/plain"}).encode()
    run.ask("secrets", _place(run, name), "PUT", body, content_type="application/json")


def _place(run: Run, name: str) -> str:
    return f"{run.value('facts.secret_service')}/secrets/{name}?{SECRETS}"


def put_large(run: Run, url: str, content: memoryview, **condition: Any) -> None:
    """Upload in blocks, whose ids have one length (Blob Storage REST API, "Put Block", "Put Block List").

    Azure deletes blocks that no list names after a week.
    """
    ids = list[str]()
    for number, part in objects.parts(content):
        ids.append(base64.b64encode(f"{number:06}".encode()).decode())
        block = f"{url}?comp=block&blockid={quote(ids[-1], safe='')}"
        run.ask("store", block, "PUT", part, content_type=objects.KIND)
    listed = "".join(f"<Uncommitted>{id_}</Uncommitted>" for id_ in ids)
    body = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{listed}</BlockList>'.encode()
    run.ask("store", f"{url}?comp=blocklist", "PUT", body, x_ms_blob_content_type=objects.KIND, **condition)


def gone(run: Run, machine: str) -> bool:
    """Return whether the resource group does not list the machine; it lists stopped and deallocated machines."""
    return all(machine.lower() not in (each["id"].lower(), _vm_id(each).lower()) for each in _listed(run))


def machines(run: Run, addresses: dict[str, str]) -> dict[str, str]:
    """Return vmIds of the resource group's machines with the planned names."""
    listed = list(_listed(run))
    _identities.clear()
    _identities.update({_vm_id(each): each.get("identity") or {} for each in listed})
    return {each["name"]: _vm_id(each) for each in listed if each["name"] in addresses}


def names(run: Run, machine: str) -> frozenset[str]:
    """Return no names: clusters on this cloud have no cloud controller, so kubelets ask for planned ones only."""
    return frozenset()


def disk(run: Run, name: str) -> list[str]:
    """Return the links of azure-vm-utils and of Azure's Linux agent, and the NVMe namespace. name: the disk's lun.

    Without azure-vm-utils ("About azure-vm-utils") a remote disk by NVMe has no link; its namespace is lun + 2
    (azure-nvme-utils, azure-nvme-id.c).
    """
    links = [f"/dev/disk/azure/data/by-lun/{name}", f"/dev/disk/azure/scsi1/lun{name}"]
    for place in sorted(run.path("/sys/block").glob("nvme*")):
        model, number = place / "device" / "model", place / "nsid"
        if model.exists() and model.read_text().strip() == REMOTE and int(number.read_text()) == int(name) + 2:
            links.append(f"/dev/{place.name}")
    return links


def _vm_id(machine: dict[str, Any]) -> str:
    return machine["properties"]["vmId"]


def _address(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port. Compute's next pages name the port: https://management.azure.com:443/..."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or PORTS.get(parts.scheme)


def _asked(run: Run, url: str) -> bytes:
    """Return Resource Manager's answer (run.ask), through the proxy on machines that have no other way to it."""
    service = web.of_services(run)
    if service is loader.direct:
        return run.ask("compute", url)
    run.in_time()
    request = loader.azure(run.told["facts"], url, "compute", "GET", b"", {})
    try:
        with service(request, timeout=min(max(run.left(), 1), 30)) as answer:
            return answer.read()
    except HTTPException as error:
        raise OSError(f"{type(error).__name__}: {error}") from None
    except HTTPError as error:
        with error:
            word = loader.WORD.search(error.read(4096))
        error.msg += f" {word[1].decode()}" if word else ""
        raise


def _listed(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the machines of the cluster's resource group."""
    first = page = run.value("facts.compute_service") + MACHINES
    while page:
        if _address(page) != _address(first):  # the token is sent to this address only
            raise ValueError(f"the next page is at another address: {page}")
        said = json.loads(_asked(run, page))
        yield from said["value"]
        page = said.get("nextLink")
