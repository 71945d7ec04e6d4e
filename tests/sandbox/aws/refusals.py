"""Refusals of AWS for calls that a program or spec could make: type, inputs, code and text of a row.

`$name` stands for the id of a resource that the test creates before (test_refusals_by_the_api.py: SCENES).
"""

import base64
from collections.abc import Callable
from typing import Any

from sandbox.aws.regions import UBUNTU, image
from tests.sandbox.aws.account import REGION
from tests.sandbox.aws.refusals_of_stores import STORES

ARM = image(REGION, UBUNTU.format(release="22.04", arch="arm64", volume="ebs-gp2"))
RULE = {"securityGroupId": "$group", "ipProtocol": "tcp", "fromPort": 1, "toPort": 2, "cidrIpv4": "10.0.0.0/8"}
DISK: Callable[..., dict[str, Any]] = lambda **disk: {"rootBlockDevice": {"volumeSize": 50, **disk}}  # noqa: E731
FURTHER = {"deviceName": "/dev/sdf", "volumeSize": 20}
NLB = {"loadBalancerType": "network", "subnets": ["$subnet"]}
MAPPED = {"loadBalancerType": "network", "internal": True}
TARGETS = {"port": 6443, "protocol": "TCP", "vpcId": "$vpc"}
LISTENER = {"loadBalancerArn": "$nlb", "port": 6443, "protocol": "TCP"}
FORWARD = {"defaultActions": [{"type": "forward", "targetGroupArn": "$targets"}]}


ROWS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "apostrophe in a rule": (
        "SecurityGroupIngressRule",
        RULE | {"description": "people's"},
        "InvalidParameterValue",
        "Invalid rule description",
    ),
    "rule's range with host bits": (
        "SecurityGroupIngressRule",
        RULE | {"cidrIpv4": "10.0.0.1/8"},
        "InvalidParameterValue",
        "10.0.0.1/8 is malformed",
    ),
    "unknown protocol": (
        "SecurityGroupEgressRule",
        RULE | {"ipProtocol": "tpc"},
        "InvalidParameterValue",
        "Unknown protocol",
    ),
    "no such instance type": ("Instance", {"instanceType": "m6i.huge"}, "InvalidParameterValue", "for InstanceType"),
    "no such generation": ("Instance", {"instanceType": "m3i.large"}, "InvalidParameterValue", "for InstanceType"),
    "arm image on x86": (
        "Instance",
        {"ami": ARM},
        "InvalidParameterValue",
        "'x86_64' of the specified instance type",
    ),
    "x86 image on arm": (
        "Instance",
        {"instanceType": "m7g.large"},
        "InvalidParameterValue",
        "'arm64' of the specified instance type",
    ),
    "six groups": (
        "Instance",
        {"vpcSecurityGroupIds": ["$group"] * 6},
        "SecurityGroupsPerInterfaceLimitExceeded",
        "network interface",
    ),
    "one-time spot request that stops": (
        "Instance",
        {"instanceMarketOptions": {"marketType": "spot", "spotOptions": {"instanceInterruptionBehavior": "stop"}}},
        "InvalidParameterCombination",
        "behavior 'stop' is not supported for one-time",
    ),
    "nested virtualization on an older generation": (
        "Instance",
        {"instanceType": "m6i.large", "cpuOptions": {"nestedVirtualization": "enabled"}},
        "InvalidParameterCombination",
        "'m6i.large' does not support nested virtualization",
    ),
    "tag keys that the metadata of this account cannot have": (
        "Instance",
        {"tags": {"kubernetes.io/cluster/dev": "shared"}},
        "InvalidParameterValue",
        "'kubernetes.io/cluster/dev' is not a valid tag key",
    ),
    "a tag key with a space, with tags in metadata": (
        "Instance",
        {"tags": {"cost center": "1"}, "metadataOptions": {"instanceMetadataTags": "enabled"}},
        "InvalidParameterValue",
        "'cost center' is not a valid tag key",
    ),
    "no key pair": ("Instance", {"keyName": "me"}, "InvalidKeyPair.NotFound", "'me' does not exist"),
    "iops of gp2": (
        "Instance",
        DISK(volumeType="gp2", iops=3000),
        "InvalidParameterCombination",
        "iops is not supported",
    ),
    "throughput of io2": (
        "Instance",
        DISK(volumeType="io2", throughput=125),
        "InvalidParameterCombination",
        "throughput",
    ),
    "two disks of one name": (
        "Instance",
        {"ebsBlockDevices": [FURTHER, FURTHER]},
        "InvalidBlockDeviceMapping",
        "Duplicate device name '/dev/sdf'",
    ),
    "device name that is none": (
        "Instance",
        {"ebsBlockDevices": [FURTHER | {"deviceName": "etcd"}]},
        "InvalidParameterValue",
        "Value (etcd) for parameter device is invalid",
    ),
    "throughput above a quarter of the iops": (
        "Instance",
        {"ebsBlockDevices": [FURTHER | {"volumeType": "gp3", "throughput": 751}]},
        "InvalidParameterValue",
        "Throughput (MiBps) to iops ratio is too high",
    ),
    "io2 without iops": (
        "Instance",
        {"ebsBlockDevices": [FURTHER | {"volumeType": "io2"}]},
        "MissingParameter",
        "iops must be specified for io2",
    ),
    "too many iops of io2": (
        "Instance",
        {"ebsBlockDevices": [FURTHER | {"volumeType": "io2", "iops": 20001}]},
        "InvalidParameterValue",
        "ratio is too high; at most 1000 a GiB",
    ),
    "too many iops": ("Instance", DISK(volumeType="gp3", iops=30000), "InvalidParameterValue", "ratio is too high"),
    "too large a disk": ("Instance", DISK(volumeSize=20000), "InvalidParameterValue", "too large for gp2"),
    "user-data encoded by hand": (
        "Instance",
        {"userData": base64.b64encode(b"x" * 16385).decode()},
        "InvalidParameterValue",
        "limited to 16384",
    ),
    "user-data that is no base64": (
        "Instance",
        {"userDataBase64": "#!/bin/sh"},
        "InvalidParameterValue",
        "Invalid BASE64",
    ),
    "route within the VPC": (
        "Route",
        {"routeTableId": "$table", "destinationCidrBlock": "10.20.8.0/24", "gatewayId": "local"},
        "InvalidParameterValue",
        "equal to or more specific",
    ),
    "route with host bits": (
        "Route",
        {"routeTableId": "$table", "destinationCidrBlock": "10.9.8.1/24", "gatewayId": "local"},
        "InvalidParameterValue",
        "is invalid",
    ),
    "route to no interface": (
        "Route",
        {"routeTableId": "$table", "destinationCidrBlock": "10.244.3.0/24", "networkInterfaceId": "eni-0"},
        "InvalidNetworkInterfaceID.NotFound",
        "does not exist",
    ),
    "gateway of another VPC": (
        "Route",
        {"routeTableId": "$table", "destinationCidrBlock": "0.0.0.0/0", "gatewayId": "$far gateway"},
        "InvalidParameterValue",
        "different networks",
    ),
    "subnet of another VPC": (
        "RouteTableAssociation",
        {"routeTableId": "$table", "subnetId": "$far subnet"},
        "InvalidParameterValue",
        "different networks",
    ),
    "NAT without a gateway": (
        "NatGateway",
        {"subnetId": "$subnet", "allocationId": "$eip"},
        "Gateway.NotAttached",
        "no Internet gateway attached",
    ),
    "no such endpoint service": (
        "VpcEndpoint",
        {"vpcId": "$vpc", "serviceName": f"com.amazonaws.{REGION}.s4"},
        "InvalidServiceName",
        "does not exist",
    ),
    "private DNS without the VPC's DNS": (
        "VpcEndpoint",
        {
            "vpcId": "$vpc",
            "serviceName": f"com.amazonaws.{REGION}.ec2",
            "vpcEndpointType": "Interface",
            "privateDnsEnabled": True,
        },
        "InvalidParameter",
        "requires both enableDnsSupport and enableDnsHostnames",
    ),
    "an endpoint's subnets in one zone": (
        "VpcEndpoint",
        {
            "vpcId": "$vpc",
            "serviceName": f"com.amazonaws.{REGION}.ec2",
            "vpcEndpointType": "Interface",
            "subnetIds": ["$subnet", "$beside"],
        },
        "DuplicateSubnetsInSameZone",
        "Found another VPC endpoint subnet",
    ),
    "public balancer without a gateway": ("LoadBalancer", NLB, "InvalidSubnet", "no internet gateway"),
    "balancer in two VPCs": (
        "LoadBalancer",
        NLB | {"internal": True, "subnets": ["$subnet", "$far subnet"]},
        "InvalidConfigurationRequest",
        "same VPC",
    ),
    "balancer with a far group": (
        "LoadBalancer",
        NLB | {"internal": True, "securityGroups": ["$far group"]},
        "InvalidConfigurationRequest",
        "security groups are invalid",
    ),
    "fixed address of a public balancer": (
        "LoadBalancer",
        {"loadBalancerType": "network", "subnetMappings": [{"subnetId": "$subnet", "privateIpv4Address": "10.20.0.9"}]},
        "InvalidConfigurationRequest",
        "internal load balancers",
    ),
    "reserved address of a balancer": (
        "LoadBalancer",
        MAPPED | {"subnetMappings": [{"subnetId": "$subnet", "privateIpv4Address": "10.20.0.3"}]},
        "InvalidParameterValue",
        "reserved address range",
    ),
    "taken address of a balancer": (
        "LoadBalancer",
        MAPPED | {"subnetMappings": [{"subnetId": "$subnet", "privateIpv4Address": "10.20.0.254"}]},
        "InvalidConfigurationRequest",
        "is in use",
    ),
    "path of a TCP check": (
        "TargetGroup",
        TARGETS | {"healthCheck": {"path": "/readyz"}},
        "Invalid Attribute Combination",
        'Attribute "health_check[0].path" cannot be specified when "health_check[0].protocol" is "TCP"',
    ),
    "check longer than its interval": (
        "TargetGroup",
        TARGETS | {"healthCheck": {"timeout": 10, "interval": 10}},
        "ValidationError",
        "greater than the timeout",
    ),
    "port of a check": (
        "TargetGroup",
        TARGETS | {"healthCheck": {"port": "https"}},
        "ValidationError",
        "range of 1-65535",
    ),
    "target group without a VPC": (
        "TargetGroup",
        {"port": 1, "protocol": "TCP"},
        "ValidationError",
        "vpcId must be specified",
    ),
    "address among instances": (
        "TargetGroupAttachment",
        {"targetGroupArn": "$targets", "targetId": "10.20.0.9"},
        "ValidationError",
        "takes instance IDs",
    ),
    "TLS without a certificate": (
        "Listener",
        LISTENER | FORWARD | {"protocol": "TLS"},
        "ValidationError",
        "A certificate must be specified",
    ),
    "UDP to a TCP group": (
        "Listener",
        LISTENER | FORWARD | {"protocol": "UDP"},
        "IncompatibleProtocols",
        "not compatible",
    ),
    **STORES,
}
