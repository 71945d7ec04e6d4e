"""Addresses: free and taken ones of a subnetwork, and reserved ones."""

import ipaddress
import re
from typing import Any

from sandbox.cloud import Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import CloudState
from sandbox.gcp.names import (
    ADDRESS,
    AUTO_NAME,
    COMPUTE,
    FORWARDING,
    IN_USE,
    INSTANCE,
    NAMED,
    SUBNETWORK,
    bare,
    id_of,
    invalid,
    link,
    own_name,
    points_to,
)
from sandbox.gcp.quotas import static

TAKEN = Unique("used address", (), "IP_IN_USE_BY_ANOTHER_RESOURCE", "IP is already being used by another resource.")


def taken(address: str) -> Unique:
    """Return the claim of an address by its user."""
    message = f"googleapi: Error 409: IP '{address}' is already being used by another resource."
    return Unique(TAKEN.kind, (), TAKEN.code, message)


def key(subnetwork: str, address: str) -> str:
    """Return the key of an address; public addresses have no subnetwork."""
    return f"{subnetwork} {address}"


def check(request: Request, field: str, subnetwork: str, address: str) -> None:
    """Check that a fixed address lies in its subnetwork and is not reserved by GCP: the first two and the last two."""
    record = request.cloud_state.find(SUBNETWORK, subnetwork)
    block = ipaddress.IPv4Network(record.inputs["ipCidrRange"] if record else "0.0.0.0/0")
    try:
        number = int(ipaddress.IPv4Address(address)) - int(block.network_address)
    except ValueError:
        raise invalid(field, address, "Must be a valid IPv4 address.") from None
    if not 0 <= number < block.num_addresses:
        raise invalid(field, address, "Requested internal IP address is outside the network/subnetwork range.")
    if number < 2 or number >= block.num_addresses - 2:
        raise invalid(field, address, "Requested internal IP address is reserved by the subnetwork.")


def free(request: Request, subnetwork: str) -> str:
    """Return a free address from the subnetwork's end, where fixed addresses are rare; programs must not rely on the
    order.
    """
    record = request.cloud_state.find(SUBNETWORK, subnetwork)
    block = ipaddress.IPv4Network(record.inputs["ipCidrRange"] if record else "10.128.0.0/20")
    reserved = {one.outputs.get("address") for one in request.cloud_state.referrers(SUBNETWORK, subnetwork)}
    for number in range(block.num_addresses - 3, 1, -1):
        address = str(block[number])
        if address not in reserved and request.cloud_state.claim(TAKEN.kind, key(subnetwork, address)) is None:
            return address
    raise Refusal(
        "IP_SPACE_EXHAUSTED",
        f"googleapi: Error 400: IP space of '{subnetwork}' is exhausted.",
    )


def public(request: Request, salt: str) -> str:
    """Return an address of 203.0.113.0/24 or 198.51.100.0/24, the ranges for documentation (RFC 5737)."""
    number = int(request.digits(4, salt), 16)
    return f"{('203.0.113', '198.51.100')[number % 2]}.{1 + (number // 2) % 254}"


def resolve(cloud_state: CloudState, value: str) -> str:
    """Return the address that a value means: itself, or the reserved address named by id or URL."""
    record = cloud_state.find(ADDRESS, bare(value)) if "/" in value else None
    return str(record.outputs["address"]) if record else value


def _is_internal(request: Request) -> bool:
    return request.inputs.get("addressType", "EXTERNAL") == "INTERNAL"


def _address(request: Request) -> None:
    internal, subnetwork = _is_internal(request), points_to(SUBNETWORK, "subnetwork").ids(request)
    if not internal and subnetwork:
        raise invalid("subnetwork", subnetwork[0], "Subnetwork cannot be specified for external addresses.")
    kept = request.old.outputs.get("address") if request.old else None
    if not internal and request.inputs.get("address") not in (None, "", kept):
        raise invalid("address", request.inputs["address"], "An external address cannot be chosen.")
    if internal and not subnetwork:
        raise invalid("subnetwork", "", "Subnetwork is required for internal addresses.")
    if internal and request.inputs.get("address"):
        check(request, "address", subnetwork[0], request.inputs["address"])


def _reserved(request: Request) -> list[tuple[Unique, str]]:
    """Return the claim of a reservation; the use of its address is a claim of its own."""
    address = request.inputs.get("address")
    kind = Unique("reserved address", (), TAKEN.code, taken(str(address)).message)
    subnetwork = [*points_to(SUBNETWORK, "subnetwork").ids(request), ""][0]
    return [(kind, key(subnetwork, address))] if address else []


def _chosen(request: Request) -> dict[str, Any]:
    subnetwork = points_to(SUBNETWORK, "subnetwork").ids(request)
    if request.old:
        address = request.old.outputs["address"]
    else:
        address = request.inputs.get("address") or (
            free(request, subnetwork[0]) if _is_internal(request) else public(request, "address")
        )
    return {
        "address": address,
        "region": request.region,
        "purpose": "GCE_ENDPOINT" if _is_internal(request) else "",
        "networkTier": "PREMIUM",
        **({"subnetwork": COMPUTE + subnetwork[0]} if subnetwork else {}),
    }


def _in_use(request: Request) -> None:
    """Refuse to release a reserved address that is in use."""
    subnetwork = [*points_to(SUBNETWORK, "subnetwork").ids(request), ""][0]
    owner = request.cloud_state.claim(TAKEN.kind, key(subnetwork, str(request.inputs["address"])))
    users = [one for type in (INSTANCE, FORWARDING) for one in request.cloud_state.resources(type)]
    for one in users:
        if owner and one.sequence == owner[0]:
            message = f"The address resource '{request.id}' is already being used by '{one.id}'"
            raise Refusal(IN_USE, f"googleapi: Error 400: {message}")


TYPES: dict[str, ResourceType] = {
    ADDRESS: ResourceType(
        id=id_of(ADDRESS),
        immutable=(
            *("name", "address", "addressType", "description", "networkTier", "project", "purpose", "region"),
            *("subnetwork", "network", "prefixLength", "ipVersion"),
        ),
        chosen=("name", "project", "address", "region", "purpose", "networkTier", "subnetwork", "prefixLength"),
        fallback={"addressType": "EXTERNAL"},
        outputs={
            "project": "{account}",
            "selfLink": link(ADDRESS),
            "creationTimestamp": "2026-01-01T00:00:00.000-08:00",
        },
        derive=_chosen,
        auto_name=AUTO_NAME,
        patterns={**NAMED, "addressType": (re.compile("INTERNAL|EXTERNAL"), "INTERNAL or EXTERNAL")},
        completed=("subnetwork",),
        references=(points_to(SUBNETWORK, "subnetwork"),),
        unique=(own_name(ADDRESS),),
        claims=_reserved,
        rules=(_address, static),
        delete_rules=(_in_use,),
    ),
}
