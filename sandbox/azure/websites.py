"""Static websites of storage accounts: the switch, and who can read what is in `$web`.

The provider switches a website by the account's data service, and Azure creates its container with it ("Static website
hosting in Azure Storage"). Network rules of the account also close its website (MicrosoftDocs/azure-docs#104630);
`allowBlobPublicAccess` does not.
"""

from typing import Any

from sandbox.azure.names import CONTAINER, SITE, STORE, WEB, in_group, part_of
from sandbox.cloud import Reference, Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import CloudState
from sandbox.records import Record

KINDS = ("StorageV2", "BlockBlobStorage")
"""Kinds of accounts that have websites."""
ZONE = "z6.web"
"""Zone of the websites' names. Azure chooses the number; it names no region."""


class InContainer(Reference):
    """A blob's container: a resource, or that of the account's website."""

    def ids(self, request: Request) -> list[str]:
        """Return the id of the container, or nothing if the other kind of container holds the blob."""
        return super().ids(request) if (request.inputs["containerName"] == WEB) == (self.target == SITE.token) else []


_HELD = part_of(CONTAINER)
HOLDERS = (
    InContainer(_HELD.path, _HELD.target, _HELD.code, _HELD.message, _HELD.holds, id=_HELD.id),
    InContainer(
        "containerName",
        SITE.token,
        "ContainerNotFound",
        "The specified container does not exist: {id} is not enabled.",
        "vanish",
        id=lambda request, value: request.format(SITE.id),
    ),
    part_of(STORE),
)
"""References of a blob, which goes with each of them."""


def site(cloud_state: CloudState, account: str) -> Record | None:
    """Return the storage account of a website that everybody can read; None if it has none, or admits nobody."""
    on = any(one.inputs["accountName"] == account for one in cloud_state.resources(SITE.token))
    stores = (one for one in cloud_state.resources(STORE.token) if one.inputs["accountName"] == account)
    return next((one for one in stores if on and _is_open(one)), None)


def _is_open(store: Record) -> bool:
    rules = store.inputs.get("networkRuleSet") or {}
    return store.inputs.get("publicNetworkAccess") != "Disabled" and rules.get("defaultAction", "Allow") == "Allow"


def _kind(request: Request) -> None:
    store = request.cloud_state.find(STORE.token, part_of(STORE).ids(request)[0])
    if store and store.inputs["kind"] not in KINDS:
        raise Refusal("AccountTypeNotSupported", "Static websites are not supported by this kind of account.")


def table(admit: Any) -> dict[str, ResourceType]:
    """Return the row. admit: refuses a call of the account's data service from an address that it does not admit."""
    twice = f"cannot create already existing resource '{SITE.id}'"
    return {
        SITE.token: ResourceType(
            id=SITE.id,
            immutable=("resourceGroupName", "accountName"),
            outputs={"containerName": WEB},
            references=(in_group(), part_of(STORE)),
            unique=(Unique(SITE.token, ("resourceGroupName", "accountName"), "AlreadyExists", twice),),
            rules=(admit, _kind),
            delete_rules=(admit,),
        )
    }
