"""Elastic addresses, NAT gateways, VPC endpoints."""

from typing import Any

from sandbox.aws import addresses
from sandbox.aws.iam import document
from sandbox.aws.network import EIP, INSTANCE, NAT, SUBNET, TABLE, VPC, has_gateway, in_groups, in_subnet, in_vpc
from sandbox.aws.quotas import QUOTAS
from sandbox.cloud import Reference, Refusal, Request, ResourceType, Unique

ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
SERVICES = (
    *("s3", "dynamodb", "ec2", "ec2messages", "ssm", "ssmmessages", "secretsmanager", "sts", "logs", "kms"),
    *("ecr.api", "ecr.dkr", "elasticloadbalancing"),
)
"""Services with VPC endpoints that machines use; AWS has more."""
POLICY_LIMIT = 20_480
"""Characters of an endpoint's policy, white space included (VPC user guide, "Amazon VPC quotas")."""
_ARN = "arn:aws:ec2:{region}:{account}:"


def _nat(request: Request) -> dict[str, Any]:
    if request.old:
        return {}
    eip = request.cloud_state.find(EIP, request.inputs.get("allocationId", ""))
    chosen = request.inputs.get("privateIp") or addresses.free_address(request, request.inputs.get("subnetId", ""))
    return {"privateIp": chosen, "publicIp": eip.outputs["publicIp"] if eip else ""}


def _attached(request: Request) -> None:
    """Check that the VPC of a public NAT gateway has an internet gateway; otherwise AWS's gateway becomes failed."""
    vpc = addresses.vpc_of(request, request.inputs.get("subnetId"))
    if vpc and request.inputs["connectivityType"] == "public" and not has_gateway(request, vpc):
        raise Refusal("Gateway.NotAttached", f"Network {vpc} has no Internet gateway attached")


def _in_zone(request: Request) -> int:
    """Return the number of NAT gateways in the zone of the new one's subnet."""
    mine = request.cloud_state.find(SUBNET, request.inputs.get("subnetId", ""))
    zones = [
        request.cloud_state.find(SUBNET, one.inputs.get("subnetId", "")) for one in request.cloud_state.resources(NAT)
    ]
    return sum(
        bool(mine and one and one.outputs["availabilityZone"] == mine.outputs["availabilityZone"]) for one in zones
    )


def _service(request: Request) -> None:
    name, region = request.inputs.get("serviceName", ""), request.region
    if name.startswith("com.amazonaws.") and name.removeprefix(f"com.amazonaws.{region}.") not in SERVICES:
        raise Refusal("InvalidServiceName", f"The Vpc Endpoint Service '{name}' does not exist")


def _policy(request: Request) -> None:
    """Check an endpoint's policy: as a resource's policy, each statement names its principals (PrivateLink guide)."""
    if not (policy := request.inputs.get("policy")):
        return
    try:
        statements = document(policy)["Statement"]
    except Refusal as refusal:
        raise Refusal("InvalidPolicyDocument", refusal.message) from None
    if not all({"Principal", "NotPrincipal"} & {*statement} for statement in statements):
        raise Refusal("InvalidPolicyDocument", "The policy document has a statement without Principal")
    if len(policy) > POLICY_LIMIT:
        raise Refusal("InvalidPolicyDocument", f"The policy document has more than {POLICY_LIMIT} characters")


def _private_dns(request: Request) -> None:
    """Check what private DNS needs: both DNS attributes of the VPC, and no other endpoint with the same names.

    EC2 API, CreateVpcEndpoint, PrivateDnsEnabled: "you must set the following VPC attributes to true".
    """
    if not request.inputs.get("privateDnsEnabled"):
        return
    vpc = request.cloud_state.find(VPC, request.inputs["vpcId"])
    if vpc and not (vpc.outputs["enableDnsSupport"] and vpc.outputs["enableDnsHostnames"]):
        raise Refusal(
            "InvalidParameter",
            "Enabling private DNS requires both enableDnsSupport and enableDnsHostnames VPC attributes set to true for"
            f" {vpc.id}",
        )
    for other in request.cloud_state.resources(ENDPOINT):
        same = all(other.inputs.get(name) == request.inputs.get(name) for name in ("vpcId", "serviceName"))
        if same and other.sequence != request.sequence and other.inputs.get("privateDnsEnabled"):
            raise Refusal(
                "InvalidParameter",
                "private-dns-enabled cannot be set because there is already a conflicting DNS domain for"
                f" {request.inputs['serviceName']} in the VPC {request.inputs['vpcId']}",
            )


def _within_quota(request: Request) -> None:
    """Check the quota of gateway endpoints in the region, or of interface endpoints in the VPC."""
    kind = request.inputs["vpcEndpointType"]
    alike = [one for one in request.cloud_state.resources(ENDPOINT) if one.outputs["vpcEndpointType"] == kind]
    if kind == "Gateway":
        there = [one for one in alike if one.region == request.region]
        QUOTAS.at_most("gateway endpoints per region", lambda _: len(there))(request)
    elif kind == "Interface":
        there = [one for one in alike if one.inputs["vpcId"] == request.inputs["vpcId"]]
        QUOTAS.at_most("interface endpoints per VPC", lambda _: len(there))(request)


def _one_in_each_zone(request: Request) -> None:
    """Check that no two subnets of an interface endpoint are in one zone."""
    found = [request.cloud_state.find(SUBNET, id) for id in request.inputs.get("subnetIds") or []]
    zones = [subnet.outputs["availabilityZone"] for subnet in found if subnet]
    if len(zones) > len({*zones}):
        raise Refusal(
            "DuplicateSubnetsInSameZone",
            "Found another VPC endpoint subnet in the availability zone of "
            + ", ".join(request.inputs.get("subnetIds") or []),
        )


def _eip(request: Request) -> dict[str, Any]:
    address = addresses.public_address(request, "public")
    machine = request.cloud_state.find(INSTANCE, request.inputs.get("instance", ""))
    private = machine.outputs["privateIp"] if machine else ""
    return {
        "publicIp": address,
        "publicDns": addresses.public_name(request, address),
        "privateIp": private,
        "privateDns": addresses.private_name(request, private) if private else "",
    }


def _endpoint(request: Request) -> dict[str, Any]:
    if request.inputs.get("vpcEndpointType", "Gateway") == "Gateway":
        return {"prefixListId": request.format("pl-{hex:8:prefix}"), "networkInterfaceIds": [], "dnsEntries": []}
    subnets = request.inputs.get("subnetIds", [])
    name = request.format("{id}-{hex:8:dns}.") + ".".join(reversed(request.inputs.get("serviceName", "").split(".")))
    return {
        "networkInterfaceIds": [request.format("eni-0{hex:16:" + str(subnet) + "}") for subnet in subnets],
        "dnsEntries": [{"dnsName": name, "hostedZoneId": request.format("Z{hex:13:zone}").upper()}],
    }


TYPES: dict[str, ResourceType] = {
    EIP: ResourceType(
        id="eipalloc-0{hex:16}",
        immutable=("domain", "networkBorderGroup", "publicIpv4Pool", "customerOwnedIpv4Pool", "address"),
        chosen=("domain", "networkBorderGroup", "publicIpv4Pool", "instance", "networkInterface"),
        fallback={"domain": "vpc"},
        outputs={
            "arn": _ARN + "elastic-ip/{id}",
            "allocationId": "{id}",
            "networkBorderGroup": "{region}",
            "publicIpv4Pool": "amazon",
        },
        derive=_eip,
        volatile=("privateIp", "privateDns", "associationId"),
        references=(
            Reference("instance", INSTANCE, "InvalidInstanceID.NotFound", "The instance ID '{id}' does not exist"),
        ),
        in_use=("InvalidIPAddress.InUse", "The address of {id} is in use by {holder}."),
        rules=(QUOTAS.at_most("Elastic IP addresses per region"),),
    ),
    NAT: ResourceType(
        id="nat-0{hex:16}",
        immutable=("allocationId", "subnetId", "connectivityType", "privateIp", "vpcId", "availabilityMode"),
        chosen=("privateIp",),
        fallback={"connectivityType": "public"},
        outputs={"networkInterfaceId": "eni-0{hex:16:interface}", "associationId": "eipassoc-0{hex:16:association}"},
        derive=_nat,
        at_least_one=(("subnetId", "vpcId"),),
        references=(
            in_subnet(),
            Reference(
                "allocationId", EIP, "InvalidAllocationID.NotFound", "The allocation ID '{id}' does not exist", "refuse"
            ),
        ),
        unique=(
            Unique(
                "elastic address",
                ("allocationId",),
                "Resource.AlreadyAssociated",
                "Elastic IP address [{in_.allocationId}] is already associated",
            ),
            addresses.ADDRESS,
        ),
        rules=(_attached, addresses.check_address, QUOTAS.at_most("NAT gateways per zone", _in_zone)),
    ),
    ENDPOINT: ResourceType(
        id="vpce-0{hex:16}",
        immutable=("vpcId", "serviceName", "serviceRegion", "vpcEndpointType", "resourceConfigurationArn"),
        chosen=("policy", "ipAddressType", "dnsOptions", "routeTableIds", "subnetIds", "securityGroupIds"),
        fallback={"vpcEndpointType": "Gateway", "privateDnsEnabled": False},
        unordered=("routeTableIds", "subnetIds", "securityGroupIds"),
        documents=("policy",),
        outputs={"arn": _ARN + "vpc-endpoint/{id}", "ownerId": "{account}", "state": "available"},
        derive=_endpoint,
        volatile=("networkInterfaceIds", "dnsEntries"),
        at_least_one=(("serviceName", "serviceNetworkArn", "resourceConfigurationArn"),),
        references=(
            in_vpc(),
            in_subnet("subnetIds[]"),
            in_groups("securityGroupIds[]"),
            Reference(
                "routeTableIds[]", TABLE, "InvalidRouteTableId.NotFound", "The routeTable ID '{id}' does not exist"
            ),
        ),
        rules=(_service, _policy, _private_dns, _one_in_each_zone, _within_quota),
    ),
}
