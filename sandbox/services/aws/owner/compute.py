"""EC2 for the account's owner. Source: Amazon EC2 API reference, version 2016-11-15, with its client error codes."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from sandbox.aws.gateways import ENDPOINT
from sandbox.aws.network import ASSOCIATION, EGRESS, EIP, GATEWAY, GROUP, INGRESS, INSTANCE, NAT, SUBNET, TABLE, VPC
from sandbox.aws.regions import ACCOUNT
from sandbox.aws.volumes import SNAPSHOT, VOLUME
from sandbox.records import Record
from sandbox.services.aws.ec2 import VERSION
from sandbox.services.aws.owner.holdings import Holdings, document, fields, filters, listed
from sandbox.services.calls import Answer, Call, Refused

KINDS: Mapping[str, str] = {
    INSTANCE: "instance",
    VPC: "vpc",
    SUBNET: "subnet",
    GATEWAY: "internet-gateway",
    TABLE: "route-table",
    EIP: "elastic-ip",
    NAT: "natgateway",
    ENDPOINT: "vpc-endpoint",
    GROUP: "security-group",
    INGRESS: "security-group-rule",
    EGRESS: "security-group-rule",
    VOLUME: "volume",
    SNAPSHOT: "snapshot",
}
"""EC2's words for types (DescribeTags, "resource-type")."""
Fields = Mapping[str, str]


def answer(holdings: Holdings, call: Call) -> Answer:
    """Answer a call. Raises Refused."""
    given = fields(call)
    action = given.get("Action", "")
    if action not in ACTIONS or given.get("Version") != VERSION:
        raise Refused("InvalidAction", f"The action {action} is not valid for this web service.")
    result = ACTIONS[action](holdings, given)
    namespace = f"http://ec2.amazonaws.com/doc/{VERSION}/"
    return document(action, namespace, {"return": True} if result is None else result, wrapped=False)


def _tags(holdings: Holdings, given: Fields) -> dict[str, Any]:
    wanted = filters(given)
    keys = wanted.pop("key")
    if wanted:
        raise Refused("InvalidParameterValue", f"the sandbox does not filter by {', '.join(wanted)}")
    rows = [
        {"resourceId": one.id, "resourceType": kind, "key": key, "value": value}
        for type, kind in KINDS.items()
        for one in holdings.all(type)
        for key, value in one.tags.items()
        if any(fnmatchcase(key, pattern) for pattern in keys)
    ]
    return {"tagSet": {"item": rows}}


def _passing(holdings: Holdings, type: str, given: Fields, id_filter: str) -> list[Record]:
    """Return the resources that pass all filters: by id, by tag, by a group that rules name."""
    found = holdings.all(type)
    for name, values in filters(given).items():
        if name == id_filter:
            found = [one for one in found if one.id in values]
        elif name == "tag-key":
            found = [one for one in found if set(values) & set(one.tags)]
        elif name.startswith("tag:"):
            found = [one for one in found if one.tags.get(name.removeprefix("tag:")) in values]
        elif name == "ip-permission.group-id":
            rules = [
                one.inputs for one in holdings.all(INGRESS) if one.inputs.get("referencedSecurityGroupId") in values
            ]
            found = [one for one in found if one.id in {each["securityGroupId"] for each in rules}]
        else:
            raise Refused("InvalidParameterValue", f"The filter '{name}' is invalid")
    return found


def _network(holdings: Holdings, one: Record) -> str:
    subnet = holdings.cloud_state.find(SUBNET, one.outputs.get("subnetId") or "")
    return one.outputs.get("vpcId") or (subnet.inputs["vpcId"] if subnet else "")


def _instances(holdings: Holdings, given: Fields) -> dict[str, Any]:
    rows = [
        {
            "instanceId": one.id,
            "instanceState": {"code": 16, "name": "running"},
            "launchTime": one.created.replace("Z", ".000Z"),
            "vpcId": _network(holdings, one),
        }
        for one in _passing(holdings, INSTANCE, given, "instance-id")
    ]
    return {"reservationSet": {"item": [{"ownerId": ACCOUNT, "instancesSet": {"item": [row]}} for row in rows]}}


def _described(type: str, filter: str, set_name: str, key: str) -> Callable[[Holdings, Fields], dict[str, Any]]:
    """Return the list of resources with id, network and state."""

    def describe(holdings: Holdings, given: Fields) -> dict[str, Any]:
        rows = [
            {"vpcId": _network(holdings, one), key: one.id, "state": "available"}
            for one in _passing(holdings, type, given, filter)
        ]
        return {set_name: {"item": rows}}

    return describe


def _rules(holdings: Holdings, given: Fields) -> dict[str, Any]:
    groups = filters(given)["group-id"]
    rows = [
        {
            "securityGroupRuleId": one.id,
            "groupId": one.inputs["securityGroupId"],
            "isEgress": type == EGRESS,
            **({"referencedGroupInfo": {"groupId": named, "userId": ACCOUNT}} if named else {}),
        }
        for type in (INGRESS, EGRESS)
        for one in holdings.all(type)
        if one.inputs["securityGroupId"] in groups
        for named in [one.inputs.get("referencedSecurityGroupId")]
    ]
    return {"securityGroupRuleSet": {"item": rows}}


def _revoke(type: str) -> Callable[[Holdings, Fields], None]:
    def revoke(holdings: Holdings, given: Fields) -> None:
        for id in listed(given, "SecurityGroupRuleId"):
            holdings.delete(holdings.get(type, id, "InvalidSecurityGroupRuleId.NotFound"))

    return revoke


def _delete_group(holdings: Holdings, given: Fields) -> None:
    """Delete a group, unless a rule of another group names it."""
    group = holdings.get(GROUP, given["GroupId"], "InvalidGroup.NotFound")
    for rule in (*holdings.all(INGRESS), *holdings.all(EGRESS)):
        if rule.inputs.get("referencedSecurityGroupId") == group.id != rule.inputs["securityGroupId"]:
            raise Refused("DependencyViolation", f"resource {group.id} has a dependent object")
    holdings.delete(group)


def _terminate(holdings: Holdings, given: Fields) -> dict[str, Any]:
    ids = listed(given, "InstanceId")
    found = [holdings.get(INSTANCE, id, "InvalidInstanceID.NotFound") for id in ids]
    for each in found:
        holdings.delete(each)
    state = {"code": 32, "name": "shutting-down"}
    rows = [{"instanceId": id, "currentState": state, "previousState": {"code": 16, "name": "running"}} for id in ids]
    return {"instancesSet": {"item": rows}}


def _gateways(holdings: Holdings, given: Fields) -> dict[str, Any]:
    ids = listed(given, "InternetGatewayId")
    found = [holdings.get(GATEWAY, id, "InvalidInternetGatewayID.NotFound") for id in ids]
    rows: list[dict[str, Any]] = []
    for one in found or _passing(holdings, GATEWAY, given, "internet-gateway-id"):
        attached = [{"vpcId": one.inputs["vpcId"], "state": "available"}] if one.inputs.get("vpcId") else []
        rows.append({"internetGatewayId": one.id, "attachmentSet": {"item": attached}})
    return {"internetGatewaySet": {"item": rows}}


def _tables(holdings: Holdings, given: Fields) -> dict[str, Any]:
    ids = listed(given, "RouteTableId")
    found = [holdings.get(TABLE, id, "InvalidRouteTableID.NotFound") for id in ids]
    rows: list[dict[str, Any]] = []
    for one in found or _passing(holdings, TABLE, given, "route-table-id"):
        those = [each.id for each in holdings.all(ASSOCIATION) if each.inputs["routeTableId"] == one.id]
        associations = [{"routeTableAssociationId": each, "main": False} for each in those]
        row = {"routeTableId": one.id, "vpcId": one.inputs["vpcId"], "associationSet": {"item": associations}}
        rows.append(row)
    return {"routeTableSet": {"item": rows}}


def _detach(holdings: Holdings, given: Fields) -> None:
    """Detach a gateway. The rules for its deletion hold here, because the provider detaches it before it deletes it."""
    one = holdings.get(GATEWAY, given["InternetGatewayId"], "InvalidInternetGatewayID.NotFound")
    if one.inputs.get("vpcId") != given["VpcId"]:
        raise Refused("Gateway.NotAttached", f"resource {one.id} is not attached to network {given['VpcId']}")
    holdings.check_deletion(one)
    holdings.change(one, "vpcId")


def _delete_gateway(holdings: Holdings, given: Fields) -> None:
    one = holdings.get(GATEWAY, given["InternetGatewayId"], "InvalidInternetGatewayID.NotFound")
    if one.inputs.get("vpcId"):
        raise Refused("DependencyViolation", f"The internetGateway '{one.id}' has dependencies and cannot be deleted.")
    holdings.delete(one)


def _endpoints(holdings: Holdings, given: Fields) -> dict[str, Any]:
    for id in listed(given, "VpcEndpointId"):
        holdings.delete(holdings.get(ENDPOINT, id, "InvalidVpcEndpoint.NotFound"))
    return {"unsuccessful": ""}


def _deletion(type: str, parameter: str, code: str) -> Callable[[Holdings, Fields], None]:
    def delete(holdings: Holdings, given: Fields) -> None:
        holdings.delete(holdings.get(type, given[parameter], code))

    return delete


ACTIONS: Mapping[str, Callable[[Holdings, Fields], dict[str, Any] | None]] = {
    "DescribeTags": _tags,
    "DescribeInstances": _instances,
    "DescribeNatGateways": _described(NAT, "nat-gateway-id", "natGatewaySet", "natGatewayId"),
    "DescribeVpcEndpoints": _described(ENDPOINT, "", "vpcEndpointSet", "vpcEndpointId"),
    "DescribeSecurityGroups": _described(GROUP, "group-id", "securityGroupInfo", "groupId"),
    "DescribeSecurityGroupRules": _rules,
    "DescribeInternetGateways": _gateways,
    "DescribeAddresses": _described(EIP, "allocation-id", "addressesSet", "allocationId"),
    "DescribeRouteTables": _tables,
    "DisassociateRouteTable": _deletion(ASSOCIATION, "AssociationId", "InvalidAssociationID.NotFound"),
    "DescribeSubnets": _described(SUBNET, "subnet-id", "subnetSet", "subnetId"),
    "DescribeVolumes": _described(VOLUME, "volume-id", "volumeSet", "volumeId"),
    "DescribeSnapshots": _described(SNAPSHOT, "snapshot-id", "snapshotSet", "snapshotId"),
    "DescribeVpcs": _described(VPC, "vpc-id", "vpcSet", "vpcId"),
    "TerminateInstances": _terminate,
    "RevokeSecurityGroupIngress": _revoke(INGRESS),
    "RevokeSecurityGroupEgress": _revoke(EGRESS),
    "DeleteSecurityGroup": _delete_group,
    "DetachInternetGateway": _detach,
    "DeleteInternetGateway": _delete_gateway,
    "DeleteVpcEndpoints": _endpoints,
    "DeleteNatGateway": _deletion(NAT, "NatGatewayId", "NatGatewayNotFound"),
    "ReleaseAddress": _deletion(EIP, "AllocationId", "InvalidAllocationID.NotFound"),
    "DeleteSubnet": _deletion(SUBNET, "SubnetId", "InvalidSubnetID.NotFound"),
    "DeleteRouteTable": _deletion(TABLE, "RouteTableId", "InvalidRouteTableID.NotFound"),
    "DeleteVolume": _deletion(VOLUME, "VolumeId", "InvalidVolume.NotFound"),
    "DeleteSnapshot": _deletion(SNAPSHOT, "SnapshotId", "InvalidSnapshot.NotFound"),
    "DeleteVpc": _deletion(VPC, "VpcId", "InvalidVpcID.NotFound"),
}
