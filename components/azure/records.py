"""State of virtual machines, and status records of machines in the bundle store.

The provider has no function that reads a blob, but one that signs: the program gets a read-only SAS token for one
container, valid for an hour, and sends requests to the store itself. The program's address must be in `api.allow` or in
the cluster's network, else the store refuses, as it refuses the provider's writes.
"""

import re
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote

from pulumi import Output, ResourceHookArgs
from pulumi_azure_native import _utilities

from components.plan import ClusterPlan, Machine
from components.rollout.provider_calls import (
    LARGEST_RECORD,
    MachineState,
    NoObject,
    ProviderCalls,
    ProviderError,
    RecordsByMachine,
)
from components.rollout.session_commands import MachinePlace, azure_place
from components.sdk.registration import run_in_thread

STOPPED = frozenset(f"PowerState/{each}" for each in ("deallocating", "deallocated", "stopping", "stopped"))
"""States of a machine that exists and does not run ("States and billing status of Azure Virtual Machines")."""
TOKEN_SECONDS, RENEW_SECONDS = 3600.0, 2700.0
"""Validity of a SAS token, and its age at which a new one is signed."""
TIMEOUT_SECONDS = 30.0
"""Timeout of a request to the store."""
CONTAINER = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/(?P<group>[^/]+)/providers/Microsoft\.Storage/storageAccounts/"
    r"(?P<account>[^/]+)/blobServices/default/containers/(?P<container>[^/]+)",
    re.IGNORECASE,
)
"""Resource id of a blob container."""


def parts(container: str) -> dict[str, str]:
    """Return resource group, account and container from a container's id. Raises ValueError if it is no such id."""
    match = CONTAINER.fullmatch(container)
    if match is None:
        raise ValueError(f"{container} is not the resource id of a blob container")
    return match.groupdict()


@dataclass
class Blobs:
    """The blobs of one container."""

    calls: ProviderCalls
    container: Output[str]
    """Id of the container."""

    _url: str = field(init=False, default="")
    _token: str = field(init=False, default="")
    _signed: float = field(init=False, default=-TOKEN_SECONDS)

    async def text(self, name: str, most: int | None = None) -> str:
        """Return the text of a blob, at most so many bytes of it. Raises ProviderError if there is none."""
        return await self.get(f"/{quote(name)}", most=most)

    async def get(self, path: str, query: str = "", most: int | None = None) -> str:
        """Return the body of a GET on the container or a blob in it, at most so many bytes (None: all).

        Raises ProviderError if the request fails.
        """
        if time.monotonic() - self._signed >= RENEW_SECONDS:
            await self._sign()
        return await run_in_thread(_get, f"{self._url}{path}?{query}{self._token}", most)

    async def _sign(self) -> None:
        if not (container := await self.container.future()):
            raise NoObject("the bundle store is not built yet")
        ids = parts(container)
        account = {"resourceGroupName": ids["group"], "accountName": ids["account"]}
        until = datetime.now(timezone.utc) + timedelta(seconds=TOKEN_SECONDS)
        request = {
            "canonicalizedResource": f"/blob/{ids['account']}/{ids['container']}",
            "resource": "c",
            "permissions": "rl",
            "protocols": "https",
            "sharedAccessExpiryTime": until.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        signed = await self.calls.invoke("azure-native:storage:listStorageAccountServiceSAS", {**account, **request})
        answer = await self.calls.invoke("azure-native:storage:getStorageAccount", account)
        self._url = f"{answer['primaryEndpoints']['blob'].rstrip('/')}/{ids['container']}"
        self._token, self._signed = signed["serviceSasToken"].lstrip("?"), time.monotonic()


_CLOSED = (
    "; the store does not admit this computer: list its address in api.allow, or in the cluster's region its subnet in"
    " api.virtual_network_rules"
)


def _get(url: str, most: int | None) -> str:
    place = url.partition("?")[0]
    if not url.startswith(("https://", "http://127.0.0.1:")):  # 127.0.0.1: the sandbox
        raise ProviderError(f"{place} is not https; no request was sent")
    request = urllib.request.Request(url, headers={"x-ms-version": "2023-11-03"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 # nosec B310
            return answer.read(most).decode()
    except urllib.error.HTTPError as error:
        with error:
            code = error.headers.get("x-ms-error-code") or error.reason
        hint = _CLOSED if code == "AuthorizationFailure" else ""
        raise ProviderError(f"{place}: {code}{hint}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ProviderError(f"{place}: {error}") from error


def runs(vm: dict[str, Any]) -> bool:
    """Return whether a virtual machine with its instance view runs.

    One that Azure could not allocate has the status ProvisioningState/failed and no power state.
    """
    codes = {str(status["code"]) for status in vm["instanceView"]["statuses"]}
    failed = any(code.startswith("ProvisioningState/failed") for code in codes)
    return codes.isdisjoint(STOPPED) and ("PowerState/running" in codes or not failed)


def _state(vm: dict[str, Any]) -> MachineState:
    return MachineState(str(vm["vmId"]), vm["timeCreated"], runs(vm))


@dataclass(frozen=True, kw_only=True)
class Records(RecordsByMachine):
    """The planned machines, and the status records of machines in the bundle store."""

    container: Output[str]
    """Id of the bundle store's container, in the resource group of the machines."""

    blobs: Blobs = field(init=False, repr=False)

    def __post_init__(self) -> None:
        calls = ProviderCalls(self.parent, _utilities.get_version())
        object.__setattr__(self, "blobs", Blobs(calls, self.container))

    async def known(self) -> bool:
        """Wait for the bundle store; return whether it exists."""
        return await self.container.future() is not None

    async def find(self, machine: Machine) -> MachineState | None:
        """Return the state of a planned machine; None if there is no machine."""
        vm = await self._vm(machine.name)
        return _state(vm) if vm else None

    async def place(self, plan: ClusterPlan, machine: Machine) -> MachinePlace | None:
        """Return where `az` finds a planned machine; None if it does not run."""
        vm = await self._vm(machine.name)
        return azure_place(str(vm["id"]), plan.name, plan.spec.network.existing) if vm and runs(vm) else None

    async def _vm(self, name: str) -> dict[str, Any]:
        """Return the virtual machine of this name; empty if there is none."""
        if not (container := await self.container.future()):
            return {}
        group = parts(container)["group"]
        arguments = {"resourceGroupName": group, "vmName": name, "expand": "instanceView"}
        return await self.blobs.calls.find("azure-native:compute:getVirtualMachine", arguments)

    async def instance(self, args: ResourceHookArgs) -> str:
        """Return the machine's id; the hook's resource may be the extension that starts its loader."""
        state = _state(await self._vm(str((args.new_inputs or {})["vmName"])))
        self.seen[state.id] = state  # else `launched` would read all machines
        return state.id

    async def text(self, key: str) -> str:
        """Return the text of an object in the bundle store. Raises ProviderError if there is none."""
        return await self.blobs.text(key)

    async def beginning(self, key: str, most: int) -> str:
        """Return the first bytes of an object as text, at most so many. Raises ProviderError if there is none."""
        return await self.blobs.text(key, most)

    async def record_text(self, key: str) -> str:
        """Return the text of a status record, of a larger object only the beginning."""
        return await self.blobs.text(key, LARGEST_RECORD + 1)
