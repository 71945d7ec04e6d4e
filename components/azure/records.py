"""What Azure knows of the cluster's workers, and the status records of machines in the bundle store.

The provider has no function that reads a blob. It has one that signs: with a token for one container, good for an hour
and for reading alone, the program asks the store itself. Its address is on the store's list (`api.allow`), or in the
cluster's network; else the store refuses, as it does when the provider writes.
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

from components.plan import Machine
from components.rollout.provider_calls import MachineState, ProviderCalls, ProviderError, RecordsByMachine
from components.sdk.registration import run_in_thread

STOPPED = frozenset(f"PowerState/{each}" for each in ("deallocating", "deallocated", "stopping", "stopped"))
"""States of a machine that is there and does not run ("States and billing status of Azure Virtual Machines")."""
HOUR, RENEWED = 3600.0, 2700.0
"""Seconds that a token is good for, and after which the next one is asked for."""
TIMEOUT = 30.0
"""Seconds."""
CONTAINER = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/(?P<group>[^/]+)/providers/Microsoft\.Storage/storageAccounts/"
    r"(?P<account>[^/]+)/blobServices/default/containers/(?P<container>[^/]+)",
    re.IGNORECASE,
)
"""Id of a container."""


def parts(container: str) -> dict[str, str]:
    """Resource group, account and container of a container's id."""
    found = CONTAINER.fullmatch(container)
    if found is None:
        raise ValueError(f"{container} is no id of a blob container")
    return found.groupdict()


@dataclass
class Blobs:
    """The blobs of one container."""

    calls: ProviderCalls
    container: Output[str]
    """Its id."""

    _place: str = field(init=False, default="")
    _token: str = field(init=False, default="")
    _signed: float = field(init=False, default=-HOUR)

    async def text(self, name: str) -> str:
        """The text of a blob; ProviderError where there is none."""
        return await self.get(f"/{quote(name)}")

    async def get(self, path: str, query: str = "") -> str:
        """What the store says of its container, or of what is in it; ProviderError where it does not answer."""
        if time.monotonic() - self._signed >= RENEWED:
            await self._sign()
        return await run_in_thread(_get, f"{self._place}{path}?{query}{self._token}")

    async def _sign(self) -> None:
        known = parts(await self.container.future() or "")
        account = {"resourceGroupName": known["group"], "accountName": known["account"]}
        until = datetime.now(timezone.utc) + timedelta(seconds=HOUR)
        wanted = {
            "canonicalizedResource": f"/blob/{known['account']}/{known['container']}",
            "resource": "c",
            "permissions": "rl",
            "protocols": "https",
            "sharedAccessExpiryTime": until.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        signed = await self.calls.invoke("azure-native:storage:listStorageAccountServiceSAS", {**account, **wanted})
        found = await self.calls.invoke("azure-native:storage:getStorageAccount", account)
        self._place = f"{found['primaryEndpoints']['blob'].rstrip('/')}/{known['container']}"
        self._token, self._signed = signed["serviceSasToken"].lstrip("?"), time.monotonic()


def _get(url: str) -> str:
    place = url.partition("?")[0]
    if not url.startswith(("https://", "http://127.0.0.1:")):  # this machine's own: the sandbox
        raise ProviderError(f"{place} is not https; nothing was asked there")
    request = urllib.request.Request(url, headers={"x-ms-version": "2023-11-03"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            code = error.headers.get("x-ms-error-code") or error.reason
        out = "; this address is none of those in api.allow" if code == "AuthorizationFailure" else ""
        raise ProviderError(f"{place}: {code}{out}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ProviderError(f"{place}: {error}") from error


@dataclass(frozen=True, kw_only=True)
class Records(RecordsByMachine):
    """The machines of planned workers, and the status records of machines in the bundle store."""

    container: Output[str]
    """Id of the bundle store's container, in the resource group of the machines."""

    blobs: Blobs = field(init=False, repr=False)

    def __post_init__(self) -> None:
        calls = ProviderCalls(self.parent, _utilities.get_version())
        object.__setattr__(self, "blobs", Blobs(calls, self.container))

    async def find(self, machine: Machine) -> MachineState | None:
        """What is known of a planned machine; None where there is none."""
        known = await self._known(machine.name)
        if not known:
            return None
        states = {str(each["code"]) for each in known["instanceView"]["statuses"]}
        return MachineState(str(known["vmId"]), known["timeCreated"], STOPPED.isdisjoint(states))

    async def _known(self, name: str) -> dict[str, Any]:
        """What is known of a machine called so; empty where there is none."""
        group = parts(await self.container.future() or "")["group"]
        asked = {"resourceGroupName": group, "vmName": name, "expand": "instanceView"}
        return await self.blobs.calls.find("azure-native:compute:getVirtualMachine", asked)

    async def instance(self, args: ResourceHookArgs) -> str:
        """The id that a machine has; the hook may be about the extension that starts its loader."""
        return str((await self._known(str((args.new_inputs or {})["vmName"])))["vmId"])

    async def text(self, key: str) -> str:
        """The text of an object in the bundle store; ProviderError where there is none."""
        return await self.blobs.text(key)
