"""Private endpoints and their groups of private zones.

Messages: Azure/azure-cli#15136, #16750, DFE-Digital/terraform-azurerm-container-apps-hosting#352.
"""

from typing import Any

from sandbox.azure.interfaces import check_address, free_address, taken
from sandbox.azure.names import ENDPOINT, STORE, SUBNET, VAULT, ZONE, ZONE_GROUP, part_of, points_to, row
from sandbox.cloud import Refusal, Request, ResourceType, Unique
from sandbox.cloud_state import CloudState
from sandbox.records import Record

PARTS = {
    STORE.arm: ("blob", "blob_secondary", "dfs", "dfs_secondary", "file", "queue", "queue_secondary", "table"),
    VAULT.arm: ("vault",),
}
"""Sub-resources by type of ARM ("What is a private endpoint?", private-link resource)."""
MEMBERS = {"vault": "default"}
"""Members of sub-resources that have another name ("Manage Azure private endpoints", static IP address)."""
HOSTS = {"blob": "{}.blob.core.windows.net", "vault": "{}.vault.azure.net"}
"""Public name of a sub-resource that the sandbox serves."""


def connections(inputs: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the connections of an endpoint that need no approval."""
    return inputs.get("privateLinkServiceConnections") or []


def _connected(request: Request) -> None:
    """Check that an endpoint leads to one sub-resource of a store or vault that exists."""
    name, given = request.inputs["privateEndpointName"], connections(request.inputs)
    if len(given) != 1 or request.inputs.get("manualPrivateLinkServiceConnections"):
        raise Refusal("InvalidRequestFormat", "The sandbox knows endpoints with one connection, without approval.")
    target, parts = given[0].get("privateLinkServiceId") or "", given[0].get("groupIds") or []
    connection = f"{request.format(ENDPOINT.id)}/privateLinkServiceConnections/{given[0].get('name')}"
    kinds = [kind for kind in (STORE, VAULT) if request.cloud_state.find(kind.token, target)]
    if not kinds:
        raise Refusal("ResourceNotFound", f"The Resource '{target}' referenced by {name} was not found.")
    if not parts:
        raise Refusal(
            "MissingParameterOnPrivateLinkServiceConnection",
            f"Private link service connection {connection} is missing required parameter 'group Id'.",
        )
    if len(parts) > 1:
        raise Refusal(
            "OnlyOneGroupIdPermitted",
            f"Private link service connection {connection} has the following group Ids: {', '.join(parts)}. Only one"
            f" group Id is permitted when connecting to a first-party resource ({target}).",
        )
    if parts[0] not in PARTS[kinds[0].arm]:
        raise Refusal(
            "InvalidValuesForRequestParameters",
            f"Call to {kinds[0].arm} failed. Error message: Values for request parameters are invalid: GroupId:"
            f" {parts[0]}.",
        )


def _fixed(request: Request) -> None:
    """Check the fixed address of an endpoint: of its sub-resource's member, in its subnet."""
    parts = (next(iter(connections(request.inputs)), {}).get("groupIds") or [""])[:1]
    wanted = [(part, MEMBERS.get(part, part)) for part in parts]
    for each in request.inputs.get("ipConfigurations") or []:
        if [(each.get("groupId"), each.get("memberName"))] != wanted:
            raise Refusal(
                "PrivateEndpointInvalidIpConfiguration",
                f"The ipConfiguration {each.get('name')} of {request.format(ENDPOINT.id)} has group"
                f" {each.get('groupId')} and member {each.get('memberName')}; the resource has {wanted}.",
            )
        fixed = {"privateIPAllocationMethod": "Static", "privateIPAddress": each.get("privateIPAddress")}
        check_address(request, {**fixed, "subnet": request.inputs.get("subnet")})


def _placed(request: Request) -> dict[str, Any]:
    """Return the address of an endpoint, fixed or one that Azure picks in the subnet, and the name that it is for."""
    before = request.old.outputs["customDnsConfigs"] if request.old else []
    connection = next(iter(connections(request.inputs)), {})
    subnet = (request.inputs.get("subnet") or {}).get("id") or ""
    fixed = next((each["privateIPAddress"] for each in request.inputs.get("ipConfigurations") or []), "")
    address = before[0]["ipAddresses"][0] if before else fixed or free_address(request, subnet)
    form = HOSTS.get(next(iter(connection.get("groupIds") or []), ""), "{}")
    fqdn = form.format((connection.get("privateLinkServiceId") or "").rpartition("/")[2])
    state = {"status": "Approved", "description": "Auto-Approved", "actionsRequired": "None"}
    made = [{**connection, "privateLinkServiceConnectionState": state, "provisioningState": "Succeeded"}]
    return {
        "customDnsConfigs": [{"fqdn": fqdn, "ipAddresses": [address]}],
        "privateLinkServiceConnections": made,
        "networkInterfaces": [{"id": f"{request.id}.nic"}],
    }


def _shown(cloud_state: CloudState, endpoint: Record) -> dict[str, Any]:
    """Return no names for an endpoint with a group of zones: Azure then keeps them in the group alone."""
    held = cloud_state.referrers(ENDPOINT.token, endpoint.id, "vanish")
    return {"customDnsConfigs": []} if any(each.type == ZONE_GROUP.token for each in held) else {}


def _claims(request: Request) -> list[tuple[Unique, str]]:
    subnet = (request.inputs.get("subnet") or {}).get("id") or ""
    made = request.old.outputs if request.old else request.inputs
    picked = [each for one in made.get("customDnsConfigs") or [] for each in one["ipAddresses"]]
    fixed = [str(each["privateIPAddress"]) for each in request.inputs.get("ipConfigurations") or []]
    return [(taken(each), f"{subnet} {each}") for each in dict.fromkeys((*fixed, *picked))]


def _zones(request: Request) -> None:
    """Check the zones of a group, and that it is the endpoint's only one."""
    if not request.inputs.get("privateDnsZoneConfigs"):
        raise Refusal("InvalidRequestFormat", "A private DNS zone group has at least one zone.")
    endpoint = part_of(ENDPOINT).ids(request)[0]
    for other in request.cloud_state.referrers(ENDPOINT.token, endpoint, "vanish"):
        if other.type == ZONE_GROUP.token and other.sequence != request.sequence:
            raise Refusal(
                "PrivateDnsZoneGroupLimitReached", f"Private endpoint {endpoint} has a private DNS zone group already."
            )


def network_of(subnet: str) -> str:
    """Return the id of a subnet's network."""
    return subnet.rpartition("/subnets/")[0]


TYPES: dict[str, ResourceType] = {
    ENDPOINT.token: row(
        ENDPOINT,
        outputs={"provisioningState": "Succeeded", "type": ENDPOINT.arm},
        immutable=("subnet", "privateLinkServiceConnections", "ipConfigurations"),
        chosen=("customDnsConfigs",),
        derive=_placed,
        shown=_shown,
        completed=("privateLinkServiceConnections",),
        references=(points_to(SUBNET, "subnet.id"),),
        claims=_claims,
        rules=(_connected, _fixed),
    ),
    ZONE_GROUP.token: row(
        ZONE_GROUP,
        located=False,
        outputs={"provisioningState": "Succeeded"},
        references=(part_of(ENDPOINT), points_to(ZONE, "privateDnsZoneConfigs[].privateDnsZoneId")),
        rules=(_zones,),
    ),
}
