"""Reading blobs from the program.

The provider has no function that reads one. It has one that signs: with a token for one container, good for an hour
and for reading alone, the program asks the store itself. Its address is on the store's list (`api.allow`), or in the
cluster's network; else the store refuses, as it does when the provider writes.
"""

import re
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from urllib.parse import quote
from xml.etree import ElementTree

from pulumi import Output

from components.after import aside
from components.asking import Asking, Unanswered

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

    asking: Asking
    container: Output[str]
    """Its id."""

    _place: str = field(init=False, default="")
    _token: str = field(init=False, default="")
    _signed: float = field(init=False, default=-HOUR)

    async def text(self, name: str) -> str:
        """The text of a blob; Unanswered where there is none."""
        await self._sign()
        return await aside(_get, f"{self._place}/{quote(name)}?{self._token}")

    async def names(self, prefix: str) -> list[str]:
        """Names that begin so, in order; Unanswered where the store does not answer."""
        found, marker = list[str](), ""
        while True:
            await self._sign()
            asked = f"restype=container&comp=list&prefix={quote(prefix, safe='')}&marker={quote(marker, safe='')}"
            # of Azure's own service, over TLS; the standard library's parser reads no external entities
            page = ElementTree.fromstring(await aside(_get, f"{self._place}?{asked}&{self._token}"))  # noqa: S314
            found += [each.text or "" for each in page.iterfind("Blobs/Blob/Name")]
            marker = page.findtext("NextMarker") or ""
            if not marker:
                return found

    async def _sign(self) -> None:
        if time.monotonic() - self._signed < RENEWED:
            return
        known = parts(await self.container.future() or "")
        account = {"resourceGroupName": known["group"], "accountName": known["account"]}
        until = datetime.now(timezone.utc) + timedelta(seconds=HOUR)
        signed = await self.asking.ask(
            "azure-native:storage:listStorageAccountServiceSAS",
            {
                **account,
                "canonicalizedResource": f"/blob/{known['account']}/{known['container']}",
                "resource": "c",
                "permissions": "rl",
                "protocols": "https",
                "sharedAccessExpiryTime": until.strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
        )
        found = await self.asking.ask("azure-native:storage:getStorageAccount", account)
        self._place = f"{found['primaryEndpoints']['blob'].rstrip('/')}/{known['container']}"
        self._token, self._signed = signed["serviceSasToken"].lstrip("?"), time.monotonic()


def _get(url: str) -> str:
    place = url.partition("?")[0]
    if not url.startswith(("https://", "http://127.0.0.1:")):  # this machine's own: the sandbox
        raise Unanswered(f"{place} is not https; nothing was asked there")
    request = urllib.request.Request(url, headers={"x-ms-version": "2023-11-03"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            code = error.headers.get("x-ms-error-code") or error.reason
        out = "; this address is none of those in api.allow" if code == "AuthorizationFailure" else ""
        raise Unanswered(f"{place}: {code}{out}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise Unanswered(f"{place}: {error}") from error
