"""Addresses in subnets: reserved ranges, free addresses, and DNS names derived from them."""

import ipaddress
import json
from typing import Any

from sandbox.cloud import Refusal, Request, Unique

SUBNET = "aws:ec2/subnet:Subnet"
ADDRESS = Unique("address", ("subnetId", "privateIp"), "InvalidIPAddress.InUse", "Address {in_.privateIp} is in use.")


def network(cidr: str, code: str) -> ipaddress.IPv4Network:
    """Return the network of a CIDR block in canonical form. Raises Refusal with the given code."""
    try:
        return ipaddress.IPv4Network(cidr)
    except ValueError as error:
        raise Refusal(code, f"The CIDR '{cidr}' is invalid: {error}") from None


def free_address(request: Request, subnet: str) -> str:
    """Return a free address for a machine without a fixed one: from the end of the subnet, where fixed addresses are
    rare.

    AWS picks any free address; programs must not rely on the order.
    """
    record = request.cloud_state.find(SUBNET, subnet)
    block = ipaddress.IPv4Network(record.inputs["cidrBlock"] if record else "10.0.0.0/16")
    for number in range(block.num_addresses - 2, 3, -1):
        address = str(block[number])
        if request.cloud_state.claim(ADDRESS.kind, json.dumps([subnet, address])) is None:
            return address
    raise Refusal("InsufficientFreeAddressesInSubnet", f"The subnet {subnet} has no free address")


def check_address(request: Request) -> None:
    """Check that a fixed private address lies in its subnet and is free."""
    check_in_subnet(request, request.inputs.get("privateIp"), request.inputs.get("subnetId"))


def check_in_subnet(request: Request, address: str | None, subnet: str | None) -> None:
    """Check that an address lies in the subnet and is not reserved by AWS (the first four and the last)."""
    record = request.cloud_state.find(SUBNET, subnet) if subnet else None
    if address is None or record is None:
        return
    block = ipaddress.IPv4Network(record.inputs["cidrBlock"])
    try:
        number = int(ipaddress.IPv4Address(address)) - int(block.network_address)
    except ValueError:
        raise Refusal("InvalidParameterValue", f"invalid value for parameter address: {address}") from None
    if not 0 <= number < block.num_addresses:
        raise Refusal("InvalidParameterValue", f"Address {address} does not fall within the subnet's address range")
    if number < 4 or number == block.num_addresses - 1:
        raise Refusal("InvalidParameterValue", f"Address {address} is in subnet's reserved address range")


def public_address(request: Request, salt: str) -> str:
    """Return an address of 203.0.113.0/24 or 198.51.100.0/24, the ranges for documentation (RFC 5737)."""
    number = int(request.digits(4, salt), 16)
    return f"{('203.0.113', '198.51.100')[number % 2]}.{1 + (number // 2) % 254}"


def private_name(request: Request, address: str) -> str:
    """Return a private DNS name: ip-10-0-1-5.eu-west-1.compute.internal; us-east-1 uses another suffix."""
    domain = "ec2.internal" if request.region == "us-east-1" else f"{request.region}.compute.internal"
    return f"ip-{address.replace('.', '-')}.{domain}"


def public_name(request: Request, address: str) -> str:
    """Return a public DNS name: ec2-203-0-113-7.eu-west-1.compute.amazonaws.com."""
    domain = "compute-1" if request.region == "us-east-1" else f"{request.region}.compute"
    return f"ec2-{address.replace('.', '-')}.{domain}.amazonaws.com"


def vpc_of(request: Request, subnet: Any) -> str:
    """Return the VPC of a subnet, or an empty string."""
    record = request.cloud_state.find(SUBNET, str(subnet))
    return record.inputs["vpcId"] if record else ""
